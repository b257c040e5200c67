//! A folder that is either whole or not there: written under another name beside its place, then renamed.

use super::file::system_error;
use crate::{cleanup::Cleanup, error::CliError};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A folder in the making. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    temporary: TempDir,
    target: PathBuf,
    cleanup: Cleanup,
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
        match fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
            Ok(false) => return Err(exists()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(exists()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".dinoxide-").suffix(".unfinished");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new folder: for all, less what the user's umask takes away.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        let temporary = cleanup.create(|| builder.tempdir_in(parent), TempDir::path).map_err(failed)?;
        Ok(Self { temporary, target: target.to_owned(), cleanup: cleanup.clone() })
    }

    /// Where to write meanwhile.
    pub(crate) fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the folder in its place.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        let Self { temporary, target, cleanup } = self;
        let path = temporary.path().to_owned();
        // One that came there meanwhile and holds something is not lost: it cannot be renamed over.
        let _ = fs::remove_dir(&target);
        fs::rename(&path, &target).map_err(|source| CliError::Write { path: target, source })?;
        let _ = temporary.keep(); // It is no more under that name.
        cleanup.forget(&path);
        Ok(())
    }
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
