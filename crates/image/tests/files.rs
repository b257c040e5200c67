//! Files that are odd, cut, hostile or no pictures at all: a typed error or the right picture, never a panic.
//!
//! The pictures are those of `data/make.py`; what is cut, renamed or made special is made here, in a folder of the test's
//! own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::path::{Path, PathBuf};

use dinoxide_image::{DecodeOptions, Format, ImageError, Limits, Picture, decode, decode_file};
use dinoxide_testkit::tolerance::{FIRST_SCAN_MEAN_LEVELS, TURNED_JPEG_MAX_LEVELS};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

fn strict(bytes: &[u8]) -> Result<Picture, ImageError> {
    decode(bytes, &DecodeOptions::default())
}

fn tolerant(bytes: &[u8]) -> Result<Picture, ImageError> {
    decode(bytes, &DecodeOptions { tolerant: true, ..DecodeOptions::default() })
}

fn is_cut(result: &Result<Picture, ImageError>, format: Format) -> bool {
    matches!(result, Err(ImageError::Truncated { format: f, .. }) if *f == format)
}

/// Where the scans of a JPEG start.
fn scans(jpeg: &[u8]) -> Vec<usize> {
    (0..jpeg.len() - 1).filter(|&i| jpeg[i..i + 2] == [0xff, 0xda]).collect()
}

#[test]
fn a_cut_baseline_jpeg_is_an_error_and_a_picture_when_tolerant() {
    let whole = read("jpeg-444.jpg");
    let cut = &whole[..whole.len() * 6 / 10];
    assert!(is_cut(&strict(cut), Format::Jpeg), "{:?}", strict(cut).err());
    let (full, part) = (strict(&whole).unwrap(), tolerant(cut).unwrap());
    assert!(part.truncated && !full.truncated);
    // The first rows are there, the last are not.
    let row = full.pixels.width * 3;
    assert_eq!(part.pixels.data[..8 * row], full.pixels.data[..8 * row]);
    assert_ne!(part.pixels.data, full.pixels.data);
}

#[test]
fn a_progressive_jpeg_cut_after_its_first_scan_is_an_error_and_a_picture_when_tolerant() {
    let whole = read("jpeg-progressive.jpg");
    let cut = &whole[..scans(&whole)[1]];
    assert!(is_cut(&strict(cut), Format::Jpeg), "{:?}", strict(cut).err());
    let part = tolerant(cut).unwrap();
    assert!(part.truncated);
    let full = strict(&whole).unwrap();
    let off: u64 =
        part.pixels.data.iter().zip(&full.pixels.data).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    let mean = off as f64 / full.pixels.data.len() as f64;
    assert!(mean <= FIRST_SCAN_MEAN_LEVELS, "coarse, but the same picture: {mean}");
}

/// A file, with `extra` before its last marker.
fn with_extra(jpeg: &[u8], extra: &[u8]) -> Vec<u8> {
    let (picture, end) = jpeg.split_at(jpeg.len() - 2);
    assert_eq!(end, [0xff, 0xd9]);
    [picture, extra, end].concat()
}

#[test]
fn what_lies_between_a_jpegs_data_and_its_end_is_an_error_where_pillow_says_so() {
    for name in ["jpeg-420.jpg", "jpeg-grey.jpg", "jpeg-progressive.jpg", "jpeg-cmyk.jpg", "jpeg-rgb.jpg"] {
        let whole = read(name);
        let pixels = strict(&whole).unwrap().pixels;
        // A comment, a restart, bytes of nothing: Pillow 13.0.0 gives the picture.
        for harmless in [&b"\xff\xfe\x00\x04hi"[..], b"\xff\xd3", b"abc"] {
            assert!(strict(&with_extra(&whole, harmless)).unwrap().pixels == pixels, "{name}, {harmless:?}");
        }
        // A marker that there is not, a second start, a broken Huffman table: "broken data stream", but with
        // `LOAD_TRUNCATED_IMAGES`.
        for fatal in [&b"\xff\xde\x00\x02"[..], b"\xff\xd8", b"\xff\xc4\x00\x03\x31"] {
            let file = with_extra(&whole, fatal);
            let result = strict(&file);
            assert!(matches!(result, Err(ImageError::Corrupt { .. })), "{name}, {fatal:?}: {result:?}");
            // The pixels of a progressive file are made after its last marker only.
            if name != "jpeg-progressive.jpg" {
                assert!(tolerant(&file).unwrap().pixels == pixels, "{name}, {fatal:?}");
            }
        }
    }
}

