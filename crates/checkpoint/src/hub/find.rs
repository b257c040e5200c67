//! What a name stands for: a local folder, or a repo that is looked up in the cache or brought into it.
//!
//! A folder that exists goes before a repo of the same name, as in Transformers. What cannot be an id, a revision or a subfolder is
//! refused before anything is looked at; the cache is the caller's, else the one that the environment names.

use std::ffi::OsStr;
use std::path::Path;

use super::cache::Lookup;
use super::env::HubEnv;
use super::fetch::bring;
use super::ids;
use super::options::{HubOptions, Located};
use crate::error::CheckpointError;
use crate::near;

/// The revision that is meant when none is given.
pub(super) const DEFAULT_REVISION: &str = "main";

/// Finds the folder of a model, and downloads what the cache does not have.
///
/// # Errors
/// As [`locate`] when going online is forbidden; else whatever [`super::HubError`] says, in [`CheckpointError::Hub`], and what
/// is wrong with a config or an index that came.
pub fn fetch(model: impl AsRef<OsStr>, options: &HubOptions) -> Result<Located, CheckpointError> {
    match look(model.as_ref(), options)? {
        Place::Folder(located) => Ok(located),
        Place::Repo(lookup) if lookup.offline => lookup.find(),
        Place::Repo(lookup) => bring(&lookup, options),
    }
}

/// Finds the folder of a model: a local folder, or a repo id in the hub's cache. Opens no socket, writes nothing.
///
/// # Errors
/// The name is a path where no folder is, or neither a folder nor a repo id, the revision or subfolder is none, or the cache does not have them.
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
    Repo(Lookup<'a>),
}

fn look<'a>(model: &'a OsStr, options: &'a HubOptions) -> Result<Place<'a>, CheckpointError> {
    let subfolder =
        options.subfolder.as_deref().map(ids::subfolder).transpose()?.filter(|folder| !folder.is_empty());
    let path = Path::new(model);
    if path.is_dir() {
        let dir = subfolder.map_or_else(|| path.into(), |folder| path.join(folder));
        return Ok(Place::Folder(Located { dir, ..Located::default() }));
    }
    if path.is_file() {
        return Err(CheckpointError::NotAFolder { path: path.into() });
    }
    if ids::is_path(model) {
        return Err(near::folder_not_found(path));
    }
    let repo = ids::repo_id(model)?;
    let revision = options.revision.as_deref().unwrap_or(DEFAULT_REVISION);
    ids::check_revision(revision)?;
    let root = options.cache_dir.clone().or_else(|| options.env.cache_dir()).ok_or_else(|| {
        CheckpointError::NoCacheFolder { repo: repo.into(), looked_at: HubEnv::CACHE_KEYS.to_vec() }
    })?;
    Ok(Place::Repo(Lookup { root, repo, revision, subfolder, offline: options.is_offline() }))
}
