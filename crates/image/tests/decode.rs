//! Every format and mode against what Transformers 5.24.0 with Pillow 13.0.0 sees (`data/make.py`).
//!
//! `data/manifest.txt` lists the pictures, one a line: name, width, height, largest and mean difference allowed, in levels
//! of 255 (0 for all but one: Pillow's own chroma upsampling in TIFF). NAME.rgb are the pixels, NAME.white those that a
//! processor with `do_convert_rgb` sees where they differ.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::path::{Path, PathBuf};

use dinoxide_image::{DecodeOptions, Picture, ProcessorSpec, decode_file, process};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A line of the manifest.
struct Case {
    name: String,
    width: usize,
    height: usize,
    most: u8,
    mean: f64,
}

fn cases() -> Vec<Case> {
    let manifest = std::fs::read_to_string(data("manifest.txt")).unwrap();
    let case = |line: &str| {
        let part: Vec<_> = line.split(' ').collect();
        Case {
            name: part[0].to_owned(),
            width: part[1].parse().unwrap(),
            height: part[2].parse().unwrap(),
            most: part[3].parse().unwrap(),
            mean: part[4].parse().unwrap(),
        }
    };
    manifest.lines().map(case).collect()
}

/// What is wrong with `got`, if anything.
fn difference(case: &Case, got: &[u8], want: &[u8]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{}: {} bytes instead of {}", case.name, got.len(), want.len()));
    }
    let off = got.iter().zip(want).map(|(g, w)| g.abs_diff(*w));
    let (most, sum) = off.fold((0, 0), |(most, sum), d| (d.max(most), sum + u64::from(d)));
    let mean = sum as f64 / got.len() as f64;
    (most > case.most || mean > case.mean)
        .then(|| format!("{}: off by up to {most}, mean {mean:.4}", case.name))
}

fn open(name: &str) -> Picture {
    decode_file(&data(name), &DecodeOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_picture_has_the_pixels_that_load_image_gives() {
    let cases = cases();
    assert!(cases.len() > 100, "the manifest lists every picture");
    let mut wrong = Vec::new();
    for case in &cases {
        match decode_file(&data(&case.name), &DecodeOptions::default()) {
            Err(error) => wrong.push(error.to_string()),
            Ok(picture) if (picture.pixels.width, picture.pixels.height) != (case.width, case.height) => {
                wrong.push(format!("{}: {}x{}", case.name, picture.pixels.width, picture.pixels.height));
            }
            Ok(picture) => {
                let want = std::fs::read(data(&format!("{}.rgb", case.name))).unwrap();
                wrong.extend(difference(case, &picture.pixels.data, &want));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn colour_keys_become_white_only_where_the_processor_converts_to_rgb() {
    let mut wrong = Vec::new();
    for case in cases() {
        let picture = open(&case.name);
        let plain = std::fs::read(data(&format!("{}.rgb", case.name))).unwrap();
        let white = std::fs::read(data(&format!("{}.white", case.name))).unwrap_or_else(|_| plain.clone());
        for (do_convert_rgb, want) in [(false, &plain), (true, &white)] {
            let spec = ProcessorSpec { do_convert_rgb, ..ProcessorSpec::default() };
            let planes = process(&picture, &spec).unwrap();
            let n = planes.height * planes.width;
            let got: Vec<u8> = (0..n).flat_map(|i| [0, 1, 2].map(|c| planes.data[c * n + i] as u8)).collect();
            wrong.extend(
                difference(&case, &got, want).map(|w| format!("do_convert_rgb {do_convert_rgb}: {w}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
