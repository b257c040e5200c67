//! What can go wrong between here and the hub.
//!
//! First what the caller or the account lacks, then what the repo lacks, then the network, then what the server sent, then
//! the cache on disk. A message says what and where, [`HubError::hint`] what to do. No token is ever part of one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a model could not be had from the hub.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    // What the caller or the account lacks.
    /// The hub's address is none.
    #[error("HF_ENDPOINT `{endpoint}` is no address: {reason}")]
    InvalidEndpoint {
        /// The address.
        endpoint: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// The proxy's address is none; it may hold a password, so it is not repeated.
    #[error("the proxy that the environment names has no valid address")]
    InvalidProxy,
    /// The certificates to trust cannot be read.
    #[error("no certificates in `{}` (SSL_CERT_FILE)", .path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
    },
    /// The subfolder cannot lie inside a repo.
    #[error("`{subfolder}` is not a subfolder: it must be a plain relative path")]
    InvalidSubfolder {
        /// What was given.
        subfolder: String,
    },
    /// A token that no header can carry.
    #[error("{source_of_token} is not a token: it has spaces, or characters other than ASCII")]
    InvalidToken {
        /// Where it came from.
        source_of_token: String,
    },
    /// The token file cannot be read.
    #[error("cannot read the token file `{}`", .path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The repo's licence has to be accepted, by an account that sends a token.
    #[error("`{repo}` is gated: {}", if *.with_token { "the token's account has not been granted access" } else { "a token is needed" })]
    Gated {
        /// The repo.
        repo: String,
        /// The hub's address.
        endpoint: String,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// The hub knows no such repo, or does not tell this caller.
    #[error("no repo `{repo}` at {endpoint}: it is misspelled, or private{}", if *.with_token { " to others than the token's account" } else { "" })]
    RepoNotFound {
        /// The repo.
        repo: String,
        /// The hub's address.
        endpoint: String,
        /// Whether a token was sent.
        with_token: bool,
    },
    /// The hub refused, for a reason of its own.
    #[error("{endpoint} refuses access to `{repo}` ({status}{})", said(.message))]
    Refused {
        /// The repo.
        repo: String,
        /// The hub's address.
        endpoint: String,
        /// The HTTP status.
        status: u16,
        /// What the hub said, when it said something.
        message: Option<String>,
        /// Whether a token was sent.
        with_token: bool,
    },

    // What the repo lacks.
    /// No such branch, tag or commit.
    #[error("`{repo}` has no revision `{revision}`")]
    RevisionNotFound {
        /// The repo.
        repo: String,
        /// The revision asked for.
        revision: String,
    },
    /// The repo holds neither a model nor a processor.
    #[error("`{repo}` is no model: it has none of {}", .looked_for.join(", "))]
    NotAModel {
        /// The repo.
        repo: String,
        /// The names looked for.
        looked_for: Vec<String>,
    },
    /// The repo holds no weights in a format that is read.
    #[error("`{repo}` has no weights that can be read: looked for {}{}", .looked_for.join(", "), found(.other))]
    NoWeights {
        /// The repo.
        repo: String,
        /// The names looked for.
        looked_for: Vec<String>,
        /// A weights file of another format that is there.
        other: Option<String>,
    },
    /// The index names a shard that the repo does not have.
    #[error("`{index}` of `{repo}` names `{shard}`, which is not there")]
    ShardNotFound {
        /// The repo.
        repo: String,
        /// The index file.
        index: String,
        /// The shard.
        shard: String,
    },

    // The network.
    /// No answer: no such host, no connection, a connection that was cut or stood still.
    #[error("cannot reach {host} for `{repo}`: {reason}")]
    Unreachable {
        /// The repo.
        repo: String,
        /// The host.
        host: String,
        /// What happened.
        reason: String,
    },
    /// The server answers with an error, also when asked again.
    #[error("{host} answers {status} for `{file}` of `{repo}`{}", said(.message))]
    Status {
        /// The repo.
        repo: String,
        /// The file.
        file: String,
        /// The host.
        host: String,
        /// The HTTP status.
        status: u16,
        /// What the server said, when it said something.
        message: Option<String>,
    },

    // What the server sent.
    /// The answer lacks what the hub's answers have.
    #[error("{host} does not answer as the hub does: {reason}")]
    NotAHub {
        /// The repo.
        repo: String,
        /// The host.
        host: String,
        /// What is missing or wrong.
        reason: String,
    },
    /// The file is larger than any honest file of its kind.
    #[error("`{file}` of `{repo}` has more than {limit} bytes, the limit")]
    TooLarge {
        /// The repo.
        repo: String,
        /// The file.
        file: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file came with another size than announced, twice.
    #[error("`{file}` of `{repo}` came with {got} bytes, {expected} were announced")]
    WrongSize {
        /// The repo.
        repo: String,
        /// The file.
        file: String,
        /// Bytes that the hub announced.
        expected: u64,
        /// Bytes that the server has or sent.
        got: u64,
    },
    /// The file came with other bytes than announced, twice.
    #[error("`{file}` of `{repo}` came damaged: {algorithm} {expected} was announced, {got} came")]
    WrongHash {
        /// The repo.
        repo: String,
        /// The file.
        file: String,
        /// `SHA-256` or `SHA-1`.
        algorithm: &'static str,
        /// The hash that the hub announced.
        expected: String,
        /// The hash of what came.
        got: String,
    },

    /// Whoever hears of the download wanted it to stop.
    #[error("the download of `{file}` was stopped")]
    Stopped {
        /// The file.
        file: String,
    },

    // The cache on disk.
    /// The cache cannot be written to.
    #[error("cannot write `{}`", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
}

fn said(message: &Option<String>) -> String {
    message.as_ref().map(|message| format!(": {message}")).unwrap_or_default()
}

fn found(other: &Option<String>) -> String {
    other.as_ref().map(|name| format!(", found `{name}`")).unwrap_or_default()
}

impl HubError {
    /// The error of a failed system call on a path of the cache.
    pub(super) fn write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Write { path: path.into(), source: source.into() }
    }

    /// Whether files that are in the cache already serve instead: the hub is away, or does not let this caller in.
    pub(super) fn lets_the_cache_serve(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::NotAHub { .. }
            | Self::Gated { .. }
            | Self::RepoNotFound { .. }
            | Self::Refused { .. } => true,
            Self::Status { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }

    /// One sentence about what to do, when there is something; where a repo was asked for, also that no folder has its name.
    pub fn hint(&self) -> Option<String> {
        let no_folder = self.repo().map(no_folder);
        match (self.what_to_do(), no_folder) {
            (Some(what_to_do), Some(no_folder)) => Some(format!("{what_to_do}; {no_folder}")),
            (what_to_do, no_folder) => what_to_do.or(no_folder),
        }
    }

    /// The repo asked for, where the error speaks of one.
    fn repo(&self) -> Option<&str> {
        match self {
            Self::Gated { repo, .. }
            | Self::RepoNotFound { repo, .. }
            | Self::Refused { repo, .. }
            | Self::RevisionNotFound { repo, .. }
            | Self::NotAModel { repo, .. }
            | Self::NoWeights { repo, .. }
            | Self::ShardNotFound { repo, .. }
            | Self::Unreachable { repo, .. }
            | Self::Status { repo, .. }
            | Self::NotAHub { repo, .. }
            | Self::TooLarge { repo, .. }
            | Self::WrongSize { repo, .. }
            | Self::WrongHash { repo, .. } => Some(repo),
            _ => None,
        }
    }

    fn what_to_do(&self) -> Option<String> {
        match self {
            Self::InvalidEndpoint { .. } => Some("give one such as https://huggingface.co".into()),
            Self::InvalidProxy => Some("correct HTTPS_PROXY, or the variable that stands for it".into()),
            Self::InvalidToken { .. } | Self::TokenFile { .. } => {
                Some("log in anew with `hf auth login`, or set HF_TOKEN".into())
            }
            Self::Gated { repo, endpoint, with_token } => Some(gated(repo, endpoint, *with_token)),
            Self::RepoNotFound { with_token: false, .. } => Some(
                "check the name; if it is private or gated, set HF_TOKEN or log in with `hf auth login`"
                    .into(),
            ),
            Self::RepoNotFound { .. } => Some("check the name, and what the token may read".into()),
            Self::Refused { .. } => {
                Some("check the token (HF_TOKEN, or `hf auth login`), and what it may read".into())
            }
            Self::RevisionNotFound { .. } => Some("give a branch, a tag or a full commit hash".into()),
            Self::NotAModel { .. } => Some("check the name, and whether the files are in a subfolder".into()),
            Self::NoWeights { other, .. } => other.as_ref().map(|name| convert(name)),
            Self::Unreachable { repo, .. } => Some(unreachable(repo)),
            Self::Status { repo, .. } => Some(format!("try again later, or {}", elsewhere(repo))),
            Self::NotAHub { .. } => {
                Some("check HF_ENDPOINT, and whether a proxy or a login page answers instead".into())
            }
            Self::WrongSize { .. } | Self::WrongHash { .. } => {
                Some("try again; if it comes again, what answers is no true mirror of the hub".into())
            }
            Self::Write { source, .. } => Some(write(source)),
            _ => None,
        }
    }
}

/// Tells one who meant a folder that there is none.
pub(crate) fn no_folder(repo: &str) -> String {
    format!("there is no folder `{repo}` here either")
}

fn gated(repo: &str, endpoint: &str, with_token: bool) -> String {
    let accept = format!("accept the licence at {endpoint}/{repo}");
    match with_token {
        true => format!("{accept} with the token's account, and let the token read gated repos"),
        false => format!("{accept}, then set HF_TOKEN or log in with `hf auth login`"),
    }
}

fn convert(name: &str) -> String {
    format!(
        "`{name}` must be converted to safetensors first: with Python's transformers, load the model and call \
         `model.save_pretrained(folder)`, then give that folder"
    )
}

fn elsewhere(repo: &str) -> String {
    format!("download it where there is a network (`hf download {repo}`), and give the folder")
}

fn unreachable(repo: &str) -> String {
    format!(
        "check the network (HTTPS_PROXY, SSL_CERT_FILE and HF_ENDPOINT are honoured), or {}",
        elsewhere(repo)
    )
}

fn write(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room, or give another cache folder (--cache-dir, HF_HOME); what came is kept, and goes on from there".into()
        }
        _ => "give a cache folder that can be written to (--cache-dir, HF_HOME)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart_from_a_folder_that_cannot_be_written_to() {
        let hint = |kind: io::ErrorKind| HubError::write("/cache/blobs/x", kind.into()).hint().unwrap();
        assert!(hint(io::ErrorKind::StorageFull).starts_with("make room"));
        assert!(
            hint(io::ErrorKind::PermissionDenied).starts_with("give a cache folder that can be written to")
        );
    }

    #[test]
    fn only_a_hub_that_is_away_or_refuses_lets_the_cache_serve() {
        let status = |status| HubError::Status {
            repo: "a/b".into(),
            file: "config.json".into(),
            host: "hub.example".into(),
            status,
            message: None,
        };
        assert!(status(503).lets_the_cache_serve() && status(429).lets_the_cache_serve());
        assert!(!status(400).lets_the_cache_serve());
        assert!(!HubError::write("/cache", io::ErrorKind::StorageFull.into()).lets_the_cache_serve());
    }
}
