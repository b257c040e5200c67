//! The activations that need more than a few vector operations.
//!
//! GELU is x·Φ(x), Φ(x) = ½ + ½·erf(x/√2) = ½ + x·P(x²)/Q(x²) for |x| ≤ 5.3, both of degree 5 in x²; 0 or 1 beyond,
//! where Φ is within 6e-8 of them. Like torch's own form (½x·(1 + erf)), the sum is rounded near ½, so that errors
//! are relative to x, not to a small Φ: that is why no exponential is needed. tanh is a polynomial
//! near 0 and 1 − 2/(e²ˣ + 1) elsewhere; what has a sigmoid divides by 1 + e⁻ˣ.
//!
//! Coefficients: `tests/data/minimax.py`. Measured errors: see [`super::Activation`].

use crate::exp::{exp, polynomial};
use crate::simd::Simd;

/// Where Φ is taken for 0 or 1.
const NORMAL_LIMIT: f32 = 5.3;

/// Numerator of (Φ(x) − ½)/x in x², lowest degree first.
const NORMAL_P: [f32; 6] =
    [3.989_422_6e-1, 3.287_516_5e-2, 4.624_251_7e-3, 1.597_081_4e-4, 6.374_130_4e-6, 2.409_576e-8];

/// Denominator of (Φ(x) − ½)/x in x², lowest degree first.
const NORMAL_Q: [f32; 6] = [1.0, 2.490_721_2e-1, 2.810_403_5e-2, 1.833_066e-3, 7.114_703e-5, 1.238_118_3e-6];

/// Up to here tanh is a polynomial.
const TANH_LIMIT: f32 = 0.625;

/// Minimax polynomial of (tanh(x)/x − 1)/x² in x², lowest degree first.
const TANH: [f32; 5] = [-3.333_328e-1, 1.333_144_2e-1, -5.373_971e-2, 2.063_907_9e-2, -5.704_978_5e-3];

/// √(2/π) and its product with 0.044715: the tanh form of GELU.
const GELU_TANH_1: f32 = 0.797_884_6;
const GELU_TANH_3: f32 = 0.035_677_407;

/// x·Φ(x).
#[inline(always)]
pub(super) fn gelu<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let square = simd.mul(x, x);
    let slope = simd.div(polynomial(simd, &NORMAL_P, square), polynomial(simd, &NORMAL_Q, square));
    let middle = simd.mul_add(slope, x, simd.splat(0.5));
    let limit = simd.splat(NORMAL_LIMIT);
    let normal = simd.select(simd.gt(x, limit), simd.splat(1.0), middle);
    let normal = simd.select(simd.gt(simd.neg(limit), x), simd.splat(0.0), normal);
    simd.mul(x, normal)
}

/// ½x·(1 + tanh(u)) = x·σ(2u), u = √(2/π)·(x + 0.044715x³).
#[inline(always)]
pub(super) fn gelu_tanh<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let square = simd.mul(x, x);
    let slope = simd.mul_add(square, simd.splat(2.0 * GELU_TANH_3), simd.splat(2.0 * GELU_TANH_1));
    sigmoid_of(simd, simd.mul(x, slope), x)
}

/// x·σ(1.702x).
#[inline(always)]
pub(super) fn quick_gelu<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    sigmoid_of(simd, simd.mul(x, simd.splat(1.702)), x)
}

/// x·σ(x).
#[inline(always)]
pub(super) fn silu<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    sigmoid_of(simd, x, x)
}

/// σ(x).
#[inline(always)]
pub(super) fn sigmoid<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    sigmoid_of(simd, x, simd.splat(1.0))
}

/// factor·σ(x) = factor / (1 + e⁻ˣ); where e⁻ˣ overflows that is 0, as it should be.
#[inline(always)]
fn sigmoid_of<S: Simd>(simd: S, x: S::Vec, factor: S::Vec) -> S::Vec {
    simd.div(factor, simd.add(simd.splat(1.0), exp(simd, simd.neg(x))))
}

/// x·tanh(ln(1 + eˣ)) = x·(e² + 2e)/(e² + 2e + 2), e = eˣ.
#[inline(always)]
pub(super) fn mish<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    // Past 20 the quotient is 1 in f32; the limit keeps e² finite. Limit first: NaN passes.
    let e = exp(simd, simd.min(simd.splat(20.0), x));
    let numerator = simd.mul(e, simd.add(e, simd.splat(2.0)));
    simd.mul(x, simd.div(numerator, simd.add(numerator, simd.splat(2.0))))
}

/// tanh(x).
#[inline(always)]
pub(super) fn tanh<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let square = simd.mul(x, x);
    let small = simd.mul_add(simd.mul(polynomial(simd, &TANH, square), square), x, x);
    let magnitude = simd.abs(x);
    let one = simd.splat(1.0);
    let denominator = simd.add(exp(simd, simd.add(magnitude, magnitude)), one);
    let large = simd.copy_sign(simd.sub(one, simd.div(simd.splat(2.0), denominator)), x);
    // NaN is not greater, so it takes the polynomial, which passes it.
    simd.select(simd.gt(magnitude, simd.splat(TANH_LIMIT)), large, small)
}
