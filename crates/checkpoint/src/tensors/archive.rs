//! Any safetensors file by itself: its metadata and its tensors under the names they have there.
//!
//! For files that are no checkpoint, such as goldens. The file is mapped, and its header is checked as a checkpoint's is:
//! bounds against the file, limits before memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::TensorView;
use super::header::{self, Header};
use crate::error::CheckpointError;
use crate::files::{self, Bytes};
use crate::limits::MAX_ARCHIVE_HEADER_BYTES;

/// An opened safetensors file.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    bytes: Bytes,
    metadata: HashMap<String, String>,
    tensors: Vec<Header>,
}

impl Archive {
    /// Opens a file and checks its header; no tensor is read.
    ///
    /// # Errors
    /// No such file, no regular one, a Git LFS pointer, a file that is cut, a header that is hostile or too large.
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        // The system's own words, where the file is still missing.
        let missing = || {
            let said = std::fs::metadata(path).err();
            files::io_error(path, said.unwrap_or_else(|| std::io::ErrorKind::NotFound.into()))
        };
        let bytes = files::map(path)?.ok_or_else(missing)?;
        files::refuse_pointer(path, &bytes)?;
        let (metadata, tensors) = header::read_all(path, &bytes, MAX_ARCHIVE_HEADER_BYTES)?;
        Ok(Self { path: path.into(), bytes, metadata, tensors })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says of itself.
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    /// The tensors, in the order of their data.
    pub fn tensors(&self) -> impl Iterator<Item = TensorView<'_>> {
        self.tensors.iter().map(|tensor| self.view(tensor))
    }

    /// The tensor at a place of that order.
    pub fn tensor(&self, index: usize) -> Option<TensorView<'_>> {
        self.tensors.get(index).map(|tensor| self.view(tensor))
    }

    fn view<'a>(&'a self, tensor: &'a Header) -> TensorView<'a> {
        TensorView {
            name_in_file: &tensor.name,
            file: &self.path,
            dtype: tensor.dtype,
            shape: &tensor.shape,
            // The header was checked against the file's length when it was opened.
            bytes: &self.bytes[tensor.range.clone()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use safetensors::Dtype;

    fn open(bytes: &[u8]) -> Result<Archive, CheckpointError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.safetensors");
        std::fs::write(&path, bytes).unwrap();
        Archive::open(&path)
    }

    fn file(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 7);
        bytes
    }

    #[test]
    fn tensors_and_metadata_are_found() {
        let header = r#"{"__metadata__":{"what":"x"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let archive = open(&file(header, 8)).unwrap();
        assert_eq!(archive.metadata()["what"], "x");
        let tensors: Vec<_> = archive.tensors().collect();
        assert_eq!(
            (tensors[0].name_in_file, tensors[0].dtype, tensors[0].shape),
            ("a", Dtype::F32, &[2][..])
        );
        assert_eq!(tensors[0].bytes, [7; 8]);
        assert_eq!(archive.tensor(0).unwrap().name_in_file, "a");
        assert!(archive.tensor(1).is_none());
    }

    #[test]
    fn offsets_that_wrap_around_are_an_error() {
        let huge =
            format!(r#"{{"a":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}}}}"#, usize::MAX - 8);
        assert!(open(&file(&huge, 8)).is_err());
    }

    #[test]
    fn a_header_may_name_many_pictures_but_not_more_than_the_format_lets() {
        let paths = "x".repeat(5 << 20);
        let header = format!(r#"{{"__metadata__":{{"paths":"{paths}"}}}}"#);
        assert_eq!(open(&file(&header, 0)).unwrap().metadata()["paths"].len(), paths.len());
        let error = open(&100_000_001_u64.to_le_bytes()).unwrap_err().to_string();
        assert!(error.ends_with("a header of 100000001 bytes, more than the limit of 100000000"), "{error}");
    }

    #[test]
    fn what_is_no_such_file_is_an_error() {
        assert!(Archive::open(Path::new("/no/such/file")).is_err());
        assert!(open(b"").is_err());
        assert!(open(b"\xff\xd8\xff\xe0 a picture, say").is_err());
    }
}
