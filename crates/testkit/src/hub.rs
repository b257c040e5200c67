//! A hub with one repo: what the model hub answers, over [`crate::server`].
//!
//! Answers have the headers of the hub's own: small files are named by Git's blob hash and served by the hub; large ones by their SHA-256,
//! and, where there is a second host, redirected to it. The files are those of a folder, such as a fixture.

// What goes wrong in a test's own hub fails the test.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::server::{Reply, Request, Server};

/// The commit that a hub's revision stands for.
pub const COMMIT: &str = "ed25f3a31f01632728cabb09d1542f84ab7b0056";

/// The variables of the environment that decide about a hub, its cache and the way there, without those that tests set.
pub const HUB_VARIABLES: [&str; 17] = [
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HF_TOKEN_PATH",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN",
    "HF_HUB_DOWNLOAD_TIMEOUT",
    "SSL_CERT_FILE",
    "HTTPS_PROXY",
    "https_proxy",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// A repo at one commit.
#[derive(Debug, Clone)]
pub struct Hub {
    /// The repo's id.
    pub repo: String,
    /// Its files, by their name in the repo.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The commit that has them.
    pub commit: String,
    /// What stands for the commit, besides itself.
    pub revision: String,
    /// Where large files are.
    pub second_host: Option<String>,
    /// The second host's, or the hub's own, answers know `Range`.
    pub knows_range: bool,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a content.
#[must_use]
pub fn etag(file: &str, bytes: &[u8]) -> String {
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
    /// A repo of a folder's JSON and safetensors files, as `main`; goldens stay out.
    #[must_use]
    pub fn new(repo: &str, folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.starts_with("golden") && (name.ends_with(".json") || name.ends_with(".safetensors")) {
                files.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
        Self {
            repo: repo.into(),
            files,
            commit: COMMIT.into(),
            revision: "main".into(),
            second_host: None,
            knows_range: true,
        }
    }

    /// The answer to a request.
    #[must_use]
    pub fn reply(&self, request: &Request) -> Reply {
        let Some(rest) = request.path.strip_prefix(&format!("/{}/resolve/", self.repo)) else {
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
    #[must_use]
    pub fn content(&self, request: &Request, bytes: &[u8]) -> Reply {
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

    /// A server of it.
    #[must_use]
    pub fn serve(self) -> Server {
        Server::start(move |request| self.reply(request))
    }

    /// The name of a file's content.
    #[must_use]
    pub fn etag(&self, file: &str) -> String {
        etag(file, &self.files[file])
    }
}
