//! Φ, the standard normal distribution, in one of two forms.
//!
//! Where a level looks coefficients up ([`Simd::LOOKS_UP`]): v = 15·x/5.45 is limited to −16..15, i is the integer
//! next to v, and Φ(x) is a polynomial of degree 5 in v − i with coefficients of its own for each i (error below 5e-9,
//! but 3e-8 where Φ is almost 0 or 1). At either limit v = i, and the first coefficient is Φ(±∞).
//!
//! Elsewhere: Φ(x) = ½ + ½·erf(x/√2) = ½ + x·P(x²)/Q(x²) for |x| ≤ 5.3, both of degree 5 in x²; 0 or 1 beyond, where Φ is
//! within 6e-8 of them. Like torch's own form (½x·(1 + erf)), the sum is rounded near ½, so that errors of GELU are
//! relative to x, not to a small Φ: that is why no exponential is needed.
//!
//! Coefficients: `tests/data/minimax.py`.

use crate::exp::polynomial;
use crate::simd::Simd;

/// Φ(x); NaN for NaN.
#[inline(always)]
pub(super) fn normal<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    if S::LOOKS_UP { by_table(simd, x) } else { by_quotient(simd, x) }
}

/// v/x: v is 15 at 5.45.
const TABLE_SCALE: f32 = 15.0 / 5.45;

/// 1.5 · 2²³: adding it rounds to an integer, which is then in the low bits, negative ones as two's complement.
const TO_INTEGER: f32 = 12_582_912.0;

/// Coefficients by power, lowest first; within it by i = 0, …, 15, −16, …, −1.
#[rustfmt::skip]
const TABLE: [[f32; 32]; 6] = [
    [
        0.5, 0.641_822_04, 0.766_284_9, 0.862_143_4, 0.926_934_36, 0.965_365_95, 0.985_371_3, 0.994_51, 0.998_173_5,
        0.999_462_25, 0.999_860_1, 0.999_967_9, 0.999_993_5, 0.999_998_87, 0.999_999_8, 1.0, 0.0, 2.518_564_6e-8,
        1.822_090_4e-7, 1.160_062_9e-6, 6.503_16e-6, 3.212_042_4e-5, 1.398_917_7e-4, 5.377_376e-4, 1.826_511_2e-3,
        5.490_021e-3, 1.462_873e-2, 3.463_408_4e-2, 7.306_561_6e-2, 0.137_856_57, 0.233_715_09, 0.358_177_96,
    ],
    [
        0.144_949_03, 0.135_690_51, 0.111_314_54, 8.002_444e-2, 5.041_523e-2, 2.783_358_1e-2, 1.346_619_1e-2,
        5.709_376_7e-3, 2.121_294_4e-3, 6.906_874_5e-4, 1.970_745_8e-4, 4.927_744_5e-5, 1.079_777_9e-5, 2.073_431e-6,
        3.489_104_2e-7, 2.414_279_6e-6, 0.0, 5.145_266e-8, 3.489_104_2e-7, 2.073_431e-6, 1.079_777_9e-5,
        4.927_744_5e-5, 1.970_745_8e-4, 6.906_874_5e-4, 2.121_294_4e-3, 5.709_376_7e-3, 1.346_619_1e-2,
        2.783_358_1e-2, 5.041_523e-2, 8.002_444e-2, 0.111_314_54, 0.135_690_51,
    ],
    [
        0.0, -8.956_119e-3, -1.469_450_8e-2, -1.584_605_1e-2, -1.331_077_7e-2, -9.185_965e-3, -5.333_150_3e-3,
        -2.637_989_6e-3, -1.120_134_6e-3, -4.102_873_5e-4, -1.300_674_6e-4, -3.577_165_3e-5, -8.549_809e-6,
        -1.778_257_8e-6, -3.221_801_7e-7, 3.690_282_8e-5, 0.0, 5.088_855_6e-8, 3.221_801_7e-7, 1.778_257_8e-6,
        8.549_809e-6, 3.577_165_3e-5, 1.300_674_6e-4, 4.102_873_5e-4, 1.120_134_6e-3, 2.637_989_6e-3, 5.333_150_3e-3,
        9.185_965e-3, 1.331_077_7e-2, 1.584_605_1e-2, 1.469_450_8e-2, 8.956_119e-3,
    ],
    [
        -3.189_093_2e-3, -2.591_288_2e-3, -1.155_896_3e-3, 3.311_339_8e-4, 1.233_621e-3, 1.408_662_1e-3,
        1.111_780_1e-3, 6.869_570_4e-4, 3.476_565_2e-4, 1.472_978_6e-4, 5.290_231_3e-5, 1.623_242e-5, 4.277_708_7e-6,
        9.718_092e-7, 1.908_482_3e-7, 2.043_033e-4, 0.0, 3.246_689_7e-8, 1.908_482_1e-7, 9.718_092e-7, 4.277_708_7e-6,
        1.623_242e-5, 5.290_231_3e-5, 1.472_978_6e-4, 3.476_565_2e-4, 6.869_570_4e-4, 1.111_780_1e-3, 1.408_662_1e-3,
        1.233_621e-3, 3.311_339_8e-4, -1.155_896_3e-3, -2.591_288_2e-3,
    ],
    [
        0.0, 2.803_607e-4, 3.969_496_5e-4, 3.145_540_5e-4, 1.303_989_3e-4, -2.916_396_6e-5, -1.018_506_1e-4,
        -1.002_803_8e-4, -6.717_855e-5, -3.488_959e-5, -1.473_287_65e-5, -5.178_085_8e-6, -1.535_318_1e-6,
        -3.873_548_2e-7, -8.364_726e-8, 4.629_008_8e-4, 0.0, 1.552_597_7e-8, 8.364_725e-8, 3.873_548_2e-7,
        1.535_318_1e-6, 5.178_085_8e-6, 1.473_287_65e-5, 3.488_959e-5, 6.717_855e-5, 1.002_803_8e-4, 1.018_506_1e-4,
        2.916_396_6e-5, -1.303_989_3e-4, -3.145_540_5e-4, -3.969_496_5e-4, -2.803_607e-4,
    ],
    [
        6.271_806e-5, 4.356_459_6e-5, 1.906_372_7e-6, -3.123_124e-5, -3.789_996_5e-5, -2.384_913_6e-5,
        -5.827_622_3e-6, 4.895_301e-6, 7.248_363e-6, 5.329_977_7e-6, 2.818_415_6e-6, 1.172_211_8e-6, 3.981_575_7e-7,
        1.126_685_4e-7, 2.688_385_5e-8, 3.680_726_5e-4, 0.0, 5.452_426e-9, 2.688_390_3e-8, 1.126_686_1e-7,
        3.981_576_8e-7, 1.172_211_9e-6, 2.818_415_6e-6, 5.329_977_7e-6, 7.248_362_6e-6, 4.895_300_7e-6,
        -5.827_622_3e-6, -2.384_913_6e-5, -3.789_996_5e-5, -3.123_124e-5, 1.906_373_3e-6, 4.356_459_6e-5,
    ],
];

