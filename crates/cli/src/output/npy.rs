//! NumPy's `.npy`, version 1.0: `float32 [N, D]`, C order; the paths go beside it as a JSON list, `NAME.paths.json`, since the
//! format has no place for them.
//!
//! Layout: `\x93NUMPY`, version, u16 header length, a Python dict padded with spaces, data. N is known at the end only,
//! so the header has a fixed length of 128 bytes and is written again then.
//! Source: `numpy/lib/format.py`.

use super::{OutputFile, VectorWriter, file::write_floats};
use crate::{cleanup::Cleanup, error::CliError};
use std::{
    io::{self, BufWriter, Seek, Write},
    path::{Path, PathBuf},
};

/// Length of everything before the data; a multiple of 64, as the format wants it.
const HEADER_BYTES: usize = 128;

/// Magic, version 1.0, and the length of the dict (little-endian) that fills the header.
const PREAMBLE: [u8; 10] = [0x93, b'N', b'U', b'M', b'P', b'Y', 1, 0, (HEADER_BYTES - 10) as u8, 0];

/// Writes vectors as rows of one array, and their paths.
#[derive(Debug)]
pub(super) struct Npy {
    array: BufWriter<OutputFile>,
    paths: BufWriter<OutputFile>,
    rows: usize,
    dim: usize,
}

impl Npy {
    pub(super) fn new(array: OutputFile, cleanup: &Cleanup) -> Result<Self, CliError> {
        let paths = OutputFile::create(&paths_beside(array.target()), cleanup)?;
        let mut npy = Self { array: BufWriter::new(array), paths: BufWriter::new(paths), rows: 0, dim: 0 };
        npy.array.write_all(&header(0, 0)).map_err(|source| npy.failed(source))?;
        Ok(npy)
    }

    fn failed(&self, source: io::Error) -> CliError {
        CliError::Write { path: self.array.get_ref().target().to_owned(), source }
    }

    fn write_row(&mut self, path: &str, vector: &[f32]) -> io::Result<()> {
        let before: &[u8] = if self.rows == 0 { b"[\n" } else { b",\n" };
        self.paths.write_all(before)?;
        self.paths.write_all(&serde_json::to_vec(path)?)?;
        write_floats(&mut self.array, vector)
    }

    fn complete(&mut self) -> io::Result<()> {
        self.paths.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?;
        self.paths.flush()?;
        self.array.flush()?;
        let file = self.array.get_mut().as_file_mut();
        file.rewind()?;
        file.write_all(&header(self.rows, self.dim))
    }
}

impl VectorWriter for Npy {
    fn write(&mut self, path: &str, vector: &[f32]) -> Result<(), CliError> {
        self.write_row(path, vector).map_err(|source| self.failed(source))?;
        self.rows += 1;
        self.dim = vector.len();
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), CliError> {
        self.complete().map_err(|source| self.failed(source))?;
        let (array, _) = self.array.into_parts();
        let (paths, _) = self.paths.into_parts();
        // The array last: where it is, its paths are.
        paths.commit_with(array)
    }
}

/// `vectors.npy` → `vectors.paths.json`.
pub(super) fn paths_beside(array: &Path) -> PathBuf {
    array.with_extension("paths.json")
}

fn header(rows: usize, dim: usize) -> Vec<u8> {
    let dict = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
    let mut header = PREAMBLE.to_vec();
    header.extend(dict.bytes());
    // Two numbers of 20 digits leave room to spare.
    header.resize(HEADER_BYTES - 1, b' ');
    header.push(b'\n');
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_one_length_for_any_shape() {
        assert_eq!(header(0, 0).len(), HEADER_BYTES);
        assert_eq!(header(usize::MAX, usize::MAX).len(), HEADER_BYTES);
        assert!(
            String::from_utf8_lossy(&header(usize::MAX, usize::MAX)).contains("18446744073709551615), }")
        );
    }

    #[test]
    fn paths_stand_beside_the_array() {
        assert_eq!(paths_beside(Path::new("a/b.c.npy")), Path::new("a/b.c.paths.json"));
    }
}
