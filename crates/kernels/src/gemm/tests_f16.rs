//! Products of f16, at every level: equal to the bit to plain loops of the same arithmetic, and near those of floats.
//!
//! Where the processor has no instructions for them they are emulated, one at a time; all else is what runs where it has.

use super::f16::CHAIN;
use super::{Epilogue, PackedWeight, gemm};
use crate::floats::mul_add_f16;
use crate::{Activation, Context, ContextOptions, FloatSlice, Isa, MatMut, MatRef, reference};
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::{GEMM_F16_ERROR, GEMM_F16_LARGEST_ERROR};
use half::f16;

fn contexts() -> Vec<Context> {
    let with = |isa, threads| {
        let options = ContextOptions { isa: Some(isa), threads: Some(threads) };
        Context::new(options).unwrap().multiplying_f16(true)
    };
    Isa::available().into_iter().flat_map(|isa| [1, 3].map(move |threads| with(isa, threads))).collect()
}

fn pack(ctx: &Context, weight: &[f32], n: usize, k: usize) -> PackedWeight {
    let packed = PackedWeight::pack_f16(ctx, &[weight.into()], n, k).unwrap();
    assert!(packed.multiplies_f16());
    packed
}

fn product(ctx: &Context, a: &[f32], weight: &PackedWeight, epilogue: &Epilogue<'_>, m: usize) -> Vec<f32> {
    let mut out = vec![0.5; m * weight.n()];
    gemm(ctx, MatRef::new(a, m, weight.k()), weight, epilogue, &mut MatMut::new(&mut out, m, weight.n()));
    out
}

/// The power of two that a row is multiplied by, in f64, for weights up to 2 in magnitude.
fn factor(row: &[f32]) -> f64 {
    let largest = row.iter().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
    let mut factor = 2_f64.powi(126);
    while largest * factor >= 256.0 {
        factor /= 2.0;
    }
    factor
}

