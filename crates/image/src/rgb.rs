//! The picture types: [`Rgb8`], rows of interleaved bytes, and [`Picture`], the same with what decoding found out.
//!
//! Layout: `data[(y · width + x) · 3 + c]`, c = red, green, blue. Both sides are at least 1.

use crate::ImageError;

/// Upright RGB pixels, 8 bits a sample, `height × width × 3` interleaved.
#[derive(Clone, PartialEq, Eq)]
pub struct Rgb8 {
    /// Columns, at least 1.
    pub width: usize,
    /// Rows, at least 1.
    pub height: usize,
    /// `height · width · 3` bytes, row by row, red green blue.
    pub data: Vec<u8>,
}

impl Rgb8 {
    /// Wraps `height · width · 3` bytes.
    ///
    /// # Errors
    /// [`ImageError::BadShape`] when a side is 0 or the length is another one.
    pub fn from_raw(width: usize, height: usize, data: Vec<u8>) -> Result<Self, ImageError> {
        let fits = width.checked_mul(height).and_then(|n| n.checked_mul(3)) == Some(data.len());
        if !fits || data.is_empty() {
            return Err(ImageError::BadShape { height, width, channels: 3, len: data.len() });
        }
        Ok(Self { width, height, data })
    }
}

impl std::fmt::Debug for Rgb8 {
    /// The size alone: millions of samples help nobody.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rgb8")
            .field("width", &self.width)
            .field("height", &self.height)
            .finish_non_exhaustive()
    }
}

/// A decoded picture: its pixels, and what a processor needs to know beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The pixels, upright.
    pub pixels: Rgb8,
    /// The colour key of a PNG or GIF: pixels of exactly this colour are transparent. A processor with
    /// `do_convert_rgb` paints them white, as Transformers does; one without leaves them alone.
    pub transparent_color: Option<[u8; 3]>,
    /// The file was cut off and [`DecodeOptions::tolerant`](crate::DecodeOptions) kept what was there.
    pub truncated: bool,
}

impl From<Rgb8> for Picture {
    fn from(pixels: Rgb8) -> Self {
        Self { pixels, transparent_color: None, truncated: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_another_length_is_refused() {
        assert!(Rgb8::from_raw(2, 2, vec![0; 12]).is_ok());
        for (width, height, len) in [(2, 2, 11), (0, 2, 0), (2, 0, 0), (usize::MAX, 2, 12)] {
            assert!(matches!(Rgb8::from_raw(width, height, vec![0; len]), Err(ImageError::BadShape { .. })));
        }
    }
}
