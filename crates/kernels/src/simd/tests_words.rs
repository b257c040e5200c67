//! The operations on words of several numbers, at every level and with what the processor has more, against plain integers and
//! the `half` crate.

use super::{Bf16Pairs, Bytes, F16Pairs, Floats, Level, Operation, Products, Simd};
use crate::Isa;
use crate::floats::mul_add_f16;
use dinoxide_testkit::data::hash32;

/// Runs a test at each level, compiled for products of each kind.
fn each<O: Operation<Output = ()> + Copy>(test: O) {
    for level in Isa::available().into_iter().filter_map(Level::new) {
        Floats::dispatch(level, test);
        Bytes::dispatch(level, test);
        Bf16Pairs::dispatch(level, test);
        F16Pairs::dispatch(level, test);
    }
}

/// Sixteen words of some bits.
fn words(seed: u32) -> [f32; 16] {
    let bits = hash32(seed, 32);
    std::array::from_fn(|i| f32::from_bits(bits[2 * i].to_bits() << 9 ^ bits[2 * i + 1].to_bits()))
}

/// The first lanes of a vector.
fn lanes<S: Simd>(simd: S, v: S::Vec) -> Vec<f32> {
    let mut out = [0.0; 16];
    simd.store(v, &mut out);
    out[..S::LANES].to_vec()
}

#[derive(Clone, Copy)]
struct Integers;

impl Operation for Integers {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        // All bytes at their ends too: 255·(−128)·4 saturates 16 bits.
        let ends = [u32::MAX, 0x8080_8080, 0x7F7F_7F7F, 0].map(f32::from_bits);
        for seed in 0..100_u32 {
            let (mut a, mut b, c) = (words(seed), words(seed + 1000), words(seed + 2000));
            (a[seed as usize % 4], b[seed as usize / 4 % 4]) = (ends[0], ends[seed as usize / 16 % 4]);
            let (va, vb, vc) = (simd.load(&a), simd.load(&b), simd.load(&c));
            let i = |x: f32| x.to_bits().cast_signed();
            let dot = |i: usize| {
                let (a, b) = (a[i].to_bits().to_le_bytes(), b[i].to_bits().to_le_bytes());
                (0..4).map(|j| i32::from(a[j]) * i32::from(b[j].cast_signed())).sum::<i32>()
            };
            let (dots, sums) =
                (lanes(simd, simd.dot_bytes(va, vb, vc)), lanes(simd, simd.integer_sum(va, vb)));
            let floats = lanes(simd, simd.integer_to_float(vc));
            for l in 0..S::LANES {
                assert_eq!(i(dots[l]), i(c[l]).wrapping_add(dot(l)), "{simd:?}");
                assert_eq!(i(sums[l]), i(a[l]).wrapping_add(i(b[l])), "{simd:?}");
                assert_eq!(floats[l], i(c[l]) as f32, "{simd:?}");
            }
            for part in 0..4 {
                let bytes = lanes(simd, simd.signed_byte(va, part));
                let halves = lanes(simd, simd.nibbles(va, part % 2 == 1));
                for l in 0..S::LANES {
                    let word = a[l].to_bits();
                    assert_eq!(bytes[l], f32::from(word.to_le_bytes()[part as usize].cast_signed()));
                    assert_eq!(halves[l].to_bits(), word >> (part % 2 * 4) & 0x0F0F_0F0F, "{simd:?}");
                }
            }
        }
    }
}

#[test]
fn integers_in_words_are_exact_and_do_not_saturate() {
    each(Integers);
}

#[derive(Clone, Copy)]
struct Halves;

impl Operation for Halves {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        for start in (0..=u16::MAX).step_by(16) {
            let bits = |l: usize| start + l as u16;
            let low: [f32; 16] =
                std::array::from_fn(|l| f32::from_bits(u32::from(bits(l)) | u32::from(!bits(l)) << 16));
            for high in [false, true] {
                let of = |l: usize| if high { !bits(l) } else { bits(l) };
                let f16 = lanes(simd, simd.f16_half(simd.load(&low), high));
                let bf16 = lanes(simd, simd.bf16_half(simd.load(&low), high));
                for l in 0..S::LANES {
                    let (want_f16, want_bf16) = (half::f16::from_bits(of(l)), half::bf16::from_bits(of(l)));
                    let same = |got: f32, want: f32| {
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
                    };
                    assert!(same(f16[l], want_f16.to_f32()), "{simd:?} {:x}: {}", of(l), f16[l]);
                    assert!(same(bf16[l], want_bf16.to_f32()), "{simd:?} {:x}: {}", of(l), bf16[l]);
                }
            }
        }
    }
}

#[test]
fn every_half_becomes_its_float() {
    each(Halves);
}

#[derive(Clone, Copy)]
struct Narrow;

impl Operation for Narrow {
    type Output = ();

