//! What can go wrong in the command itself; the errors of the library pass through.
//!
//! An error is one line that names the file, tensor or option; its hint says what to do, in this command's options; its exit
//! code says whose fault it is.

use crate::exit::Exit;
use dinoxide::{BUILTIN_TINY, CheckpointError, ImageError, ModelError, hub::HubError};
use std::{io, path::PathBuf};

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The model, a picture or the machine, as the library says it.
    #[error(transparent)]
    Dinoxide(Box<dinoxide::Error>),
    /// The library, on one picture that its message does not name.
    #[error("{label}")]
    Picture { label: String, source: Box<dinoxide::Error> },
    /// The command line cannot be understood.
    #[error("{message}")]
    Usage { message: String, hint: Option<String> },
    /// An option, or the variable that mirrors it, has a value that cannot be used.
    #[error("{option}: `{got}` {reason}")]
    OptionValue { option: &'static str, got: String, reason: String },
    /// Nothing to work on.
    #[error("no pictures: {reason}")]
    NoPictures { reason: String, hint: String },
    /// A file or folder among the inputs cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The list on stdin cannot be read.
    #[error("list of pictures on stdin: {reason}")]
    List { reason: String },
    /// An option that asks for what the model does not have.
    #[error("{option}")]
    Option { option: &'static str, source: Box<dinoxide::Error> },
    /// A model that cannot be opened under its name, which is almost another's.
    #[error("{source}")]
    Misnamed { source: Box<dinoxide::Error>, meant: String },
    /// A file of `--pixel-values` that cannot be fed to the model.
    #[error("{}: {reason}", path.display())]
    InputFile { path: PathBuf, reason: String },
    /// A file of `--pixel-values` of another kind.
    #[error("{}: is no safetensors file", path.display())]
    NoTensors { path: PathBuf },
    /// A tensor of such a file.
    #[error("{}: tensor `{tensor}` is {got}, expected {expected}", path.display())]
    InputTensor { path: PathBuf, tensor: String, got: String, expected: String },
    /// An output name that tells no format.
    #[error("{}: its extension tells no format that is written here", path.display())]
    OutputFormat { path: PathBuf, formats: Vec<&'static str> },
    /// An output file cannot be written.
    #[error("{}: cannot be written", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A Parquet file cannot be written.
    #[error("{}: cannot be written", path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    /// An output that its format cannot hold.
    #[error("{}: {reason}", path.display())]
    OutputLimit { path: PathBuf, reason: String, hint: &'static str },
    /// An output that would overwrite an input.
    #[error("{}: is one of the inputs, and would be lost", path.display())]
    OutputIsInput { path: PathBuf },
    /// A folder to write that holds something.
    #[error("{}: is there already, and is not an empty folder", path.display())]
    OutputExists { path: PathBuf },
    /// stdout cannot be written to.
    #[error("stdout: cannot be written")]
    Stdout(#[source] io::Error),
    /// A benchmark computed values that are no numbers.
    #[error("the model gave values that are not finite, so its speed means nothing")]
    NotFinite,
}

impl From<dinoxide::Error> for CliError {
    fn from(error: dinoxide::Error) -> Self {
        Self::Dinoxide(Box::new(error))
    }
}

impl CliError {
    /// The model does not have what an option asks for.
    pub(crate) fn of_option(option: &'static str, error: impl Into<dinoxide::Error>) -> Self {
        Self::Option { option, source: Box::new(error.into()) }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Dinoxide(error) => hint_of(error),
            Self::Picture { source, .. } => source.hint(),
            Self::Option { source, .. } => hint_of(source),
            Self::Misnamed { meant, .. } => Some(format!("did you mean `{meant}`?")),
            Self::Usage { hint, .. } => hint.clone(),
            Self::NoPictures { hint, .. } => Some(hint.clone()),
            Self::OutputFormat { formats, .. } => Some(format!("use one of {}", formats.join(", "))),
            Self::NoTensors { .. } => Some("for pictures leave out `--pixel-values`".to_owned()),
            Self::OutputExists { .. } => Some("name another folder, or remove this one".to_owned()),
            Self::OutputLimit { hint, .. } => Some((*hint).to_owned()),
            _ => None,
        }
    }

    /// Whose fault it is.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Dinoxide(error) if !error.is_users_fault() => Exit::Internal,
            Self::Picture { source, .. } if !source.is_users_fault() => Exit::Internal,
            error if error.is_broken_pipe() => Exit::Done,
            _ => Exit::Input,
        }
    }

    /// Whether the reader of stdout has left, which is its right.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The library's hint; to one who has no model yet, also the way to a first try; to one with a huge picture, the option that
/// lets it through.
fn hint_of(error: &dinoxide::Error) -> Option<String> {
    if let dinoxide::Error::Image(ImageError::File { error, .. }) = error
        && let ImageError::LimitExceeded { limit: "max_pixels", got, .. } = **error
    {
        return Some(format!("`--max-pixels {got}` lets it through, if you trust it and have the memory"));
    }
    if let dinoxide::Error::Model(ModelError::NoFinalNorm) = error {
        return Some("`features --out-indices=-1` gives its feature maps".to_owned());
    }
    let hint = error.hint()?;
    if has_no_model(error) && !hint.contains(BUILTIN_TINY) {
        return Some(format!(
            "{hint}; for a first try `-m {BUILTIN_TINY}` (small, random weights) needs no download"
        ));
    }
    Some(hint)
}

/// Whether the user has yet to get at a model.
fn has_no_model(error: &dinoxide::Error) -> bool {
    match error {
        dinoxide::Error::Checkpoint(CheckpointError::NotInCache { .. }) => true,
        dinoxide::Error::Checkpoint(CheckpointError::Hub(error)) => {
            matches!(
                **error,
                HubError::Unreachable { .. } | HubError::Gated { .. } | HubError::RepoNotFound { .. }
            )
        }
        _ => false,
    }
}
