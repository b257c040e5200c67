//! The errors of the public API: what went wrong, with what, whose fault it is, and what to do about it.

use dinoxide_checkpoint::CheckpointError;
use dinoxide_image::ImageError;
use dinoxide_kernels::KernelError;
use dinoxide_model::ModelError;
use std::{error::Error as _, fmt, path::PathBuf};

/// Why a checkpoint could not be opened, a picture not read, or a model not built or run.
///
/// The message says what and where; [`Error::hint`] says what to do. `{:?}`, which is how a `main` that returns an error shows it,
/// gives message, causes and hint, a line each, and where a setting of this library helps, its name.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The checkpoint cannot be found or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The model cannot be built, or cannot take these inputs.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A picture cannot be read or processed.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The instruction set level or the number of threads cannot be had.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A checkpoint of another family than the class that was asked for.
    #[error("a {got} checkpoint, expected {expected}")]
    WrongFamily {
        /// `model_type` of the class.
        expected: &'static str,
        /// `model_type` of the checkpoint.
        got: &'static str,
    },
    /// A checkpoint whose weights are in codes already, which would be quantised from what they stand for.
    #[error("`{}` is quantised already", path.display())]
    AlreadyQuantized {
        /// Its weights.
        path: PathBuf,
    },
    /// A processor of another kind than the class that was asked for.
    #[error("a {got}, expected a {expected}")]
    WrongProcessor {
        /// `image_processor_type` of the class.
        expected: &'static str,
        /// `image_processor_type` of the checkpoint.
        got: &'static str,
    },
    /// Pictures that came out of the processor with different sizes, where they are to be one batch.
    #[error("picture {index} is {}x{} pixels once processed, the first one {}x{}", got.0, got.1, expected.0, expected.1)]
    MixedSizes {
        /// Its place among the pictures.
        index: usize,
        /// Height and width of the first picture.
        expected: (usize, usize),
        /// Its height and width.
        got: (usize, usize),
    },
    /// A [`crate::Runner`] made more or fewer items of a batch than went in.
    #[error("a batch of {expected} pictures gave {got} items")]
    ItemsOfBatch {
        /// Pictures that went in.
        expected: usize,
        /// Items that came out.
        got: usize,
    },
    /// A processor option that cannot be carried out.
    #[error("processor option `{option}`: {reason}")]
    ProcessorOption {
        /// Its name in `preprocessor_config.json`, or of the override.
        option: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Pixels that are no multiple of the patch, where that is asked for.
    #[error("{height}x{width} pixels are no multiple of the patch, {}x{}", patch.0, patch.1)]
    PatchFit {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
        /// (height, width) of a patch.
        patch: (usize, usize),
    },
    /// A golden is not what [`crate::verify`] takes.
    #[error("{}: {reason}", path.display())]
    Golden {
        /// The golden.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A golden names a tensor that the model does not give.
    #[error("{}: names tensor `{tensor}`, the model gives {given}", path.display())]
    GoldenTensor {
        /// The golden.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// What the model gives.
        given: String,
    },
}

impl Error {
    /// What the user can do about it, when there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Checkpoint(error) => error.hint(),
            Self::Model(ModelError::Checkpoint(error)) => error.hint(),
            Self::WrongFamily { .. } => {
                Some("`AutoModel` and the other `Auto` classes take any family".into())
            }
            Self::AlreadyQuantized { .. } => Some("take the checkpoint that it was made of".into()),
            Self::WrongProcessor { .. } => Some("`AutoImageProcessor` takes either kind".into()),
            Self::MixedSizes { .. } => {
                Some("crop or resize to one size, or let `Embedder` or `run_files` group them by size".into())
            }
            _ => None,
        }
    }

    /// What only a caller of the library can do, beside the hint that also a program's users are shown.
    fn library_hint(&self) -> &'static str {
        match self {
            Self::Checkpoint(CheckpointError::NoClassifier { .. }) => {
                ", or start a fresh one with `LoadOptions::fresh_classifier`"
            }
            _ => "",
        }
    }

    /// Whether the user's input is at fault, rather than the program or the machine.
    #[must_use]
    pub fn is_users_fault(&self) -> bool {
        !matches!(self, Self::Kernel(KernelError::Threads { .. } | KernelError::Memory { .. }))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "\n  caused by: {error}")?;
            cause = error.source();
        }
        self.hint().map_or(Ok(()), |hint| write!(f, "\n  hint: {hint}{}", self.library_hint()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn the_debug_form_is_message_causes_and_hint_a_line_each() {
        let source = io::Error::new(io::ErrorKind::PermissionDenied, "not yours").into();
        let error = Error::from(CheckpointError::Io { path: "config.json".into(), source });
        let lines: Vec<_> = format!("{error:?}").lines().map(str::to_owned).collect();
        assert_eq!(lines[0], error.to_string());
        assert_eq!(lines[1], "  caused by: not yours");
        let error = Error::WrongProcessor { expected: "BitImageProcessor", got: "DINOv3ViTImageProcessor" };
        let told = "a DINOv3ViTImageProcessor, expected a BitImageProcessor\n  hint: `AutoImageProcessor` takes either kind";
        assert_eq!(format!("{error:?}"), told);
    }
}
