//! The JPEG files inside a TIFF's strips or tiles, checked before the `tiff` crate decodes them.
//!
//! The crate copies what a JPEG holds as if it had the strip's width and samples, whatever its own header says; with another
//! width or number of components the rows would run askew without an error. So each must have the strip's width, its
//! components and 8 bits, and the limits of a JPEG hold for all of them together. Shared tables (entry 347) precede each
//! strip, less their last and its first two bytes. Source: TIFF Technical Note 2.

use super::jpeg::check_work;
use super::{PIXEL_BYTES, jpeg_header};
use crate::{Format, ImageError, Limits};

/// Shared tables are four quantisation and eight Huffman tables at most, below 3 kB.
const MAX_TABLE_BYTES: usize = 1 << 16;

/// What every strip must be.
pub(super) struct Strips<'a> {
    /// Shared tables.
    pub(super) tables: &'a [u8],
    /// Columns of a strip or tile, padding included.
    pub(super) width: u64,
    /// Samples of its pixels.
    pub(super) components: u16,
    /// Offset and length of each.
    pub(super) places: &'a [(u64, u64)],
}

impl Strips<'_> {
    /// Checks the strips of `file`. One whose header is cut or missing is left to the decoder, which refuses it.
    pub(super) fn check(&self, file: &[u8], limits: &Limits) -> Result<(), ImageError> {
        if self.tables.len() > MAX_TABLE_BYTES {
            return Err(corrupt(format!("JPEG tables of {} bytes", self.tables.len())));
        }
        // Strips that share bytes would make a small file a long one.
        let sum = self.places.iter().fold(0, |sum: u64, (_, len)| sum.saturating_add(*len));
        if sum > file.len() as u64 {
            return Err(corrupt(format!("JPEG strips of {sum} bytes in a file of {}", file.len())));
        }
        let (mut scans, mut pixels) = (0, 0);
        for &(offset, len) in self.places {
            let start = usize::try_from(offset).unwrap_or(usize::MAX).min(file.len());
            let len = usize::try_from(len).unwrap_or(usize::MAX).min(file.len() - start);
            let header = self.header(&file[start..start + len]);
            let Some(frame) = header.frame else { continue };
            let (width, height) = (u64::from(frame.width), u64::from(frame.height));
            if header.frames != 1
                || width != self.width
                || u16::from(frame.components) != self.components
                || frame.precision != 8
            {
                return Err(corrupt(format!(
                    "a JPEG strip of {width} columns, {} components and {} bits, expected {}, {} and 8",
                    frame.components, frame.precision, self.width, self.components
                )));
            }
            if !matches!(frame.marker, 0xc0..=0xc2) {
                let feature = "lossless, hierarchical or arithmetic coding of JPEG".to_owned();
                return Err(ImageError::Unsupported { format: Format::Tiff, feature });
            }
            limits.check(width, height, PIXEL_BYTES + 3 * u64::from(self.components))?;
            pixels += width * height;
            scans = header.scans.max(scans);
        }
        check_work(scans, pixels, limits)
    }

    fn header(&self, strip: &[u8]) -> jpeg_header::JpegHeader {
        match self.tables.len().checked_sub(2) {
            None => jpeg_header::read(strip),
            Some(end) => {
                jpeg_header::read(&[&self.tables[..end], strip.get(2..).unwrap_or_default()].concat())
            }
        }
    }
}

fn corrupt(reason: String) -> ImageError {
    ImageError::Corrupt { format: Format::Tiff, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A JPEG header of 16 rows, and the scans after it.
    fn jpeg(width: u16, components: u8, scans: usize) -> Vec<u8> {
        let [w1, w0] = width.to_be_bytes();
        let mut file = vec![0xff, 0xd8, 0xff, 0xc2, 0, 8, 8, 0, 16, w1, w0, components];
        for _ in 0..scans {
            file.extend([0xff, 0xda, 0, 2]);
        }
        file
    }

    fn check(file: &[u8], tables: &[u8], places: &[(u64, u64)]) -> Result<(), ImageError> {
        Strips { tables, width: 64, components: 3, places }.check(file, &Limits::default())
    }

    #[test]
    fn a_strip_must_have_the_pages_width_and_components() {
        for (width, components, good) in
            [(64, 3, true), (63, 3, false), (65, 3, false), (64, 2, false), (64, 4, false)]
        {
            let file = jpeg(width, components, 1);
            let result = check(&file, &[], &[(0, file.len() as u64)]);
            assert_eq!(result.is_ok(), good, "{width}, {components}: {result:?}");
        }
    }

    #[test]
    fn frames_hidden_in_the_tables_are_found() {
        let (file, tables) = (jpeg(64, 3, 1), [jpeg(64, 3, 0), vec![0xff, 0xd9]].concat());
        assert!(check(&file, &[0xff, 0xd8, 0xff, 0xd9], &[(0, file.len() as u64)]).is_ok());
        let result = check(&file, &tables, &[(0, file.len() as u64)]);
        assert!(matches!(result, Err(ImageError::Corrupt { .. })), "{result:?}");
    }

    #[test]
    fn strips_that_share_bytes_or_have_hundreds_of_scans_are_refused() {
        let file = jpeg(64, 3, 1);
        let result = check(&file, &[], &[(0, file.len() as u64); 2]);
        assert!(matches!(result, Err(ImageError::Corrupt { .. })), "{result:?}");
        let file = jpeg(64, 3, 600);
        let result = check(&file, &[], &[(0, file.len() as u64)]);
        assert!(
            matches!(result, Err(ImageError::LimitExceeded { limit: "max_jpeg_scans", .. })),
            "{result:?}"
        );
    }
}
