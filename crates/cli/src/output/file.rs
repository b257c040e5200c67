//! A file that is either whole or not there: written under another name in the same folder, then renamed.
//!
//! Two files that belong together come both or neither: what was there before of the first is set aside until the second is
//! in its place, and an interrupt waits. Only a machine that stops between the two renames leaves them apart.

use crate::{cleanup::Cleanup, error::CliError};
use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A file in the making. Dropped, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct OutputFile {
    temporary: NamedTempFile,
    target: PathBuf,
    cleanup: Cleanup,
}

impl OutputFile {
    /// Starts a file that will be `target`. A link keeps pointing where it does: what it points to is replaced.
    ///
    /// # Errors
    /// A folder that is not there or cannot be written to; a target that is a folder, a pipe or a device.
    pub(crate) fn create(target: &Path, cleanup: &Cleanup) -> Result<Self, CliError> {
        let failed = |source| CliError::Write { path: target.to_owned(), source };
        let real = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        match fs::metadata(&real) {
            Ok(metadata) if metadata.is_dir() => return Err(failed(io::ErrorKind::IsADirectory.into())),
            // To be renamed over would be the end of a device.
            Ok(metadata) if !metadata.is_file() => {
                return Err(failed(io::Error::other("is a pipe or a device")));
            }
            _ => {}
        }
        let folder = match real.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::metadata(folder).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".dinoxide-").suffix(".unfinished");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file: for all to read and write, less what the user's umask takes away.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = cleanup.create(|| builder.tempfile_in(folder), NamedTempFile::path);
        let temporary = temporary.map_err(|error| failed(system_error(&error)))?;
        Ok(Self { temporary, target: real, cleanup: cleanup.clone() })
    }

    /// The file's name when it is finished.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// The file under its other name, for formats that go back to its start.
    pub(crate) fn as_file_mut(&mut self) -> &mut fs::File {
        self.temporary.as_file_mut()
    }

    /// Puts the file in its place, replacing what was there.
    ///
    /// # Errors
    /// What the system says; what was there before is then still there.
    pub(crate) fn commit(self) -> Result<(), CliError> {
        self.sync()?;
        let (cleanup, path) = (self.cleanup.clone(), self.temporary.path().to_owned());
        self.place()?;
        cleanup.forget(&path);
        Ok(())
    }

    /// Puts this file and then `last` in their places.
    ///
    /// # Errors
    /// What the system says; what was there before of both is then still there.
    pub(crate) fn commit_with(self, last: Self) -> Result<(), CliError> {
        self.sync()?;
        last.sync()?;
        let cleanup = self.cleanup.clone();
        let paths = [&self, &last].map(|file| file.temporary.path().to_owned());
        cleanup.uninterrupted(|| {
            let target = self.target.clone();
            let before = self.set_aside()?;
            let placed = self.place().and_then(|()| last.place());
            if placed.is_err() {
                // What went wrong is told; of putting things back, nothing more can be said.
                let _ = match before {
                    Some(before) => before.persist(&target).map(drop).map_err(|error| error.error),
                    None => fs::remove_file(&target),
                };
            }
            placed
        })?;
        for path in paths {
            cleanup.forget(&path);
        }
        Ok(())
    }

    /// Moves what is at the target to another name, under which it goes when dropped.
    fn set_aside(&self) -> Result<Option<NamedTempFile>, CliError> {
        if !self.target.exists() {
            return Ok(None);
        }
        let folder = self.temporary.path().parent().unwrap_or(Path::new("."));
        let aside = tempfile::Builder::new().prefix(".dinoxide-").suffix(".old").tempfile_in(folder);
        let aside = aside.map_err(|error| self.failed(system_error(&error)))?;
        fs::rename(&self.target, aside.path()).map_err(|source| self.failed(source))?;
        Ok(Some(aside))
    }

    /// All bytes are on the disk: what can go wrong has gone wrong before a file is replaced.
    fn sync(&self) -> Result<(), CliError> {
        self.temporary.as_file().sync_all().map_err(|source| self.failed(source))
    }

    fn place(self) -> Result<(), CliError> {
        let Self { temporary, target, .. } = self;
        match temporary.persist(&target) {
            Ok(_) => Ok(()),
            Err(error) => Err(CliError::Write { path: target, source: error.error }),
        }
    }

    fn failed(&self, source: io::Error) -> CliError {
        CliError::Write { path: self.target.clone(), source }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

/// Checks that a name ends as its one format does; `extension` has the dot.
///
/// # Errors
/// [`CliError::OutputFormat`].
pub(crate) fn check_extension(target: &Path, extension: &'static str) -> Result<(), CliError> {
    let named = target.extension().and_then(OsStr::to_str).unwrap_or_default();
    if extension.strip_prefix('.').is_some_and(|extension| named.eq_ignore_ascii_case(extension)) {
        return Ok(());
    }
    Err(CliError::OutputFormat { path: target.to_owned(), formats: vec![extension] })
}

/// What the system said, without the name of the temporary file, which means nothing to the user.
pub(super) fn system_error(error: &io::Error) -> io::Error {
    match (error.raw_os_error(), error.kind()) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        // As the system says it.
        (None, kind @ io::ErrorKind::NotFound) => io::Error::new(kind, "No such file or directory"),
        (None, kind) => kind.into(),
    }
}

