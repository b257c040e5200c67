//! From what a user names a model by to the folder that holds it.
//!
//! An existing local folder is used as it is. Otherwise the name is a repo id: [`fetch`] brings what is missing into the cache that
//! Hugging Face's tools share (`models--org--name/{refs,blobs,snapshots}`), [`locate`] only looks there. The layout, the locks and
//! the environment are those of Python's huggingface_hub, so what one has downloaded the other finds.
//! Source: `constants.py`, `file_download.py`, `utils/_validators.py` of huggingface_hub 2.4.0.
//!
//! # A download
//!
//! One question gives the commit of the revision; everything else is asked for by commit. Files that are there are not asked for,
//! so a complete cache costs that one question, and none when the revision is a full commit hash. Bytes gather in
//! `blobs/<etag>.incomplete`, where a later try goes on, also of another process; a blob gets its name when size and hash are
//! those that the hub announced. Offline (`HubOptions::offline`, `HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE`) no socket is opened.
//! When the hub is away, or refuses, and the cache has the revision, the cache serves and `Located::warnings` says so.
//!
//! # Why not hf-hub
//!
//! The crate hf-hub (1.0.0) writes the same layout. It does not go on with a partial file, nor with a body that is cut; compares neither
//! size nor hash; sets no timeouts, so that a stalled server holds it for ever; reads the environment by itself; and
//! brings an asynchronous runtime, a second protocol and several times the dependencies. Here are some hundred lines over
//! a small blocking HTTP client instead.

use std::ffi::OsStr;
use std::path::{Component, Path};

use crate::error::CheckpointError;

mod cache;
mod digest;
mod env;
mod error;
mod fetch;
mod ids;
mod network;
mod options;
mod progress;
mod store;
mod token;

pub use env::HubEnv;
pub use error::HubError;
pub use options::{HubOptions, Located, NetworkOptions};
pub use progress::Progress;
pub use token::{Secret, Token};

/// The revision that is meant when none is given.
const DEFAULT_REVISION: &str = "main";

/// Finds the folder of a model, and downloads what the cache does not have.
///
/// # Errors
/// As [`locate`] when going online is forbidden; else whatever [`HubError`] says, in [`CheckpointError::Hub`], and what
/// is wrong with a config or an index that came.
pub fn fetch(model: impl AsRef<OsStr>, options: &HubOptions) -> Result<Located, CheckpointError> {
    match look(model.as_ref(), options)? {
        Place::Folder(located) => Ok(located),
        Place::Repo(lookup) if lookup.offline => lookup.find(),
        Place::Repo(lookup) => fetch::fetch(&lookup, options),
    }
}

/// Finds the folder of a model: a local folder, or a repo id in the hub's cache. Opens no socket, writes nothing.
///
/// # Errors
/// The name is neither a folder nor a repo id, the revision or subfolder is none, or the cache does not have them.
pub fn locate(model: impl AsRef<OsStr>, options: &HubOptions) -> Result<Located, CheckpointError> {
    match look(model.as_ref(), options)? {
        Place::Folder(located) => Ok(located),
        Place::Repo(lookup) => lookup.find(),
    }
}

/// What a name stands for.
enum Place<'a> {
    /// A local folder.
    Folder(Located),
    /// A repo, to be looked up.
    Repo(cache::Lookup<'a>),
}

fn look<'a>(model: &'a OsStr, options: &'a HubOptions) -> Result<Place<'a>, CheckpointError> {
    let subfolder =
        options.subfolder.as_deref().map(subfolder).transpose()?.filter(|folder| !folder.is_empty());
    let path = Path::new(model);
    if path.is_dir() {
        let dir = subfolder.map_or_else(|| path.into(), |folder| path.join(folder));
        return Ok(Place::Folder(Located { dir, ..Located::default() }));
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
    Ok(Place::Repo(cache::Lookup { root, repo, revision, subfolder, offline: options.is_offline() }))
}

/// A subfolder, without a `/` at its end; it must not lead out of where it is.
fn subfolder(given: &str) -> Result<&str, HubError> {
    let folder = given.trim_end_matches('/');
    let plain = |part: &str| matches!(Path::new(part).components().next(), Some(Component::Normal(_)));
    match folder.is_empty() || folder.split('/').all(plain) && !folder.contains(['\\', '\0']) {
        true if !given.starts_with('/') => Ok(folder),
        _ => Err(HubError::InvalidSubfolder { subfolder: given.into() }),
    }
}

/// The repo id of a folder that is a snapshot in a hub's cache, by the shape of its path.
pub(crate) fn repo_of_snapshot(folder: &Path) -> Option<String> {
    cache::repo_of(folder)
}

#[cfg(test)]
mod tests;