#[inline(always)]
fn by_table<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    // The limits come first, so that NaN passes: it looks anything up, and makes it NaN.
    let v = simd.mul(x, simd.splat(TABLE_SCALE));
    let v = simd.min(simd.splat(15.0), simd.max(simd.splat(-16.0), v));
    let index = simd.add(v, simd.splat(TO_INTEGER));
    let fraction = simd.sub(v, simd.sub(index, simd.splat(TO_INTEGER)));
    let mut sum = simd.lookup(&TABLE[5], index);
    for power in (0..5).rev() {
        sum = simd.mul_add(sum, fraction, simd.lookup(&TABLE[power], index));
    }
    sum
}

/// Where Φ is taken for 0 or 1.
const LIMIT: f32 = 5.3;

/// Numerator of (Φ(x) − ½)/x in x², lowest degree first.
const P: [f32; 6] =
    [3.989_422_6e-1, 3.287_516_5e-2, 4.624_251_7e-3, 1.597_081_4e-4, 6.374_130_4e-6, 2.409_576e-8];

/// Denominator of (Φ(x) − ½)/x in x², lowest degree first.
const Q: [f32; 6] = [1.0, 2.490_721_2e-1, 2.810_403_5e-2, 1.833_066e-3, 7.114_703e-5, 1.238_118_3e-6];

#[inline(always)]
fn by_quotient<S: Simd>(simd: S, x: S::Vec) -> S::Vec {
    let square = simd.mul(x, x);
    let slope = simd.div(polynomial(simd, &P, square), polynomial(simd, &Q, square));
    let middle = simd.mul_add(slope, x, simd.splat(0.5));
    let limit = simd.splat(LIMIT);
    let normal = simd.select(simd.gt(x, limit), simd.splat(1.0), middle);
    simd.select(simd.gt(simd.neg(limit), x), simd.splat(0.0), normal)
}
