//! Files as they come from users and networks: absent, empty, cut, too large, or a Git LFS pointer.
//!
//! Small files are read with a limit; weights are mapped, so that opening a checkpoint costs no copy and its pages are
//! shared between processes. A file mapped here must not be shortened while it is in use: writers of this project
//! and of the hub's cache write beside the place and rename.

use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::ops::{Deref, Range};
use std::path::Path;

use memmap2::Mmap;
#[cfg(unix)]
use memmap2::UncheckedAdvice;

use crate::error::CheckpointError;

/// How a Git LFS pointer begins.
const LFS_MAGIC: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The bytes of a weights file.
pub(crate) enum Bytes {
    /// A mapped file.
    Mapped(Mmap),
    /// Bytes in memory, or in the binary itself.
    Held(Cow<'static, [u8]>),
}

impl fmt::Debug for Bytes {
    /// How many; not the bytes themselves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

impl Bytes {
    /// Gives the pages of a mapped file's range back to the system, which reads them again when they are looked at again.
    #[cfg(unix)]
    #[allow(unsafe_code)]
    pub(crate) fn release(&self, range: Range<usize>) {
        let Self::Mapped(map) = self else { return };
        // SAFETY: the map is shared and read-only, so none of its pages differs from the file's: what is read from a page that
        // was given back is what was read from it before. It is advice, and a failure changes nothing.
        let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
    }

    /// Nothing can be given back here.
    #[cfg(not(unix))]
    pub(crate) fn release(&self, _range: Range<usize>) {}
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(bytes) => bytes,
        }
    }
}

/// The error of a failed system call on `path`.
pub(crate) fn io_error(path: &Path, source: io::Error) -> CheckpointError {
    CheckpointError::Io { path: path.into(), source: source.into() }
}

/// What is at `path`, if anything is; a link to nowhere counts as nothing.
pub(crate) fn metadata(path: &Path) -> Result<Option<Metadata>, CheckpointError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(io_error(path, error)),
    }
}

/// The size of the regular, non-empty file at `path`, if anything is there.
fn file_size(path: &Path) -> Result<Option<u64>, CheckpointError> {
    match metadata(path)? {
        None => Ok(None),
        // A pipe would block the reader, a device has no end.
        Some(metadata) if !metadata.is_file() => Err(CheckpointError::NotAFile { path: path.into() }),
        Some(metadata) if metadata.len() == 0 => Err(CheckpointError::EmptyFile { path: path.into() }),
        Some(metadata) => Ok(Some(metadata.len())),
    }
}

/// The whole of a small file, or `None` when there is none.
pub(crate) fn read_small(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
    let Some(size) = file_size(path)? else { return Ok(None) };
    if size > limit {
        return Err(CheckpointError::FileTooLarge { path: path.into(), size, limit });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| io_error(path, error))?;
    // The limit again, for a file that grew meanwhile.
    file.take(limit).read_to_end(&mut bytes).map_err(|error| io_error(path, error))?;
    Ok(Some(bytes))
}

/// Maps a weights file, or gives `None` when there is none.
pub(crate) fn map(path: &Path) -> Result<Option<Bytes>, CheckpointError> {
    if file_size(path)?.is_none() {
        return Ok(None);
    }
    let file = File::open(path).map_err(|error| io_error(path, error))?;
    let map = map_file(&file).map_err(|error| io_error(path, error))?;
    refuse_pointer(path, &map)?;
    Ok(Some(Bytes::Mapped(map)))
}

#[allow(unsafe_code)]
fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and lives no longer than the `Bytes` that own it. The file must not be changed or
    // shortened by others meanwhile; the module's first lines state this for users, and writers replace by renaming.
    unsafe { Mmap::map(file) }
}

/// Refuses the text that Git leaves in place of a file it did not fetch.
pub(crate) fn refuse_pointer(path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
    match bytes.starts_with(LFS_MAGIC) {
        true => Err(CheckpointError::LfsPointer { path: path.into() }),
        false => Ok(()),
    }
}
