//! Samples of a TIFF strip → RGB, with Pillow's meaning for each kind of pixel.
//!
//! Grey of 1–8 bits is scaled to the full range; 16-bit samples keep the high byte (for grey Pillow saturates instead);
//! 32-bit and float grey is cut to 0..255. CMYK is not inverted. Associated alpha is divided out, then alpha is dropped or
//! composited. Planar pictures hold a plane for each sample.

use std::io::{Read, Seek};

use tiff::decoder::{Decoder, DecodingSampleType};
use tiff::tags::{SampleFormat, Tag};
use tiff::{ColorType, TiffError, TiffResult, TiffUnsupportedError};

use super::alpha::over;
use super::jpeg::cmyk_to_rgb;
use super::tiff::samples;
use super::tiff_kinds::Alpha;

/// The decoded bytes of one strip or tile.
pub(super) struct Chunk<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) row_stride: usize,
    /// Bytes from a sample's plane to the next one's; 0 when samples are interleaved.
    pub(super) plane_stride: usize,
}

/// What makes RGB of a page's samples.
pub(super) struct Pixels {
    color: ColorType,
    sample: DecodingSampleType,
    /// Colours of the indices, when the page has a palette.
    palette: Option<Vec<[u8; 3]>>,
    alpha: Alpha,
    background: Option<[u8; 3]>,
}

impl Pixels {
    pub(super) fn new<R: Read + Seek>(
        decoder: &mut Decoder<R>,
        color: ColorType,
        palette: bool,
        alpha: Alpha,
        background: Option<[u8; 3]>,
    ) -> TiffResult<Self> {
        let unsupported = || TiffError::UnsupportedError(TiffUnsupportedError::UnsupportedColorType(color));
        let format = decoder.find_tag_unsigned_vec::<u16>(Tag::SampleFormat)?;
        let format = SampleFormat::from_u16_exhaustive(format.and_then(|f| f.first().copied()).unwrap_or(1));
        let sample = match (format, color.bit_depth()) {
            (SampleFormat::Uint, 1 | 2 | 4 | 8) => DecodingSampleType::U8,
            (SampleFormat::Uint, 16) => DecodingSampleType::U16,
            (SampleFormat::Uint, 32) => DecodingSampleType::U32,
            (SampleFormat::Int, 16) => DecodingSampleType::I16,
            (SampleFormat::Int, 32) => DecodingSampleType::I32,
            (SampleFormat::IEEEFP, 32) => DecodingSampleType::F32,
            (SampleFormat::IEEEFP, 64) => DecodingSampleType::F64,
            _ => return Err(unsupported()),
        };
        let whole = matches!(sample, DecodingSampleType::U8 | DecodingSampleType::U16);
        let known = match color {
            ColorType::Gray(_) => true,
            ColorType::Multiband { num_samples, bit_depth } => num_samples == 2 && bit_depth >= 8 && whole,
            ColorType::RGB(n) | ColorType::RGBA(n) | ColorType::CMYK(n) | ColorType::CMYKA(n) => {
                n >= 8 && whole
            }
            ColorType::YCbCr(n) => n == 8 && whole,
            _ => false,
        };
        if !known {
            return Err(unsupported());
        }
        let palette = if palette { Some(color_map(decoder)?) } else { None };
        Ok(Self { color, sample, palette, alpha, background })
    }

    /// Row `y` of a chunk as RGB; `out` has 3 bytes for each column.
    pub(super) fn convert(&self, chunk: &Chunk<'_>, y: usize, out: &mut [u8]) {
        let row = &chunk.bytes[y * chunk.row_stride..];
        let count = usize::from(samples(self.color));
        if matches!(self.color, ColorType::RGB(8)) && chunk.plane_stride == 0 {
            out.copy_from_slice(&row[..out.len()]);
            return;
        }
        for (x, pixel) in out.chunks_exact_mut(3).enumerate() {
            let mut values = [0; 5];
            for (i, value) in values.iter_mut().enumerate().take(count) {
                *value = if chunk.plane_stride == 0 {
                    self.sample(row, x * count + i)
                } else {
                    self.sample(&row[i * chunk.plane_stride..], x)
                };
            }
            pixel.copy_from_slice(&self.pixel(values));
        }
    }

