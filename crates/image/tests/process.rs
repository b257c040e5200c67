//! Processors against Transformers 5.24.0 (`data/processor.py`): byte paths to the bit, float paths within a bound, at every
//! instruction set level of the processor.
//!
//! A line of `data/processor.txt` is a case; the pictures are drawn here by the same formulas. Then the rules that need no
//! reference: layouts, crops, limits, errors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::path::{Path, PathBuf};

use dinoxide_image::{
    HeightWidth, ImageError, Isa, Layout, Normalize, Order, Picture, PixelArray, PixelValues, ProcessorSpec,
    Resample, Resize, Rgb8, Samples, Size, process, process_array,
};

use dinoxide_testkit::tolerance::{PROCESSOR_FLOAT_MAX_ABS, PROCESSOR_MAX_LEVELS};

const IMAGENET: ([f64; 3], [f64; 3]) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn ramp(h: usize, w: usize, channels: usize) -> Vec<u8> {
    let at = |y: usize, x: usize, c: usize| (x * 13 + y * 29 + c * 71 + x * y * (c + 1)) % 256;
    draw(h, w, channels, at)
}

fn checker(h: usize, w: usize, channels: usize) -> Vec<u8> {
    draw(h, w, channels, |y, x, c| (x + y) % 2 * 160 + x * 60 / w + c * 10)
}

fn draw(h: usize, w: usize, channels: usize, at: impl Fn(usize, usize, usize) -> usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(h * w * channels);
    for y in 0..h {
        for x in 0..w {
            out.extend((0..channels).map(|c| at(y, x, c) as u8));
        }
    }
    out
}

fn pair(text: &str) -> (usize, usize) {
    let (a, b) = text.split_once(':').unwrap();
    (a.parse().unwrap(), b.parse().unwrap())
}

fn size(text: &str) -> Size {
    let (form, values) = text.split_once(':').unwrap();
    match form {
        "short" => Size::ShortestEdge(values.parse().unwrap()),
        "exact" => Size::Exact { height: pair(values).0, width: pair(values).1 },
        "capped" => Size::ShortestLongestEdge { shortest_edge: pair(values).0, longest_edge: pair(values).1 },
        "max" => Size::MaxHeightWidth { max_height: pair(values).0, max_width: pair(values).1 },
        other => panic!("unknown form {other}"),
    }
}

fn normalize() -> Option<Normalize> {
    Some(Normalize { mean: IMAGENET.0.to_vec(), std: IMAGENET.1.to_vec() })
}

/// The steps of fields 6 to 12 of a line.
fn spec(field: &[&str]) -> ProcessorSpec {
    let on = |text: &'static str| move |field: &&str| *field != text;
    let resample = Resample::from_code(field[3].parse().unwrap()).unwrap();
    ProcessorSpec {
        order: if field[0] == "bit" { Order::ResizeFirst } else { Order::RescaleFirst },
        do_convert_rgb: field[1] == "1",
        resize: Some(field[2]).filter(on("-")).map(|text| Resize { size: size(text), resample }),
        center_crop: Some(field[4])
            .filter(on("-"))
            .map(|text| HeightWidth { height: pair(text).0, width: pair(text).1 }),
        rescale: Some(field[5]).filter(on("-")).map(|text| text.parse().unwrap()),
        normalize: if field[6] == "-" { None } else { normalize() },
        ..ProcessorSpec::default()
    }
}

/// Runs a line; also gives whether the bytes must agree to the bit, and the scale that brings differences back to 0..1.
fn run(field: &[&str], isa: Option<Isa>) -> (PixelValues, bool, f32) {
    let number = |i: usize| field[i].parse::<usize>().unwrap();
    let (h, w, channels) = (number(3), number(4), number(5));
    let bytes = if field[1] == "ramp" { ramp(h, w, channels) } else { checker(h, w, channels) };
    let divisor = if field[2] == "unit" { 255.0 } else { 1.0 };
    let floats: Vec<f32> = bytes.iter().map(|&v| f32::from(v) / divisor).collect();
    let samples = if field[2] == "u8" { Samples::U8(&bytes) } else { Samples::F32(&floats) };
    let array = PixelArray::new(samples, &[h, w, channels], Some(Layout::ChannelsLast)).unwrap();
    let spec = ProcessorSpec { isa, ..spec(&field[6..13]) };
    let exact = field[2] == "u8" && (spec.order == Order::ResizeFirst || spec.rescale.is_none());
    let scale = if spec.normalize.is_some() { 0.229 } else { 1.0 };
    (process_array(&array, &spec).unwrap(), exact, scale)
}