#[test]
fn a_jpeg_whose_end_marker_alone_is_missing_is_whole_where_pillow_says_so() {
    for name in ["jpeg-420.jpg", "jpeg-grey.jpg", "jpeg-cmyk.jpg", "jpeg-rgb.jpg"] {
        let whole = read(name);
        let pixels = strict(&whole).unwrap().pixels;
        let ends_with = |end: &[u8]| strict(&[&whole[..whole.len() - 2], end].concat());
        // A comment cut off in its length or its text, a Huffman table cut off: Pillow 13.0.0 gives the picture.
        for end in [&b"\xff\xfe\x00"[..], b"\xff\xfe\x00\x09hi", b"\xff\xc4\x00\x40\x00\x01"] {
            let decoded = ends_with(end).unwrap();
            assert!(decoded.pixels == pixels && !decoded.truncated, "{name}, {end:?}");
        }
        // No marker at all, or half of one: the last pixels may not be the last. "image file is truncated"
        for end in [&b""[..], b"\xff"] {
            let result = ends_with(end);
            assert!(matches!(result, Err(ImageError::Truncated { .. })), "{name}, {end:?}: {result:?}");
        }
    }
}

#[test]
fn a_complete_but_coarse_progressive_jpeg_is_no_error() {
    assert!(!strict(&read("jpeg-coarse.jpg")).unwrap().truncated);
}

#[test]
fn a_jpeg_cut_anywhere_gives_an_error_or_the_whole_picture() {
    for name in ["jpeg-420.jpg", "jpeg-progressive-444.jpg", "jpeg-cmyk.jpg", "jpeg-restarts.jpg"] {
        let whole = read(name);
        let full = strict(&whole).unwrap();
        for len in (3..whole.len()).step_by(37) {
            let result = strict(&whole[..len]);
            assert!(is_cut(&result, Format::Jpeg), "{name} cut at {len} of {}: {result:?}", whole.len());
            if let Ok(part) = tolerant(&whole[..len]) {
                assert_eq!(part.pixels.data.len(), full.pixels.data.len());
                assert!(part.truncated, "{name} cut at {len}");
            }
        }
    }
}

#[test]
fn other_formats_cut_in_the_middle_are_errors_that_say_so() {
    for (name, format) in [
        ("png-rgb-8.png", Format::Png),
        ("png-interlaced-rgb-8.png", Format::Png),
        ("gif-plain.gif", Format::Gif),
        ("webp-lossy.webp", Format::WebP),
        ("webp-lossless.webp", Format::WebP),
        ("webp-animated.webp", Format::WebP),
        ("bmp-rgb.bmp", Format::Bmp),
        ("bmp-rle8.bmp", Format::Bmp),
        ("tiff-strips.tif", Format::Tiff),
        ("tiff-rgb.tif", Format::Tiff),
        ("tiff-tiff-lzw.tif", Format::Tiff),
    ] {
        let whole = read(name);
        for part in [5, 6, 8] {
            let result = strict(&whole[..whole.len() * part / 10]);
            assert!(is_cut(&result, format), "{name} at {part}0 %: {result:?}");
        }
    }
}