/// Writes floats as little-endian bytes.
pub(crate) fn write_floats(file: &mut impl Write, values: &[f32]) -> io::Result<()> {
    const CHUNK: usize = 4096;
    let mut bytes = [0; CHUNK * size_of::<f32>()];
    for chunk in values.chunks(CHUNK) {
        for (bytes, value) in bytes.chunks_exact_mut(4).zip(chunk) {
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        file.write_all(&bytes[..size_of_val(chunk)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(dir: &Path) -> Vec<String> {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out.bin");
        let mut file = OutputFile::create(&target, &Cleanup::default()).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!target.exists());
        drop(file);
        assert!(listing(dir.path()).is_empty());
        let mut file = OutputFile::create(&target, &Cleanup::default()).unwrap();
        file.write_all(b"whole").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"whole");
        assert_eq!(listing(dir.path()), ["out.bin"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through_and_the_file_is_as_readable_as_any() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (real, link, plain) =
            (dir.path().join("real"), dir.path().join("link"), dir.path().join("plain"));
        fs::write(&real, b"old").unwrap();
        fs::write(&plain, b"").unwrap();
        symlink(&real, &link).unwrap();
        let mut file = OutputFile::create(&link, &Cleanup::default()).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&real), mode(&plain));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("x.jsonl");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let error = OutputFile::create(&link, &Cleanup::default()).unwrap_err();
        assert!(
            matches!(&error, CliError::Write { source, .. } if source.to_string() == "is a pipe or a device")
        );
    }

    /// Starts two files, of which the second cannot be put in its place: a folder has come there meanwhile.
    fn two_of_which_the_second_fails(dir: &Path) -> Result<(), CliError> {
        let [first, last] = ["first", "last"].map(|name| {
            let mut file = OutputFile::create(&dir.join(name), &Cleanup::default()).unwrap();
            file.write_all(b"new").unwrap();
            file
        });
        fs::create_dir(dir.join("last")).unwrap();
        first.commit_with(last)
    }

    #[test]
    fn two_files_come_both_or_neither() {
        let dir = tempfile::tempdir().unwrap();
        assert!(two_of_which_the_second_fails(dir.path()).is_err());
        assert_eq!(listing(dir.path()), ["last"]);
        fs::remove_dir(dir.path().join("last")).unwrap();
        fs::write(dir.path().join("first"), b"old").unwrap();
        assert!(two_of_which_the_second_fails(dir.path()).is_err());
        assert_eq!(fs::read(dir.path().join("first")).unwrap(), b"old");
        assert_eq!(listing(dir.path()).len(), 2);
        fs::remove_dir(dir.path().join("last")).unwrap();
        let [first, last] = ["first", "last"]
            .map(|name| OutputFile::create(&dir.path().join(name), &Cleanup::default()).unwrap());
        first.commit_with(last).unwrap();
        assert_eq!(fs::read(dir.path().join("first")).unwrap(), b"");
        assert_eq!(listing(dir.path()).len(), 2);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = OutputFile::create(Path::new("/no/such/folder/x.npy"), &Cleanup::default()).unwrap_err();
        assert_eq!(error.to_string(), "/no/such/folder/x.npy: cannot be written");
    }

    #[test]
    fn floats_are_little_endian() {
        let mut bytes = Vec::new();
        let values: Vec<f32> = (0_u16..5000).map(f32::from).collect();
        write_floats(&mut bytes, &values).unwrap();
        assert_eq!(bytes.len(), 20_000);
        assert_eq!(bytes[4..8], [0, 0, 0x80, 0x3f]);
        assert_eq!(bytes[19_996..], 4999_f32.to_le_bytes());
    }
}
