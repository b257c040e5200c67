//! A hub with one repo, as the server's handler sees it.
//!
//! Answers have the headers of the hub's own: small files are named by Git's blob hash and served by the hub; large ones by their SHA-256,
//! and, where there is a second host, redirected to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dinoxide_checkpoint::CheckpointError;
use dinoxide_checkpoint::hub::{self, HubEnv, HubError, HubOptions, Located, NetworkOptions, Token};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::server::{Reply, Request, Server};

pub(crate) const REPO: &str = "facebook/dinov2-small";
pub(crate) const COMMIT: &str = "ed25f3a31f01632728cabb09d1542f84ab7b0056";
pub(crate) const WEIGHTS: &str = "model.safetensors";
pub(crate) const CONFIG: &str = "config.json";

/// A repo at one commit.
#[derive(Debug, Clone)]
pub(crate) struct Hub {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) commit: String,
    /// What stands for the commit, besides itself.
    pub(crate) revision: String,
    /// Where large files are.
    pub(crate) second_host: Option<String>,
    /// The second host's, or the hub's own, answers know `Range`.
    pub(crate) knows_range: bool,
}

/// A file of the fixture `dinov2`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dinov2").join(name)).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a content.
pub(crate) fn etag(file: &str, bytes: &[u8]) -> String {
    match is_large(file) {
        true => hex(&Sha256::digest(bytes)),
        false => {
            hex(&Sha1::new_with_prefix(format!("blob {}\0", bytes.len())).chain_update(bytes).finalize())
        }
    }
}

fn is_large(file: &str) -> bool {
    file.ends_with(".safetensors") || file.ends_with(".bin")
}

impl Hub {
    /// The fixture: config, processor and weights.
    pub(crate) fn new() -> Self {
        let files =
            [CONFIG, "preprocessor_config.json", WEIGHTS].map(|name| (name.to_owned(), fixture(name)));
        Self {
            files: files.into(),
            commit: COMMIT.into(),
            revision: "main".into(),
            second_host: None,
            knows_range: true,
        }
    }

    /// The answer to a request.
    pub(crate) fn reply(&self, request: &Request) -> Reply {
        let Some(rest) = request.path.strip_prefix(&format!("/{REPO}/resolve/")) else {
            return Reply::new(401).with("X-Error-Code", "RepoNotFound").body("");
        };
        let (revision, file) = rest.split_once('/').unwrap();
        if revision != self.revision && revision != self.commit {
            return Reply::new(404).with("X-Error-Code", "RevisionNotFound").body("");
        }
        let Some(bytes) = self.files.get(file) else {
            let reply = Reply::new(404).with("X-Error-Code", "EntryNotFound").body("Entry not found");
            return reply.with("X-Repo-Commit", &self.commit);
        };
        let etag = etag(file, bytes);
        if let Some(host) = self.second_host.as_ref().filter(|_| is_large(file)) {
            let reply = Reply::new(302).with("Location", format!("{host}/bucket/{file}?signature=x"));
            let reply = reply.with("X-Linked-ETag", format!("\"{etag}\"")).with("X-Linked-Size", bytes.len());
            return reply
                .body("Found. Redirecting")
                .with("X-Repo-Commit", &self.commit)
                .with("ETag", "\"other\"");
        }
        self.content(request, bytes).with("ETag", format!("\"{etag}\"")).with("X-Repo-Commit", &self.commit)
    }

    /// A content, or the part of it that is asked for.
    pub(crate) fn content(&self, request: &Request, bytes: &[u8]) -> Reply {
        let range = request.range.as_ref().filter(|_| self.knows_range);
        let Some(range) = range else { return Reply::new(200).body(bytes) };
        let from: usize = range.strip_prefix("bytes=").unwrap().strip_suffix('-').unwrap().parse().unwrap();
        match bytes.get(from..).filter(|rest| !rest.is_empty()) {
            Some(rest) => {
                let span = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
                Reply::new(206).body(rest).with("Content-Range", span)
            }
            None => Reply::new(416).with("Content-Range", format!("bytes */{}", bytes.len())).body(""),
        }
    }

    pub(crate) fn serve(self) -> Server {
        Server::start(move |request| self.reply(request))
    }

    pub(crate) fn etag(&self, file: &str) -> String {
        etag(file, &self.files[file])
    }
}

/// An empty cache.
pub(crate) struct Cache(pub(crate) TempDir);

impl Cache {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.0.path().join("hub")
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.root().join("models--facebook--dinov2-small")
    }

    pub(crate) fn snapshot(&self) -> PathBuf {
        self.repo().join("snapshots").join(COMMIT)
    }

    pub(crate) fn blob(&self, name: &str) -> PathBuf {
        self.repo().join("blobs").join(name)
    }

    /// Names of the blobs, sorted.
    pub(crate) fn blobs(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.repo().join("blobs")) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn options(&self, url: &str) -> HubOptions {
        options(url, self.root())
    }

    pub(crate) fn fetch(&self, server: &Server) -> Result<Located, CheckpointError> {
        hub::fetch(REPO, &self.options(&server.url()))
    }

    /// Fetches what must fail, and gives the hub's error.
    pub(crate) fn fails(&self, server: &Server) -> HubError {
        hub_error(self.fetch(server).unwrap_err())
    }
}

/// Options for a hub at `url`: no waits between tries, and nothing of the tester's environment.
pub(crate) fn options(url: &str, cache: PathBuf) -> HubOptions {
    let env = HubEnv { hf_endpoint: Some(url.into()), ..HubEnv::default() };
    let network = NetworkOptions { backoff: Duration::ZERO, ..NetworkOptions::default() };
    HubOptions { cache_dir: Some(cache), token: Token::None, network, ..HubOptions::with_env(env) }
}

pub(crate) fn hub_error(error: CheckpointError) -> HubError {
    match error {
        CheckpointError::Hub(error) => *error,
        other => panic!("{other:?}"),
    }
}

/// An address where nobody listens.
pub(crate) fn closed() -> String {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
