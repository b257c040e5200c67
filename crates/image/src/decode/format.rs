//! The formats, and telling them apart by their first bytes.
//!
//! A file's name says nothing. JPEG: FF D8 FF. PNG: its 8 bytes. WebP: `RIFF` ???? `WEBP`. GIF: `GIF87a` or `GIF89a`. TIFF and
//! BigTIFF: byte order and 42 or 43. BMP: `BM` and a known size of the second header at byte 14.

use crate::ImageError;

/// A picture format that can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Baseline, extended and progressive JPEG: grey, YCbCr, RGB, CMYK, YCCK.
    Jpeg,
    /// PNG and APNG (first picture).
    Png,
    /// WebP (first frame).
    WebP,
    /// GIF (first frame).
    Gif,
    /// Windows and OS/2 bitmaps.
    Bmp,
    /// TIFF and BigTIFF (first page).
    Tiff,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
        })
    }
}

impl Format {
    /// The format of a file's content.
    ///
    /// # Errors
    /// [`ImageError::Empty`] or [`ImageError::UnknownFormat`].
    pub fn of(bytes: &[u8]) -> Result<Self, ImageError> {
        let starts = |prefix: &[u8]| bytes.starts_with(prefix);
        if bytes.is_empty() {
            Err(ImageError::Empty)
        } else if starts(&[0xff, 0xd8, 0xff]) {
            Ok(Self::Jpeg)
        } else if starts(b"\x89PNG\r\n\x1a\n") {
            Ok(Self::Png)
        } else if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Ok(Self::WebP)
        } else if starts(b"GIF87a") || starts(b"GIF89a") {
            Ok(Self::Gif)
        } else if [&b"II*\0"[..], b"MM\0*", b"II+\0", b"MM\0+"].into_iter().any(starts) {
            Ok(Self::Tiff)
        } else if starts(b"BM") && bytes.get(14..18).is_some_and(is_bmp_header_size) {
            Ok(Self::Bmp)
        } else {
            let head = &bytes[..bytes.len().min(512)];
            let printable = |b: &u8| !b.is_ascii_control() || b.is_ascii_whitespace();
            Err(ImageError::UnknownFormat { text: head.iter().all(printable) })
        }
    }
}

/// Text may start with "BM" too: the size of the second header tells.
fn is_bmp_header_size(bytes: &[u8]) -> bool {
    matches!(bytes, [12 | 40 | 52 | 56 | 64 | 108 | 124, 0, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_picture_is_told_apart() {
        assert!(matches!(Format::of(b""), Err(ImageError::Empty)));
        assert!(matches!(Format::of(b"not a picture\n"), Err(ImageError::UnknownFormat { text: true })));
        assert!(matches!(
            Format::of(b"BMW is a maker of cars"),
            Err(ImageError::UnknownFormat { text: true })
        ));
        assert!(matches!(Format::of(&[0, 1, 2, 3]), Err(ImageError::UnknownFormat { text: false })));
        assert!(matches!(Format::of(b"#?RADIANCE\n\n-Y 4000000000"), Err(ImageError::UnknownFormat { .. })));
    }
}
