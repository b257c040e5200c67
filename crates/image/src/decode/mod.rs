//! Bytes or a file → an upright RGB [`Picture`], whatever the format.
//!
//! The format is found by content. Each format's module checks the header against the [`Limits`] before it takes
//! memory, and gives RGB pixels in the file's own orientation; turning them upright is done here, once.

mod alpha;
mod baseline;
mod bmp;
mod exif;
mod format;
mod gif;
mod jpeg;
mod jpeg_header;
mod png;
mod png_rows;
mod tiff;
mod tiff_jpeg;
mod tiff_kinds;
mod tiff_pixels;
mod webp;
mod webp_chunks;

use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

pub use format::Format;

use crate::limits::within;
use crate::orientation::Orientation;
use crate::{ImageError, Limits, Picture, Rgb8};

/// How to decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecodeOptions {
    /// What a picture may need at most.
    pub limits: Limits,
    /// Composite transparent pixels over this colour. `None`: as Transformers' `load_image`, which drops alpha
    /// and so shows the hidden colour.
    pub background: Option<[u8; 3]>,
    /// Decode what is there of a cut-off file instead of failing; [`Picture::truncated`] says that it was cut.
    /// Missing parts are grey or black, as the format's decoder leaves them. A WebP cut inside its first frame stays
    /// an error.
    pub tolerant: bool,
}

/// Bytes that every decoded pixel takes: its RGB, and the copy when the picture is turned upright.
const PIXEL_BYTES: u64 = 6;

/// What a format's module gives back.
struct Decoded {
    pixels: Rgb8,
    transparent_color: Option<[u8; 3]>,
    truncated: bool,
    orientation: Orientation,
}

/// Decodes a picture held in memory.
///
/// # Errors
/// [`ImageError::Empty`], [`ImageError::UnknownFormat`], [`ImageError::NoPixels`], [`ImageError::LimitExceeded`], [`ImageError::Truncated`],
/// [`ImageError::Corrupt`], [`ImageError::Unsupported`] or [`ImageError::DecoderFailed`].
pub fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Picture, ImageError> {
    let format = Format::of(bytes)?;
    let decoder = match format {
        Format::Jpeg => jpeg::decode,
        Format::Png => png::decode,
        Format::WebP => webp::decode,
        Format::Gif => gif::decode,
        Format::Bmp => bmp::decode,
        Format::Tiff => tiff::decode,
    };
    // The crates behind PNG, WebP, GIF and TIFF return errors and have not been seen to panic, fuzzed or mutated; but they index
    // and assert, so no proof says that they cannot. Should one, it loses this picture and nothing else (after the panic hook has
    // had its word). BMP is our own, and JPEG catches libjpeg's unwinding itself: a panic of theirs is a defect of ours, which
    // the tests and the fuzzer count as one.
    let outcome = catch_unwind(AssertUnwindSafe(|| decoder(bytes, options)));
    let decoded = outcome.map_err(|_| ImageError::DecoderFailed { format })??;
    Ok(Picture {
        pixels: decoded.orientation.apply(decoded.pixels),
        transparent_color: decoded.transparent_color,
        truncated: decoded.truncated,
    })
}

/// Decodes a picture file; the name's ending does not matter, and the name may be any that the system allows.
///
/// # Errors
/// [`ImageError::File`] with the path and the reason: as [`decode`], or [`ImageError::Io`],
/// [`ImageError::IsDirectory`], [`ImageError::NotRegularFile`] for a pipe, a device or a socket (symbolic links are
/// followed, so `/dev/stdin` is what it leads to).
pub fn decode_file(path: &Path, options: &DecodeOptions) -> Result<Picture, ImageError> {
    read_file(path, &options.limits)
        .and_then(|bytes| decode(&bytes, options))
        .map_err(|error| ImageError::File { path: path.to_owned(), error: Box::new(error) })
}

/// The whole file, or an error before more than the limit is read.
fn read_file(path: &Path, limits: &Limits) -> Result<Vec<u8>, ImageError> {
    // Asked before opening: to open a pipe is to wait for its writer.
    let kind = std::fs::metadata(path).map_err(ImageError::Io)?;
    if kind.is_dir() {
        return Err(ImageError::IsDirectory);
    }
    if !kind.is_file() {
        return Err(ImageError::NotRegularFile);
    }
    let file = std::fs::File::open(path).map_err(ImageError::Io)?;
    // The open file's own length: the path may have changed hands meanwhile.
    let metadata = file.metadata().map_err(ImageError::Io)?;
    within("max_file_bytes", limits.max_file_bytes, metadata.len())?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    // A growing file has no length yet: read one byte more than allowed to notice.
    file.take(limits.max_file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(ImageError::Io)?;
    within("max_file_bytes", limits.max_file_bytes, bytes.len() as u64)?;
    Ok(bytes)
}
