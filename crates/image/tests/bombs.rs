//! Small files that promise huge pictures: refused from the header, before memory is taken.
//!
//! A test file of its own: it measures the peak memory of its process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use dinoxide_image::{DecodeOptions, ImageError, Limits, decode};

const MEGABYTE: u64 = 1 << 20;

/// Peak resident memory of this process, bytes; 0 where the system does not tell.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn png_header(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Rgba);
    let writer = encoder.write_header().unwrap();
    // Dropping the writer ends the file; what matters is the header.
    drop(writer);
    file
}

fn tiff_header(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"II*\0\x08\0\0\0".to_vec();
    let entries: [(u16, u16, u32); 9] = [
        (256, 4, width),
        (257, 4, height),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8),
        (277, 3, 1),
        (278, 4, height),
        (279, 4, 4),
    ];
    file.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file
}

fn bmp_header(width: i32, height: i32, compression: u32) -> Vec<u8> {
    let mut file = b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec();
    file.extend(width.to_le_bytes());
    file.extend(height.to_le_bytes());
    file.extend([1, 0, 8, 0]);
    file.extend(compression.to_le_bytes());
    file.extend([0; 20]);
    file
}

fn jpeg_header(progressive: bool) -> Vec<u8> {
    let marker = if progressive { 0xc2 } else { 0xc0 };
    let mut file = vec![0xff, 0xd8, 0xff, marker, 0, 17, 8, 0xff, 0xdc, 0xff, 0xdc, 3];
    file.extend([1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 0xff, 0xd9]);
    file
}

fn webp(chunks: &[u8]) -> Vec<u8> {
    let length = (chunks.len() as u32 + 4).to_le_bytes();
    [b"RIFF", length.as_slice(), b"WEBP", chunks].concat()
}

#[test]
fn headers_that_promise_too_much_are_refused_within_64_megabytes() {
    let vp8 = b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\xff\x3f\xff\x3f";
    let small_canvas = [b"VP8X\x0a\0\0\0\0\0\0\0\x07\0\0\x07\0\0".as_slice(), vp8].concat();
    let bombs = [
        ("png", png_header(100_000, 100_000)),
        ("tiff", tiff_header(0x7fff_ffff, 8)),
        ("tiff of two sides", tiff_header(100_000, 100_000)),
        ("bmp", bmp_header(100_000, 100_000, 0)),
        ("bmp, run lengths", bmp_header(100_000, -100_000, 1)),
        ("gif", b"GIF89a\xff\xff\xff\xff\0\0\0,\0\0\0\0\xff\xff\xff\xff\0\x08\0;".to_vec()),
        ("jpeg", jpeg_header(false)),
        ("progressive jpeg", jpeg_header(true)),
        ("webp", webp(vp8)),
        ("webp with a small canvas", webp(&small_canvas)),
    ];
    let before = peak();
    for (name, file) in &bombs {
        let result = decode(file, &DecodeOptions::default());
        assert!(matches!(result, Err(ImageError::LimitExceeded { .. })), "{name}: {result:?}");
    }
    // Radiance pictures are not read at all.
    let hdr = decode(b"#?RADIANCE\n\n-Y 1 +X 4000000000\n", &DecodeOptions::default());
    assert!(matches!(hdr, Err(ImageError::UnknownFormat { .. })));
    let grown = peak() - before;
    assert!(grown < 64 * MEGABYTE, "grew by {} MB", grown / MEGABYTE);
}

#[test]
fn a_one_colour_picture_of_16384_squared_follows_the_limit() {
    // 33 MB of zero bits, written as one run of deflate blocks by the encoder.
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 16384, 16384);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header().unwrap().write_image_data(&vec![0; 16384 * 2048]).unwrap();
    assert!(file.len() < 1 << 20);
    let with = |limits| decode(&file, &DecodeOptions { limits, ..DecodeOptions::default() });
    assert!(matches!(
        with(Limits::default()),
        Err(ImageError::LimitExceeded { limit: "max_pixels", got: 268_435_456, .. })
    ));
    let raised = Limits { max_pixels: 1 << 28, max_bytes: 1 << 20, ..Limits::default() };
    assert!(matches!(with(raised), Err(ImageError::LimitExceeded { limit: "max_bytes", .. })));
}

#[test]
fn a_jpeg_with_thousands_of_scans_is_refused() {
    let mut file = jpeg_header(true);
    file.truncate(file.len() - 2);
    file[7..11].copy_from_slice(&[0, 8, 0, 8]);
    for _ in 0..5000 {
        file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0]);
    }
    assert!(matches!(
        decode(&file, &DecodeOptions::default()),
        Err(ImageError::LimitExceeded { limit: "max_jpeg_scans", allowed: 500, got: 5000, .. })
    ));
}

