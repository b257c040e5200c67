//! Products with compact weights: each fast kernel, at every level, against floats that the format stands for.

use super::{Epilogue, Int4Activations, PackedWeight, gemm};
use crate::{Activation, Context, ContextOptions, Int4Weight, Int8Weight, Isa, MatMut, MatRef, reference};
use dinoxide_testkit::{
    data::hash32,
    tolerance::{GEMM_COMPACT, GEMM_COMPACT_EPILOGUE, OUTLIERS_ERROR_GROWTH, SMALL_ROW_ERROR, ZERO_ERROR},
};

fn contexts() -> Vec<Context> {
    // Products of f16 have tests of their own.
    let with = |isa, threads| {
        let options = ContextOptions { isa: Some(isa), threads: Some(threads) };
        Context::new(options).unwrap().multiplying_f16(false)
    };
    Isa::available().into_iter().flat_map(|isa| (1..=3).map(move |threads| with(isa, threads))).collect()
}

/// Rows, columns and inputs around the edges of tiles, panels, words and blocks.
const SHAPES: [(usize, usize, usize); 12] = [
    (0, 5, 3),
    (1, 1, 1),
    (3, 7, 2),
    (5, 48, 33),
    (13, 33, 64),
    (25, 96, 31),
    (7, 16, 0),
    (30, 50, 130),
    (9, 40, 1537),
    (129, 96, 384),
    (4, 33, 3080),
    (3, 17, 6200),
];

fn product(ctx: &Context, a: &[f32], weight: &PackedWeight, epilogue: &Epilogue<'_>, m: usize) -> Vec<f32> {
    let mut out = vec![0.5; m * weight.n()];
    gemm(ctx, MatRef::new(a, m, weight.k()), weight, epilogue, &mut MatMut::new(&mut out, m, weight.n()));
    out
}

