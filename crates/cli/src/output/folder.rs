//! A folder that is either whole or not there: written under another name beside its place, then renamed.
//!
//! An empty folder that is there stays the folder that it is, as it may be a mount, a link's target, or where somebody works: what
//! is written begins in a folder within, and is moved up in the end, the config last, without which nothing opens. What a killed
//! process left in either place is removed first (`leftover.rs`).

use super::{file::system_error, leftover};
use crate::{cleanup::Cleanup, error::CliError};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// The file that is moved last.
const CONFIG_FILE: &str = "config.json";

/// How the name of a folder in the making begins.
pub(super) const PREFIX: &str = ".dinoxide-";

/// How it ends.
pub(super) const SUFFIX: &str = ".unfinished";

/// How often a folder is made again that another process took for a leftover, in the moment before it was locked.
const ATTEMPTS: usize = 10;

/// A folder in the making. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    temporary: TempDir,
    target: PathBuf,
    /// Whether the target is there, and `temporary` within it.
    within: bool,
    cleanup: Cleanup,
    /// Held, so that no other process takes it for a leftover.
    _lock: Option<File>,
}

impl OutputFolder {
    /// Starts a folder that will be `target`, which must not be there, or be an empty folder.
    ///
    /// # Errors
    /// [`CliError::OutputExists`]; a place that is not there or cannot be written to.
    pub(crate) fn create(target: &Path, cleanup: &Cleanup) -> Result<Self, CliError> {
        let failed =
            |error: io::Error| CliError::Write { path: target.to_owned(), source: system_error(&error) };
        let exists = || CliError::OutputExists { path: target.to_owned() };
        let beside = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        [target, beside].into_iter().for_each(leftover::remove);
        let within = match fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
            Ok(true) => true,
            Ok(false) => return Err(exists()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(exists()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            // A link to nothing cannot be renamed over.
            Err(_) if target.is_symlink() => return Err(exists()),
            Err(_) => false,
        };
        let (temporary, lock) = temporary(if within { target } else { beside }, cleanup).map_err(failed)?;
        Ok(Self { temporary, target: target.to_owned(), within, cleanup: cleanup.clone(), _lock: lock })
    }

    /// Where to write meanwhile.
    pub(crate) fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the folder in its place.
    ///
    /// # Errors
    /// What the system says; something that came there meanwhile.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        let Self { temporary, target, within, cleanup, _lock } = self;
        let path = temporary.path().to_owned();
        let failed = |source| CliError::Write { path: target.clone(), source };
        if within {
            let others =
                fs::read_dir(&target).map_err(failed)?.flatten().filter(|entry| entry.path() != path);
            if others.count() > 0 {
                return Err(CliError::OutputExists { path: target.clone() });
            }
            cleanup.uninterrupted(|| move_up(&path, &target)).map_err(failed)?;
            let _ = temporary.close(); // It is empty.
        } else {
            // One that came there meanwhile and holds something is not lost: it cannot be renamed over.
            let _ = fs::remove_dir(&target);
            fs::rename(&path, &target).map_err(failed)?;
            let _ = temporary.keep(); // It is no more under that name.
        }
        cleanup.forget(&path);
        Ok(())
    }
}

/// A new folder in `parent`, and the lock on it.
fn temporary(parent: &Path, cleanup: &Cleanup) -> io::Result<(TempDir, Option<File>)> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new folder: for all, less what the user's umask takes away.
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    for _ in 0..ATTEMPTS {
        let folder = cleanup.create(|| builder.tempdir_in(parent), TempDir::path)?;
        match leftover::hold(folder.path()) {
            Ok(lock) => return Ok((folder, lock)),
            Err(_) => cleanup.forget(folder.path()),
        }
    }
    Err(io::Error::other("a new folder is gone again and again"))
}

/// Moves what is in a folder into the one above, the config last.
fn move_up(from: &Path, to: &Path) -> io::Result<()> {
    let mut names = fs::read_dir(from)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_by_key(|name| name == CONFIG_FILE);
    names.iter().try_for_each(|name| fs::rename(from.join(name), to.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        let folder = OutputFolder::create(&target, &Cleanup::default()).unwrap();
        fs::write(folder.path().join("a"), b"half").unwrap();
        assert!(!target.exists());
        drop(folder);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::create_dir(&target).unwrap(); // Empty: it may be taken.
        let folder = OutputFolder::create(&target, &Cleanup::default()).unwrap();
        fs::write(folder.path().join("a"), b"whole").unwrap();
        folder.commit().unwrap();
        assert_eq!(fs::read(target.join("a")).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let new = dir.path().join("new");
        let folder = OutputFolder::create(&new, &Cleanup::default()).unwrap();
        fs::write(folder.path().join("a"), b"whole").unwrap();
        folder.commit().unwrap();
        assert_eq!(
            (fs::read(new.join("a")).unwrap(), names(dir.path())),
            (b"whole".to_vec(), vec!["new".to_owned(), "out".to_owned()])
        );
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A mount cannot be renamed over, nor can a link, nor `.`.
    #[cfg(unix)]
    #[test]
    fn an_empty_folder_stays_the_one_that_it_is() {
        use std::os::unix::fs::{MetadataExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("out"), dir.path().join("link"));
        fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        let before = fs::metadata(&target).unwrap().ino();
        let folder = OutputFolder::create(&link, &Cleanup::default()).unwrap();
        for name in ["config.json", "model.safetensors"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(names(&target).len(), 1);
        folder.commit().unwrap();
        assert_eq!(names(&target), ["config.json", "model.safetensors"]);
        assert_eq!(fs::metadata(&target).unwrap().ino(), before);
        assert!(link.is_symlink());
        // What comes there meanwhile is not lost; what leads nowhere is told before the work.
        let (busy, nowhere) = (dir.path().join("busy"), dir.path().join("nowhere"));
        fs::create_dir(&busy).unwrap();
        let folder = OutputFolder::create(&busy, &Cleanup::default()).unwrap();
        fs::write(folder.path().join("a"), b"ours").unwrap();
        fs::write(busy.join("a"), b"theirs").unwrap();
        assert!(matches!(folder.commit().unwrap_err(), CliError::OutputExists { .. }));
        assert_eq!(
            (names(&busy), fs::read(busy.join("a")).unwrap()),
            (vec!["a".to_owned()], b"theirs".to_vec())
        );
        symlink(dir.path().join("gone"), &nowhere).unwrap();
        let error = OutputFolder::create(&nowhere, &Cleanup::default()).unwrap_err();
        assert!(matches!(error, CliError::OutputExists { .. }), "{error}");
    }

    #[test]
    fn what_is_there_is_not_lost() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, b"x").unwrap();
        for target in [dir.path(), &file] {
            let error = OutputFolder::create(target, &Cleanup::default()).unwrap_err();
            assert!(matches!(error, CliError::OutputExists { .. }), "{error}");
        }
        let error = OutputFolder::create(&dir.path().join("no/such"), &Cleanup::default()).unwrap_err();
        assert!(error.to_string().ends_with("no/such: cannot be written"), "{error}");
    }
}
