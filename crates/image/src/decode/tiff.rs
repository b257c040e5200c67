//! TIFF through the `tiff` crate: the first page, strip by strip or tile by tile.
//!
//! The crate knows no palettes, so a palette picture is read as grey indices (its photometric entry is changed as it is
//! read, in [`AsGrey`]) and looked up here. A strip that would lie past the file's end means the file is cut off.
//! Orientation is the file's own entry, as for EXIF.

use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};

use tiff::decoder::{ChunkType, Decoder, Limits as TiffLimits, TiffCodingUnit};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError, TiffFormatError, TiffUnsupportedError};

use super::tiff_jpeg::Strips;
use super::tiff_kinds::Kind;
use super::tiff_pixels::{Chunk, Pixels};
use super::{DecodeOptions, Decoded, PIXEL_BYTES, exif};
use crate::limits::within;
use crate::{Format, ImageError, Rgb8};

/// Metadata entries larger than this are refused; the largest real ones are strip tables.
const MAX_ENTRY_BYTES: usize = 1 << 26;

type TiffDecoder<'a> = Decoder<AsGrey<'a>>;

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    let file = AsGrey::new(bytes);
    let palette = file.palette.is_some();
    let mut decoder = Decoder::new(file).map_err(failure)?;
    let (width, height) = decoder.dimensions().map_err(failure)?;
    let kind = Kind::read(&mut decoder, palette).map_err(failure)?;
    if let Some(feature) = kind.obstacle() {
        return Err(unsupported(feature));
    }
    let color = decoder.colortype().map_err(failure)?;
    let native = u64::from(color.bit_depth()).div_ceil(8) * u64::from(samples(color));
    let size = (u64::from(width), u64::from(height));
    options.limits.check(size.0, size.1, PIXEL_BYTES + native)?;
    let least = kind.least_bytes(size.0 * size.1, size.1);
    options.limits.plausible(Format::Tiff, size, bytes.len() as u64, least)?;
    let budget = usize::try_from(options.limits.max_bytes).unwrap_or(usize::MAX);
    let mut limits = TiffLimits::default();
    limits.decoding_buffer_size = budget;
    limits.intermediate_buffer_size = budget;
    limits.ifd_value_size = MAX_ENTRY_BYTES;
    let mut decoder = decoder.with_limits(limits);
    let places = places(&mut decoder)?;
    let past_end = |(offset, len): &(u64, u64)| offset.saturating_add(*len) > bytes.len() as u64;
    if !options.tolerant && places.iter().any(past_end) {
        return Err(truncated());
    }
    check_chunks(&mut decoder, &kind, &places, bytes, options)?;

    let pixels =
        Pixels::new(&mut decoder, color, palette, kind.alpha(), options.background).map_err(failure)?;
    let mut data = vec![0; width as usize * height as usize * 3];
    let truncated = match read_chunks(&mut decoder, &pixels, width as usize, &mut data) {
        Err(error) if !options.tolerant => return Err(failure(error)),
        outcome => outcome.is_err(),
    };
    let pixels = Rgb8::from_raw(width as usize, height as usize, data)?;
    Ok(Decoded { pixels, transparent_color: None, truncated, orientation: exif::tiff_orientation(bytes) })
}

/// Samples of a stored pixel.
pub(super) fn samples(color: ColorType) -> u16 {
    match color {
        ColorType::Multiband { num_samples, .. } => num_samples,
        other => other.num_samples(),
    }
}

/// Offset and length of each strip or tile.
fn places(decoder: &mut TiffDecoder<'_>) -> Result<Vec<(u64, u64)>, ImageError> {
    let tiled = decoder.get_chunk_type() == ChunkType::Tile;
    let (offsets, counts) = if tiled {
        (Tag::TileOffsets, Tag::TileByteCounts)
    } else {
        (Tag::StripOffsets, Tag::StripByteCounts)
    };
    let offsets = decoder.find_tag_unsigned_vec::<u64>(offsets).map_err(failure)?.unwrap_or_default();
    let counts = decoder.find_tag_unsigned_vec::<u64>(counts).map_err(failure)?.unwrap_or_default();
    Ok(offsets.into_iter().zip(counts).collect())
}

/// Bounds what decoding whole strips or tiles costs beyond the picture: the padding of tiles, and JPEG's own headers.
fn check_chunks(
    decoder: &mut TiffDecoder<'_>,
    kind: &Kind,
    places: &[(u64, u64)],
    bytes: &[u8],
    options: &DecodeOptions,
) -> Result<(), ImageError> {
    let (width, height) = decoder.dimensions().map_err(failure)?;
    let (chunk_width, chunk_height) = decoder.chunk_dimensions();
    if decoder.get_chunk_type() == ChunkType::Tile {
        let padded = |side: u32, chunk: u32| u64::from(side.div_ceil(chunk.max(1))) * u64::from(chunk);
        let pixels = padded(width, chunk_width).saturating_mul(padded(height, chunk_height));
        within("max_pixels", options.limits.max_pixels, pixels)?;
    }
    if !kind.is_jpeg() {
        return Ok(());
    }
    let tables = match decoder.find_tag(Tag::JPEGTables).map_err(failure)? {
        Some(value) => value.into_u8_vec().map_err(failure)?,
        None => Vec::new(),
    };
    let components = kind.jpeg_components();
    Strips { tables: &tables, width: chunk_width.into(), components, places }.check(bytes, &options.limits)
}