/// The product in f64, before the epilogue, and Σ|a·w|.
fn exact(a: &[f32], weight: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<(f64, f64)> {
    let at = |r: usize, c: usize| {
        (0..k).fold((0.0, 0.0), |(sum, size), i| {
            let term = f64::from(a[r * k + i]) * f64::from(weight[c * k + i]);
            (sum + term, size + term.abs())
        })
    };
    (0..m * n).map(|i| at(i / n.max(1), i % n.max(1))).collect()
}

fn assert_near(got: &[f32], want: &[(f64, f64)], relative: f64, what: &str) {
    for (i, (got, (want, size))) in got.iter().zip(want).enumerate() {
        let error = (f64::from(*got) - want).abs();
        assert!(
            error <= relative * size + 1e-30,
            "{what} at {i}: {got}, want {want}, error {:e} of Σ",
            error / size
        );
    }
}

#[test]
fn halves_multiply_like_the_floats_they_are() {
    for ctx in contexts() {
        for (m, n, k) in SHAPES {
            let (a, weight) = (hash32(1, m * k), hash32(2, n * k));
            let bf16: Vec<f32> = weight.iter().map(|w| half::bf16::from_f32(*w).to_f32()).collect();
            let f16: Vec<f32> = weight.iter().map(|w| half::f16::from_f32(*w).to_f32()).collect();
            // Where the processor multiplies bf16, rows are rounded to it.
            let rounded: Vec<f32> = match ctx.multiplies_bf16() {
                true => a.iter().map(|x| half::bf16::from_f32(*x).to_f32()).collect(),
                false => a.clone(),
            };
            let what = format!("{} {m}x{n}x{k}", ctx.isa());
            let packed = PackedWeight::pack_bf16(&ctx, &[(&weight).into()], n, k);
            let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
            assert_near(&got, &exact(&rounded, &bf16, (m, n, k)), GEMM_COMPACT, &format!("bf16 {what}"));
            let packed = PackedWeight::pack_f16(&ctx, &[(&weight).into()], n, k).unwrap();
            let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
            assert_near(&got, &exact(&a, &f16, (m, n, k)), GEMM_COMPACT, &format!("f16 {what}"));
        }
    }
}

#[test]
fn every_half_is_widened_right() {
    for ctx in contexts() {
        // All finite f16, subnormals included, times 1.
        let all: Vec<f32> = (0..=u16::MAX).map(|bits| half::f16::from_bits(bits).to_f32()).collect();
        let finite: Vec<f32> = all.into_iter().filter(|w| w.is_finite()).collect();
        let packed = PackedWeight::pack_f16(&ctx, &[(&finite).into()], finite.len(), 1).unwrap();
        assert_eq!(product(&ctx, &[1.0], &packed, &Epilogue::default(), 1), finite, "{}", ctx.isa());
        let weight = [1e-42, -1e-30, 3.0e38, -0.0];
        let packed = PackedWeight::pack_bf16(&ctx, &[(&weight).into()], 4, 1);
        let got = product(&ctx, &[1.0], &packed, &Epilogue::default(), 1);
        for (got, want) in got.iter().zip(weight) {
            assert!((got - want).abs() <= want.abs() / 256.0 + 1e-38, "{}: {got} {want}", ctx.isa());
        }
    }
}

#[test]
fn f16_refuses_what_is_too_large_for_it() {
    let ctx = Context::new(ContextOptions::default()).unwrap();
    assert!(PackedWeight::pack_f16(&ctx, &[(&[1.0, 65_504.0][..]).into()], 1, 2).is_some());
    assert!(PackedWeight::pack_f16(&ctx, &[(&[1.0, -65_520.0][..]).into()], 1, 2).is_none());
}

/// A row as its bytes stand for it; by hand, in f64.
fn as_bytes(row: &[f32]) -> Vec<f32> {
    let (least, most) = row.iter().fold((0.0_f32, 0.0_f32), |(a, b), x| (a.min(*x), b.max(*x)));
    let scale = most / 255.0 - least / 255.0;
    let step = 1.0 / scale;
    let zero = (-least * step).round_ties_even();
    let byte = |x: f32| x.mul_add(step, zero).round_ties_even().clamp(0.0, 255.0);
    row.iter().map(|x| (byte(*x) - zero) * scale).collect()
}

#[test]
fn int8_multiplies_bytes_like_the_floats_they_stand_for() {
    for ctx in contexts() {
        for (m, n, k) in SHAPES {
            let (a, weight) = (hash32(1, m * k), hash32(2, n * k));
            let quantized = Int8Weight::quantize(&ctx, &weight, n, k);
            let rows: Vec<f32> = a.chunks(k.max(1)).flat_map(as_bytes).collect();
            let packed = PackedWeight::pack_int8(&ctx, std::slice::from_ref(&quantized));
            let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
            let want = exact(&rows, &quantized.dequantize(), (m, n, k));
            assert_near(&got, &want, GEMM_COMPACT, &format!("{} {m}x{n}x{k}", ctx.isa()));
        }
    }
}

/// Of a row that is 0 but for a few numbers of either sign, the sum of bytes and what its zero adds up to are far larger than their
/// difference, the more so where all weights are alike: it loses bits, but few against what is lost to the bytes.
#[test]
fn what_the_zero_of_a_row_costs_is_nothing_against_its_bytes() {
    let (m, n) = (5, 20);
    for ctx in contexts() {
        for (k, apart) in [(384, 37), (1537, 41), (6200, 53)] {
            let value =
                |i: usize| if (i % k).is_multiple_of(apart) { 1.0 - (i / apart % 3) as f32 } else { 0.0 };
            let a: Vec<f32> = (0..m * k).map(value).collect();
            let weight: Vec<f32> = (0..n * k).map(|i| 0.3 - 0.01 * (i / k) as f32).collect();
            let quantized = Int8Weight::quantize(&ctx, &weight, n, k);
            let (rows, meant): (Vec<f32>, _) =
                (a.chunks(k).flat_map(as_bytes).collect(), quantized.dequantize());
            let packed = PackedWeight::pack_int8(&ctx, std::slice::from_ref(&quantized));
            let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
            let want = exact(&rows, &meant, (m, n, k));
            for (i, (got, (want, _))) in got.iter().zip(want).enumerate() {
                // Rows reach from −1 to 1; each byte may be off by half a step.
                let of_bytes: f64 = meant[i % n * k..][..k].iter().map(|w| f64::from(w.abs()) / 255.0).sum();
                let share = (f64::from(*got) - want).abs() / of_bytes;
                assert!(share <= ZERO_ERROR, "{} K = {k} at {i}: {share:e}", ctx.isa());
            }
        }
    }
}

/// A row as its signed bytes stand for it.
fn as_signed_bytes(row: &[f32]) -> Vec<f32> {
    let scale = row.iter().fold(0.0_f32, |a, x| a.max(x.abs())) / 127.0;
    row.iter().map(|x| (x * (1.0 / scale)).round_ties_even() * scale).collect()
}

#[test]
fn int4_multiplies_bytes_like_the_floats_they_stand_for() {
    for ctx in contexts() {
        for ((m, n, k), group) in SHAPES.into_iter().zip([32, 64, 128, 8, 7].into_iter().cycle()) {
            let (a, weight) = (hash32(1, m * k), hash32(2, n * k));
            let quantized = Int4Weight::quantize(&ctx, &weight, (n, k), group);
            let packed =
                PackedWeight::pack_int4(&ctx, std::slice::from_ref(&quantized), Int4Activations::Int8);
            let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
            let rows = match group {
                7 => a,
                _ => a.chunks(k.max(1)).flat_map(as_signed_bytes).collect(),
            };
            let want = exact(&rows, &quantized.dequantize(), (m, n, k));
            assert_near(&got, &want, GEMM_COMPACT, &format!("{} {m}x{n}x{k} {group}", ctx.isa()));
        }
    }
}

#[test]
fn int4_multiplies_the_floats_of_the_scheme() {
    for ctx in contexts() {
        for ((m, n, k), group) in SHAPES.into_iter().zip([32, 64, 128, 7].into_iter().cycle()) {
            let (a, weight) = (hash32(1, m * k), hash32(2, n * k));
            let quantized = Int4Weight::quantize(&ctx, &weight, (n, k), group);
            let packed =
                PackedWeight::pack_int4(&ctx, std::slice::from_ref(&quantized), Int4Activations::Float);
            let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
            let want = exact(&a, &quantized.dequantize(), (m, n, k));
            assert_near(&got, &want, GEMM_COMPACT, &format!("{} {m}x{n}x{k} {group}", ctx.isa()));
        }
    }
}

#[test]
fn outliers_of_a_row_do_not_cost_the_others_their_bits() {
    let (m, n, k) = (24, 40, 384);
    let weight = hash32(2, n * k);
    let plain = hash32(1, m * k);
    let contexts = contexts();
    for (ctx, format) in contexts.iter().flat_map(|ctx| [8, 4].map(|bits| (ctx, bits))) {
        let (packed, meant) = match format {
            8 => {
                let weight = Int8Weight::quantize(ctx, &weight, n, k);
                (PackedWeight::pack_int8(ctx, std::slice::from_ref(&weight)), weight.dequantize())
            }
            _ => {
                let weight = Int4Weight::quantize(ctx, &weight, (n, k), 64);
                let packed =
                    PackedWeight::pack_int4(ctx, std::slice::from_ref(&weight), Int4Activations::Int8);
                (packed, weight.dequantize())
            }
        };
        let error = |a: &[f32]| {
            let got = product(ctx, a, &packed, &Epilogue::default(), m);
            let want = exact(a, &meant, (m, n, k));
            let square: f64 = got.iter().zip(want).map(|(g, (w, _))| (f64::from(*g) - w).powi(2)).sum();
            (square / got.len() as f64).sqrt()
        };
        let usual = error(&plain);
        // A channel that is far from the others in all rows, then several of very different sizes in some.
        let mut a = plain.clone();
        a.iter_mut().skip(7).step_by(k).for_each(|x| *x *= 1000.0);
        assert!(error(&a) <= OUTLIERS_ERROR_GROWTH * usual, "{}: {} {usual}", ctx.isa(), error(&a));
        for (i, factor) in [1e4, -1e3, 50.0, 3e3].into_iter().enumerate() {
            a[3 * k + 11 * i] = factor;
        }
        a[5 * k..6 * k].iter_mut().for_each(|x| *x *= 1e-3);
        assert!(error(&a) <= OUTLIERS_ERROR_GROWTH * usual, "{}: {} {usual}", ctx.isa(), error(&a));
        let got = product(ctx, &a, &packed, &Epilogue::default(), m);
        let want = exact(&a, &meant, (m, n, k));
        for c in 0..n {
            let error = f64::from(got[5 * n + c]) - want[5 * n + c].0;
            assert!(error.abs() <= SMALL_ROW_ERROR * usual, "a small row: {error}");
        }
    }
}

/// The squares of such a number are infinite. Its weights are 0, so that only the others count.
#[test]
fn one_number_of_immense_size_does_not_cost_the_others_their_bits() {
    let (n, k, far) = (20, 384, 9);
    let a = hash32(1, k);
    let mut huge = a.clone();
    huge[far] = -1e25;
    let mut weight = hash32(2, n * k);
    weight.iter_mut().skip(far).step_by(k).for_each(|w| *w = 0.0);
    let mut codes = vec![0x17; n * k / 2];
    codes.iter_mut().skip(far / 2).step_by(k / 2).for_each(|pair| *pair = 0x07);
    let groups = n * k / 64;
    let int4 = Int4Weight::new(codes, (vec![0.1; groups], vec![0.0; groups]), (n, k), 64);
    for ctx in contexts() {
        let int8 = Int8Weight::quantize(&ctx, &weight, n, k);
        let packed = [
            (PackedWeight::pack_int8(&ctx, std::slice::from_ref(&int8)), int8.dequantize()),
            (
                PackedWeight::pack_int4(&ctx, std::slice::from_ref(&int4), Int4Activations::Int8),
                int4.dequantize(),
            ),
        ];
        for (packed, meant) in &packed {
            let got = product(&ctx, &huge, packed, &Epilogue::default(), 1);
            assert_near(&got, &exact(&a, meant, (1, n, k)), 5e-3, &ctx.isa().to_string());
        }
    }
}

#[test]
fn rows_that_are_not_finite_are_not_numbers_and_others_are() {
    for ctx in contexts() {
        let (m, n, k) = (5, 20, 40);
        let mut a = hash32(1, m * k);
        (a[k + 3], a[3 * k + 39]) = (f32::NAN, f32::INFINITY);
        a[4 * k..].fill(0.0);
        let packed = PackedWeight::pack_int8(&ctx, &[Int8Weight::quantize(&ctx, &hash32(2, n * k), n, k)]);
        let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
        for (r, row) in got.chunks(n).enumerate() {
            assert!(row.iter().all(|x| x.is_nan() == [1, 3].contains(&r)), "{} row {r}: {row:?}", ctx.isa());
        }
        assert!(got[4 * n..].iter().all(|x| *x == 0.0));
        a[..k].fill(2e38);
        a[1] = -2e38;
        let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
        assert!(got[..n].iter().all(|x| !x.is_nan()), "{:?}", &got[..n]);
    }
}

#[test]
fn epilogues_and_stacked_parts_are_as_with_floats() {
    let (m, n, k) = (19, 56, 72);
    let (a, weight, bias, scale) = (hash32(1, m * k), hash32(2, n * k), hash32(3, n), hash32(4, n));
    let epilogue = Epilogue {
        bias: Some(&bias),
        activation: Some(Activation::Gelu),
        scale: Some(&scale),
        accumulate: true,
    };
    let (first, second) = weight.split_at(20 * k);
    for ctx in contexts() {
        let int8 = |weight: &[f32]| Int8Weight::quantize(&ctx, weight, weight.len() / k, k);
        let int4 = |weight: &[f32]| Int4Weight::quantize(&ctx, weight, (weight.len() / k, k), 32);
        let stacked = [
            PackedWeight::pack_bf16(&ctx, &[first.into(), second.into()], n, k),
            PackedWeight::pack_f16(&ctx, &[first.into(), second.into()], n, k).unwrap(),
            PackedWeight::pack_int8(&ctx, &[int8(first), int8(second)]),
            PackedWeight::pack_int4(&ctx, &[int4(first), int4(second)], Int4Activations::Float),
            PackedWeight::pack_int4(&ctx, &[int4(first), int4(second)], Int4Activations::Int8),
        ];
        let whole = [
            PackedWeight::pack_bf16(&ctx, &[(&weight).into()], n, k),
            PackedWeight::pack_f16(&ctx, &[(&weight).into()], n, k).unwrap(),
            PackedWeight::pack_int8(&ctx, &[int8(&weight)]),
            PackedWeight::pack_int4(&ctx, &[int4(&weight)], Int4Activations::Float),
            PackedWeight::pack_int4(&ctx, &[int4(&weight)], Int4Activations::Int8),
        ];
        let half = |w: &f32| half::bf16::from_f32(*w).to_f32();
        let rounded: Vec<f32> = if ctx.multiplies_bf16() { a.iter().map(half).collect() } else { a.clone() };
        let meant = [
            (rounded, weight.iter().map(half).collect()),
            (a.clone(), weight.iter().map(|w| half::f16::from_f32(*w).to_f32()).collect()),
            (a.chunks(k).flat_map(as_bytes).collect(), int8(&weight).dequantize()),
            (a.clone(), int4(&weight).dequantize()),
            (a.chunks(k).flat_map(as_signed_bytes).collect(), int4(&weight).dequantize()),
        ];
        for (i, (stacked, whole)) in stacked.iter().zip(&whole).enumerate() {
            let got = product(&ctx, &a, stacked, &epilogue, m);
            assert_eq!(got, product(&ctx, &a, whole, &epilogue, m), "{} format {i}", ctx.isa());
            let (rows, weight) = &meant[i];
            let mut want = vec![0.5; m * n];
            let rows = MatRef::new(rows, m, k);
            reference::gemm(rows, weight, n, &epilogue, &mut MatMut::new(&mut want, m, n));
            for (got, want) in got.iter().zip(&want) {
                assert!(
                    (got - want).abs() <= GEMM_COMPACT_EPILOGUE,
                    "{} format {i}: {got}, want {want}",
                    ctx.isa()
                );
            }
            // Rows alone, and any number of threads.
            let alone = product(&ctx, &a[4 * k..5 * k], stacked, &epilogue, 1);
            assert_eq!(alone, got[4 * n..5 * n], "{} format {i}", ctx.isa());
        }
    }
}

#[test]
#[should_panic(expected = "an int8 weight of 65794 inputs")]
fn more_inputs_than_sums_of_bytes_allow_are_not_packed() {
    let ctx = Context::new(ContextOptions::default()).unwrap();
    let k = Int8Weight::MAX_K + 1;
    let _ = PackedWeight::pack_int8(&ctx, &[Int8Weight::new(vec![0; k], vec![1.0], k)]);
}

/// The largest bytes of either sign, which the most inputs are just few enough for.
#[test]
fn sums_of_the_most_inputs_fit() {
    let k = Int8Weight::MAX_K;
    for ctx in contexts() {
        let weight = Int8Weight::new(vec![i8::MIN; k], vec![1.0], k);
        let packed = PackedWeight::pack_int8(&ctx, &[weight]);
        for x in [255.0, -255.0] {
            let got = product(&ctx, &vec![x; k], &packed, &Epilogue::default(), 1);
            let want = -128.0 * f64::from(x) * k as f64;
            assert!((f64::from(got[0]) - want).abs() <= 1e-6 * want.abs(), "{} {x}: {got:?}", ctx.isa());
        }
    }
}

#[test]
fn rows_take_the_scratch_memory_that_is_told() {
    let (n, k) = (40, 300);
    let weight = hash32(2, n * k);
    for isa in Isa::available() {
        let ctx = || Context::new(ContextOptions { isa: Some(isa), threads: Some(1) }).unwrap();
        let int4 = |ctx: &Context, activations| {
            let weight = Int4Weight::quantize(ctx, &weight, (n, k), 32);
            PackedWeight::pack_int4(ctx, &[weight], activations)
        };
        let formats: [&dyn Fn(&Context) -> PackedWeight; 6] = [
            &|ctx| PackedWeight::pack(ctx, &weight, n, k),
            &|ctx| PackedWeight::pack_bf16(ctx, &[(&weight).into()], n, k),
            &|ctx| PackedWeight::pack_f16(ctx, &[(&weight).into()], n, k).unwrap(),
            &|ctx| PackedWeight::pack_int8(ctx, &[Int8Weight::quantize(ctx, &weight, n, k)]),
            &|ctx| int4(ctx, Int4Activations::Float),
            &|ctx| int4(ctx, Int4Activations::Int8),
        ];
        for (i, pack) in formats.into_iter().enumerate() {
            let taken = [256, 512].map(|m| {
                let ctx = ctx();
                product(&ctx, &hash32(1, m * k), &pack(&ctx), &Epilogue::default(), m);
                ctx.scratch_bytes()
            });
            let told = pack(&ctx()).row_scratch(&ctx());
            assert_eq!(taken[1] - taken[0], 256 * size_of::<f32>() * told, "{isa} format {i}");
        }
    }
}
