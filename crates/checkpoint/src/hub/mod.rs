//! From what a user names a model by to the folder that holds it.
//!
//! An existing local folder is used as it is. Otherwise the name is a repo id, looked up in the cache that Hugging Face's
//! tools share: `models--org--name/refs/<revision>` holds a commit, `snapshots/<commit>/` the files, as links
//! into `blobs/`. Nothing here opens a socket, and nothing is written, so a read-only cache serves.
//! Source: `constants.py`, `file_download.py`, `utils/_validators.py` of huggingface_hub 2.4.0.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::CheckpointError;

mod cache;
mod env;
mod ids;

pub use env::HubEnv;

/// The revision that is meant when none is given.
const DEFAULT_REVISION: &str = "main";

/// Where and how to look for a model.
#[derive(Debug, Clone)]
pub struct HubOptions {
    /// Branch, tag or commit; `main` when not given.
    pub revision: Option<String>,
    /// The cache folder, before any that the environment names.
    pub cache_dir: Option<PathBuf>,
    /// Whether the caller forbids going online, besides the environment.
    pub offline: bool,
    /// The environment.
    pub env: HubEnv,
}

impl Default for HubOptions {
    /// No wishes, and the environment of this process.
    fn default() -> Self {
        Self { revision: None, cache_dir: None, offline: false, env: HubEnv::from_process() }
    }
}

impl HubOptions {
    /// Whether going online is forbidden, by the caller or by the environment.
    pub fn is_offline(&self) -> bool {
        self.offline || self.env.is_offline()
    }
}

/// A model's folder, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The folder with the files.
    pub dir: PathBuf,
    /// The repo id, when the folder is in the hub's cache.
    pub repo: Option<String>,
    /// The commit, when the folder is in the hub's cache.
    pub commit: Option<String>,
}

/// Finds the folder of a model: a local folder, or a repo id in the hub's cache.
///
/// # Errors
/// The name is neither a folder nor a repo id, the revision is none, or the cache does not have them.
pub fn locate(model: impl AsRef<OsStr>, options: &HubOptions) -> Result<Located, CheckpointError> {
    let model = model.as_ref();
    let path = Path::new(model);
    if path.is_dir() {
        return Ok(Located { dir: path.into(), repo: None, commit: None });
    }
    if path.is_file() {
        return Err(CheckpointError::NotAFolder { path: path.into() });
    }
    let repo = ids::repo_id(model)?;
    let revision = options.revision.as_deref().unwrap_or(DEFAULT_REVISION);
    ids::check_revision(revision)?;
    let root = options.cache_dir.clone().or_else(|| options.env.cache_dir()).ok_or_else(|| {
        CheckpointError::NoCacheFolder { repo: repo.into(), looked_at: HubEnv::CACHE_KEYS.to_vec() }
    })?;
    cache::Lookup { root: &root, repo, revision, offline: options.is_offline() }.find()
}

/// The repo id of a folder that is a snapshot in a hub's cache, by the shape of its path.
pub(crate) fn repo_of_snapshot(folder: &Path) -> Option<String> {
    let snapshots = folder.parent()?;
    if snapshots.file_name()? != cache::SNAPSHOTS {
        return None;
    }
    let name = snapshots.parent()?.file_name()?.to_str()?;
    Some(name.strip_prefix(cache::REPO_PREFIX)?.replace(cache::REPO_SEPARATOR, "/"))
}

#[cfg(test)]
mod tests;
