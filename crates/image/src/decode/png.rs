//! PNG through the `png` crate, row by row (an interlaced picture as a whole), with Pillow's rules for `tRNS`.
//!
//! Pillow keeps a `tRNS` colour key through `convert("RGB")` as one RGB colour, which the processor then paints white:
//! grey key v → (v, v, v), not scaled up for 2 and 4 bits; RGB → the low bytes, also of 16-bit keys; a palette with one
//! fully transparent and otherwise opaque entries → the colour of that entry; any other palette alpha is dropped.
//! A 1-bit key counts only for black. A 16-bit grey key is ignored here (Pillow saturates such pictures, we scale them).
//! Orientation: `eXIf`, else a "Raw profile type exif" text, else the XMP text; also when they follow the pixels.

use std::io::Cursor;

use png::{BitDepth, ColorType, DecodingError, Info, Reader, Transformations};

use super::png_rows::RowConverter;
use super::{DecodeOptions, Decoded, PIXEL_BYTES, exif};
use crate::orientation::Orientation;
use crate::{Format, ImageError, Rgb8};

/// A compressed text chunk may unpack to this many bytes; EXIF and XMP are far smaller.
const MAX_TEXT_BYTES: usize = 1 << 22;

/// Bytes that a byte of deflate can hold at most: 258 in two bits.
const MAX_DEFLATE_RATIO: u64 = 1032;

type PngReader<'a> = Reader<Cursor<&'a [u8]>>;

pub(super) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, ImageError> {
    let mut reader = open(bytes, options)?;
    let converter = RowConverter::new(reader.info(), options.background);
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let mut data = vec![0; width * height * 3];
    let outcome = if reader.info().interlaced {
        interlaced(&mut reader, &converter, &mut data)
    } else {
        rows(&mut reader, &converter, &mut data)
    };
    let truncated = match outcome {
        Err(error) if !options.tolerant => return Err(failure(error)),
        outcome => outcome.is_err(),
    };
    // Text and EXIF may follow the pixels. What is broken there does not harm the picture; Pillow ignores it too.
    let _ = reader.finish();
    let info = reader.info();
    let transparent_color = if options.background.is_none() { color_key(info) } else { None };
    let pixels = Rgb8::from_raw(width, height, data)?;
    Ok(Decoded { pixels, transparent_color, truncated, orientation: orientation(info) })
}

/// Reads the header, checks it, then reads up to the pixels.
fn open<'a>(bytes: &'a [u8], options: &DecodeOptions) -> Result<PngReader<'a>, ImageError> {
    let budget = usize::try_from(options.limits.max_bytes).unwrap_or(usize::MAX);
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: budget });
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_ignore_iccp_chunk(true);
    decoder.ignore_checksums(options.tolerant);
    if let Some((width, height @ 0) | (width @ 0, height)) = stored_size(bytes) {
        return Err(ImageError::NoPixels { width: width.into(), height: height.into() });
    }
    let info = decoder.read_header_info().map_err(failure)?;
    let native = if info.interlaced { info.bytes_per_pixel() as u64 } else { 0 };
    options.limits.check(u64::from(info.width), u64::from(info.height), PIXEL_BYTES + native)?;
    let row_bits = u64::from(info.width) * info.color_type.samples() as u64 * info.bit_depth as u64;
    let least = (row_bits.div_ceil(8) + 1) * u64::from(info.height) / MAX_DEFLATE_RATIO;
    let size = (u64::from(info.width), u64::from(info.height));
    options.limits.plausible(Format::Png, size, bytes.len() as u64, least)?;
    decoder.read_info().map_err(failure)
}

/// Width and height as the first chunk gives them; the `png` crate has no error of its own for a side of 0.
fn stored_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.get(12..24)?.strip_prefix(b"IHDR")?;
    let (width, height) = (header.first_chunk()?, header.last_chunk()?);
    Some((u32::from_be_bytes(*width), u32::from_be_bytes(*height)))
}

