//! The kinds of TIFF page that are read: a list, not what is left when the rest has failed.
//!
//! The `tiff` crate decodes more than it decodes rightly (it ignores the fill order, applies a predictor to data that has
//! none, reads the frame of a JPEG strip as if it were the strip's), so a page passes only when its combination of colours,
//! extra samples, bits, sample format, compression, planes and predictor is one that gave the samples written, and what
//! Pillow 13.0.0 makes of them where it reads the kind too. Source: TIFF 6.0 and the table `OPEN_INFO` of Pillow.

use std::io::{Read, Seek};

use tiff::TiffResult;
use tiff::decoder::Decoder;
use tiff::decoder::ifd::Value;
use tiff::tags::Tag;

/// What the entries of a page say.
pub(super) struct Kind {
    /// 0 white is zero, 1 black is zero, 2 RGB, 3 palette, 5 inks, 6 YCbCr.
    photometric: u16,
    /// Samples of a pixel, extra ones included.
    samples: u16,
    /// Meanings of the extra samples: 0 unspecified, 1 associated alpha, 2 alpha.
    extra: Vec<u16>,
    bits: u16,
    /// 1 unsigned, 2 signed, 3 float.
    format: u16,
    compression: u16,
    /// 1 none, 2 differences of neighbours, 3 those of floats.
    predictor: u16,
    /// 1 from the high bit down, 2 from the low bit up.
    fill_order: u16,
    /// Whether each sample has strips of its own.
    planar: bool,
    /// YCbCr is that of JFIF.
    jfif: bool,
    /// Inks are cyan, magenta, yellow, black.
    cmyk: bool,
}

/// What the first extra sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alpha {
    /// No alpha: there is no extra sample, or its meaning is not given.
    None,
    /// Alpha beside the colour.
    Straight,
    /// Alpha that has been multiplied into the colour.
    Associated,
}

const NO_COMPRESSION: u16 = 1;
const GROUP_4: u16 = 4;
const LZW: u16 = 5;
const JPEG: u16 = 7;
const DEFLATE: u16 = 8;
const OLD_DEFLATE: u16 = 32946;
const PACK_BITS: u16 = 32773;

impl Kind {
    /// Reads the entries. `palette`: the page has one, whatever its photometric entry reads as.
    pub(super) fn read<R: Read + Seek>(decoder: &mut Decoder<R>, palette: bool) -> TiffResult<Self> {
        let mut list = |tag| decoder.find_tag_unsigned_vec::<u16>(tag).map(Option::unwrap_or_default);
        let mut first = |tag, default| list(tag).map(|values| values.first().copied().unwrap_or(default));
        let photometric = first(Tag::PhotometricInterpretation, 1)?;
        let mut kind = Self {
            photometric: if palette { 3 } else { photometric },
            samples: first(Tag::SamplesPerPixel, 1)?,
            bits: first(Tag::BitsPerSample, 1)?,
            format: first(Tag::SampleFormat, 1)?,
            compression: first(Tag::Compression, NO_COMPRESSION)?,
            predictor: first(Tag::Predictor, 1)?,
            fill_order: first(Tag::FillOrder, 1)?,
            planar: first(Tag::PlanarConfiguration, 1)? == 2,
            // Entry 332, InkSet.
            cmyk: first(Tag::Unknown(332), 1)? == 1,
            extra: list(Tag::ExtraSamples)?,
            jfif: true,
        };
        kind.jfif = is_or_absent(decoder, Tag::Unknown(529), &[0.299, 0.587, 0.114])?
            && is_or_absent(decoder, Tag::Unknown(532), &[0.0, 255.0, 128.0, 255.0, 128.0, 255.0])?;
        Ok(kind)
    }

    /// Whether strips or tiles are JPEG files.
    pub(super) fn is_jpeg(&self) -> bool {
        self.compression == JPEG
    }

    /// Components of a strip's JPEG file.
    pub(super) fn jpeg_components(&self) -> u16 {
        if self.planar { 1 } else { self.samples }
    }

    /// What the first extra sample is. A fourth sample of RGB is alpha also when nothing says so, as in Pillow.
    pub(super) fn alpha(&self) -> Alpha {
        match self.extra.first() {
            Some(1) => Alpha::Associated,
            Some(2) => Alpha::Straight,
            None if self.photometric == 2 && self.samples == 4 => Alpha::Straight,
            _ => Alpha::None,
        }
    }

    /// The least bytes that can hold `pixels` in `height` rows, by what the compression reaches at its very best.
    pub(super) fn least_bytes(&self, pixels: u64, height: u64) -> u64 {
        let bits = pixels.saturating_mul(u64::from(self.samples)).saturating_mul(u64::from(self.bits));
        match self.compression {
            // A row like the one above takes a bit. Real pages are not all blank.
            GROUP_4 => (height / 8).max(pixels / 32768),
            // A code of 12 bits for a string of at most 4096 bytes.
            LZW => bits / 8 / 2731,
            JPEG => pixels / super::jpeg::MAX_PIXELS_A_BYTE,
            DEFLATE | OLD_DEFLATE => bits / 8 / 1032,
            // Two bytes for 128.
            PACK_BITS => bits / 8 / 64,
            _ => bits / 8,
        }
    }

