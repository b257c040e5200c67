//! Named limits on untrusted pictures, checked from the header before memory is taken.
//!
//! The defaults let a 200-megapixel phone photograph through (16320×12240, 600 MB as RGB) and refuse what is
//! larger by an order: a decoder should not be the place where a server runs out of memory.

use crate::{Format, ImageError};

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
    /// progressive JPEG, the frame of a WebP, a strip of a TIFF), and the second copy that turning the picture or painting
    /// its colour key takes. Default 2 GiB.
    pub max_bytes: u64,
    /// Bytes of the file, for [`decode_file`](crate::decode_file). Default 1 GiB.
    pub max_file_bytes: u64,
    /// Pixels that a file gets on the word of its header. A larger picture is decoded only when the file is as long as the
    /// format needs for so many pixels at its very best (a byte of PNG holds at most 1032 bytes of rows, one of JPEG 512
    /// pixels…), so that a file of a kilobyte cannot take hundreds of megabytes. Default 2²² (4.2 million).
    pub max_unproven_pixels: u64,
    /// Scans of a JPEG, each of which costs a pass over the whole picture; real files have about ten. Default 500.
    pub max_jpeg_scans: u64,
    /// Pixels of a JPEG times its scans after the twentieth: what a file of many scans may cost beyond a usual progressive
    /// one, about half a second. Default 2³⁰.
    pub max_jpeg_work: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_width: 1 << 17,
            max_height: 1 << 17,
            max_pixels: 250_000_000,
            max_bytes: 2 << 30,
            max_file_bytes: 1 << 30,
            max_unproven_pixels: 1 << 22,
            max_jpeg_scans: 500,
            max_jpeg_work: 1 << 30,
        }
    }
}

impl Limits {
    /// Checks a header's size and the bytes that decoding takes for each pixel. What passes has pixels, and its bytes can
    /// be counted in a `usize` however far the limits were raised.
    pub(crate) fn check(&self, width: u64, height: u64, bytes_per_pixel: u64) -> Result<(), ImageError> {
        if width == 0 || height == 0 {
            return Err(ImageError::NoPixels { width, height });
        }
        let pixels = width.saturating_mul(height);
        within("max_width", self.max_width, width)?;
        within("max_height", self.max_height, height)?;
        within("max_pixels", self.max_pixels, pixels)?;
        within("max_bytes", self.addressable(), pixels.saturating_mul(bytes_per_pixel))
    }

    /// Checks a picture above [`Limits::max_unproven_pixels`] against the file that is to hold it: `least` are the fewest bytes
    /// that the format needs.
    pub(crate) fn plausible(
        &self,
        format: Format,
        (width, height): (u64, u64),
        file_bytes: u64,
        least: u64,
    ) -> Result<(), ImageError> {
        let proven = width.saturating_mul(height) <= self.max_unproven_pixels || file_bytes >= least;
        if proven {
            Ok(())
        } else {
            Err(ImageError::Implausible { format, width, height, least, file_bytes })
        }
    }

    /// [`Limits::max_bytes`], or the largest buffer that this machine could name.
    pub(crate) fn addressable(&self) -> u64 {
        self.max_bytes.min(isize::MAX as u64)
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

    #[test]
    fn a_side_of_zero_is_refused_whatever_the_other_is() {
        for (width, height) in [(0, 0), (0, 1), (1, 0), (0, u64::MAX), (u64::MAX, 0)] {
            assert!(
                matches!(Limits::default().check(width, height, 6), Err(ImageError::NoPixels { width: w, height: h })
                    if (w, h) == (width, height)),
                "{width}x{height}"
            );
        }
    }

    #[test]
    fn limits_raised_to_the_top_still_refuse_what_no_buffer_can_hold() {
        let (max, limit) = (u64::MAX, "max_bytes");
        let limits =
            Limits { max_width: max, max_height: max, max_pixels: max, max_bytes: max, ..Limits::default() };
        let side = u64::from(u32::MAX);
        let result = limits.check(side, side, 6);
        assert!(
            matches!(result, Err(ImageError::LimitExceeded { limit: l, .. }) if l == limit),
            "{result:?}"
        );
    }
}
