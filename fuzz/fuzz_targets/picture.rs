//! Any bytes as a picture: an error or a picture within the limits, never a panic.
#![no_main]

use dinoxide_image::{DecodeOptions, Limits, decode};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { max_pixels: 1 << 20, max_bytes: 1 << 26, ..Limits::default() };
    for tolerant in [false, true] {
        let options = DecodeOptions { limits, tolerant, ..DecodeOptions::default() };
        if let Ok(picture) = decode(bytes, &options) {
            let pixels = &picture.pixels;
            assert_eq!(pixels.data.len(), pixels.width * pixels.height * 3);
        }
    }
});
