//! The list of paths on stdin: one a line, or separated by NUL.
//!
//! Any bytes that the system allows in a path are taken. An entry that is longer than any path ends the reading, so that
//! stdin which is no list is no endless buffer.

use crate::error::CliError;
use std::{
    io::{BufRead, Read},
    path::PathBuf,
};

/// Longest path of a list, in bytes: far above what systems allow, so that a list which is no list ends early.
const MAX_PATH_BYTES: u64 = 65_536;

/// Reads a list; empty entries are left out. Without `null`, a carriage return before the line feed is no part of a path.
///
/// # Errors
/// [`CliError::List`].
pub(crate) fn read(mut list: impl BufRead, null: bool) -> Result<Vec<PathBuf>, CliError> {
    let wrong = |reason: String| CliError::List { reason };
    let separator = if null { 0 } else { b'\n' };
    let mut paths = Vec::new();
    loop {
        let mut entry = Vec::new();
        let mut limited = list.by_ref().take(MAX_PATH_BYTES + 1);
        let read = limited.read_until(separator, &mut entry).map_err(|error| wrong(error.to_string()))?;
        if read == 0 {
            return Ok(paths);
        }
        let ended = entry.pop_if(|byte| *byte == separator).is_some();
        if !ended && read as u64 > MAX_PATH_BYTES {
            let entry = paths.len() + 1;
            return Err(wrong(format!(
                "entry {entry} is longer than {MAX_PATH_BYTES} bytes, which is no path"
            )));
        }
        if !null {
            entry.pop_if(|byte| *byte == b'\r');
        }
        if !entry.is_empty() {
            paths.push(path(entry).ok_or_else(|| wrong(format!("entry {} is not UTF-8", paths.len() + 1)))?);
        }
    }
}

/// Any bytes are a path.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems cannot take every sequence of bytes")]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};
    Some(OsString::from_vec(bytes).into())
}

/// A path is text.
#[cfg(not(unix))]
fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_paths_and_empty_ones_are_not() {
        let paths = read(&b"a b.jpg\n\n\xd0\xba.jpg\r\nlast"[..], false).unwrap();
        assert_eq!(paths, ["a b.jpg", "к.jpg", "last"].map(PathBuf::from));
    }

    #[test]
    fn with_nul_a_line_feed_is_part_of_a_path() {
        assert_eq!(read(&b"a\nb\0c\r\0"[..], true).unwrap(), ["a\nb", "c\r"].map(PathBuf::from));
    }

    #[test]
    fn an_endless_entry_is_refused() {
        let long = vec![b'x'; 1 << 20];
        let error = read(&long[..], true).unwrap_err().to_string();
        assert!(error.contains("entry 1 is longer than 65536 bytes"), "{error}");
        assert_eq!(read(&long[..65_536], true).unwrap().len(), 1);
    }
}
