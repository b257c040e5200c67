//! JPEG, by libjpeg's arithmetic (islow IDCT, fancy upsampling): the same pixels as Pillow, to the bit.
//!
//! The common kinds are tried by [`super::baseline`], which is twice as fast and gives the same pixels or none; what it leaves, and
//! every file with a fault, goes through libjpeg itself.
//! Grey is replicated. CMYK and YCCK are taken as Adobe writes them, inverted, with or without the marker, and then
//! made RGB as Pillow does: R = clip(255 − K − C·(255 − K)/255), the division rounded.
//! A file is cut off when the decoder asks for bytes after the last one; our reader notices. libjpeg reports fatal
//! errors by unwinding, which is caught here (a build with `panic = "abort"` would end the process instead).

use std::any::Any;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mozjpeg::decompress::DecompressStarted;
use mozjpeg::{ColorSpace, Decompress};
use pulp::Arch;

use super::jpeg_header::{self, Frame, JpegHeader};
use super::{DecodeOptions, Decoded, PIXEL_BYTES, baseline, exif};
use crate::limits::within;
use crate::{Format, ImageError, Limits, Rgb8};

/// The longest side that libjpeg decodes (`JPEG_MAX_DIMENSION`).
const MAX_SIDE: u16 = 65500;

/// Scans that cost nothing of [`Limits::max_jpeg_work`]; the usual progressive scripts have about ten.
const USUAL_SCANS: u64 = 20;

/// Pixels that a byte can hold at most: each component has a block for 64 pixels at the most detailed, and the shortest
/// code of a block's first coefficient is one bit. (A baseline block takes another to end.)
pub(super) const MAX_PIXELS_A_BYTE: u64 = 8 * 64;

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    let header = jpeg_header::read(bytes);
    let orientation = exif::orientation(header.exif.as_deref(), header.xmp.as_deref());
    let Some(frame) = header.frame else {
        return Err(if options.tolerant { corrupt("no picture in it") } else { truncated() });
    };
    check(&frame, &header, bytes.len() as u64, &options.limits)?;
    if header.scans == 1
        && header.frames == 1
        && let Some(pixels) = baseline::decode(Arch::new(), bytes, &frame)
    {
        return Ok(Decoded { pixels, transparent_color: None, truncated: false, orientation });
    }
    let (pixels, truncated) = libjpeg(bytes, &frame, options.tolerant)?;
    Ok(Decoded { pixels, transparent_color: None, truncated, orientation })
}

/// Decodes a checked file; also, whether it was cut off.
pub(super) fn libjpeg(bytes: &[u8], frame: &Frame, tolerant: bool) -> Result<(Rgb8, bool), ImageError> {
    let past_end = Cell::new(false);
    let reader = Watched { rest: bytes, past_end: &past_end, tolerant };
    let outcome = catch_unwind(AssertUnwindSafe(|| decompress(reader, frame)));
    match outcome {
        _ if past_end.get() && !tolerant => Err(truncated()),
        Ok(Ok(pixels)) => Ok((pixels, past_end.get())),
        Ok(Err(error)) => Err(error),
        Err(_) if past_end.get() => Err(truncated()),
        Err(panic) => Err(fatal(panic.as_ref())),
    }
}

/// Limits and kinds that are refused before the decoder starts.
fn check(frame: &Frame, header: &JpegHeader, file_bytes: u64, limits: &Limits) -> Result<(), ImageError> {
    // A file of several scans keeps all coefficients, two bytes each, until the last one.
    let kept = if header.scans > 1 || frame.marker == 0xc2 { 2 * u64::from(frame.components) } else { 0 };
    let (width, height) = (u64::from(frame.width), u64::from(frame.height));
    limits.check(width, height, PIXEL_BYTES + kept)?;
    if frame.width.max(frame.height) > MAX_SIDE {
        return Err(unsupported(&format!("a side of more than {MAX_SIDE} pixels ({width}x{height})")));
    }
    check_work(header.scans, width * height, limits)?;
    limits.plausible(Format::Jpeg, (width, height), file_bytes, width * height / MAX_PIXELS_A_BYTE)?;
    if frame.precision != 8 {
        return Err(unsupported(&format!("{} bits a sample", frame.precision)));
    }
    if !matches!(frame.marker, 0xc0..=0xc2) {
        return Err(unsupported("lossless, hierarchical or arithmetic coding"));
    }
    Ok(())
}

/// Bounds the passes over a picture.
pub(super) fn check_work(scans: u64, pixels: u64, limits: &Limits) -> Result<(), ImageError> {
    within("max_jpeg_scans", limits.max_jpeg_scans, scans)?;
    let work = scans.saturating_sub(USUAL_SCANS).saturating_mul(pixels);
    within("max_jpeg_work", limits.max_jpeg_work, work)
}

