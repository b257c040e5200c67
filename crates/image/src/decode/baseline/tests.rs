//! Against libjpeg: the same pixels to the bit, at every instruction set level, or nothing.

use std::path::Path;

use mozjpeg::{ColorSpace, Compress};
use proptest::prelude::*;

use super::super::{jpeg, jpeg_header};
use super::*;
use crate::simd::every_arch;

/// What libjpeg makes of a file, when it has no fault.
fn libjpeg(bytes: &[u8]) -> Option<Rgb8> {
    let frame = jpeg_header::read(bytes).frame?;
    jpeg::libjpeg(bytes, &frame, false).ok().map(|(pixels, _)| pixels)
}

/// What this decoder makes of it.
fn here(arch: Arch, bytes: &[u8]) -> Option<Rgb8> {
    decode(arch, bytes, &jpeg_header::read(bytes).frame?)
}

/// How a picture is written.
#[derive(Debug, Clone, Copy)]
struct Written {
    size: (usize, usize),
    quality: u8,
    /// Pixels of a sample of Cb and Cr, along and down; `None` for a grey picture.
    sampling: Option<(u8, u8)>,
}

/// A picture of waves and noise as a baseline JPEG.
fn written(Written { size: (width, height), quality, sampling }: Written) -> Vec<u8> {
    let mut noise = 1_u32;
    let mut sample = |x: usize, y: usize, c: usize| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wave = ((x * (c + 1)) as f32 / 9.0).sin() + (y as f32 / (7 + c) as f32).cos();
        (128.0 + 90.0 * wave + (noise >> 26) as f32).clamp(0.0, 255.0) as u8
    };
    let channels = if sampling.is_some() { 3 } else { 1 };
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let pixels: Vec<u8> = places.flat_map(|(x, y)| [0, 1, 2].map(|c| sample(x, y, c))).collect();
    let pixels: Vec<u8> = pixels.chunks(3).flat_map(|pixel| &pixel[..channels]).copied().collect();
    let space = if channels == 3 { ColorSpace::JCS_RGB } else { ColorSpace::JCS_GRAYSCALE };
    let mut compress = Compress::new(space);
    compress.set_size(width, height);
    compress.set_fastest_defaults();
    compress.set_quality(f32::from(quality));
    if let Some(sampling) = sampling {
        compress.set_chroma_sampling_pixel_sizes(sampling, sampling);
    }
    let mut compress = compress.start_compress(Vec::new()).unwrap();
    compress.write_scanlines(&pixels).unwrap();
    compress.finish().unwrap()
}

#[test]
fn the_common_kinds_are_decoded_here_and_the_others_left_to_libjpeg() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for (name, is_common) in [
        ("420", true),
        ("422", true),
        ("444", true),
        ("grey", true),
        ("restarts", true),
        ("411", true),
        ("rgb", false),
        ("cmyk", false),
        ("ycck", false),
        ("progressive", false),
        ("progressive-444", false),
    ] {
        let bytes = std::fs::read(folder.join(format!("jpeg-{name}.jpg"))).unwrap();
        let want = is_common.then(|| libjpeg(&bytes).unwrap());
        for (isa, arch) in every_arch() {
            assert!(here(arch, &bytes) == want, "{name}, {isa}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_left_to_libjpeg() {
    let bytes = written(Written { size: (40, 24), quality: 80, sampling: Some((2, 2)) });
    assert!(here(Arch::new(), &bytes).is_some());
    for end in 0..bytes.len() {
        assert!(here(Arch::new(), &bytes[..end]).is_none(), "cut at {end} of {}", bytes.len());
    }
}

#[test]
fn more_than_one_group_of_blocks_is_decoded_alike() {
    for sampling in [None, Some((1, 1)), Some((2, 1)), Some((2, 2))] {
        let bytes = written(Written { size: (517, 83), quality: 90, sampling });
        assert!(here(Arch::new(), &bytes) == libjpeg(&bytes), "{sampling:?}");
    }
}

fn written_ones() -> impl Strategy<Value = Written> {
    let sampling = prop::sample::select(vec![None, Some((1, 1)), Some((2, 1)), Some((2, 2))]);
    ((5_usize..90, 1_usize..90), 1_u8..=100, sampling).prop_map(|(size, quality, sampling)| Written {
        size,
        quality,
        sampling,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_size_quality_and_sampling_is_decoded_as_libjpeg_does(picture in written_ones()) {
        let bytes = written(picture);
        let want = libjpeg(&bytes);
        prop_assert!(want.is_some());
        for (isa, arch) in every_arch() {
            prop_assert!(here(arch, &bytes) == want, "{isa}");
        }
    }

    #[test]
    fn a_damaged_file_has_libjpegs_pixels_or_is_left_to_it(
        picture in written_ones(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = written(picture);
        for (at, value) in changes {
            // Not the size: a large one is for the limits.
            let at = at.index(bytes.len());
            let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap_or(0);
            if !(frame..frame + 9).contains(&at) {
                bytes[at] = value;
            }
        }
        let header = jpeg_header::read(&bytes);
        if let Some(pixels) = here(Arch::new(), &bytes)
            && (header.scans, header.frames) == (1, 1)
        {
            prop_assert!(Some(pixels) == libjpeg(&bytes));
        }
    }
}
