//! What the hub says of a file before it is fetched.
//!
//! `HEAD <endpoint>/<repo>/resolve/<revision>/<file>` answers with the commit (`X-Repo-Commit`), the name of the content
//! (`X-Linked-ETag`, else `ETag`) and its size (`X-Linked-Size`, else `Content-Length`). A large file's answer redirects to
//! another host and carries all of that itself; a renamed repo's redirects to the same host, and is followed.
//! Source: `get_hf_file_metadata` in `file_download.py` of huggingface_hub 2.4.0.

use ureq::Body;
use ureq::http::{Method, Response, StatusCode, Uri};

use super::address::Origin;
use super::client::{Client, MAX_REDIRECTS, header, redirect};
use super::failure::{Attempt, X_ERROR_CODE};
use crate::hub::error::HubError;

const X_REPO_COMMIT: &str = "x-repo-commit";
const X_LINKED_ETAG: &str = "x-linked-etag";
const X_LINKED_SIZE: &str = "x-linked-size";
/// Characters of an ETag or a commit that becomes a file's name; a SHA-256 has 64.
const MAX_NAME_CHARS: usize = 128;

/// A file of the repo, or that there is none.
#[derive(Debug)]
pub(in crate::hub) enum Found {
    /// There it is.
    File(FileMeta),
    /// The revision does not have it.
    Absent {
        /// The commit that the revision stands for, when the hub says so.
        commit: Option<String>,
    },
}

/// What the hub says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hub) struct FileMeta {
    /// The commit that the revision stands for.
    pub(in crate::hub) commit: String,
    /// The name of its content.
    pub(in crate::hub) etag: String,
    /// Its size in bytes, when the hub says so.
    pub(in crate::hub) size: Option<u64>,
}

impl Client {
    /// Asks for a file's metadata. `pinned` says that the revision is known to exist.
    pub(in crate::hub) fn head(&self, revision: &str, file: &str, pinned: bool) -> Result<Found, HubError> {
        let uri = self.file(revision, file)?;
        self.retried(file, || self.head_once(&uri, file, pinned))
    }

    fn head_once(&self, uri: &Uri, file: &str, pinned: bool) -> Result<Found, Attempt> {
        let mut uri = uri.clone();
        // What a redirect within the hub said holds unless a later answer says it anew.
        let mut said = Said::default();
        for _ in 0..MAX_REDIRECTS {
            let response = self.send(&Method::HEAD, &uri, 0)?;
            said.hear(&response);
            if let Some(target) = redirect(&uri, &response) {
                let leaves = Origin::of(&target) != Origin::of(&uri);
                if leaves && said.etag.is_some() && said.commit.is_some() {
                    return said.meta().map(Found::File).map_err(|reason| self.not_a_hub(&uri, reason));
                }
                // A mirror that only sends on to the hub: followed, though without a token.
                uri = target;
            } else if response.status().is_success() {
                return said.meta().map(Found::File).map_err(|reason| self.not_a_hub(&uri, reason));
            } else if is_absent(&response, pinned) {
                return Ok(Found::Absent { commit: said.commit.filter(|commit| is_plain(commit)) });
            } else {
                return Err(self.refused(&uri, file, &response));
            }
        }
        Err(self.not_a_hub(&uri, format!("more than {MAX_REDIRECTS} redirects")))
    }
}

fn is_absent(response: &Response<Body>, pinned: bool) -> bool {
    let code = header(response, X_ERROR_CODE);
    response.status() == StatusCode::NOT_FOUND && (code == Some("EntryNotFound") || code.is_none() && pinned)
}

/// Metadata as it is gathered on the way.
#[derive(Debug, Default)]
struct Said {
    commit: Option<String>,
    etag: Option<String>,
    size: Option<u64>,
}

impl Said {
    fn hear(&mut self, response: &Response<Body>) {
        let text = |name| header(response, name).map(str::to_owned);
        self.commit = text(X_REPO_COMMIT).or(self.commit.take());
        let linked = text(X_LINKED_ETAG);
        // The ETag and the length of a redirect are those of the redirect.
        let own = if response.status().is_success() { text("etag") } else { None };
        self.etag = linked.or(own).or(self.etag.take());
        let own = if response.status().is_success() { text("content-length") } else { None };
        self.size = text(X_LINKED_SIZE).or(own).and_then(|size| size.parse().ok()).or(self.size);
    }

    fn meta(self) -> Result<FileMeta, String> {
        let commit = self.commit.ok_or("no header `X-Repo-Commit`")?;
        let etag = self.etag.ok_or("no header `ETag`")?;
        let etag = unquote(&etag);
        // Both become names of files.
        if !is_plain(&commit) {
            return Err("its `X-Repo-Commit` is no commit".into());
        }
        if !is_plain(etag) {
            return Err("its `ETag` cannot name a file".into());
        }
        Ok(FileMeta { commit, etag: etag.into(), size: self.size })
    }
}

/// An ETag without what HTTP puts around it.
fn unquote(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"')
}

/// Whether a text can name a file: letters, digits, `-`, `_`, and `.` inside.
fn is_plain(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !name.is_empty() && name.len() <= MAX_NAME_CHARS && !name.starts_with('.') && name.bytes().all(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_loses_its_quotes_and_must_be_able_to_name_a_file() {
        assert_eq!([unquote("\"abc\""), unquote("W/\"abc\""), unquote("abc")], ["abc"; 3]);
        let meta = |commit: &str, etag: &str| {
            Said { commit: Some(commit.into()), etag: Some(etag.into()), size: None }.meta()
        };
        assert_eq!(meta("abc", "\"def-2.x\"").unwrap().etag, "def-2.x");
        for name in ["", "..", ".hidden", "a/b", "a\\b", "a b", "ä", &"x".repeat(200)] {
            assert!(meta(name, "abc").is_err() && meta("abc", name).is_err(), "{name}");
        }
    }
}