#[test]
fn a_tolerant_decoder_keeps_the_rows_that_are_there() {
    for name in ["png-rgb-8.png", "png-grey-8.png", "gif-plain.gif", "bmp-os2.bmp", "tiff-strips.tif"] {
        let whole = read(name);
        let part = tolerant(&whole[..whole.len() * 9 / 10]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let full = strict(&whole).unwrap();
        assert!(part.truncated, "{name}");
        let same = part.pixels.data.iter().zip(&full.pixels.data).filter(|(a, b)| a == b).count();
        assert!(same > full.pixels.data.len() / 3, "{name}: {same} of {}", full.pixels.data.len());
        assert_ne!(part.pixels.data, full.pixels.data, "{name}");
    }
}

#[test]
fn a_whole_picture_is_never_called_truncated() {
    for name in ["jpeg-420.jpg", "png-rgb-8.png", "gif-plain.gif", "bmp-rgb.bmp", "tiff-strips.tif"] {
        assert!(!tolerant(&read(name)).unwrap().truncated, "{name}");
    }
}

#[test]
fn eight_orientations_look_alike_and_a_ninth_is_none() {
    let upright = strict(&read("orientation-1.jpg")).unwrap().pixels;
    assert_eq!((upright.width, upright.height), (60, 40));
    for tag in 2..=8 {
        let turned = strict(&read(&format!("orientation-{tag}.jpg"))).unwrap().pixels;
        assert_eq!((turned.width, turned.height), (60, 40), "tag {tag}");
        let worst = turned.data.iter().zip(&upright.data).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(worst <= Some(TURNED_JPEG_MAX_LEVELS), "tag {tag}: {worst:?}");
    }
    let ninth = strict(&read("orientation-9.jpg")).unwrap().pixels;
    assert_eq!(ninth.data, upright.data);
}

#[test]
fn a_background_shows_through_alpha_and_colour_keys() {
    let white = DecodeOptions { background: Some([255; 3]), ..DecodeOptions::default() };
    let hidden = read("png-hidden-red.png");
    assert!(strict(&hidden).unwrap().pixels.data.chunks_exact(3).all(|p| p == [255, 0, 0]));
    assert!(decode(&hidden, &white).unwrap().pixels.data.iter().all(|&v| v == 255));
    for name in ["png-palette-key.png", "png-grey-4-key-9.png", "gif-key.gif", "png-rgb-16-key.png"] {
        let green = DecodeOptions { background: Some([1, 254, 3]), ..DecodeOptions::default() };
        let picture = decode(&read(name), &green).unwrap();
        assert_eq!(picture.transparent_color, None, "{name}");
        assert!(picture.pixels.data.chunks_exact(3).any(|p| p == [1, 254, 3]), "{name}");
    }
}

#[test]
fn sixteen_bits_of_grey_keep_256_levels() {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 256, 256);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let ramp: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_be_bytes).collect();
    encoder.write_header().unwrap().write_image_data(&ramp).unwrap();
    let data = strict(&file).unwrap().pixels.data;
    let levels: std::collections::BTreeSet<_> = data.iter().collect();
    assert_eq!((levels.len(), data[0], data[data.len() - 1]), (256, 0, 255));
}

#[test]
fn what_is_no_picture_has_an_error_of_its_own_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty.jpg"), b"").unwrap();
    std::fs::write(path("text.jpg"), b"this is not a picture\n").unwrap();
    std::fs::write(path("bytes.png"), [0, 159, 146, 150]).unwrap();
    let open = |path: &Path| match decode_file(path, &DecodeOptions::default()) {
        Err(ImageError::File { path: named, error }) => {
            assert_eq!(named, path);
            *error
        }
        other => panic!("{other:?}"),
    };
    assert!(matches!(open(&path("empty.jpg")), ImageError::Empty));
    assert!(matches!(open(&path("text.jpg")), ImageError::UnknownFormat { text: true }));
    assert!(matches!(open(&path("bytes.png")), ImageError::UnknownFormat { text: false }));
    assert!(matches!(open(folder.path()), ImageError::IsDirectory));
    assert!(
        matches!(open(&path("missing.jpg")), ImageError::Io(e) if e.kind() == std::io::ErrorKind::NotFound)
    );
    let error = decode_file(&path("text.jpg"), &DecodeOptions::default()).unwrap_err().to_string();
    assert!(error.contains("text.jpg: not a picture"), "{error}");
}