    fn pixel(&self, v: [u8; 5]) -> [u8; 3] {
        match self.color {
            ColorType::Gray(_) => self.palette.as_ref().map_or([v[0]; 3], |colors| colors[usize::from(v[0])]),
            ColorType::Multiband { .. } => {
                self.over(self.palette.as_ref().map_or([v[0]; 3], |colors| colors[usize::from(v[0])]), v[1])
            }
            ColorType::RGBA(_) => self.over([v[0], v[1], v[2]], v[3]),
            ColorType::CMYK(_) | ColorType::CMYKA(_) => cmyk_to_rgb([v[0], v[1], v[2], v[3]]),
            ColorType::YCbCr(_) => ycbcr_to_rgb([v[0], v[1], v[2]]),
            _ => [v[0], v[1], v[2]],
        }
    }

    fn over(&self, color: [u8; 3], alpha: u8) -> [u8; 3] {
        let divided = match (self.alpha, u32::from(alpha)) {
            (Alpha::None, _) => return color,
            (Alpha::Straight, _) | (Alpha::Associated, 255) => color,
            (Alpha::Associated, 0) => [0; 3],
            (Alpha::Associated, a) => color.map(|c| (u32::from(c) * 255 / a).min(255) as u8),
        };
        over(divided, alpha, self.background)
    }

    /// Sample `i` of a row as 8 bits; an index stays as it is.
    fn sample(&self, row: &[u8], i: usize) -> u8 {
        match (self.sample, self.color.bit_depth()) {
            (DecodingSampleType::U8, 8) => row[i],
            (DecodingSampleType::U8, depth) => {
                let (depth, max) = (usize::from(depth), (1 << depth) - 1);
                let raw = row[i * depth / 8] >> (8 - depth - i * depth % 8) & max;
                if self.palette.is_some() { raw } else { raw * (255 / max) }
            }
            (DecodingSampleType::U16, _) => (u16::from_ne_bytes(element(row, i)) >> 8) as u8,
            // Float to integer casts cut to the range and make 0 of what is not a number.
            (DecodingSampleType::U32, _) => u32::from_ne_bytes(element(row, i)).min(255) as u8,
            (DecodingSampleType::I16, _) => i16::from_ne_bytes(element(row, i)).clamp(0, 255) as u8,
            (DecodingSampleType::I32, _) => i32::from_ne_bytes(element(row, i)).clamp(0, 255) as u8,
            (DecodingSampleType::F32, _) => f32::from_ne_bytes(element(row, i)) as u8,
            (DecodingSampleType::F64, _) => f64::from_ne_bytes(element(row, i)) as u8,
            _ => 0,
        }
    }
}

/// The bytes of element `i`; zeros past the end.
fn element<const N: usize>(row: &[u8], i: usize) -> [u8; N] {
    row.get(i * N..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}

/// All reds, all greens, all blues, 16 bits each; the high bytes count.
fn color_map<R: Read + Seek>(decoder: &mut Decoder<R>) -> TiffResult<Vec<[u8; 3]>> {
    let map = decoder.find_tag_unsigned_vec::<u16>(Tag::ColorMap)?.unwrap_or_default();
    let colors = map.len() / 3;
    let high = |i: usize| (map[i] >> 8) as u8;
    let mut palette: Vec<_> =
        (0..colors).map(|i| [high(i), high(i + colors), high(i + 2 * colors)]).take(256).collect();
    palette.resize(256, [0; 3]);
    Ok(palette)
}

/// The JFIF conversion, as libjpeg rounds it (16-bit fixed point).
fn ycbcr_to_rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    const HALF: i32 = 1 << 15;
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((91881 * cr + HALF) >> 16);
    let green = y + ((-22554 * cb - 46802 * cr + HALF) >> 16);
    let blue = y + ((116_130 * cb + HALF) >> 16);
    [red, green, blue].map(|v| v.clamp(0, 255) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ycbcr_of_greys_and_primaries_is_jfifs() {
        assert_eq!(ycbcr_to_rgb([77, 128, 128]), [77; 3]);
        // From Image.new("YCbCr", (1, 1), v).convert("RGB") in Pillow 13.0.0.
        assert_eq!(ycbcr_to_rgb([76, 85, 255]), [254, 0, 0]);
        assert_eq!(ycbcr_to_rgb([29, 255, 107]), [0, 0, 254]);
    }
}
