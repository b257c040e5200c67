//! The fast passes against a naive twin, written from the formula, over sizes around every edge and every instruction set
//! level of the processor: equal to the bit.
//!
//! The twin resizes a line at a time, in integers of 64 bits, with weights it scales itself.

use super::*;
use crate::simd::every_arch;

/// One axis of the formula, on samples of one line.
fn naive_line(line: &[u8], output: usize, filter: Filter) -> Vec<u8> {
    let axis = Axis { filter, input: line.len(), output };
    if axis.input == output {
        return line.to_vec();
    }
    let weights = axis.weights::<f64>(0..output);
    let all = (0..output).flat_map(|i| weights.of(i).1.to_vec());
    let largest = all.fold(0.0, f64::max);
    let mut p = 0;
    while p < 22 && ((0.5 + largest * 2_f64.powi(p + 1)) as i64) < 32768 {
        p += 1;
    }
    let fixed = |w: f64| (w * 2_f64.powi(p) + if w < 0.0 { -0.5 } else { 0.5 }) as i64;
    let one = |i| {
        let (start, w) = weights.of(i);
        let sum: i64 = w.iter().zip(&line[start..]).map(|(&w, &x)| fixed(w) * i64::from(x)).sum();
        (((1 << (p - 1)) + sum) >> p).clamp(0, 255) as u8
    };
    (0..output).map(one).collect()
}

/// The whole picture, one channel at a time, horizontal first.
fn naive(
    data: &[u8],
    shape: (usize, usize, usize),
    (out_h, out_w): (usize, usize),
    filter: Filter,
) -> Vec<u8> {
    let (h, w, channels) = shape;
    let mut out = vec![0; out_h * out_w * channels];
    for c in 0..channels {
        let rows: Vec<Vec<u8>> = (0..h)
            .map(|y| {
                naive_line(
                    &(0..w).map(|x| data[(y * w + x) * channels + c]).collect::<Vec<_>>(),
                    out_w,
                    filter,
                )
            })
            .collect();
        for x in 0..out_w {
            let column: Vec<u8> = rows.iter().map(|row| row[x]).collect();
            for (y, v) in naive_line(&column, out_h, filter).into_iter().enumerate() {
                out[(y * out_w + x) * channels + c] = v;
            }
        }
    }
    out
}

/// High-contrast noise, the same each time.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len)
        .map(|_| match next() {
            v if v < 80 => 0,
            v if v > 200 => 255,
            v => v,
        })
        .collect()
}

fn whole(height: usize, width: usize) -> Target {
    Target { height, width, rows: 0..height, columns: 0..width }
}

fn check<const C: usize>(input: (usize, usize), output: (usize, usize), filter: Filter) {
    let data = noise(input.0 * input.1 * C);
    let want = naive(&data, (input.0, input.1, C), output, filter);
    let source = Bytes::<C> { data: &data, height: input.0, width: input.1 };
    let (rows, columns) = (output.0 / 3..output.0 - output.0 / 4, output.1 / 5..output.1 - output.1 / 3);
    let target = Target { rows: rows.clone(), columns: columns.clone(), ..whole(output.0, output.1) };
    let part: Vec<u8> = rows
        .flat_map(|y| want[(y * output.1 + columns.start) * C..(y * output.1 + columns.end) * C].to_vec())
        .collect();
    for (isa, arch) in every_arch() {
        let got = resize(arch, source, &whole(output.0, output.1), filter);
        assert!(got == want, "{input:?} to {output:?}, {C} channels, {filter:?}, {isa}");
        let got = resize(arch, source, &target, filter);
        assert!(got == part, "window of {input:?} to {output:?}, {filter:?}, {isa}");
    }
}

#[test]
fn every_size_and_window_equals_the_naive_twin() {
    let sizes = [(1, 1), (1, 9), (9, 1), (2, 3), (17, 33), (64, 65), (100, 7)];
    for filter in [Filter::Bilinear, Filter::Bicubic, Filter::Lanczos] {
        for input in sizes {
            for output in sizes {
                check::<3>(input, output, filter);
            }
        }
        check::<1>((40, 30), (13, 50), filter);
        check::<4>((40, 30), (13, 50), filter);
    }
}