/// The pixels; unless the reader is tolerant, of a file that has no fatal fault up to its end, as Pillow reads to there too.
fn decompress(reader: Watched<'_>, frame: &Frame) -> Result<Rgb8, ImageError> {
    let (past_end, tolerant) = (reader.past_end, reader.tolerant);
    let decoder = Decompress::new_reader(reader).map_err(|e| corrupt(&e.to_string()))?;
    let (width, height) = decoder.size();
    if (width, height) != (usize::from(frame.width), usize::from(frame.height)) {
        return Err(corrupt("two frame headers"));
    }
    let color_space = decoder.color_space();
    let mut data = vec![0; width * height * 3];
    match color_space {
        ColorSpace::JCS_GRAYSCALE | ColorSpace::JCS_YCbCr | ColorSpace::JCS_RGB => {
            let mut started = decoder.rgb().map_err(|e| corrupt(&e.to_string()))?;
            started.read_scanlines_into(&mut data).map_err(|e| corrupt(&e.to_string()))?;
            if !tolerant {
                finish(started, past_end)?;
            }
        }
        ColorSpace::JCS_CMYK | ColorSpace::JCS_YCCK => {
            let started = decoder.to_colorspace(ColorSpace::JCS_CMYK);
            let mut started = started.map_err(|e| corrupt(&e.to_string()))?;
            let mut row = vec![0; width * 4];
            for rgb in data.chunks_exact_mut(width * 3) {
                started.read_scanlines_into(&mut row).map_err(|e| corrupt(&e.to_string()))?;
                for (pixel, ink) in rgb.chunks_exact_mut(3).zip(row.chunks_exact(4)) {
                    pixel.copy_from_slice(&cmyk_to_rgb([
                        255 - ink[0],
                        255 - ink[1],
                        255 - ink[2],
                        255 - ink[3],
                    ]));
                }
            }
            if !tolerant {
                finish(started, past_end)?;
            }
        }
        _ => return Err(unsupported("this number of colour components")),
    }
    Rgb8::from_raw(width, height, data)
}

/// Reads on to the end of the picture, once all pixels are there. A fault there often means that a marker within the data ended it
/// early, and that libjpeg made up the rest of the pixels. That the file ends first is no fault, for Pillow neither.
fn finish(started: DecompressStarted<Watched<'_>>, past_end: &Cell<bool>) -> Result<(), ImageError> {
    let outcome = catch_unwind(AssertUnwindSafe(|| started.finish()));
    match outcome {
        _ if past_end.take() => Ok(()),
        Ok(result) => result.map_err(|e| corrupt(&e.to_string())),
        Err(panic) => Err(fatal(panic.as_ref())),
    }
}

/// Pillow's conversion of ink to light.
pub(super) fn cmyk_to_rgb([c, m, y, k]: [u8; 4]) -> [u8; 3] {
    let light = 255 - u32::from(k);
    [c, m, y].map(|ink| {
        let t = u32::from(ink) * light + 128;
        let taken = ((t >> 8) + t) >> 8;
        light.saturating_sub(taken) as u8
    })
}

fn truncated() -> ImageError {
    ImageError::Truncated { format: Format::Jpeg, reason: "the data ends before the picture does".to_owned() }
}

fn corrupt(reason: &str) -> ImageError {
    ImageError::Corrupt { format: Format::Jpeg, reason: reason.to_owned() }
}

fn unsupported(feature: &str) -> ImageError {
    ImageError::Unsupported { format: Format::Jpeg, feature: feature.to_owned() }
}

/// libjpeg's own message, with which it unwound.
fn fatal(panic: &(dyn Any + Send)) -> ImageError {
    let message = panic.downcast_ref::<String>().map_or("", String::as_str);
    let message = message.trim_start_matches("libjpeg fatal error: ");
    corrupt(if message.is_empty() { "the decoder gave up" } else { message })
}

/// A reader that notes when it is asked for bytes past the last one.
struct Watched<'a> {
    rest: &'a [u8],
    past_end: &'a Cell<bool>,
    tolerant: bool,
}

impl BufRead for Watched<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() {
            self.past_end.set(true);
            if !self.tolerant {
                // Anything but an end of file makes libjpeg stop at once instead of inventing the rest.
                return Err(io::Error::other("end of data"));
            }
        }
        Ok(self.rest)
    }

    fn consume(&mut self, amount: usize) {
        self.rest = self.rest.get(amount..).unwrap_or_default();
    }
}

impl Read for Watched<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ink_becomes_light_as_in_pillow() {
        // From Image.new("CMYK", (1, 1), ink).convert("RGB") in Pillow 13.0.0.
        for (ink, rgb) in [
            ([0, 0, 0, 0], [255, 255, 255]),
            ([255, 255, 255, 255], [0, 0, 0]),
            ([10, 20, 30, 40], [207, 198, 190]),
            ([200, 100, 50, 25], [50, 140, 185]),
        ] {
            assert_eq!(cmyk_to_rgb(ink), rgb, "{ink:?}");
        }
    }
}
