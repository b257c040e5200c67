//! Mutated and invented files: an error or a picture that fits its size, never a panic.
//!
//! Each case changes, cuts or overwrites the header of one of the pictures of `data/make.py`, or invents what follows a known
//! start. A panic that `decode` caught counts as one. The fuzz target `picture` searches longer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::path::Path;

use dinoxide_image::{DecodeOptions, ImageError, Limits, decode};
use proptest::prelude::*;

/// Small limits, so that a lucky header does not make a test slow.
fn options(tolerant: bool) -> DecodeOptions {
    let limits = Limits { max_pixels: 1 << 20, max_bytes: 1 << 26, ..Limits::default() };
    DecodeOptions { limits, tolerant, background: tolerant.then_some([9, 8, 7]) }
}

fn check(bytes: &[u8]) {
    for tolerant in [false, true] {
        match decode(bytes, &options(tolerant)) {
            Ok(picture) => {
                let pixels = picture.pixels;
                assert_eq!(pixels.data.len(), pixels.width * pixels.height * 3);
                assert!(pixels.width > 0 && pixels.height > 0);
            }
            // A panic inside a decoder is caught and comes out as this.
            Err(ImageError::DecoderFailed { format }) => panic!("the {format} decoder panicked"),
            Err(_) => {}
        }
    }
}

fn pictures() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let manifest = std::fs::read_to_string(folder.join("manifest.txt")).unwrap();
    let names = manifest.lines().filter_map(|line| line.split(' ').next());
    names.map(|name| std::fs::read(folder.join(name)).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn mutated_pictures_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in any::<prop::sample::Index>(),
        keep_whole in any::<bool>(),
    ) {
        let pictures = pictures();
        let mut bytes = which.get(&pictures).clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if !keep_whole {
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        check(&bytes);
    }

    #[test]
    fn extreme_header_values_never_panic(
        which in any::<prop::sample::Index>(),
        at in 4_usize..80,
        value in prop::sample::select(vec![0_u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_0000, 0xffff_ffff]),
        len in prop::sample::select(vec![1_usize, 2, 4]),
    ) {
        let pictures = pictures();
        let mut bytes = which.get(&pictures).clone();
        let end = (at + len).min(bytes.len());
        if at < end {
            bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
        }
        check(&bytes);
    }

    #[test]
    fn random_bytes_after_a_known_start_never_panic(
        start in prop::sample::select(vec![
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x09\0\0\0\x09"[..],
            b"\xff\xd8\xff\xe0\0\x10JFIF\0",
            b"\xff\xd8\xff\xe1\0\x20Exif\0\0II*\0",
            b"GIF89a\x09\0\x09\0\xf7\0\0",
            b"RIFF\x40\0\0\0WEBPVP8 ",
            b"RIFF\x40\0\0\0WEBPVP8L",
            b"RIFF\x40\0\0\0WEBPVP8X\x0a\0\0\0",
            b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x09\0\0\0\x09\0\0\0\x01\0",
            b"II*\0\x08\0\0\0\x09\0",
            b"MM\0+\0\x08\0\0",
            b"",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        check(&[start, &rest].concat());
    }
}
