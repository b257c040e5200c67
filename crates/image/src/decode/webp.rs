//! WebP through `image-webp`: lossy and lossless; of an animation the first frame on a transparent black canvas.
//!
//! Alpha is dropped, or composited when there is a background. Chroma is upsampled as libwebp does by default. The first
//! frame is cut out and decoded as a still picture: libwebp lays it down as it is, without blending.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use super::alpha::over;
use super::webp_chunks::{self, FirstFrame};
use super::{DecodeOptions, Decoded, PIXEL_BYTES, exif};
use crate::{Format, ImageError, Rgb8};

/// Pixels that a byte may hold at most. Lossless WebP has no bound, as a picture of one colour takes no bits at all; libwebp
/// makes 394 bytes of a white one of 3840×2160.
const MAX_PIXELS_A_BYTE: u64 = 32768;

/// The same of lossy WebP; libwebp comes to 560 with white.
const MAX_LOSSY_PIXELS_A_BYTE: u64 = 4096;

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    let cut = webp_chunks::file_len(bytes) > bytes.len() as u64;
    if cut && !options.tolerant {
        return Err(truncated());
    }
    // The decoder takes memory by the size that a lossy frame gives, not by the canvas.
    for (width, height) in webp_chunks::lossy_sizes(bytes) {
        options.limits.check(width, height, PIXEL_BYTES + 8)?;
        let least = width * height / MAX_LOSSY_PIXELS_A_BYTE;
        options.limits.plausible(Format::WebP, (width, height), bytes.len() as u64, least)?;
    }
    let mut file = WebPDecoder::new(Cursor::new(bytes)).map_err(failure)?;
    let (width, height) = file.dimensions();
    // The frame with alpha, and as much again that the decoder works with.
    options.limits.check(u64::from(width), u64::from(height), PIXEL_BYTES + 8)?;
    let size = (u64::from(width), u64::from(height));
    let least = size.0 * size.1 / MAX_PIXELS_A_BYTE;
    options.limits.plausible(Format::WebP, size, bytes.len() as u64, least)?;
    file.set_memory_limit(usize::try_from(options.limits.max_bytes).unwrap_or(usize::MAX));
    let exif = file.exif_metadata().ok().flatten();
    let xmp = file.xmp_metadata().ok().flatten();
    let pixels = if file.is_animated() {
        let frame = webp_chunks::first_frame(bytes).ok_or_else(|| corrupt("an animation without frames"))?;
        on_canvas(&frame, (width as usize, height as usize), options.background)?
    } else {
        still(file, options.background)?
    };
    Ok(Decoded {
        pixels,
        transparent_color: None,
        truncated: cut,
        orientation: exif::orientation(exif.as_deref(), xmp.as_deref()),
    })
}

fn still(mut decoder: WebPDecoder<Cursor<&[u8]>>, background: Option<[u8; 3]>) -> Result<Rgb8, ImageError> {
    let (width, height) = decoder.dimensions();
    let size = decoder.output_buffer_size().ok_or_else(|| corrupt("impossible size"))?;
    let mut native = vec![0; size];
    decoder.read_image(&mut native).map_err(failure)?;
    let data = if decoder.has_alpha() { without_alpha(&native, background) } else { native };
    Rgb8::from_raw(width as usize, height as usize, data)
}

fn on_canvas(
    frame: &FirstFrame,
    (width, height): (usize, usize),
    background: Option<[u8; 3]>,
) -> Result<Rgb8, ImageError> {
    let decoder = WebPDecoder::new(Cursor::new(frame.file.as_slice())).map_err(failure)?;
    let (frame_width, frame_height) = decoder.dimensions();
    let (frame_width, frame_height) = (frame_width as usize, frame_height as usize);
    if frame.left + frame_width > width || frame.top + frame_height > height {
        return Err(corrupt("a frame lies outside of its canvas"));
    }
    let picture = still(decoder, background)?;
    let mut data = over([0; 3], 0, background).repeat(width * height);
    let rows = data.chunks_exact_mut(width * 3).skip(frame.top);
    for (row, pixels) in rows.zip(picture.data.chunks_exact(frame_width * 3)) {
        row[frame.left * 3..][..frame_width * 3].copy_from_slice(pixels);
    }
    Rgb8::from_raw(width, height, data)
}

fn without_alpha(rgba: &[u8], background: Option<[u8; 3]>) -> Vec<u8> {
    let mut data = vec![0; rgba.len() / 4 * 3];
    for (pixel, rgba) in data.chunks_exact_mut(3).zip(rgba.chunks_exact(4)) {
        pixel.copy_from_slice(&over([rgba[0], rgba[1], rgba[2]], rgba[3], background));
    }
    data
}

fn corrupt(reason: &str) -> ImageError {
    ImageError::Corrupt { format: Format::WebP, reason: reason.to_owned() }
}

fn truncated() -> ImageError {
    ImageError::Truncated { format: Format::WebP, reason: "the data ends before the picture does".to_owned() }
}

fn failure(error: DecodingError) -> ImageError {
    match error {
        DecodingError::IoError(_) | DecodingError::NotEnoughInitData => truncated(),
        other => corrupt(&other.to_string()),
    }
}
