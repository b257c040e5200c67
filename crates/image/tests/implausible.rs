//! Files of a kilobyte, sound in themselves, that promise 140 to 250 megapixels: refused at once and in little memory.
//!
//! Headers alone do not give them away: the sizes are within every limit. A test file of its own: it measures the peak memory of
//! its process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::path::Path;

use dinoxide_image::{DecodeOptions, Format, ImageError, Limits, decode};

const SIDE: u16 = 15800;
const MEGABYTE: u64 = 1 << 20;

fn read(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// The file with some of its bytes replaced.
fn patched(mut file: Vec<u8>, at: usize, bytes: &[u8]) -> Vec<u8> {
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

/// A JPEG whose frame says `height` and `width`.
fn resized_jpeg(name: &str, height: u16, width: u16) -> Vec<u8> {
    let file = read(name);
    let frame = file.windows(2).position(|w| matches!(w, [0xff, 0xc0 | 0xc2])).unwrap();
    patched(file, frame + 5, &[height.to_be_bytes(), width.to_be_bytes()].concat())
}

/// A BMP of run lengths with the end mark alone.
fn empty_rle(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    file.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
    file.extend([1, 0, 8, 0, 1, 0, 0, 0]);
    file.extend([0; 20]);
    file.extend([0, 1]);
    file
}

fn tiff(compression: u16, photometric: u16, samples: u16, data: u32) -> Vec<u8> {
    let mut file = b"II*\0\x08\0\0\0\x09\0".to_vec();
    let entries = [
        (256, u32::from(SIDE)),
        (257, u32::from(SIDE)),
        (258, 8),
        (259, compression.into()),
        (262, photometric.into()),
        (273, 8),
        (277, samples.into()),
        (278, u32::from(SIDE)),
        (279, data),
    ];
    for (tag, value) in entries {
        file.extend(u16::to_le_bytes(tag));
        file.extend([4, 0, 1, 0, 0, 0]);
        file.extend(value.to_le_bytes());
    }
    file.resize(1000, 0);
    file
}

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[test]
fn a_kilobyte_that_promises_hundreds_of_megapixels_is_refused_within_64_megabytes() {
    let side = SIDE.to_le_bytes();
    let png = {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, SIDE.into(), SIDE.into());
        encoder.set_color(png::ColorType::Rgb);
        drop(encoder.write_header().unwrap());
        file
    };
    let lossless = patched(read("webp-lossless.webp"), 21, &(11_999_u32 * 0x4001).to_le_bytes());
    let bombs = [
        (Format::Gif, patched(read("gif-plain.gif"), 6, &[side, side].concat())),
        (Format::Bmp, empty_rle(SIDE.into(), SIDE.into())),
        (Format::Jpeg, resized_jpeg("jpeg-tiny.jpg", SIDE, SIDE)),
        (Format::Jpeg, resized_jpeg("jpeg-progressive.jpg", 12000, 12000)),
        (Format::Png, png),
        (Format::WebP, lossless),
        (Format::WebP, patched(read("webp-lossy.webp"), 26, &[12000_u16.to_le_bytes(); 2].concat())),
        (Format::Tiff, tiff(1, 1, 1, 4)),
        (Format::Tiff, tiff(5, 1, 1, 900)),
        (Format::Tiff, tiff(8, 1, 1, 900)),
        (Format::Tiff, tiff(32773, 1, 1, 900)),
        (Format::Tiff, tiff(7, 1, 1, 900)),
    ];
    let before = peak();
    for (want, file) in &bombs {
        for tolerant in [false, true] {
            let result = decode(file, &DecodeOptions { tolerant, ..DecodeOptions::default() });
            assert!(
                matches!(result, Err(ImageError::Implausible { format, least, file_bytes, .. })
                    if format == *want && file_bytes == file.len() as u64 && file_bytes < least),
                "{want}: {:?}",
                result.err()
            );
        }
    }
    let grown = peak() - before;
    assert!(grown < 64 * MEGABYTE, "grew by {} MB", grown / MEGABYTE);
}

#[test]
fn a_plain_bitmap_without_its_rows_is_cut_off_before_there_is_memory_for_them() {
    let file = patched(empty_rle(SIDE.into(), SIDE.into()), 30, &[0]);
    let result = decode(&file, &DecodeOptions::default());
    assert!(matches!(result, Err(ImageError::Truncated { format: Format::Bmp, .. })), "{result:?}");
}

#[test]
fn an_early_end_of_run_lengths_is_an_error_and_a_picture_when_tolerant() {
    let result = decode(&empty_rle(40, 30), &DecodeOptions::default());
    assert!(matches!(result, Err(ImageError::Truncated { format: Format::Bmp, .. })), "{result:?}");
    let options = DecodeOptions { tolerant: true, ..DecodeOptions::default() };
    assert!(decode(&empty_rle(40, 30), &options).unwrap().truncated);
}

#[test]
fn honest_pictures_of_one_colour_above_the_limit_are_decoded() {
    let limits = Limits { max_unproven_pixels: 0, ..Limits::default() };
    let options = DecodeOptions { limits, ..DecodeOptions::default() };
    for compression in [png::Compression::Fast, png::Compression::High] {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 1500, 1000);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(compression);
        encoder.write_header().unwrap().write_image_data(&vec![0; 1500 * 1000 * 3]).unwrap();
        let picture = decode(&file, &options).unwrap();
        assert!(picture.pixels.data.iter().all(|&v| v == 0), "{compression:?}");
    }
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, 1500, 1000, &[7, 8, 9]).unwrap();
    let frame =
        gif::Frame { width: 1500, height: 1000, buffer: vec![0; 1_500_000].into(), ..Default::default() };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    let picture = decode(&file, &options).unwrap();
    assert!(picture.pixels.data.chunks_exact(3).all(|pixel| pixel == [7, 8, 9]));
    // Every picture of the tests holds what its format needs.
    let manifest = String::from_utf8(read("manifest.txt")).unwrap();
    for name in manifest.lines().filter_map(|line| line.split(' ').next()) {
        assert!(decode(&read(name), &options).is_ok(), "{name}");
    }
}

#[test]
fn jpeg_scans_are_bounded_by_the_pixels_they_pass_over() {
    let with_scans = |scans: usize, side: u16| {
        let mut file = resized_jpeg("jpeg-progressive.jpg", side, side);
        let first = file.windows(2).position(|w| w == [0xff, 0xda]).unwrap();
        file.truncate(first);
        for _ in 0..scans {
            file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0]);
        }
        file.resize(file.len() + 600_000, 0);
        file.extend([0xff, 0xd9]);
        decode(&file, &DecodeOptions::default())
    };
    for (scans, side) in [(490, 8000), (200, 3000), (30, 12000)] {
        let result = with_scans(scans, side);
        assert!(
            matches!(result, Err(ImageError::LimitExceeded { limit: "max_jpeg_work", .. })),
            "{scans} scans of {side}: {result:?}"
        );
    }
}

#[test]
fn a_jpeg_side_above_65500_is_named_as_what_is_not_supported() {
    let result = decode(&resized_jpeg("jpeg-tiny.jpg", 8, 65501), &DecodeOptions::default());
    let message = result.unwrap_err().to_string();
    assert_eq!(message, "JPEG: a side of more than 65500 pixels (65501x8) is not supported");
}