/// The product, step by step.
fn plain(a: &[f32], weight: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f32> {
    let mut out = Vec::new();
    for row in a.chunks(k.max(1)).take(m) {
        let factor = factor(row) as f32;
        let row: Vec<f16> = row.iter().map(|x| f16::from_f32(x * factor)).collect();
        for c in 0..n {
            let column: Vec<f16> = weight[c * k..][..k].iter().map(|w| f16::from_f32(*w)).collect();
            let mut sum = 0.0;
            for (row, column) in row.chunks(2 * CHAIN).zip(column.chunks(2 * CHAIN)) {
                let of = |odd: usize| {
                    let steps = row.iter().zip(column).skip(odd).step_by(2);
                    steps.fold(f16::ZERO, |sum, (x, w)| mul_add_f16(*x, *w, sum)).to_f32()
                };
                sum += of(0) + of(1);
            }
            out.push(sum / factor);
        }
    }
    out.resize(m * n, 0.0);
    out
}

/// Rows, columns and inputs around the edges of tiles, panels, words, chains and blocks.
const SHAPES: [(usize, usize, usize); 12] = [
    (0, 5, 3),
    (1, 1, 1),
    (3, 7, 2),
    (5, 48, 33),
    (13, 33, 127),
    (25, 20, 128),
    (2, 49, 129),
    (7, 16, 0),
    (30, 50, 257),
    (3, 40, 1537),
    (2, 33, 3080),
    (1, 17, 6200),
];

#[test]
fn every_level_computes_the_same_steps() {
    for (m, n, k) in SHAPES {
        let (a, weight) = (hash32(1, m * k), hash32(2, n * k));
        let want = plain(&a, &weight, (m, n, k));
        for ctx in contexts() {
            let got = product(&ctx, &a, &pack(&ctx, &weight, n, k), &Epilogue::default(), m);
            assert_eq!(got, want, "{} {m}x{n}x{k}", ctx.isa());
        }
    }
}

/// Of the product of the numbers as f16, in f64: its root mean square, and those of the differences from it; the largest difference
/// in units of Σ|a·w|.
fn errors(got: &[f32], a: &[f32], weight: &[f32], k: usize) -> (f64, f64) {
    let (n, mut square, mut of_errors, mut largest) = (weight.len() / k, 0.0, 0.0, 0.0_f64);
    for (i, got) in got.iter().enumerate() {
        let (row, column) = (&a[i / n * k..][..k], &weight[i % n * k..][..k]);
        let terms = row.iter().zip(column).map(|(x, w)| f64::from(*x) * f16::from_f32(*w).to_f64());
        let (want, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let error = f64::from(*got) - want;
        (square, of_errors) = (square + want * want, of_errors + error * error);
        largest = largest.max(error.abs() / size);
    }
    ((of_errors / square).sqrt(), largest)
}

#[test]
fn products_are_near_those_of_floats() {
    let (m, n) = (12, 32);
    for ctx in contexts().iter().step_by(2) {
        for k in [64, 384, 1536] {
            let (a, weight) = (hash32(1, m * k), hash32(2, n * k));
            let got = product(ctx, &a, &pack(ctx, &weight, n, k), &Epilogue::default(), m);
            let (relative, largest) = errors(&got, &a, &weight, k);
            assert!(relative <= GEMM_F16_ERROR, "{} {k}: {relative:e}", ctx.isa());
            assert!(largest <= GEMM_F16_LARGEST_ERROR, "{} {k}: {largest:e}", ctx.isa());
        }
    }
}

/// Signs all alike, so that sums are as large as they can be: in f16 alone they would be infinite, or vanish.
#[test]
fn rows_of_any_size_fit() {
    let (n, k) = (20, 700);
    let base: Vec<f32> = hash32(1, k).iter().map(|x| x.abs() + 0.1).collect();
    let weight: Vec<f32> = hash32(2, n * k).iter().map(|w| w.abs()).collect();
    for ctx in contexts().iter().step_by(2) {
        for weights in [1e-3, 1.0, 30.0] {
            let weight: Vec<f32> = weight.iter().map(|w| w * weights).collect();
            let packed = pack(ctx, &weight, n, k);
            for size in [1e-30, 1e-9, 1.0, 1e5, 1e30] {
                let a: Vec<f32> = base.iter().map(|x| x * size).collect();
                let got = product(ctx, &a, &packed, &Epilogue::default(), 1);
                let (_, largest) = errors(&got, &a, &weight, k);
                assert!(largest <= GEMM_F16_LARGEST_ERROR, "{} {size:e} {weights}: {largest:e}", ctx.isa());
            }
        }
    }
}

#[test]
fn the_ends_of_floats_are_rows_too() {
    for ctx in contexts().iter().step_by(2) {
        let packed = pack(ctx, &[1.0, -0.5], 2, 1);
        for x in [3.4e38, -3.4e38, f32::MIN_POSITIVE, 0.0, -0.0] {
            let got = product(ctx, &[x], &packed, &Epilogue::default(), 1);
            for (got, want) in got.iter().zip([x, -0.5 * x]) {
                assert!((got - want).abs() <= want.abs() * 5e-4, "{} {x:e}: {got:e}", ctx.isa());
            }
        }
        // Below 2⁻¹²⁶ · 2⁻¹²⁶ · 2⁻²⁴ of a result that floats can tell from 0.
        let got = product(ctx, &[f32::from_bits(1)], &packed, &Epilogue::default(), 1);
        assert!(got.iter().all(|x| x.abs() <= 2.0 * f32::from_bits(1)), "{got:?}");
    }
}

/// What is lost is a share of the largest products, never more: as with floats, at 11 bits.
#[test]
fn huge_and_tiny_numbers_in_one_row() {
    let (n, k) = (20, 384);
    let weight = hash32(2, n * k);
    for huge in [300.0, 1e5, -1e30] {
        let mut a = hash32(1, k);
        (a[7], a[200], a[201]) = (huge, -1e-30, 1e-6);
        for ctx in contexts().iter().step_by(2) {
            let got = product(ctx, &a, &pack(ctx, &weight, n, k), &Epilogue::default(), 1);
            let (_, largest) = errors(&got, &a, &weight, k);
            assert!(largest <= GEMM_F16_LARGEST_ERROR, "{} {huge:e}: {largest:e}", ctx.isa());
        }
    }
    // A weight of 0 for the huge one: the others still count, to its 2⁻²⁴ and less.
    let mut a = hash32(1, k);
    let mut weight = weight;
    weight.iter_mut().skip(7).step_by(k).for_each(|w| *w = 0.0);
    a[7] = 300.0;
    for ctx in contexts().iter().step_by(2) {
        let got = product(ctx, &a, &pack(ctx, &weight, n, k), &Epilogue::default(), 1);
        let (relative, _) = errors(&got, &a, &weight, k);
        assert!(relative <= GEMM_F16_ERROR, "{}: {relative:e}", ctx.isa());
    }
}

#[test]
fn rows_that_are_not_finite_are_not_numbers_and_others_are() {
    let (m, n, k) = (5, 20, 140);
    let weight = hash32(2, n * k);
    let mut a = hash32(1, m * k);
    let whole = a.clone();
    (a[k + 3], a[3 * k + 139]) = (f32::NAN, f32::NEG_INFINITY);
    for ctx in contexts() {
        let packed = pack(&ctx, &weight, n, k);
        let got = product(&ctx, &a, &packed, &Epilogue::default(), m);
        let want = product(&ctx, &whole, &packed, &Epilogue::default(), m);
        for (r, (got, want)) in got.chunks(n).zip(want.chunks(n)).enumerate() {
            match r {
                1 | 3 => assert!(got.iter().all(|x| x.is_nan()), "{} {r}: {got:?}", ctx.isa()),
                _ => assert_eq!(got, want, "{} {r}", ctx.isa()),
            }
        }
    }
}

#[test]
fn weights_that_are_not_finite_give_what_floats_give() {
    let (n, k) = (3, 130);
    let mut weight = hash32(2, n * k);
    (weight[5], weight[k + 70]) = (f32::INFINITY, f32::NAN);
    for ctx in contexts() {
        let got = product(&ctx, &hash32(1, k), &pack(&ctx, &weight, n, k), &Epilogue::default(), 1);
        assert!(got[0].is_infinite() && got[1].is_nan() && got[2].is_finite(), "{}: {got:?}", ctx.isa());
    }
}

#[test]
fn large_weights_are_multiplied_in_floats() {
    let (n, k) = (4, 70);
    let mut weight = hash32(2, n * k);
    for ctx in contexts() {
        weight[3] = -64.0;
        assert!(PackedWeight::pack_f16(&ctx, &[(&weight).into()], n, k).unwrap().multiplies_f16());
        weight[3] = -6e4;
        let packed = PackedWeight::pack_f16(&ctx, &[(&weight).into()], n, k).unwrap();
        assert!(!packed.multiplies_f16());
        let a: Vec<f32> = hash32(1, k).iter().map(|x| x * 1e30).collect();
        let got = product(&ctx, &a, &packed, &Epilogue::default(), 1);
        let (relative, _) = errors(&got, &a, &weight, k);
        assert!(relative <= 1e-6, "{}: {relative:e}", ctx.isa());
    }
}

#[test]
fn epilogues_stacked_parts_and_rows_alone() {
    let (m, n, k) = (19, 56, 200);
    let (a, weight, bias, scale) = (hash32(1, m * k), hash32(2, n * k), hash32(3, n), hash32(4, n));
    let epilogue = Epilogue {
        bias: Some(&bias),
        activation: Some(Activation::Gelu),
        scale: Some(&scale),
        accumulate: true,
    };
    let sums = plain(&a, &weight, (m, n, k));
    let mut want = vec![0.5; m * n];
    // Sums times the identity: the epilogue alone.
    let identity: Vec<f32> = (0..n * n).map(|i| f32::from(i / n == i % n)).collect();
    reference::gemm(MatRef::new(&sums, m, n), &identity, n, &epilogue, &mut MatMut::new(&mut want, m, n));
    let (first, second) = weight.split_at(20 * k);
    let mut all: Vec<Vec<f32>> = Vec::new();
    for ctx in contexts() {
        let parts = [FloatSlice::from(first), FloatSlice::from(second)];
        let packed = PackedWeight::pack_f16(&ctx, &parts, n, k).unwrap();
        let got = product(&ctx, &a, &packed, &epilogue, m);
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() <= 1e-5 * want.abs().max(1.0), "{}: {got}, want {want}", ctx.isa());
        }
        let alone = product(&ctx, &a[4 * k..5 * k], &packed, &epilogue, 1);
        assert_eq!(alone, got[4 * n..5 * n], "{}", ctx.isa());
        all.push(got);
    }
    // Any number of threads.
    assert!(all.chunks(2).all(|pair| pair[0] == pair[1]));
}
