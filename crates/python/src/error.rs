//! The engine's errors as Python's exceptions: the kind that Transformers raises in such a case, with the engine's text.

use dinoxide::{CheckpointError, Error, ImageError, KernelError, ModelError};
use pyo3::{
    PyErr,
    exceptions::{
        PyFileNotFoundError, PyIsADirectoryError, PyKeyboardInterrupt, PyMemoryError, PyNotADirectoryError,
        PyOSError, PyPermissionError, PyRuntimeError, PyTypeError, PyValueError,
    },
};
use std::{error::Error as _, io};

/// The exception for an error of the engine: what cannot be found or read is an `OSError` or one of its kinds, what does not fit in
/// memory a `MemoryError`, anything else that the user gave a `ValueError`.
pub(crate) fn exception(error: impl Into<Error>) -> PyErr {
    let error = error.into();
    let text = message(&error);
    match &error {
        Error::Checkpoint(error) | Error::Model(ModelError::Checkpoint(error)) => checkpoint(error, text),
        Error::Model(ModelError::TooLarge { .. }) | Error::Kernel(KernelError::Memory { .. }) => {
            PyMemoryError::new_err(text)
        }
        Error::Model(ModelError::Interrupted) => PyKeyboardInterrupt::new_err(()),
        Error::Kernel(KernelError::Threads { .. }) => PyRuntimeError::new_err(text),
        Error::Image(error) => image(error, text),
        _ => PyValueError::new_err(text),
    }
}

/// Message, causes and hint, as the command shows them.
fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}

fn checkpoint(error: &CheckpointError, text: String) -> PyErr {
    match error {
        CheckpointError::FolderNotFound { .. }
        | CheckpointError::NoConfig { .. }
        | CheckpointError::NoProcessor { .. }
        | CheckpointError::NoWeights { .. }
        | CheckpointError::MissingShard { .. } => PyFileNotFoundError::new_err(text),
        CheckpointError::NotAFolder { .. } => PyNotADirectoryError::new_err(text),
        CheckpointError::Io { source, .. } | CheckpointError::Write { source, .. } => {
            io_exception(source.kind(), text)
        }
        CheckpointError::UnknownSetting { .. } => PyTypeError::new_err(text),
        CheckpointError::InvalidModelId { .. }
        | CheckpointError::NoCacheFolder { .. }
        | CheckpointError::NotInCache(_)
        | CheckpointError::Hub(_)
        | CheckpointError::NotAFile { .. }
        | CheckpointError::EmptyFile { .. }
        | CheckpointError::FileTooLarge { .. }
        | CheckpointError::LfsPointer { .. }
        | CheckpointError::Json { .. }
        | CheckpointError::NotAnObject { .. }
        | CheckpointError::Truncated { .. }
        | CheckpointError::InvalidHeader { .. }
        | CheckpointError::UnreadablePickle { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

fn image(error: &ImageError, text: String) -> PyErr {
    match error {
        ImageError::File { error, .. } => image(error, text),
        ImageError::Io(error) => io_exception(error.kind(), text),
        ImageError::IsDirectory => PyIsADirectoryError::new_err(text),
        ImageError::NotRegularFile | ImageError::Empty => PyOSError::new_err(text),
        ImageError::UnknownFormat { .. }
        | ImageError::Unsupported { .. }
        | ImageError::Corrupt { .. }
        | ImageError::DecoderFailed { .. }
        | ImageError::Truncated { .. } => PyOSError::new_err(text), // as `PIL.UnidentifiedImageError`, an OSError
        _ => PyValueError::new_err(text),
    }
}

fn io_exception(kind: io::ErrorKind, text: String) -> PyErr {
    match kind {
        io::ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        io::ErrorKind::PermissionDenied => PyPermissionError::new_err(text),
        io::ErrorKind::IsADirectory => PyIsADirectoryError::new_err(text),
        io::ErrorKind::NotADirectory => PyNotADirectoryError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}
