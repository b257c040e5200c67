//! The formats that hold one vector a picture.
//!
//! The extension of the file's name chooses. Each format takes vectors in order, keeps no more in memory than it must, and puts
//! its file in its place at the end.

use super::{OutputFile, Planned, jsonl::LineWriter, npy::Npy, parquet::Parquet, tensors::TensorWriter};
use crate::{cleanup::Cleanup, error::CliError};
use std::{ffi::OsStr, path::Path};

/// Takes vectors in order; the file appears when it is finished.
pub(crate) trait VectorWriter {
    /// Adds a picture's vector; all have the same length.
    fn write(&mut self, path: &str, vector: &[f32]) -> Result<(), CliError>;

    /// Completes the file and puts it in its place.
    fn finish(self: Box<Self>) -> Result<(), CliError>;
}

/// A format, told by a file's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorFormat {
    /// `{"path", "embedding"}` a line.
    JsonLines,
    /// `float32 [N, D]`, and `NAME.paths.json`.
    Npy,
    /// Tensor `embeddings` [N, D]; metadata `paths`.
    Safetensors,
    /// Columns `path` and `embedding`.
    Parquet,
}

impl VectorFormat {
    /// The extensions, in the order in which they are named to users.
    const EXTENSIONS: [(&str, Self); 4] = [
        (".jsonl", Self::JsonLines),
        (".npy", Self::Npy),
        (".safetensors", Self::Safetensors),
        (".parquet", Self::Parquet),
    ];

    /// The format of a file of that name.
    ///
    /// # Errors
    /// [`CliError::OutputFormat`].
    pub(crate) fn of(path: &Path) -> Result<Self, CliError> {
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
        let found = Self::EXTENSIONS.iter().find(|(known, _)| known[1..].eq_ignore_ascii_case(extension));
        let formats = Self::EXTENSIONS.iter().map(|(known, _)| *known).collect();
        found
            .map(|(_, format)| *format)
            .ok_or_else(|| CliError::OutputFormat { path: path.to_owned(), formats })
    }

    /// Starts a file of this format.
    ///
    /// # Errors
    /// A place that cannot be written to.
    pub(crate) fn create(
        self,
        target: &Path,
        about: About,
        cleanup: &Cleanup,
    ) -> Result<Box<dyn VectorWriter>, CliError> {
        let file = OutputFile::create(target, cleanup)?;
        Ok(match self {
            Self::JsonLines => Box::new(LineWriter::new(file)),
            Self::Npy => Box::new(Npy::new(file, cleanup)?),
            Self::Safetensors => {
                Box::new(VectorTensor { file: TensorWriter::new(file, about.planned)?, model: about.model })
            }
            Self::Parquet => Box::new(Parquet::new(file)?),
        })
    }
}

/// What is known of the vectors before the first one.
#[derive(Debug, Clone)]
pub(crate) struct About {
    /// The model, as the user named it.
    pub(crate) model: String,
    /// How many, and their paths.
    pub(crate) planned: Planned,
}

/// Vectors as one tensor.
#[derive(Debug)]
struct VectorTensor {
    file: TensorWriter,
    model: String,
}

impl VectorWriter for VectorTensor {
    fn write(&mut self, path: &str, vector: &[f32]) -> Result<(), CliError> {
        self.file.picture(path);
        self.file.push("embeddings", &[vector.len()], vector)
    }

    fn finish(self: Box<Self>) -> Result<(), CliError> {
        self.file.finish(&[("model", self.model)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_format() {
        assert_eq!(VectorFormat::of(Path::new("a.NPY")).unwrap(), VectorFormat::Npy);
        let error = VectorFormat::of(Path::new("a.csv")).unwrap_err();
        assert_eq!(error.hint().unwrap(), "use one of .jsonl, .npy, .safetensors, .parquet");
        assert!(VectorFormat::of(Path::new("npy")).is_err());
    }
}