#[test]
fn an_axis_that_keeps_its_size_is_skipped() {
    for output in [(17, 33), (17, 20), (9, 33)] {
        check::<3>((17, 33), output, Filter::Bicubic);
    }
}

#[test]
fn precision_is_the_most_that_16_bits_hold() {
    // 1.0 · 2^15 does not fit, 2^14 does; a weight just below 1 gets a bit more.
    for (largest, want) in [(1.0, 14), (0.999, 15), (0.5, 15), (0.25, 16), (1.2, 14), (1e-9, 22)] {
        assert_eq!(precision(largest), want, "{largest}");
    }
}

#[test]
fn every_enlarged_axis_has_the_same_precision() {
    for filter in [Filter::Bilinear, Filter::Bicubic, Filter::Lanczos] {
        for input in 1..40 {
            for output in (input + 1..input + 60).chain([input * 97, input * 256, input * 1000 + 1]) {
                let largest = Axis { filter, input, output }.largest_weight();
                assert_eq!(precision(largest), ENLARGED, "{filter:?} {input} to {output}: {largest}");
            }
        }
        for (input, output) in [(1000, 1001), (1000, 1999), (65535, 65536), (224, 224_000)] {
            let largest = Axis { filter, input, output }.largest_weight();
            assert_eq!(precision(largest), ENLARGED, "{filter:?} {input} to {output}: {largest}");
        }
    }
}

#[test]
fn strips_of_a_very_tall_picture_join_to_the_whole() {
    let (height, width, columns) = (200_000, 3, 120);
    assert_eq!(strip_len(height, 3), 106, "so the window takes two strips");
    let data = noise(height * width * 3);
    let source = Bytes::<3> { data: &data, height, width };
    for keeps_height in [false, true] {
        let full = Target { height: if keeps_height { height } else { 7 }, ..whole(7, columns) };
        // Either way all rows are needed, and a few come out.
        let full = if keeps_height { Target { rows: 0..height, ..full } } else { full };
        let all = resize(Arch::new(), source, &full, Filter::Bilinear);
        for part in [0..9, 102..120] {
            let target = Target { columns: part.clone(), ..full.clone() };
            let got = resize(Arch::new(), source, &target, Filter::Bilinear);
            let want = all.chunks_exact(columns * 3).flat_map(|row| &row[part.start * 3..part.end * 3]);
            assert!(got.iter().eq(want), "columns {part:?}");
        }
    }
}

#[test]
fn what_is_kept_between_the_passes_has_a_bound() {
    for channels in [1, 3, 4] {
        for rows in [1, 224, 65535, 131_072, 1 << 20] {
            let strip = strip_len(rows, channels);
            assert!(strip > 0 && (strip * channels).next_multiple_of(BLOCK) * rows <= MAX_BETWEEN);
        }
        assert!(strip_len(usize::MAX, channels) > 0);
    }
}

#[test]
fn a_thin_picture_computes_only_its_window() {
    // 1×65535 with the short side 256 would be 16776960 rows; the window takes a few input rows.
    let data = noise(65535 * 3);
    let source = Bytes::<3> { data: &data, height: 65535, width: 1 };
    let target = Target { height: 16_776_960, width: 256, rows: 8_388_368..8_388_592, columns: 16..240 };
    let out = resize(Arch::new(), source, &target, Filter::Bicubic);
    // Every column of a one-pixel-wide picture is the same.
    for row in out.chunks_exact(224 * 3) {
        assert!(row.chunks_exact(3).all(|pixel| pixel == &row[..3]));
    }
    // Row 8388480 is the border between input rows 32767 and 32768 (256 outputs each): both count alike, minus the wings.
    let axis = Axis { filter: Filter::Bicubic, input: 65535, output: 16_776_960 };
    assert_eq!(axis.weights::<f64>(8_388_368..8_388_592).inputs(), 32765..32770);
}
