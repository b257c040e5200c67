//! Vectorised exponentials.
//!
//! eˣ = 2ⁿ·eʳ with n = round(x·log₂e) and r = x − n·ln 2, |r| ≤ ln 2 / 2, where ln 2 is taken in two parts so that the
//! subtraction loses nothing; eʳ is a minimax polynomial of degree 6 (relative error 2e-9 before rounding; its
//! coefficients are made by `tests/data/minimax.py`). 2ˣ needs no parts: x − n is exact.
//!
//! Measured against f64 over every f32 whose result is normal: at most 1.06 ulp with FMA, 1.35 without;
//! results below about 2^−125.5 may be 0, as most levels make no subnormals.

use crate::simd::Simd;

/// ln 2 in two parts; the first has 9 trailing zero bits, so that its product with n is exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Minimax polynomial of eʳ on |r| ≤ 0.347, lowest degree first.
const EXP: [f32; 7] = [1.0, 1.0, 4.999_999_4e-1, 1.666_643e-1, 4.166_801e-2, 8.374_236_5e-3, 1.384_355_8e-3];

/// Minimax polynomial of 2ᶠ on |f| ≤ 0.5, lowest degree first.
const EXP2: [f32; 7] =
    [1.0, std::f32::consts::LN_2, 2.402_264_8e-1, 5.550_332_4e-2, 9.618_437e-3, 1.339_887_5e-3, 1.535_336e-4];

/// Here 2ⁿ is taken for 0.
const LOWEST_EXPONENT: f32 = -127.0;

/// c₀ + c₁·x + c₂·x² + … by Horner's rule.
#[inline(always)]
pub(crate) fn polynomial<S: Simd, const N: usize>(simd: S, coefficients: &[f32; N], x: S::Vec) -> S::Vec {
    let mut sum = simd.splat(coefficients[N - 1]);
    for &c in coefficients[..N - 1].iter().rev() {
        sum = simd.mul_add(sum, x, simd.splat(c));
    }
    sum
}

/// eˣ: 0 below about −87, infinity above 88.72, NaN for NaN.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    // The limit comes first, so that NaN passes. e⁸⁹ overflows below, as it should.
    let x = simd.min(simd.splat(89.0), simd.max(simd.splat(-88.0), x));
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let r = simd.mul_add(n, simd.splat(-LN_2_HIGH), x);
    let r = simd.mul_add(n, simd.splat(-LN_2_LOW), r);
    // 2¹²⁸ is no f32 though e^88.7 is: so 2·eʳ, times 2ⁿ⁻¹.
    let less = simd.max(simd.splat(LOWEST_EXPONENT), simd.sub(n, simd.splat(1.0)));
    let e_r = polynomial(simd, &EXP, r);
    simd.mul(simd.add(e_r, e_r), simd.pow2(less))
}

/// 2ˣ for x ≤ 0: 0 below −126.5 at most levels (subnormal at others), NaN for NaN. What a softmax needs after its largest score is subtracted.
#[inline(always)]
pub(crate) fn exp2_of_nonpositive<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let (n, rest) = simd.split(x);
    simd.scale(polynomial(simd, &EXP2, rest), n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::simd::{Level, Operation, map_in_place};
    use dinoxide_testkit::tolerance::{EXP_ULPS, EXP_ULPS_PORTABLE};

    /// Either function over a slice.
    struct Exp<'a> {
        base_2: bool,
        x: &'a mut [f32],
    }

    impl Operation for Exp<'_> {
        type Output = ();

        #[inline(always)]
        fn eval<S: Simd>(self, simd: S) {
            let f = |x| if self.base_2 { exp2_of_nonpositive(simd, x) } else { exp(simd, x) };
            map_in_place(simd, self.x, f);
        }
    }

    /// The largest error in units in the last place, and where, over the floats with the given bits.
    fn worst(isa: Isa, base_2: bool, bits: impl Iterator<Item = u32>) -> (f64, f32) {
        let mut worst = (0.0, 0.0);
        let x: Vec<f32> =
            bits.map(f32::from_bits).filter(|x| x.is_finite() && !(base_2 && *x > 0.0)).collect();
        let mut got = x.clone();
        Level::new(isa).unwrap().dispatch(Exp { base_2, x: &mut got });
        for (&x, &got) in x.iter().zip(&got) {
            let want = if base_2 { f64::from(x).exp2() } else { f64::from(x).exp() };
            let rounded = want as f32;
            if rounded < 1.7e-38 {
                assert!((0.0..1.8e-38).contains(&got), "{isa} {x:e}: {got:e}");
            } else if rounded.is_infinite() {
                assert_eq!(got, rounded, "{isa} {x:e}");
            } else {
                let ulp = f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded);
                let error = (f64::from(got) - want).abs() / ulp;
                worst = if error > worst.0 { (error, x) } else { worst };
            }
        }
        worst
    }

    fn assert_bounds(stride: u32) {
        for isa in Isa::available() {
            for base_2 in [false, true] {
                let mut worst_error = (0.0, 0.0);
                // In parts, to bound the memory.
                for part in 0..64 {
                    let bits = (0..(1 << 26) / stride).map(|i| (part << 26) + i * stride + i % stride);
                    let found = worst(isa, base_2, bits);
                    worst_error = if found.0 > worst_error.0 { found } else { worst_error };
                }
                let bound = if isa == Isa::Portable { EXP_ULPS_PORTABLE } else { EXP_ULPS };
                println!("{isa} base 2 {base_2}: {worst_error:?}");
                assert!(worst_error.0 <= bound, "{isa}, base 2 {base_2}: {worst_error:?}");
            }
        }
    }

    #[test]
    fn exponentials_keep_their_bounds_over_a_sample_of_all_floats() {
        assert_bounds(1009);
    }

    #[test]
    #[ignore = "all 2^32 floats take minutes"]
    fn exponentials_keep_their_bounds_over_all_floats() {
        assert_bounds(1);
    }

    #[test]
    fn exponentials_of_infinities_and_nan() {
        for isa in Isa::available() {
            let mut x = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
            Level::new(isa).unwrap().dispatch(Exp { base_2: false, x: &mut x });
            assert!(x[0] == f32::INFINITY && x[1] == 0.0 && x[2].is_nan(), "{isa} {x:?}");
            let mut x = [0.0, f32::NEG_INFINITY, f32::NAN];
            Level::new(isa).unwrap().dispatch(Exp { base_2: true, x: &mut x });
            assert!(x[0] == 1.0 && x[1] == 0.0 && x[2].is_nan(), "{isa} {x:?}");
        }
    }
}