fn rows(reader: &mut PngReader<'_>, converter: &RowConverter, data: &mut [u8]) -> Result<(), DecodingError> {
    let width = reader.info().width as usize;
    for out in data.chunks_exact_mut(width * 3) {
        match reader.next_row()? {
            Some(row) => converter.convert(row.data(), out),
            None => break,
        }
    }
    Ok(())
}

fn interlaced(
    reader: &mut PngReader<'_>,
    converter: &RowConverter,
    data: &mut [u8],
) -> Result<(), DecodingError> {
    let width = reader.info().width;
    let line = reader.output_line_size(width).unwrap_or(0);
    let mut native = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let outcome = reader.next_frame(&mut native).map(|_| ());
    // Passes that came before an error are already in the buffer.
    for (row, out) in native.chunks_exact(line.max(1)).zip(data.chunks_exact_mut(width as usize * 3)) {
        converter.convert(row, out);
    }
    outcome
}

/// The colour that Pillow and the processor take for transparent.
fn color_key(info: &Info<'_>) -> Option<[u8; 3]> {
    let trns = info.trns.as_deref()?;
    // The `png` crate keeps only the low bytes of the key, except for 16-bit samples.
    let low_byte = |i: usize| match info.bit_depth {
        BitDepth::Sixteen => trns.get(2 * i + 1).copied(),
        _ => trns.get(i).copied(),
    };
    match (info.color_type, info.bit_depth) {
        (ColorType::Grayscale, BitDepth::Sixteen) => None,
        (ColorType::Grayscale, BitDepth::One) => (low_byte(0)? == 0).then_some([0; 3]),
        (ColorType::Grayscale, _) => Some([low_byte(0)?; 3]),
        (ColorType::Rgb, _) => Some([low_byte(0)?, low_byte(1)?, low_byte(2)?]),
        (ColorType::Indexed, _) => {
            let index = trns.iter().position(|&alpha| alpha == 0)?;
            let simple = trns.iter().enumerate().all(|(i, &alpha)| i == index || alpha == 255);
            let entry = info.palette.as_deref()?.get(index * 3..index * 3 + 3)?;
            simple.then(|| [entry[0], entry[1], entry[2]])
        }
        _ => None,
    }
}

fn orientation(info: &Info<'_>) -> Orientation {
    let raw_profile = if info.exif_metadata.is_none() { raw_exif_profile(info) } else { None };
    let xmp = info.utf8_text.iter().rfind(|text| text.keyword == "XML:com.adobe.xmp").and_then(|text| {
        let mut text = text.clone();
        text.decompress_text_with_limit(MAX_TEXT_BYTES).ok()?;
        text.get_text().ok()
    });
    let exif = info.exif_metadata.as_deref().or(raw_profile.as_deref());
    exif::orientation(exif, xmp.as_deref().map(str::as_bytes))
}

/// ImageMagick's older way: three lines of heading, then the block in hexadecimal.
fn raw_exif_profile(info: &Info<'_>) -> Option<Vec<u8>> {
    const KEYWORD: &str = "Raw profile type exif";
    let plain = info.uncompressed_latin1_text.iter().rfind(|text| text.keyword == KEYWORD);
    let text = match plain {
        Some(text) => text.text.clone(),
        None => {
            let mut text = info.compressed_latin1_text.iter().rfind(|text| text.keyword == KEYWORD)?.clone();
            text.decompress_text_with_limit(MAX_TEXT_BYTES).ok()?;
            text.get_text().ok()?
        }
    };
    let digits: Vec<u8> =
        text.split('\n').skip(3).flat_map(str::bytes).filter(u8::is_ascii_hexdigit).collect();
    let digit = |b: u8| char::from(b).to_digit(16).and_then(|d| u8::try_from(d).ok());
    digits.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn failure(error: DecodingError) -> ImageError {
    let format = Format::Png;
    match error {
        DecodingError::IoError(_) => {
            ImageError::Truncated { format, reason: "the data ends before the picture does".to_owned() }
        }
        other => ImageError::Corrupt { format, reason: other.to_string() },
    }
}