#[test]
fn every_case_is_what_transformers_gives() {
    let lines = std::fs::read_to_string(data("processor.txt")).unwrap();
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let field: Vec<&str> = line.split(' ').collect();
        let (got, exact, scale) = run(&field, None);
        for isa in Isa::available() {
            let same =
                run(&field, Some(isa)).0.data.iter().zip(&got.data).all(|(a, b)| a.to_bits() == b.to_bits());
            if !same {
                wrong.push(format!("{}: {isa} differs from the best level", field[0]));
            }
        }
        let shape = [got.channels, got.height, got.width].map(|n| n.to_string());
        if shape[..] != field[13..] {
            wrong.push(format!("{}: shape {shape:?}", field[0]));
            continue;
        }
        let bytes = std::fs::read(data(&format!("processor/{}.f32", field[0]))).unwrap();
        let want = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let most = got.data.iter().zip(want).map(|(g, w)| (g - w).abs() * scale).fold(0.0, f32::max);
        if most > if exact { 0.0 } else { PROCESSOR_FLOAT_MAX_ABS } {
            wrong.push(format!("{}: off by {most:e}", field[0]));
        }
    }
    assert_eq!(lines.lines().count(), 36);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The steps of a DINOv2 checkpoint, smaller: short side 32, crop 14.
fn dinov2() -> ProcessorSpec {
    ProcessorSpec {
        do_convert_rgb: true,
        resize: Some(Resize { size: Size::ShortestEdge(32), resample: Resample::Bicubic }),
        center_crop: Some(HeightWidth { height: 14, width: 14 }),
        rescale: Some(1.0 / 255.0),
        normalize: normalize(),
        ..ProcessorSpec::default()
    }
}

#[test]
fn a_picture_and_its_array_give_the_same_values() {
    let bytes = ramp(60, 90, 3);
    let array = PixelArray::new(Samples::U8(&bytes), &[60, 90, 3], None).unwrap();
    let picture = Rgb8::from_raw(90, 60, bytes.clone()).unwrap().into();
    assert_eq!(process(&picture, &dinov2()).unwrap(), process_array(&array, &dinov2()).unwrap());
}

#[test]
fn channels_first_and_last_give_the_same_values() {
    let last = ramp(60, 90, 3);
    let first: Vec<u8> = (0..3).flat_map(|c| last.iter().skip(c).step_by(3).copied()).collect();
    let first = PixelArray::new(Samples::U8(&first), &[3, 60, 90], None).unwrap();
    let last = PixelArray::new(Samples::U8(&last), &[60, 90, 3], None).unwrap();
    assert_eq!(process_array(&first, &dinov2()).unwrap(), process_array(&last, &dinov2()).unwrap());
}

#[test]
fn the_crop_of_an_odd_margin_starts_at_the_lower_column() {
    // 343x256 after the resize: the margin of 119 leaves 59 columns at the left.
    let bytes = draw(256, 343, 3, |_, x, _| x % 256);
    let picture = Rgb8::from_raw(343, 256, bytes).unwrap().into();
    let spec = ProcessorSpec {
        center_crop: Some(HeightWidth { height: 224, width: 224 }),
        ..ProcessorSpec::default()
    };
    let values = process(&picture, &spec).unwrap();
    assert_eq!(values.data[..3], [59.0, 60.0, 61.0]);
}

#[test]
fn floats_that_are_already_rescaled_are_refused_and_right_without_rescale() {
    // Smooth, so that bicubic does not overshoot what bytes can hold.
    let bytes = draw(20, 30, 3, |y, x, c| 40 + x * 5 + y * 2 + c * 10);
    let unit: Vec<f32> = bytes.iter().map(|&v| f32::from(v) / 255.0).collect();
    let shape = [20, 30, 3];
    let array = PixelArray::new(Samples::F32(&unit), &shape, None).unwrap();
    assert!(matches!(process_array(&array, &dinov2()), Err(ImageError::AlreadyRescaled)));
    let from_floats = process_array(&array, &ProcessorSpec { rescale: None, ..dinov2() }).unwrap();
    let array = PixelArray::new(Samples::U8(&bytes), &shape, None).unwrap();
    let from_bytes = process_array(&array, &dinov2()).unwrap();
    for (f, b) in from_floats.data.iter().zip(&from_bytes.data) {
        let levels = (f - b).abs() * 0.229 * 255.0;
        assert!(levels <= PROCESSOR_MAX_LEVELS, "{levels} levels apart");
    }
    // Black is the same either way.
    let black = PixelArray::new(Samples::F32(&[0.0; 12]), &[2, 2, 3], Some(Layout::ChannelsLast)).unwrap();
    assert!(process_array(&black, &dinov2()).is_ok());
}

#[test]
fn a_thin_picture_costs_no_more_than_its_crop() {
    let spec = ProcessorSpec {
        resize: Some(Resize { size: Size::ShortestEdge(256), resample: Resample::Bicubic }),
        center_crop: Some(HeightWidth { height: 224, width: 224 }),
        ..dinov2()
    };
    let picture = Rgb8::from_raw(1, 65535, ramp(65535, 1, 3)).unwrap().into();
    let values = process(&picture, &spec).unwrap();
    assert_eq!((values.height, values.width), (224, 224));
    // Without the crop the result would be 256 x 16776960.
    let uncropped = process(&picture, &ProcessorSpec { center_crop: None, ..spec });
    assert!(matches!(
        uncropped,
        Err(ImageError::LimitExceeded { limit: "max_output_pixels", got: 4_294_901_760, .. })
    ));
}

