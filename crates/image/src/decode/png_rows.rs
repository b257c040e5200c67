//! One row of a PNG as stored → RGB: every colour type at 1, 2, 4, 8 and 16 bits.
//!
//! Grey of 1, 2 and 4 bits is scaled to the full range (×255, ×85, ×17), 16 bits keep the high byte: for grey this differs
//! from Pillow, which saturates at 255 and turns such pictures white. Alpha is dropped, or composited when there is
//! a background; then the `tRNS` chunk counts exactly, 16-bit keys included.

use png::{BitDepth, ColorType, Info};

use super::alpha::over;

/// What a row needs to become RGB.
pub(super) struct RowConverter {
    color_type: ColorType,
    depth: u8,
    /// Red, green, blue, alpha of each index; entries that the file lacks are black.
    palette: Vec<[u8; 4]>,
    /// The transparent colour as stored, when there is a background to show through.
    key: Option<[u16; 3]>,
    background: Option<[u8; 3]>,
}

impl RowConverter {
    pub(super) fn new(info: &Info<'_>, background: Option<[u8; 3]>) -> Self {
        let trns = info.trns.as_deref().unwrap_or_default();
        let mut palette = vec![[0, 0, 0, 255]; 256];
        for (entry, rgb) in
            palette.iter_mut().zip(info.palette.as_deref().unwrap_or_default().chunks_exact(3))
        {
            entry[..3].copy_from_slice(rgb);
        }
        let mut key = None;
        if info.color_type == ColorType::Indexed {
            for (entry, &alpha) in palette.iter_mut().zip(trns) {
                entry[3] = alpha;
            }
        } else if background.is_some() {
            // The `png` crate keeps one byte for each sample of the key, two for 16-bit samples.
            let part = |i: usize| match info.bit_depth {
                BitDepth::Sixteen => Some(u16::from_be_bytes([*trns.get(2 * i)?, *trns.get(2 * i + 1)?])),
                _ => trns.get(i).copied().map(u16::from),
            };
            key = match info.color_type {
                ColorType::Grayscale => part(0).map(|v| [v; 3]),
                _ => part(0).zip(part(1)).zip(part(2)).map(|((r, g), b)| [r, g, b]),
            };
        }
        Self { color_type: info.color_type, depth: info.bit_depth as u8, palette, key, background }
    }

    /// Converts a row; `out` has 3 bytes for each pixel.
    pub(super) fn convert(&self, row: &[u8], out: &mut [u8]) {
        let pixels = out.chunks_exact_mut(3);
        match (self.color_type, self.depth) {
            (ColorType::Rgb, 8) if self.key.is_none() => out.copy_from_slice(&row[..out.len()]),
            (ColorType::Rgba, 8) if self.background.is_none() => {
                pixels.zip(row.chunks_exact(4)).for_each(|(pixel, rgba)| pixel.copy_from_slice(&rgba[..3]));
            }
            (ColorType::Grayscale, 8) if self.key.is_none() => {
                pixels.zip(row).for_each(|(pixel, &grey)| pixel.fill(grey));
            }
            _ => {
                for (x, pixel) in pixels.enumerate() {
                    let (color, alpha) = self.pixel(row, x);
                    pixel.copy_from_slice(&over(color, alpha, self.background));
                }
            }
        }
    }

    /// Colour and alpha of column `x`.
    fn pixel(&self, row: &[u8], x: usize) -> ([u8; 3], u8) {
        let raw = |i: usize| self.raw(row, i);
        let scaled = |i: usize| self.scaled(raw(i));
        let alpha = |color: [u16; 3]| if self.key == Some(color) { 0 } else { 255 };
        match self.color_type {
            ColorType::Grayscale => ([scaled(x); 3], alpha([raw(x); 3])),
            ColorType::Rgb => {
                let i = 3 * x;
                ([scaled(i), scaled(i + 1), scaled(i + 2)], alpha([raw(i), raw(i + 1), raw(i + 2)]))
            }
            ColorType::Indexed => {
                let [r, g, b, alpha] = self.palette[usize::from(raw(x) & 0xff)];
                ([r, g, b], alpha)
            }
            ColorType::GrayscaleAlpha => ([scaled(2 * x); 3], scaled(2 * x + 1)),
            ColorType::Rgba => {
                let i = 4 * x;
                ([scaled(i), scaled(i + 1), scaled(i + 2)], scaled(i + 3))
            }
        }
    }

    /// Sample `i` of a row as stored. Bits are packed from the high end.
    fn raw(&self, row: &[u8], i: usize) -> u16 {
        match self.depth {
            16 => u16::from_be_bytes([row[2 * i], row[2 * i + 1]]),
            8 => u16::from(row[i]),
            depth => {
                let per_byte = 8 / usize::from(depth);
                let shift = 8 - usize::from(depth) * (i % per_byte + 1);
                u16::from(row[i / per_byte] >> shift) & ((1 << depth) - 1)
            }
        }
    }

    fn scaled(&self, raw: u16) -> u8 {
        match self.depth {
            16 => (raw >> 8) as u8,
            depth => (raw * (255 / ((1 << depth) - 1))) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converter(color_type: ColorType, bit_depth: BitDepth, trns: Option<&'static [u8]>) -> RowConverter {
        let mut info = Info::default();
        (info.color_type, info.bit_depth, info.trns) = (color_type, bit_depth, trns.map(Into::into));
        RowConverter::new(&info, trns.map(|_| [9; 3]))
    }

    #[test]
    fn packed_grey_is_scaled_to_the_full_range() {
        for (depth, row, want) in
            [(BitDepth::One, [0b1010_0000], [255, 0, 255]), (BitDepth::Two, [0b0001_1011], [0, 85, 170])]
        {
            let mut out = [0; 9];
            converter(ColorType::Grayscale, depth, None).convert(&row, &mut out);
            assert_eq!([out[0], out[3], out[6]], want);
        }
        let mut out = [0; 6];
        converter(ColorType::Grayscale, BitDepth::Sixteen, None).convert(&[1, 255, 254, 0], &mut out);
        assert_eq!(out, [1, 1, 1, 254, 254, 254]);
    }

    #[test]
    fn a_16_bit_key_shows_the_background_only_where_all_16_bits_agree() {
        let mut out = [0; 6];
        converter(ColorType::Grayscale, BitDepth::Sixteen, Some(&[1, 2])).convert(&[1, 2, 1, 3], &mut out);
        assert_eq!(out, [9, 9, 9, 1, 1, 1]);
    }
}
