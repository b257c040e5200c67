//! WebP through `image-webp`: lossy and lossless, the first frame of an animation on a transparent black canvas.
//!
//! Alpha is dropped, or composited when there is a background. Chroma is upsampled as libwebp does by default.

use std::io::Cursor;

use image_webp::{DecodingError, WebPDecoder};

use super::alpha::over;
use super::{DecodeOptions, Decoded, PIXEL_BYTES, exif};
use crate::{Format, ImageError, Rgb8};

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    for (width, height) in lossy_sizes(bytes, 12) {
        options.limits.check(width, height, PIXEL_BYTES + 8)?;
    }
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(failure)?;
    let (width, height) = decoder.dimensions();
    // The frame with alpha, and as much again that the decoder works with.
    options.limits.check(u64::from(width), u64::from(height), PIXEL_BYTES + 8)?;
    decoder.set_memory_limit(usize::try_from(options.limits.max_bytes).unwrap_or(usize::MAX));
    let size = decoder.output_buffer_size().ok_or_else(|| corrupt("impossible size"))?;
    let mut native = vec![0; size];
    let outcome = if decoder.is_animated() {
        decoder.read_frame(&mut native).map(|_| ())
    } else {
        decoder.read_image(&mut native)
    };
    outcome.map_err(failure)?;

    let data = if decoder.has_alpha() { without_alpha(&native, options.background) } else { native };
    let exif = decoder.exif_metadata().ok().flatten();
    let xmp = decoder.xmp_metadata().ok().flatten();
    Ok(Decoded {
        pixels: Rgb8::from_raw(width as usize, height as usize, data)?,
        transparent_color: None,
        truncated: false,
        orientation: exif::orientation(exif.as_deref(), xmp.as_deref()),
    })
}

/// The sizes that the lossy frames themselves give; the decoder takes memory by these, not by the canvas.
fn lossy_sizes(bytes: &[u8], start: usize) -> Vec<(u64, u64)> {
    let mut sizes = Vec::new();
    let mut at = start;
    while let Some((header, content)) = bytes.get(at..).and_then(<[u8]>::split_first_chunk::<8>) {
        let len = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let content = &content[..len.min(content.len())];
        match (&header[..4], content) {
            (b"VP8 ", &[_, _, _, 0x9d, 0x01, 0x2a, w0, w1, h0, h1, ..]) => {
                let side = |low, high| u64::from(u16::from_le_bytes([low, high]) & 0x3fff);
                sizes.push((side(w0, w1), side(h0, h1)));
            }
            // A frame of an animation: 16 bytes of its own, then chunks.
            (b"ANMF", _) => sizes.extend(lossy_sizes(content, 16)),
            _ => {}
        }
        at = at.saturating_add(8).saturating_add(len.next_multiple_of(2));
    }
    sizes
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

fn failure(error: DecodingError) -> ImageError {
    match error {
        DecodingError::IoError(_) | DecodingError::BitStreamError => ImageError::Truncated {
            format: Format::WebP,
            reason: "the data ends before the picture does".to_owned(),
        },
        other => corrupt(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_frame_inside_a_small_canvas_is_found() {
        let frame = [b"VP8 ".as_slice(), &[10, 0, 0, 0, 0, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 16, 0]].concat();
        let animation = [b"ANMF".as_slice(), &[34, 0, 0, 0], &[0; 16], &frame].concat();
        assert_eq!(lossy_sizes(&animation, 0), [(16383, 16)]);
        assert_eq!(lossy_sizes(&[b"XMP \x01\0\0\0..".as_slice(), &frame].concat(), 0), [(16383, 16)]);
        for cut in 0..frame.len() {
            assert!(lossy_sizes(&frame[..cut], 0).is_empty(), "cut at {cut}");
        }
    }
}