    /// What keeps the page from being read, if anything: words for "… is not supported".
    pub(super) fn obstacle(&self) -> Option<String> {
        let compression = self.compression_name();
        if !matches!(
            self.compression,
            NO_COMPRESSION | GROUP_4 | LZW | JPEG | DEFLATE | OLD_DEFLATE | PACK_BITS
        ) {
            return Some(compression);
        }
        if self.fill_order != 1 {
            return Some(format!("fill order {}", self.fill_order));
        }
        if !self.knows_pixels() {
            return Some(self.pixels_name());
        }
        let compressible = match self.compression {
            JPEG => {
                self.bits == 8
                    && self.format == 1
                    && (self.samples == 1 || !self.planar || self.photometric == 2)
                    && matches!((self.photometric, self.samples), (0 | 1, 1) | (2 | 6, 3) | (5, 4))
            }
            GROUP_4 => self.bits == 1 && self.samples == 1 && self.photometric < 2,
            _ => true,
        };
        if !compressible {
            return Some(format!("{compression} of {}", self.pixels_name()));
        }
        // The crate predicts after it has dropped samples, which leaves the wrong ones.
        let kept = match (self.photometric, self.alpha()) {
            (2, Alpha::None) => 3,
            (2, _) | (5, _) => 4,
            _ => self.samples,
        };
        let drops = !self.planar && kept != self.samples;
        let predictable = match self.predictor {
            1 => true,
            2 => matches!(self.bits, 8 | 16 | 32) && !drops,
            3 => self.format == 3 && !drops,
            _ => false,
        };
        // Without LZW or deflate there is no predictor, whatever the entry says; readers do not agree on what it means.
        let has_predictor = matches!(self.compression, LZW | DEFLATE | OLD_DEFLATE);
        if !predictable || (self.predictor != 1 && !has_predictor) {
            return Some(format!("predictor {} of {compression}, {}", self.predictor, self.pixels_name()));
        }
        None
    }

    /// Whether colours, extra samples, bits and sample format are a combination whose meaning is known.
    fn knows_pixels(&self) -> bool {
        let colors = match self.photometric {
            0 | 1 | 3 => 1,
            2 | 6 => 3,
            5 if self.cmyk => 4,
            _ => return false,
        };
        let Some(extras) = self.samples.checked_sub(colors) else { return false };
        let unnamed_alpha = self.photometric == 2 && extras == 1 && self.extra.is_empty();
        if usize::from(extras) != self.extra.len() && !unnamed_alpha {
            return false;
        }
        let rest = self.extra.get(1..).unwrap_or_default();
        if self.extra.first().is_some_and(|&first| first > 2) || rest.iter().any(|&extra| extra != 0) {
            return false;
        }
        match (self.photometric, extras, self.format) {
            (0, 0, 1) => matches!(self.bits, 1 | 2 | 4 | 8 | 16),
            (1, 0, 1) => matches!(self.bits, 1 | 2 | 4 | 8 | 16 | 32),
            (1, 0, 2) => matches!(self.bits, 16 | 32),
            (1, 0, 3) => self.bits == 32,
            (3, 0, 1) => matches!(self.bits, 1 | 2 | 4 | 8),
            (3, 1, 1) => self.bits == 8 && self.alpha() != Alpha::Associated,
            (1, 1, 1) | (2, 0..=3, 1) => matches!(self.bits, 8 | 16),
            (5, 0..=2, 1) => matches!(self.bits, 8 | 16) && self.alpha() == Alpha::None,
            (6, 0, 1) => self.bits == 8 && self.jfif,
            _ => false,
        }
    }

    fn compression_name(&self) -> String {
        let name = match self.compression {
            NO_COMPRESSION => "no compression",
            2 => "Huffman compression (group 3, one-dimensional)",
            3 => "group 3 fax compression",
            GROUP_4 => "group 4 fax compression",
            LZW => "LZW compression",
            6 => "old JPEG compression",
            JPEG => "JPEG compression",
            DEFLATE | OLD_DEFLATE => "deflate compression",
            PACK_BITS => "PackBits compression",
            34925 => "LZMA compression",
            50000 => "Zstandard compression",
            50001 => "WebP compression",
            other => return format!("compression {other}"),
        };
        name.to_owned()
    }

    fn pixels_name(&self) -> String {
        let colors = match self.photometric {
            0 => "grey (white is zero)",
            1 => "grey",
            2 => "RGB",
            3 => "palette",
            4 => "mask",
            5 => "CMYK",
            6 => "YCbCr",
            8 => "CIELab",
            9 => "ICCLab",
            10 => "ITULab",
            _ => "unknown",
        };
        let format = match self.format {
            1 => "unsigned",
            2 => "signed",
            3 => "float",
            _ => "unknown",
        };
        let planes = if self.planar { " in planes" } else { "" };
        format!(
            "{colors} colour of {} {format} samples of {} bits, extra samples {:?}{planes}",
            self.samples, self.bits, self.extra
        )
    }
}

/// Whether an entry of fractions is not there or holds these values.
fn is_or_absent<R: Read + Seek>(decoder: &mut Decoder<R>, tag: Tag, values: &[f64]) -> TiffResult<bool> {
    let Some(value) = decoder.find_tag(tag)? else { return Ok(true) };
    let got: Vec<f64> = match value {
        Value::List(list) => list.iter().filter_map(fraction).collect(),
        one => fraction(&one).into_iter().collect(),
    };
    Ok(got.len() == values.len() && got.iter().zip(values).all(|(a, b)| (a - b).abs() < 1e-4))
}

fn fraction(value: &Value) -> Option<f64> {
    match *value {
        Value::Rational(n, d) => Some(f64::from(n) / f64::from(d)),
        _ => None,
    }
}
