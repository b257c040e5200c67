//! The hub of these tests, whose model is the fixture `dinov2`, and a cache of its own for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dinoxide_checkpoint::CheckpointError;
use dinoxide_checkpoint::hub::{self, HubEnv, HubError, HubOptions, Located, NetworkOptions, Token};
pub(crate) use dinoxide_testkit::hub::{COMMIT, Hub};
pub(crate) use dinoxide_testkit::server::{NOBODY, Server};
use tempfile::TempDir;

pub(crate) const REPO: &str = "facebook/dinov2-small";
pub(crate) const WEIGHTS: &str = "model.safetensors";
pub(crate) const CONFIG: &str = "config.json";

/// The folder of the fixture `dinov2`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dinov2")
}

/// A file of the fixture.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

/// The fixture as a hub: config, processor and weights.
pub(crate) fn dinov2() -> Hub {
    Hub::new(REPO, &folder())
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