    #[inline(always)]
    #[allow(unsafe_code)]
    fn eval<S: Simd>(self, simd: S) {
        let ties =
            [1.001_953_1, 1.005_859_4, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0, 3.0];
        for seed in 0..200_u32 {
            let mut x = words(seed);
            x[seed as usize % 4] = ties[seed as usize / 4 % 8];
            let mut out = [0_u16; 16];
            // SAFETY: there is room for the lanes of any level.
            unsafe { simd.store_bf16(simd.load(&x), out.as_mut_ptr()) };
            for (x, got) in x.iter().zip(&out[..S::LANES]) {
                let (want, got) = (half::bf16::from_f32(*x), half::bf16::from_bits(*got));
                let flushed = x.is_subnormal() && got.to_f32() == 0.0;
                assert!(
                    got == want || flushed || got.is_nan() && want.is_nan(),
                    "{simd:?} {x:e} {got} {want}"
                );
            }
            let bytes: [f32; 64] = std::array::from_fn(|i| (hash32(seed, 64)[i] * 150.0).round() / 2.0 - 0.5);
            for signed in [false, true] {
                let mut out = [0_u8; 64];
                let run: [S::Vec; 4] = std::array::from_fn(|i| simd.load(&bytes[i * S::LANES..]));
                // SAFETY: there is room for four vectors of any level.
                unsafe { simd.store_bytes(run, signed, out.as_mut_ptr()) };
                for (x, got) in bytes.iter().zip(&out[..4 * S::LANES]) {
                    let x = x.round_ties_even();
                    let want = if signed { x.clamp(-128.0, 127.0) as i8 as u8 } else { x.max(0.0) as u8 };
                    assert_eq!(*got, want, "{simd:?} {x}");
                }
            }
        }
        let (b, sum) = (hash32(5, 16), hash32(6, 16));
        let pair = |x: f32, y: f32| {
            let half = |x: f32| u32::from(half::bf16::from_f32(x).to_bits());
            f32::from_bits(half(x) | half(y) << 16)
        };
        let left: [f32; 16] = std::array::from_fn(|i| pair(b[i], sum[i]));
        let right: [f32; 16] = std::array::from_fn(|i| pair(sum[15 - i], b[15 - i]));
        let got = lanes(simd, simd.dot_bf16(simd.load(&left), simd.load(&right), simd.load(&sum)));
        for l in 0..S::LANES {
            let half = |x: f32| half::bf16::from_f32(x).to_f32();
            let want = half(b[l]) * half(sum[15 - l]) + half(sum[l]) * half(b[15 - l]) + sum[l];
            assert!((got[l] - want).abs() <= 1e-6 * (1.0 + want.abs()), "{simd:?} {l}: {} {want}", got[l]);
        }
    }
}

#[test]
fn floats_become_the_nearest_half_or_byte_and_pairs_multiply() {
    each(Narrow);
}

#[derive(Clone, Copy)]
struct F16;

impl Operation for F16 {
    type Output = ();

    #[inline(always)]
    #[allow(unsafe_code)]
    fn eval<S: Simd>(self, simd: S) {
        let half = |word: f32, high: u32| half::f16::from_bits((word.to_bits() >> (16 * high)) as u16);
        for seed in 0..2000_u32 {
            // All kinds of numbers, infinite ones and none included; half of the sums of the order of the products.
            let (a, b, mut c) = (words(seed), words(seed + 10_000), words(seed + 20_000));
            for l in (0..16).filter(|l| l % 2 == 0) {
                let product = |high| (half(a[l], high) * half(b[l], high)).to_bits();
                c[l] = f32::from_bits(u32::from(product(0)) ^ 0x8001 | u32::from(product(1)) << 16);
            }
            let (va, vb, vc) = (simd.load(&a), simd.load(&b), simd.load(&c));
            let (products, sums) = (lanes(simd, simd.mul_add_f16(va, vb, vc)), lanes(simd, simd.f16_sum(va)));
            for l in 0..S::LANES {
                for high in 0..2 {
                    let want = mul_add_f16(half(a[l], high), half(b[l], high), half(c[l], high));
                    let got = half(products[l], high);
                    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                    assert!(same, "{simd:?}: {got:?}, want {want:?}");
                }
                let want = half(a[l], 0).to_f32() + half(a[l], 1).to_f32();
                assert!(sums[l].to_bits() == want.to_bits() || sums[l].is_nan() && want.is_nan(), "{simd:?}");
            }
            // Floats around the ends of f16 and its subnormals, and ties.
            let mut x: [f32; 16] = std::array::from_fn(|l| a[l] * 2_f32.powi(l as i32 * 3 - 24));
            x[seed as usize % 4] =
                [65520.0, -65519.0, 3e-8, 2.980_232_3e-8, f32::NAN, 1.000_488_3, f32::MAX, -0.0]
                    [seed as usize / 4 % 8];
            let mut out = [0_u16; 16];
            // SAFETY: there is room for the lanes of any level.
            unsafe { simd.store_f16(simd.load(&x), out.as_mut_ptr()) };
            for (x, got) in x.iter().zip(&out[..S::LANES]) {
                let (want, got) = (half::f16::from_f32(*x), half::f16::from_bits(*got));
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{simd:?} {x:e}: {got:?}, want {want:?}");
            }
        }
    }
}

#[test]
fn f16_are_rounded_and_multiplied_as_one_at_a_time() {
    each(F16);
}