#[test]
fn a_side_of_zero_is_refused_in_every_format() {
    let sizes = [(0_u32, 0_u32), (0, 7), (7, 0)];
    for (width, height) in sizes {
        let (w, h) = (width as u16, height as u16);
        let mut png = png_header(9, 9);
        png[16..20].copy_from_slice(&width.to_be_bytes());
        png[20..24].copy_from_slice(&height.to_be_bytes());
        let mut jpeg = jpeg_header(false);
        jpeg[7..9].copy_from_slice(&h.to_be_bytes());
        jpeg[9..11].copy_from_slice(&w.to_be_bytes());
        let vp8 =
            [b"VP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a".as_slice(), &w.to_le_bytes(), &h.to_le_bytes()].concat();
        let mut old_bmp = b"BM\0\0\0\0\0\0\0\0\x1a\0\0\0\x0c\0\0\0".to_vec();
        old_bmp.extend([w.to_le_bytes(), h.to_le_bytes(), [1, 0], [24, 0]].concat());
        for (name, file) in [
            ("png", png),
            ("tiff", tiff_header(width, height)),
            ("bmp", bmp_header(width as i32, height as i32, 0)),
            ("bmp, top down", bmp_header(width as i32, -(height as i32), 0)),
            ("bmp, run lengths", bmp_header(width as i32, height as i32, 1)),
            ("bmp of OS/2", old_bmp),
            ("gif", gif([w, h], [0, 0], [w, h])),
            ("gif frame on a screen", gif([9, 9], [1, 1], [w, h])),
            ("jpeg", jpeg),
            ("webp", webp(&vp8)),
        ] {
            for tolerant in [false, true] {
                let result = decode(&file, &DecodeOptions { tolerant, ..DecodeOptions::default() });
                let expected = (u64::from(width), u64::from(height));
                assert!(
                    matches!(result, Err(ImageError::NoPixels { width, height }) if (width, height) == expected),
                    "{name} of {width}x{height}: {result:?}"
                );
            }
        }
    }
}

/// A GIF of one frame and two colours, its pixels missing.
fn gif(screen: [u16; 2], place: [u16; 2], frame: [u16; 2]) -> Vec<u8> {
    let bytes = |pair: [u16; 2]| pair.map(u16::to_le_bytes).concat();
    let header = [b"GIF89a".to_vec(), bytes(screen), vec![0x80, 0, 0, 1, 2, 3, 4, 5, 6]].concat();
    [header, b",".to_vec(), bytes(place), bytes(frame), b"\0\x02\0;".to_vec()].concat()
}

#[test]
fn a_gif_frame_makes_the_canvas_of_an_empty_screen() {
    // A 1x1 frame at (2, 1); the code 0 in a stream of 3-bit codes: clear, 0, end.
    let mut file = gif([0, 0], [2, 1], [1, 1]);
    file.truncate(file.len() - 2);
    file.extend(b"\x02\x44\x01\0;");
    let picture = decode(&file, &DecodeOptions::default()).unwrap().pixels;
    assert_eq!((picture.width, picture.height), (3, 2));
}

#[test]
fn header_values_at_their_extremes_are_errors_even_without_limits() {
    let max = u64::MAX;
    let limits =
        Limits { max_width: max, max_height: max, max_pixels: max, max_bytes: 1 << 32, ..Limits::default() };
    let bmp = |width, height, compression, offset: u32| {
        let mut file = bmp_header(width, height, compression);
        file[10..14].copy_from_slice(&offset.to_le_bytes());
        file
    };
    for (name, file) in [
        ("bmp, lowest height", bmp(1, i32::MIN, 0, 54)),
        ("bmp, lowest sides", bmp(i32::MIN, i32::MIN, 0, 54)),
        ("bmp, width -1", bmp(-1, 1, 1, 54)),
        ("bmp, offset at the top", bmp(4, 4, 0, u32::MAX)),
        ("bmp, run lengths at the top", bmp(4, -4, 1, u32::MAX)),
        ("tiff", tiff_header(u32::MAX, u32::MAX)),
        ("gif", gif([1, 1], [65535, 65535], [65535, 65535])),
    ] {
        let result = decode(&file, &DecodeOptions { limits, ..DecodeOptions::default() });
        assert!(
            matches!(
                result,
                Err(ImageError::LimitExceeded { .. }
                    | ImageError::Truncated { .. }
                    | ImageError::Corrupt { .. })
            ),
            "{name}: {result:?}"
        );
    }
    // Limits raised to the top leave the bound of what memory can be named.
    let limits = Limits { max_bytes: max, ..limits };
    for file in [bmp(-1, i32::MIN, 0, 54), tiff_header(u32::MAX, u32::MAX)] {
        let result = decode(&file, &DecodeOptions { limits, ..DecodeOptions::default() });
        assert!(matches!(result, Err(ImageError::LimitExceeded { limit: "max_bytes", .. })), "{result:?}");
    }
}

#[test]
fn tiff_strips_that_do_not_fit_the_picture_are_errors() {
    for (rows_per_strip, strips) in [(0, 1), (1, 1), (3, 1), (8, 0), (8, 2), (1, u32::MAX)] {
        let mut file = tiff_header(8, 8);
        for (entry, field, value) in [(7, 8, rows_per_strip), (5, 4, strips), (8, 4, strips)] {
            let at = 10 + entry * 12 + field;
            file[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        }
        for tolerant in [false, true] {
            let result = decode(&file, &DecodeOptions { tolerant, ..DecodeOptions::default() });
            assert!(
                matches!(result, Err(ImageError::Corrupt { .. } | ImageError::Truncated { .. })),
                "{rows_per_strip} rows a strip, {strips} strips: {result:?}"
            );
        }
    }
}
