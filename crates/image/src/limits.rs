//! Named limits on untrusted pictures, checked from the header before memory is taken.
//!
//! The defaults let a 200-megapixel phone photograph through (16320×12240, 600 MB as RGB) and refuse what is
//! larger by an order: a decoder should not be the place where a server runs out of memory.

use crate::ImageError;

/// What a picture may need at most. Every bound is inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Columns. Default 131072.
    pub max_width: u64,
    /// Rows. Default 131072.
    pub max_height: u64,
    /// Columns times rows. Default 250 million.
    pub max_pixels: u64,
    /// Bytes of decoded memory: the RGB pixels and what the decoder keeps beside them (the coefficients of a
    /// progressive JPEG, the frame of a WebP, the second copy when the picture is turned). Default 2 GiB.
    pub max_bytes: u64,
    /// Bytes of the file, for [`decode_file`](crate::decode_file). Default 1 GiB.
    pub max_file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_width: 1 << 17,
            max_height: 1 << 17,
            max_pixels: 250_000_000,
            max_bytes: 2 << 30,
            max_file_bytes: 1 << 30,
        }
    }
}

impl Limits {
    /// Checks a header's size and the bytes that decoding takes for each pixel.
    pub(crate) fn check(&self, width: u64, height: u64, bytes_per_pixel: u64) -> Result<(), ImageError> {
        let pixels = width.saturating_mul(height);
        within("max_width", self.max_width, width)?;
        within("max_height", self.max_height, height)?;
        within("max_pixels", self.max_pixels, pixels)?;
        within("max_bytes", self.max_bytes, pixels.saturating_mul(bytes_per_pixel))
    }
}

/// An error naming `limit` when `got` is more than `allowed`.
pub(crate) fn within(limit: &'static str, allowed: u64, got: u64) -> Result<(), ImageError> {
    if got > allowed { Err(ImageError::LimitExceeded { limit, allowed, got }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_200_megapixel_photograph_passes_and_a_bomb_names_its_limit() {
        let limits = Limits::default();
        assert!(limits.check(16320, 12240, 6).is_ok());
        for (width, height, name) in [
            (100_000, 100_000, "max_pixels"),
            (0x7fff_ffff, 1, "max_width"),
            (1, u64::MAX, "max_height"),
            (16384, 16384, "max_pixels"),
        ] {
            match limits.check(width, height, 3) {
                Err(ImageError::LimitExceeded { limit, .. }) => assert_eq!(limit, name),
                other => panic!("{width}x{height}: {other:?}"),
            }
        }
    }
}