#[test]
fn a_file_above_the_limit_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    std::fs::write(&path, read("png-rgb-8.png")).unwrap();
    let limits = Limits { max_file_bytes: 100, ..Limits::default() };
    let Err(ImageError::File { error, .. }) =
        decode_file(&path, &DecodeOptions { limits, ..DecodeOptions::default() })
    else {
        panic!("the file is larger");
    };
    assert!(matches!(*error, ImageError::LimitExceeded { limit: "max_file_bytes", allowed: 100, .. }));
}

#[cfg(unix)]
#[test]
fn pipes_devices_and_sockets_are_refused_without_waiting_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(path("pipe.png")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(path("socket.png")).unwrap();
    std::os::unix::fs::symlink(path("pipe.png"), path("link.png")).unwrap();
    let mut refused = vec![path("pipe.png"), path("socket.png"), path("link.png"), "/dev/null".into()];
    // What /dev/stdin is when a pipe is connected to it.
    #[cfg(target_os = "linux")]
    let (reader, _writer) = std::io::pipe().unwrap();
    #[cfg(target_os = "linux")]
    refused.push(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader)).into());
    for path in refused {
        match decode_file(&path, &DecodeOptions::default()) {
            Err(ImageError::File { path: named, error }) if named == path => {
                assert!(matches!(*error, ImageError::NotRegularFile), "{}: {error}", path.display());
            }
            other => panic!("{}: {other:?}", path.display()),
        }
    }
    // A link to a picture is a picture.
    std::fs::write(path("picture.png"), read("png-rgb-8.png")).unwrap();
    std::os::unix::fs::symlink(path("picture.png"), path("good.png")).unwrap();
    assert!(decode_file(&path("good.png"), &DecodeOptions::default()).is_ok());
}

#[test]
fn any_name_and_any_ending_will_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut names: Vec<PathBuf> = vec!["кошка 🐈.jpg".into(), "no ending".into(), "wrong.gif".into()];
    #[cfg(target_os = "linux")]
    names.push(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"\xff\xfe.png").into());
    for name in names {
        let path = folder.path().join(&name);
        std::fs::write(&path, read("png-rgb-8.png")).unwrap();
        assert!(decode_file(&path, &DecodeOptions::default()).is_ok(), "{}", path.display());
    }
}

#[test]
fn limits_hold_for_every_format_at_the_pixel() {
    for name in [
        "jpeg-420.jpg",
        "png-rgb-8.png",
        "webp-lossy.webp",
        "webp-lossless.webp",
        "gif-plain.gif",
        "bmp-rgb.bmp",
        "tiff-rgb.tif",
    ] {
        let bytes = read(name);
        let picture = strict(&bytes).unwrap().pixels;
        let pixels = (picture.width * picture.height) as u64;
        let with = |limits| decode(&bytes, &DecodeOptions { limits, ..DecodeOptions::default() });
        assert!(with(Limits { max_pixels: pixels, ..Limits::default() }).is_ok(), "{name}");
        for (limits, broken) in [
            (Limits { max_pixels: pixels - 1, ..Limits::default() }, "max_pixels"),
            (Limits { max_width: picture.width as u64 - 1, ..Limits::default() }, "max_width"),
            (Limits { max_height: picture.height as u64 - 1, ..Limits::default() }, "max_height"),
            (Limits { max_bytes: pixels * 3, ..Limits::default() }, "max_bytes"),
        ] {
            let result = with(limits);
            assert!(
                matches!(result, Err(ImageError::LimitExceeded { limit, .. }) if limit == broken),
                "{name}, {broken}: {result:?}"
            );
        }
    }
}
