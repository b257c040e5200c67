//! Data of the errors that carry the most.
//!
//! They are boxed in `CheckpointError`, which every result of the crate holds: a large variant would make each of them large.
//! All fields are public, so that a caller can act on them and not on the text.

use std::path::PathBuf;

/// A repo, a revision or a file that is not in the hub's cache.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{file}` of `{repo}` at revision `{revision}` is not in the cache `{}`: {reason}", .cache.display())]
pub struct NotInCache {
    /// The repo asked for.
    pub repo: String,
    /// The revision asked for.
    pub revision: String,
    /// The file that was needed.
    pub file: String,
    /// The cache folder.
    pub cache: PathBuf,
    /// What was looked at and what it showed.
    pub reason: String,
    /// Whether going online had been forbidden.
    pub offline: bool,
}

/// A tensor that is stored twice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{tensor}` is stored twice: as `{first}` in `{}` and as `{second}` in `{}`",
    .first_file.display(),
    .second_file.display()
)]
pub struct DuplicateTensor {
    /// The tensor's canonical name.
    pub tensor: String,
    /// Its first name.
    pub first: String,
    /// The file with the first name.
    pub first_file: PathBuf,
    /// Its second name.
    pub second: String,
    /// The file with the second name.
    pub second_file: PathBuf,
}

/// A weight in codes, of which something is not what its format allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("quantised weight `{tensor}` in `{}`: {what} must be {expected}, got {got}", .path.display())]
pub struct QuantizedWeight {
    /// The file.
    pub path: PathBuf,
    /// The weight's name, as the file would spell it.
    pub tensor: String,
    /// What is wrong: codes, scales, zeros, their class.
    pub what: &'static str,
    /// What fits.
    pub expected: String,
    /// What was found.
    pub got: String,
}