/// Reads every strip or tile into its place. On an error the rest keeps its zeros.
fn read_chunks(
    decoder: &mut TiffDecoder<'_>,
    pixels: &Pixels,
    width: usize,
    data: &mut [u8],
) -> Result<(), TiffError> {
    let height = data.len() / (width * 3);
    let (chunk_width, chunk_height) = decoder.chunk_dimensions();
    let across = width.div_ceil(chunk_width.max(1) as usize);
    let down = height.div_ceil(chunk_height.max(1) as usize);
    let mut buffer = Vec::new();
    for index in 0..across * down {
        let unit = u32::try_from(index).map_err(|_| TiffError::LimitsExceeded)?;
        let layout = decoder.image_coding_unit_layout(TiffCodingUnit(unit))?;
        buffer.clear();
        buffer.resize(layout.complete_len, 0);
        decoder.read_coding_unit_bytes(TiffCodingUnit(unit), &mut buffer)?;
        let columns = decoder.chunk_data_dimensions(unit).0 as usize;
        let chunk = Chunk {
            bytes: &buffer,
            row_stride: layout.row_stride.map_or(0, Into::into),
            plane_stride: if layout.planes > 1 { layout.plane_stride.map_or(0, Into::into) } else { 0 },
        };
        let left = index % across * chunk_width as usize;
        let top = index / across * chunk_height as usize;
        let rows = data.chunks_exact_mut(width * 3).skip(top).take(chunk_height as usize);
        for (y, row) in rows.enumerate() {
            pixels.convert(&chunk, y, &mut row[left * 3..(left + columns) * 3]);
        }
    }
    Ok(())
}

/// The file, with its palette picture declared grey: the photometric value reads as 1, the file itself is not copied.
struct AsGrey<'a> {
    file: Cursor<&'a [u8]>,
    palette: Option<exif::PaletteEntry>,
}

impl<'a> AsGrey<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { file: Cursor::new(bytes), palette: exif::palette_entry(bytes) }
    }
}

impl Read for AsGrey<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(self.file.position()).unwrap_or(usize::MAX);
        let len = self.file.read(out)?;
        if let Some(entry) = &self.palette {
            let grey = if entry.little { [1, 0] } else { [0, 1] };
            for (at, value) in entry.value.clone().zip(grey) {
                if let Some(byte) = at.checked_sub(start).and_then(|i| out[..len].get_mut(i)) {
                    *byte = value;
                }
            }
        }
        Ok(len)
    }
}

impl Seek for AsGrey<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

fn truncated() -> ImageError {
    ImageError::Truncated { format: Format::Tiff, reason: "the data ends before the picture does".to_owned() }
}

fn unsupported(feature: String) -> ImageError {
    ImageError::Unsupported { format: Format::Tiff, feature }
}

/// The crate's words without its own "is unsupported".
fn feature(error: &TiffUnsupportedError) -> String {
    match error {
        TiffUnsupportedError::UnknownInterpretation => "this photometric interpretation".to_owned(),
        TiffUnsupportedError::UnsupportedSampleFormat(formats) => format!("sample format {formats:?}"),
        TiffUnsupportedError::InconsistentBitsPerSample(bits) => format!("{bits:?} bits a sample"),
        TiffUnsupportedError::ChromaSubsampling => "chroma subsampling without JPEG".to_owned(),
        TiffUnsupportedError::MisalignedTileBoundaries => "a tile that ends inside of a byte".to_owned(),
        other => format!("this kind of page ({})", other.to_string().trim_end_matches(" is unsupported")),
    }
}

fn failure(error: TiffError) -> ImageError {
    let format = Format::Tiff;
    match error {
        TiffError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => truncated(),
        TiffError::FormatError(TiffFormatError::InvalidDimensions(width, height))
            if width == 0 || height == 0 =>
        {
            ImageError::NoPixels { width: width.into(), height: height.into() }
        }
        TiffError::UnsupportedError(error) => unsupported(feature(&error)),
        other => ImageError::Corrupt { format, reason: other.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_photometric_value_reads_as_grey_however_the_reads_fall() {
        // One entry, photometric = 3 (palette), whose value lies at bytes 18 and 19.
        let little = b"II*\0\x08\0\0\0\x01\0\x06\x01\x03\0\x01\0\0\0\x03\0\0\0\0\0\0\0".as_slice();
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x06\0\x03\0\0\0\x01\0\x03\0\0\0\0\0\0".as_slice();
        for (bytes, grey) in [(little, [1, 0]), (big, [0, 1])] {
            let want = [&bytes[..18], &grey, &bytes[20..]].concat();
            for step in 1..=bytes.len() {
                let (mut file, mut got) = (AsGrey::new(bytes), Vec::new());
                while (&mut file).take(step as u64).read_to_end(&mut got).unwrap() > 0 {}
                assert_eq!(got, want, "{step} bytes at a time");
            }
        }
    }
}
