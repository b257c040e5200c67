//! BMP: Windows and OS/2 bitmaps of 1, 4, 8, 16, 24 and 32 bits, plain, RLE4 and RLE8, bit fields.
//!
//! 14 bytes of file header, an information header (12, 40, 52, 56, 64, 108 or 124 bytes), bit masks, palette, then rows of
//! `⌈width · bits / 32⌉ · 4` bytes, from the bottom up unless the height is negative. As Pillow: 5 and 6 bits are
//! scaled by v·255/31 (63) rounded down, the fourth byte of plain 32-bit pixels is not alpha, an index without a colour is
//! black, and only the usual bit fields are known.

use super::alpha::over;
use super::{DecodeOptions, Decoded, PIXEL_BYTES};
use crate::orientation::Orientation;
use crate::{Format, ImageError, Rgb8};

/// Pixels that a byte can hold at most: a run of 255 takes two. (Jumps over pixels reach further, but are not used to save
/// bytes; a cut plain file is held to the same.)
const MAX_PIXELS_A_BYTE: u64 = 128;

/// What the headers say.
struct Header {
    width: usize,
    height: usize,
    top_down: bool,
    bits: u16,
    layout: Layout,
    /// Red, green and blue of each index.
    palette: Vec<[u8; 3]>,
    /// Where the pixels start.
    offset: usize,
}

/// How pixels are stored.
enum Layout {
    Indexed,
    Rle4,
    Rle8,
    /// Bits of red, green, blue: 565 or 555.
    Sixteen {
        green_bits: u32,
    },
    /// Byte places of red, green, blue and alpha in a pixel.
    Bytes {
        rgb: [usize; 3],
        alpha: Option<usize>,
    },
}

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    let file = File(bytes);
    let header = read_header(file, options)?;
    header.check_len(file, options)?;
    let mut data = vec![0; header.width * header.height * 3];
    let complete = match header.layout {
        Layout::Rle4 | Layout::Rle8 => header.read_rle(file, &mut data),
        _ => header.read_rows(file, &mut data, options.background),
    };
    if !complete && !options.tolerant {
        return Err(truncated());
    }
    Ok(Decoded {
        pixels: Rgb8::from_raw(header.width, header.height, data)?,
        transparent_color: None,
        truncated: !complete,
        orientation: Orientation::UPRIGHT,
    })
}

/// Little-endian reads that fail past the end.
#[derive(Clone, Copy)]
struct File<'a>(&'a [u8]);

impl<'a> File<'a> {
    fn u16(self, at: usize) -> Result<u16, ImageError> {
        self.0.get(at..).and_then(<[u8]>::first_chunk).copied().map(u16::from_le_bytes).ok_or_else(truncated)
    }

    fn u32(self, at: usize) -> Result<u32, ImageError> {
        self.0.get(at..).and_then(<[u8]>::first_chunk).copied().map(u32::from_le_bytes).ok_or_else(truncated)
    }

    fn from(self, at: usize) -> &'a [u8] {
        self.0.get(at..).unwrap_or_default()
    }
}

fn read_header(file: File<'_>, options: &DecodeOptions) -> Result<Header, ImageError> {
    let header_size = file.u32(14)? as usize;
    let old = header_size == 12;
    let (width, height, top_down) = if old {
        (u32::from(file.u16(18)?), u32::from(file.u16(20)?), false)
    } else {
        let height = file.u32(22)?.cast_signed();
        (file.u32(18)?, height.unsigned_abs(), height < 0)
    };
    options.limits.check(u64::from(width), u64::from(height), PIXEL_BYTES + 1)?;
    let bits = file.u16(if old { 24 } else { 28 })?;
    let compression = if old { 0 } else { file.u32(30)? };
    let layout = layout(file, bits, compression, header_size)?;

    // 40-byte headers keep their bit masks behind them.
    let mut palette_at = 14 + header_size;
    if compression == 3 && header_size == 40 {
        palette_at += 12;
    }
    let entry = if old { 3 } else { 4 };
    let mut offset = file.u32(10)? as usize;
    let mut palette = Vec::new();
    if bits <= 8 {
        let colors = if old { 0 } else { file.u32(46)? };
        let colors = if colors == 0 { 1 << bits } else { colors.min(65536) as usize };
        let entries = file.from(palette_at).chunks_exact(entry).take(colors.min(256));
        palette = entries.map(|e| [e[2], e[1], e[0]]).collect();
        if offset == 14 + header_size {
            offset += entry * colors;
        }
        palette.resize(256, [0; 3]);
    }
    if offset == 0 {
        offset = palette_at + palette.len().min(1 << bits.min(8)) * entry * usize::from(bits <= 8);
    }
    Ok(Header { width: width as usize, height: height as usize, top_down, bits, layout, palette, offset })
}

