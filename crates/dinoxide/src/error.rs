//! The errors of the public API: what went wrong, with what, whose fault it is, and what to do about it.

use dinoxide_checkpoint::CheckpointError;
use dinoxide_image::ImageError;
use dinoxide_kernels::KernelError;
use dinoxide_model::ModelError;
use std::path::PathBuf;

/// Errors of this crate. The message says what and where; [`Error::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
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
            _ => None,
        }
    }

    /// Whether the user's input is at fault, rather than the program or the machine.
    #[must_use]
    pub fn is_users_fault(&self) -> bool {
        !matches!(self, Self::Kernel(KernelError::Threads { .. } | KernelError::Memory { .. }))
    }
}
