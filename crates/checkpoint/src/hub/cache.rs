//! Looking a repo up in the hub's cache.
//!
//! `refs/<revision>` gives the commit; a revision that is itself a commit names its snapshot directly; and a cache
//! that was filled by commit hash has no `refs/main`, where a single snapshot can only be the one that is meant.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::find::DEFAULT_REVISION;
use super::options::Located;
use crate::error::{CheckpointError, NotInCache};
use crate::files;

/// How the folder of a model repo begins.
const REPO_PREFIX: &str = "models--";
/// What stands for the `/` of a repo id.
const REPO_SEPARATOR: &str = "--";
/// The folder of commits and their files.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// The folder of branches and tags.
pub(super) const REFS: &str = "refs";
/// Bytes of a file below `refs/`: a commit hash has 40.
const MAX_REF_BYTES: u64 = 256;
/// What every model's snapshot has.
pub(super) const CONFIG_FILE: &str = "config.json";
/// What a processor's has: one of them, or both.
pub(super) const PROCESSOR_FILES: [&str; 2] = ["preprocessor_config.json", "processor_config.json"];

/// The folder of a repo.
pub(super) fn folder_name(repo: &str) -> String {
    format!("{REPO_PREFIX}{}", repo.replace('/', REPO_SEPARATOR))
}

/// The repo id of a folder that is a snapshot in a hub's cache, or lies inside one, by the shape of its path.
pub(crate) fn repo_of(folder: &Path) -> Option<String> {
    let snapshots = folder.ancestors().skip(1).find(|folder| folder.ends_with(SNAPSHOTS))?;
    let name = snapshots.parent()?.file_name()?.to_str()?;
    Some(name.strip_prefix(REPO_PREFIX)?.replace(REPO_SEPARATOR, "/"))
}

/// The name that a file has in the repo.
pub(super) fn in_repo(subfolder: Option<&str>, name: &str) -> String {
    match subfolder {
        Some(subfolder) => format!("{subfolder}/{name}"),
        None => name.to_owned(),
    }
}

/// One question to the cache.
#[derive(Debug)]
pub(super) struct Lookup<'a> {
    pub(super) root: PathBuf,
    pub(super) repo: &'a str,
    pub(super) revision: &'a str,
    pub(super) subfolder: Option<&'a str>,
    pub(super) offline: bool,
}

impl Lookup<'_> {
    /// The name that a file has in the repo.
    pub(super) fn in_repo(&self, name: &str) -> String {
        in_repo(self.subfolder, name)
    }

    /// The snapshot's folder, or the subfolder in it.
    pub(super) fn find(&self) -> Result<Located, CheckpointError> {
        let folder = self.root.join(folder_name(self.repo));
        if !folder.is_dir() {
            return Err(self.missing(format!("no folder `{}`", folder.display())));
        }
        let commit = self.commit(&folder)?;
        let mut dir = folder.join(SNAPSHOTS).join(&commit);
        if !dir.is_dir() {
            return Err(self.missing(format!("no snapshot `{commit}`")));
        }
        if let Some(subfolder) = self.subfolder {
            dir.push(subfolder);
        }
        // What makes a snapshot worth opening is a model's config, or a processor's alone. `is_file` follows links:
        // one whose blob is gone counts as missing.
        let mut names = [CONFIG_FILE].into_iter().chain(PROCESSOR_FILES);
        if !names.any(|name| dir.join(name).is_file()) {
            return Err(self.missing(format!("the snapshot `{commit}` does not have it")));
        }
        let repo = Some(self.repo.into());
        Ok(Located { dir, repo, commit: Some(commit), warnings: Vec::new() })
    }

    /// The commit that the revision stands for.
    fn commit(&self, folder: &Path) -> Result<String, CheckpointError> {
        let reference = folder.join(REFS).join(self.revision);
        if reference.is_file() {
            return self.read_ref(&reference);
        }
        let snapshots = folder.join(SNAPSHOTS);
        if is_single_name(self.revision) && snapshots.join(self.revision).is_dir() {
            return Ok(self.revision.into());
        }
        let known = snapshot_names(&snapshots)?;
        match (&known[..], self.revision) {
            ([only], DEFAULT_REVISION) => Ok(only.clone()),
            ([], _) => Err(self.missing("it has no snapshots".into())),
            (several, DEFAULT_REVISION) => {
                Err(self.missing(format!("no `refs/main`, and several snapshots: {}", several.join(", "))))
            }
            (several, revision) => {
                Err(self.missing(format!("no `refs/{revision}`, snapshots: {}", several.join(", "))))
            }
        }
    }

    fn read_ref(&self, reference: &Path) -> Result<String, CheckpointError> {
        let bytes = match files::read_small(reference, MAX_REF_BYTES) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(CheckpointError::EmptyFile { .. } | CheckpointError::FileTooLarge { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        // The text becomes a folder's name, so it must not lead out of the cache.
        match str::from_utf8(&bytes).map(str::trim) {
            Ok(commit) if is_single_name(commit) => Ok(commit.into()),
            _ => Err(self.missing(format!("`{}` holds no commit", reference.display()))),
        }
    }

    fn missing(&self, reason: String) -> CheckpointError {
        CheckpointError::NotInCache(Box::new(NotInCache {
            repo: self.repo.into(),
            revision: self.revision.into(),
            file: self.in_repo(CONFIG_FILE),
            cache: self.root.clone(),
            reason,
            offline: self.offline,
        }))
    }
}

fn is_single_name(text: &str) -> bool {
    let mut components = Path::new(text).components();
    let single = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    single && !text.contains(['/', '\\', '\0'])
}

/// Names of the snapshots, sorted; none when the folder is not there.
fn snapshot_names(snapshots: &PathBuf) -> Result<Vec<String>, CheckpointError> {
    if !snapshots.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(snapshots).map_err(|error| files::io_error(snapshots, error))? {
        let entry = entry.map_err(|error| files::io_error(snapshots, error))?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
