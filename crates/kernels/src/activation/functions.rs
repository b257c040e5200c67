//! The activations that need more than a few vector operations.
//!
//! GELU is x·Φ(x), Φ the normal distribution (`normal.rs`). tanh is a polynomial
//! near 0 and 1 − 2/(e²ˣ + 1) elsewhere; what has a sigmoid divides by 1 + e⁻ˣ. ln(1 + eˣ) = max(x, 0) + ln(1 + u),
//! u = e^−|x| ≤ 1, and ln(1 + u) = u·P(u)/Q(u), both of degree 3.
//!
//! Coefficients: `tests/data/minimax.py`. Measured errors: see [`super::Activation`].

use super::normal::normal;
use crate::exp::{exp, polynomial};
use crate::simd::Simd;

/// Numerator of ln(1 + u)/u on 0 ≤ u ≤ 1, lowest degree first.
const LOG1P_P: [f32; 4] = [1.0, 1.068_131_6, 2.392_390_2e-1, 3.448_563_9e-3];

/// Denominator of ln(1 + u)/u on 0 ≤ u ≤ 1, lowest degree first.
const LOG1P_Q: [f32; 4] = [1.0, 1.568_131_6, 6.899_739_5e-1, 7.570_195e-2];

/// Mean and 1 / standard deviation of `laplace`: Transformers' defaults, the mean with its six digits.
#[allow(clippy::approx_constant)]
const LAPLACE_MEAN: f32 = 0.707_107;
const LAPLACE_INVERSE_DEVIATION: f32 = 3.544_905_1;

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
    simd.mul(x, normal(simd, x))
}

/// Φ((x − mean) / deviation).
#[inline(always)]
pub(super) fn laplace<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let centered = simd.sub(x, simd.splat(LAPLACE_MEAN));
    normal(simd, simd.mul(centered, simd.splat(LAPLACE_INVERSE_DEVIATION)))
}

/// √ln(1 + eˣ).
#[inline(always)]
pub(super) fn sqrt_softplus<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let u = exp(simd, simd.neg(simd.abs(x)));
    let ratio = simd.div(polynomial(simd, &LOG1P_P, u), polynomial(simd, &LOG1P_Q, u));
    // max(0, x) passes NaN.
    simd.sqrt(simd.mul_add(ratio, u, simd.max(simd.splat(0.0), x)))
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
