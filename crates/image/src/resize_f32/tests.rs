//! The fast passes against a naive twin in f64, against windows of themselves, and each instruction set level against
//! the portable one.
//!
//! The twin resizes a line at a time with the weights of the formula in f64.

use dinoxide_testkit::tolerance::{RESIZE_TWIN_MAX_ABS, RESIZE_WINDOW_MAX_ABS};

use super::*;
use crate::simd::every_arch;

fn naive(
    data: &[f64],
    shape: (usize, usize, usize),
    (out_h, out_w): (usize, usize),
    filter: Filter,
) -> Vec<f64> {
    let (h, w, channels) = shape;
    let line = |values: Vec<f64>, output: usize| -> Vec<f64> {
        let weights = Axis { filter, input: values.len(), output }.weights::<f64>(0..output);
        let one = |i| {
            let (start, w) = weights.of(i);
            w.iter().zip(&values[start..]).map(|(w, x)| w * x).sum()
        };
        if values.len() == output { values } else { (0..output).map(one).collect() }
    };
    let mut out = vec![0.0; out_h * out_w * channels];
    for c in 0..channels {
        let rows: Vec<_> =
            (0..h).map(|y| line((0..w).map(|x| data[(y * w + x) * channels + c]).collect(), out_w)).collect();
        for x in 0..out_w {
            for (y, v) in line(rows.iter().map(|row| row[x]).collect(), out_h).into_iter().enumerate() {
                out[(y * out_w + x) * channels + c] = v;
            }
        }
    }
    out
}

fn whole(height: usize, width: usize) -> Target {
    Target { height, width, rows: 0..height, columns: 0..width }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * i * 31 + i * 7) % 256) as u8).collect()
}

#[test]
fn every_size_is_close_to_the_naive_twin_in_f64_and_equal_at_every_level() {
    let sizes = [(1, 1), (1, 90), (90, 1), (2, 3), (17, 33), (64, 65), (100, 7)];
    for filter in [Filter::Bilinear, Filter::Bicubic, Filter::Lanczos] {
        for (h, w) in sizes {
            let data = bytes(h * w * 3);
            let exact: Vec<f64> = data.iter().map(|&v| f64::from(v) / 255.0).collect();
            let source = Floats { data: &data, height: h, width: w, channels: 3, factor: 1.0 / 255.0 };
            for output in sizes {
                let target = whole(output.0, output.1);
                let got = resize(Arch::Scalar, source, &target, filter);
                for (isa, arch) in every_arch() {
                    let same = resize(arch, source, &target, filter);
                    assert!(same == got, "{h}x{w} to {output:?}, {filter:?}: {isa} differs from portable");
                }
                let want = naive(&exact, (h, w, 3), output, filter);
                let worst = got.iter().zip(&want).map(|(g, w)| (f64::from(*g) - w).abs()).fold(0.0, f64::max);
                assert!(worst <= RESIZE_TWIN_MAX_ABS, "{h}x{w} to {output:?}, {filter:?}: {worst:e}");
            }
        }
    }
}

#[test]
fn floats_and_bytes_of_the_same_values_agree() {
    let data = bytes(40 * 30 * 3);
    let floats: Vec<f32> = data.iter().map(|&v| f32::from(v)).collect();
    let target = whole(13, 50);
    let source = Floats { data: &data, height: 40, width: 30, channels: 3, factor: 1.0 };
    let from_bytes = resize(Arch::new(), source, &target, Filter::Bicubic);
    let source = Floats { data: &floats, height: 40, width: 30, channels: 3, factor: 1.0 };
    assert_eq!(from_bytes, resize(Arch::new(), source, &target, Filter::Bicubic));
}

#[test]
fn a_window_is_a_part_of_the_whole() {
    for ((h, w), (out_h, out_w)) in [((40, 30), (13, 50)), ((3, 900), (60, 60)), ((900, 3), (60, 60))] {
        let data = bytes(h * w * 3);
        let source = Floats { data: &data, height: h, width: w, channels: 3, factor: 1.0 };
        let all = resize(Arch::new(), source, &whole(out_h, out_w), Filter::Bilinear);
        let target = Target { rows: 4..11, columns: 5..29, ..whole(out_h, out_w) };
        let part = resize(Arch::new(), source, &target, Filter::Bilinear);
        for (y, row) in part.chunks_exact(24 * 3).enumerate() {
            let want = &all[((y + 4) * out_w + 5) * 3..][..24 * 3];
            for (g, w) in row.iter().zip(want) {
                assert!((g - w).abs() <= 255.0 * RESIZE_WINDOW_MAX_ABS, "{h}x{w} row {y}");
            }
        }
    }
}

#[test]
fn parts_of_a_large_picture_join_to_the_whole() {
    // Vertical first in parts of 42 rows; then horizontal first in parts of 27 columns.
    for ((h, w), (out_h, out_w)) in [((100, 131_072), (60, 20_000)), ((200_000, 2), (3, 224))] {
        let data = bytes(h * w * 3);
        let source = Floats { data: &data, height: h, width: w, channels: 3, factor: 1.0 };
        let all = resize(Arch::new(), source, &whole(out_h, out_w), Filter::Bilinear);
        let target = Target { rows: 1..out_h - 1, columns: 20..out_w - 20, ..whole(out_h, out_w) };
        let part = resize(Arch::new(), source, &target, Filter::Bilinear);
        let len = (out_w - 40) * 3;
        for (y, row) in part.chunks_exact(len).enumerate() {
            let want = &all[((y + 1) * out_w + 20) * 3..][..len];
            let worst = row.iter().zip(want).map(|(g, w)| (g - w).abs()).fold(0.0, f32::max);
            assert!(worst <= 255.0 * RESIZE_WINDOW_MAX_ABS, "{h}x{w} row {y}: {worst}");
        }
    }
}
