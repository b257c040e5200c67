//! A file that is either whole or not there: written under another name in the same folder, then renamed.

use crate::{cleanup::Cleanup, error::CliError};
use std::{
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
    /// A folder that is not there or cannot be written to; a target that is a folder.
    pub(crate) fn create(target: &Path, cleanup: &Cleanup) -> Result<Self, CliError> {
        let failed = |source| CliError::Write { path: target.to_owned(), source };
        let real = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        if real.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
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
        let Self { temporary, target, cleanup } = self;
        let finish = || {
            temporary.as_file().sync_all()?;
            let path = temporary.path().to_owned();
            temporary.persist(&target).map_err(|error| error.error)?;
            cleanup.forget(&path);
            Ok(())
        };
        finish().map_err(|source| CliError::Write { path: target.clone(), source })
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

/// What the system said, without the name of the temporary file, which means nothing to the user.
pub(super) fn system_error(error: &io::Error) -> io::Error {
    error.kind().into()
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