#[test]
fn hostile_sizes_cost_nothing_and_name_their_limit() {
    let pixels = Rgb8::from_raw(8, 4096, vec![7; 8 * 4096 * 3]).unwrap();
    let mut picture = Picture::from(pixels);
    picture.transparent_color = Some([7; 3]);
    let exact = |height, width| Size::Exact { height, width };
    for (size, crop, limit) in [
        (exact(usize::MAX, 1), Some(1), "max_resized_side"),
        (Size::ShortestEdge(1 << 24), Some(8), "max_resized_side"),
        (exact(1 << 20, 1 << 20), None, "max_output_pixels"),
        (exact(1, 1 << 26), None, "max_resize_bytes"),
        (exact(1, 1 << 22), None, "max_resize_work"),
    ] {
        for order in [Order::ResizeFirst, Order::RescaleFirst] {
            let spec = ProcessorSpec {
                order,
                resize: Some(Resize { size, resample: Resample::Lanczos }),
                center_crop: crop.map(|side| HeightWidth { height: side, width: side }),
                ..dinov2()
            };
            let result = process(&picture, &spec);
            assert!(
                matches!(result, Err(ImageError::LimitExceeded { limit: l, .. }) if l == limit),
                "{size:?}: {:?}",
                result.map(|values| (values.height, values.width))
            );
        }
    }
    // Hundreds of millions of rows of which the crop keeps few are no cost.
    let spec = ProcessorSpec {
        resize: Some(Resize { size: exact(700_000_000, 9), resample: Resample::Lanczos }),
        center_crop: Some(HeightWidth { height: 8, width: 8 }),
        ..dinov2()
    };
    let white = process(&picture, &spec).unwrap();
    let black = process(&Picture { transparent_color: None, ..picture }, &spec).unwrap();
    assert!(white.data[0] > 2.0 && black.data[0] < -1.9, "{} {}", white.data[0], black.data[0]);
}

#[test]
fn a_level_that_the_processor_lacks_is_an_error() {
    let picture = Rgb8::from_raw(2, 2, vec![0; 12]).unwrap().into();
    for isa in Isa::ALL {
        let result = process(&picture, &ProcessorSpec { isa: Some(isa), ..dinov2() });
        match result {
            Ok(_) => assert!(isa.is_available()),
            Err(ImageError::IsaNotAvailable { isa: named }) => assert!(named == isa && !isa.is_available()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn padding_adds_zeros_after_normalising_and_refuses_to_shrink() {
    let picture = Rgb8::from_raw(2, 1, vec![10, 20, 30, 40, 50, 60]).unwrap().into();
    let pad = |height, width| ProcessorSpec {
        pad: Some(HeightWidth { height, width }),
        ..ProcessorSpec::default()
    };
    let values = process(&picture, &pad(2, 3)).unwrap();
    let want = [
        [10.0, 40.0, 0.0, 0.0, 0.0, 0.0],
        [20.0, 50.0, 0.0, 0.0, 0.0, 0.0],
        [30.0, 60.0, 0.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(values.data, want.concat());
    assert!(matches!(process(&picture, &pad(2, 1)), Err(ImageError::BadOption { option: "pad_size", .. })));
    let ignored = ProcessorSpec { order: Order::RescaleFirst, ..pad(2, 3) };
    assert_eq!(process(&picture, &ignored).unwrap().height, 1);
}

#[test]
fn options_that_cannot_be_carried_out_are_named() {
    let picture = Rgb8::from_raw(2, 2, vec![0; 12]).unwrap().into();
    let base = ProcessorSpec::default;
    let none = HeightWidth { height: 0, width: 3 };
    for (spec, name) in [
        (ProcessorSpec { center_crop: Some(none), ..base() }, "crop_size"),
        (ProcessorSpec { pad: Some(none), ..base() }, "pad_size"),
        (ProcessorSpec { rescale: Some(f64::NAN), ..base() }, "rescale_factor"),
        (ProcessorSpec { rescale: Some(0.0), normalize: normalize(), ..base() }, "rescale_factor"),
        (
            ProcessorSpec { normalize: Some(Normalize { mean: vec![0.0; 2], std: vec![1.0] }), ..base() },
            "image_mean",
        ),
        (
            ProcessorSpec { normalize: Some(Normalize { mean: vec![0.0], std: vec![] }), ..base() },
            "image_std",
        ),
        (ProcessorSpec { order: Order::RescaleFirst, normalize: normalize(), ..base() }, "do_normalize"),
    ] {
        match process(&picture, &spec) {
            Err(ImageError::BadOption { option, .. }) => assert_eq!(option, name),
            other => panic!("{name}: {other:?}"),
        }
    }
    let broken = Rgb8 { width: 5, height: 5, data: vec![0; 3] }.into();
    assert!(matches!(process(&broken, &base()), Err(ImageError::BadShape { len: 3, .. })));
}