fn layout(file: File<'_>, bits: u16, compression: u32, header_size: usize) -> Result<Layout, ImageError> {
    match (bits, compression) {
        (1 | 4 | 8, 0) => Ok(Layout::Indexed),
        (8, 1) => Ok(Layout::Rle8),
        (4, 2) => Ok(Layout::Rle4),
        (16, 0) => Ok(Layout::Sixteen { green_bits: 5 }),
        (24 | 32, 0) => Ok(Layout::Bytes { rgb: [2, 1, 0], alpha: None }),
        (16 | 24 | 32, 3) => {
            let masks = [file.u32(54)?, file.u32(58)?, file.u32(62)?];
            let alpha = if header_size >= 56 { file.u32(66)? } else { 0 };
            bit_fields(bits, masks, alpha)
        }
        (1 | 4 | 8 | 16 | 24 | 32, _) => {
            Err(unsupported(&format!("compression {compression} of {bits} bits")))
        }
        _ => Err(unsupported(&format!("{bits} bits a pixel"))),
    }
}

/// The masks that Pillow knows.
fn bit_fields(bits: u16, masks: [u32; 3], alpha: u32) -> Result<Layout, ImageError> {
    let bytes = |rgb, alpha| Ok(Layout::Bytes { rgb, alpha });
    match (bits, masks, alpha) {
        (16, [0xf800, 0x7e0, 0x1f], _) => Ok(Layout::Sixteen { green_bits: 6 }),
        (16, [0x7c00, 0x3e0, 0x1f], _) => Ok(Layout::Sixteen { green_bits: 5 }),
        (24, [0xff_0000, 0xff00, 0xff], _) | (32, [0xff_0000, 0xff00, 0xff], 0) => bytes([2, 1, 0], None),
        (32, [0xff00_0000, 0xff_0000, 0xff00], 0) => bytes([3, 2, 1], None),
        (32, [0xff00_0000, 0xff00, 0xff], 0) => bytes([3, 1, 0], None),
        (32, [0xff00_0000, 0xff_0000, 0xff00], 0xff) => bytes([3, 2, 1], Some(0)),
        (32, [0xff, 0xff00, 0xff_0000], 0xff00_0000) => bytes([0, 1, 2], Some(3)),
        (32, [0xff_0000, 0xff00, 0xff], 0xff00_0000) | (32, [0, 0, 0], 0) => bytes([2, 1, 0], Some(3)),
        (32, [0xff00_0000, 0xff00, 0xff], 0xff_0000) => bytes([3, 1, 0], Some(2)),
        _ => Err(unsupported("this layout of bit fields")),
    }
}

impl Header {
    /// The stored row that row `y` of the picture comes from, and back.
    fn flip(&self, y: usize) -> usize {
        if self.top_down { y } else { self.height - 1 - y }
    }

    /// The file must hold all plain rows, or as much as run lengths need at their best, before there is memory for them.
    fn check_len(&self, file: File<'_>, options: &DecodeOptions) -> Result<(), ImageError> {
        let rle = matches!(self.layout, Layout::Rle4 | Layout::Rle8);
        if !rle && !options.tolerant && file.0.len() < self.rows_end() {
            return Err(truncated());
        }
        let (width, height) = (self.width as u64, self.height as u64);
        let least = width * height / MAX_PIXELS_A_BYTE;
        options.limits.plausible(Format::Bmp, (width, height), file.0.len() as u64, least)
    }

    /// Where the last plain pixel ends in the file.
    fn rows_end(&self) -> usize {
        let row_bits = self.width * usize::from(self.bits);
        let (stride, needed) = (row_bits.div_ceil(32) * 4, row_bits.div_ceil(8));
        self.offset.saturating_add((self.height - 1) * stride).saturating_add(needed)
    }

    /// Reads plain rows; false when the file ends before the last pixel.
    fn read_rows(&self, file: File<'_>, data: &mut [u8], background: Option<[u8; 3]>) -> bool {
        let row_bits = self.width * usize::from(self.bits);
        let (stride, needed) = (row_bits.div_ceil(32) * 4, row_bits.div_ceil(8));
        for (y, out) in data.chunks_exact_mut(self.width * 3).enumerate() {
            let stored = file.from(self.offset.saturating_add(self.flip(y) * stride));
            let Some(row) = stored.get(..needed) else { continue };
            for (x, pixel) in out.chunks_exact_mut(3).enumerate() {
                pixel.copy_from_slice(&self.pixel(row, x, background));
            }
        }
        file.0.len() >= self.rows_end()
    }

