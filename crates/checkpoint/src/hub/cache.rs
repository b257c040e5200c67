//! Looking a repo up in the hub's cache.
//!
//! `refs/<revision>` gives the commit; a revision that is itself a commit names its snapshot directly; and a cache
//! that was filled by commit hash has no `refs/main`, where a single snapshot can only be the one that is meant.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{DEFAULT_REVISION, Located};
use crate::error::{CheckpointError, NotInCache};
use crate::files;

/// How the folder of a model repo begins.
pub(super) const REPO_PREFIX: &str = "models--";
/// What stands for the `/` of a repo id.
pub(super) const REPO_SEPARATOR: &str = "--";
/// The folder of commits and their files.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// The folder of branches and tags.
const REFS: &str = "refs";
/// Bytes of a file below `refs/`: a commit hash has 40.
const MAX_REF_BYTES: u64 = 256;
/// What every model's snapshot has.
const CONFIG_FILE: &str = "config.json";
/// Files that make a snapshot worth opening: a model's, or a processor's alone.
const ANCHOR_FILES: [&str; 3] = [CONFIG_FILE, "preprocessor_config.json", "processor_config.json"];

/// One question to the cache.
pub(super) struct Lookup<'a> {
    pub(super) root: &'a Path,
    pub(super) repo: &'a str,
    pub(super) revision: &'a str,
    pub(super) offline: bool,
}

impl Lookup<'_> {
    /// The snapshot's folder.
    pub(super) fn find(&self) -> Result<Located, CheckpointError> {
        let folder = self.root.join(format!("{REPO_PREFIX}{}", self.repo.replace('/', REPO_SEPARATOR)));
        if !folder.is_dir() {
            return Err(self.missing(format!("no folder `{}`", folder.display())));
        }
        let commit = self.commit(&folder)?;
        let dir = folder.join(SNAPSHOTS).join(&commit);
        if !dir.is_dir() {
            return Err(self.missing(format!("no snapshot `{commit}`")));
        }
        // `is_file` follows links: one whose blob is gone counts as missing.
        if !ANCHOR_FILES.iter().any(|name| dir.join(name).is_file()) {
            return Err(self.missing(format!("the snapshot `{commit}` does not have it")));
        }
        Ok(Located { dir, repo: Some(self.repo.into()), commit: Some(commit) })
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
            file: CONFIG_FILE,
            cache: self.root.into(),
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
