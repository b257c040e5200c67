//! The errors of this crate, sorted by whose fault: the file, the limits, the array, the processor's options.
//!
//! Messages are one line, lower case, without a full stop; [`ImageError::File`] puts the path before them.

use std::path::{Path, PathBuf};

use dinoxide_kernels::Isa;

use crate::Format;

/// Everything that can go wrong between a picture's bytes and its `pixel_values`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// A file could not be read as a picture; the message is the path, then the reason.
    #[error("{}: {error}", shown(path))]
    File {
        /// The file, as it was given.
        path: PathBuf,
        /// What is wrong with it.
        error: Box<ImageError>,
    },
    /// The operating system refused to read the file.
    #[error("cannot read the file: {0}")]
    Io(std::io::Error),
    /// The path is a folder.
    #[error("is a folder, not a picture")]
    IsDirectory,
    /// The path is a pipe, a device or a socket, which reading could wait for without end.
    #[error("is not a regular file")]
    NotRegularFile,
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The content is none of the formats read here, whatever the file's name says.
    #[error("not a picture in a known format (JPEG, PNG, WebP, GIF, BMP, TIFF){}", looks_like(*text))]
    UnknownFormat {
        /// The content is text.
        text: bool,
    },
    /// The format is known, this kind of it is not.
    #[error("{format}: {feature} is not supported")]
    Unsupported {
        /// The format.
        format: Format,
        /// What it would take.
        feature: String,
    },
    /// The content breaks the rules of its format.
    #[error("{format}: the file is damaged: {reason}")]
    Corrupt {
        /// The format.
        format: Format,
        /// The decoder's words.
        reason: String,
    },
    /// The decoder panicked on the file; a defect of the decoder, kept from spreading. The panic hook has run.
    #[error("{format}: the decoder failed on this file")]
    DecoderFailed {
        /// The format.
        format: Format,
    },
    /// The content ends before the picture does.
    #[error("{format}: the file is cut off: {reason}")]
    Truncated {
        /// The format.
        format: Format,
        /// How far the decoder came.
        reason: String,
    },
    /// A named limit forbids this picture; nothing was allocated for it.
    #[error("the picture exceeds the limit {limit}: {got} > {allowed}")]
    LimitExceeded {
        /// Its name: a field of [`Limits`](crate::Limits) or [`ProcessorSpec`](crate::ProcessorSpec).
        limit: &'static str,
        /// Its value.
        allowed: u64,
        /// What the picture needs.
        got: u64,
    },
    /// The file is too short for its picture, were it compressed as well as the format can. Pictures up to the limit
    /// [`max_unproven_pixels`](crate::Limits::max_unproven_pixels) are not asked.
    #[error(
        "{format}: {file_bytes} bytes cannot hold {width}x{height} pixels, which take {least} at least \
        (limit max_unproven_pixels)"
    )]
    Implausible {
        /// The format.
        format: Format,
        /// Columns.
        width: u64,
        /// Rows.
        height: u64,
        /// The fewest bytes that could hold them.
        least: u64,
        /// Bytes of the file.
        file_bytes: u64,
    },
    /// The header gives a width or a height of 0.
    #[error("the picture has no pixels: its header says {width}x{height} (width x height)")]
    NoPixels {
        /// Columns.
        width: u64,
        /// Rows.
        height: u64,
    },
    /// An array without pixels, or a picture or array with a buffer of another length than its shape.
    #[error("{height}x{width}x{channels} (height x width x channels) does not fit a buffer of {len} samples")]
    BadShape {
        /// Rows.
        height: usize,
        /// Columns.
        width: usize,
        /// Samples a pixel: 1, 3 or 4.
        channels: usize,
        /// Length of the buffer given.
        len: usize,
    },
    /// No axis of an array has 1, 3 or 4 entries.
    #[error("cannot tell the channels of an array of shape {shape:?}: no outer axis has 1, 3 or 4 entries")]
    NoChannelAxis {
        /// The array's shape.
        shape: Vec<usize>,
    },
    /// A float array lies in 0..1 although the processor would divide it by 255 again.
    #[error(
        "the array's values are already between 0 and 1 and do_rescale is on: turn do_rescale off, or give 0..255"
    )]
    AlreadyRescaled,
    /// A float array with alpha has values outside 0..1.
    #[error("an array with alpha that is converted to RGB must be between 0 and 1, got {min}..{max}")]
    AlphaRange {
        /// Smallest value.
        min: f32,
        /// Largest value.
        max: f32,
    },
    /// A value of an array is not a number.
    #[error("the array holds a value that is not finite")]
    NotFinite,
    /// The resample code exists in Pillow but the reference backend has no such resize.
    #[error(
        "resample {code} ({name}) is not supported: use 0 (nearest), 1 (lanczos), 2 (bilinear) or 3 (bicubic)"
    )]
    UnsupportedResample {
        /// Pillow's code.
        code: i64,
        /// Its name.
        name: &'static str,
    },
    /// The processor of this machine lacks the instruction set level asked for.
    #[error("this processor has no `{isa}`, it has {}", available())]
    IsaNotAvailable {
        /// What was asked for.
        isa: Isa,
    },
    /// An option of the processor cannot be carried out.
    #[error("{option}: {reason}")]
    BadOption {
        /// The option under its Hugging Face name.
        option: &'static str,
        /// Why not.
        reason: String,
    },
}

/// A path as it is, in quotes when it is blank at an end or would not stay on its line.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    if text.trim() == text && !text.is_empty() && !text.contains(char::is_control) {
        text
    } else {
        format!("{text:?}")
    }
}

fn available() -> String {
    Isa::available().iter().map(|isa| isa.name()).collect::<Vec<_>>().join(", ")
}

fn looks_like(text: bool) -> &'static str {
    if text { "; it looks like text" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_path_is_quoted_and_a_usual_one_is_not() {
        for (path, want) in [
            ("a b.png", "a b.png: the file is empty"),
            ("", "\"\": the file is empty"),
            ("  ", "\"  \": the file is empty"),
            ("a.png ", "\"a.png \": the file is empty"),
            ("a\nb\u{1b}[0m", "\"a\\nb\\u{1b}[0m\": the file is empty"),
        ] {
            let error = ImageError::File { path: path.into(), error: Box::new(ImageError::Empty) };
            assert_eq!(error.to_string(), want);
        }
    }
}