    fn pixel(&self, row: &[u8], x: usize, background: Option<[u8; 3]>) -> [u8; 3] {
        match self.layout {
            Layout::Sixteen { green_bits } => {
                let v = u32::from(u16::from_le_bytes([row[2 * x], row[2 * x + 1]]));
                let part = |shift: u32, bits: u32| {
                    let max = (1 << bits) - 1;
                    ((v >> shift & max) * 255 / max) as u8
                };
                [part(5 + green_bits, 5), part(5, green_bits), part(0, 5)]
            }
            Layout::Bytes { rgb, alpha } => {
                let size = usize::from(self.bits) / 8;
                let pixel = &row[x * size..(x + 1) * size];
                let color = rgb.map(|place| pixel[place]);
                over(color, alpha.map_or(255, |place| pixel[place]), background)
            }
            _ => {
                let bits = usize::from(self.bits);
                let shift = 8 - bits - x * bits % 8;
                let index = usize::from(row[x * bits / 8] >> shift) & ((1 << bits) - 1);
                self.palette[index]
            }
        }
    }

    /// Reads run lengths; false when they or the file end before the picture.
    fn read_rle(&self, file: File<'_>, data: &mut [u8]) -> bool {
        let mut indices = vec![0; self.width * self.height];
        let rle4 = matches!(self.layout, Layout::Rle4);
        let complete = unpack_rle(file.from(self.offset), rle4, self.width, &mut indices);
        for (y, out) in data.chunks_exact_mut(self.width * 3).enumerate() {
            let row = &indices[self.flip(y) * self.width..][..self.width];
            for (pixel, &index) in out.chunks_exact_mut(3).zip(row) {
                pixel.copy_from_slice(&self.palette[usize::from(index)]);
            }
        }
        complete
    }
}

/// Unpacks run lengths into indices, which start as 0; false when the input or its end mark comes early.
fn unpack_rle(input: &[u8], rle4: bool, width: usize, out: &mut [u8]) -> bool {
    let (mut read, mut at) = (0, 0);
    let nibble = |byte: u8, i: usize| {
        if !rle4 {
            byte
        } else if i.is_multiple_of(2) {
            byte >> 4
        } else {
            byte & 15
        }
    };
    while at < out.len() {
        let Some(&[count, value]) = input.get(read..read + 2) else { return false };
        read += 2;
        match (usize::from(count), usize::from(value)) {
            (0, 0) => at = at.next_multiple_of(width),
            // Pillow has "not enough image data" for an end before the last pixel.
            (0, 1) => return false,
            (0, 2) => {
                let Some(&[right, up]) = input.get(read..read + 2) else { return false };
                read += 2;
                at += usize::from(right) + usize::from(up) * width;
            }
            (0, literal) => {
                let len = if rle4 { literal.div_ceil(2) } else { literal };
                let Some(bytes) = input.get(read..read + len) else { return false };
                for i in 0..literal.min(out.len() - at) {
                    out[at + i] = nibble(bytes[if rle4 { i / 2 } else { i }], i);
                }
                at += literal;
                read += len.next_multiple_of(2);
            }
            (run, _) => {
                // A run ends with its row.
                let run = run.min(width - at % width);
                for i in 0..run {
                    out[at + i] = nibble(value, i);
                }
                at += run;
            }
        }
    }
    true
}

fn truncated() -> ImageError {
    ImageError::Truncated { format: Format::Bmp, reason: "the data ends before the picture does".to_owned() }
}

fn unsupported(feature: &str) -> ImageError {
    ImageError::Unsupported { format: Format::Bmp, feature: feature.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lengths_know_runs_literals_jumps_and_ends() {
        let mut out = [0; 12];
        // A run of 2; jump 1 right, 1 up; a literal of 3 (padded); end of line.
        let input = [2, 7, 0, 2, 1, 1, 0, 3, 1, 2, 3, 0, 0, 0];
        assert!(unpack_rle(&input, false, 4, &mut out));
        assert_eq!(out, [7, 7, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0]);
        let mut out = [0; 5];
        assert!(unpack_rle(&[3, 0x12, 0, 0, 0, 1], true, 5, &mut out));
        assert!(!unpack_rle(&[3, 0x12, 0, 1], true, 5, &mut [0; 5]), "the end mark comes early");
        assert_eq!(out, [1, 2, 1, 0, 0]);
        for cut in 0..input.len() {
            assert!(!unpack_rle(&input[..cut], false, 4, &mut [0; 12]), "cut at {cut}");
        }
    }
}
