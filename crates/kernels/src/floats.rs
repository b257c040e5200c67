//! Floats as a file may hold them: in 32 bits, or in 16 of two kinds. What reads them row by row needs no copy of the whole in f32.
//!
//! ```text
//! bf16 → f32   the upper half of the bits
//! f32 → bf16   to nearest, ties to even; NaN stays NaN
//! ```

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use std::ops::Range;

/// The exponent of infinities and of what is no number, in the upper half of an f32's bits.
const NOT_FINITE_F32: u32 = 0x7F80_0000;

/// Numbers of a weight.
#[derive(Debug, Clone, Copy)]
pub enum FloatSlice<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// bfloat16.
    Bf16(&'a [bf16]),
    /// IEEE half precision.
    F16(&'a [f16]),
}

impl<'a> FloatSlice<'a> {
    /// How many.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::Bf16(values) => values.len(),
            Self::F16(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Some of them.
    ///
    /// # Panics
    /// When the range ends past the last.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::F32(values) => Self::F32(&values[range]),
            Self::Bf16(values) => Self::Bf16(&values[range]),
            Self::F16(values) => Self::F16(&values[range]),
        }
    }

    /// Writes them as f32; `to` is as long.
    ///
    /// # Panics
    /// When it is not.
    #[inline(always)]
    pub fn widen(self, to: &mut [f32]) {
        assert_eq!(self.len(), to.len(), "numbers and their place");
        match self {
            Self::F32(values) => to.copy_from_slice(values),
            Self::Bf16(values) => {
                for (to, value) in to.iter_mut().zip(values) {
                    *to = f32::from_bits(u32::from(value.to_bits()) << 16);
                }
            }
            Self::F16(values) => values.convert_to_f32_slice(to),
        }
    }

    /// Whether none is infinite, no number, or of a magnitude above `most`, which is finite and no less than f16's largest.
    #[must_use]
    pub fn all_within(self, most: f32) -> bool {
        match self {
            Self::F32(values) => {
                values.iter().fold(0, |most, value| magnitude(*value).max(most)) <= most.to_bits()
            }
            Self::Bf16(values) => {
                let largest = values.iter().fold(0, |most: u16, value| (value.to_bits() & 0x7FFF).max(most));
                u32::from(largest) << 16 <= most.to_bits()
            }
            Self::F16(values) => {
                let largest = values.iter().fold(0, |most: u16, value| (value.to_bits() & 0x7FFF).max(most));
                largest < f16::INFINITY.to_bits()
            }
        }
    }

    /// The largest magnitude of a number that is not infinite.
    #[must_use]
    pub fn largest_finite(self) -> f32 {
        let larger = |most: f32, value: f32| if value.is_finite() { most.max(value.abs()) } else { most };
        match self {
            Self::F32(values) => values.iter().fold(0.0, |most, value| larger(most, *value)),
            Self::Bf16(values) => values.iter().fold(0.0, |most, value| larger(most, value.to_f32())),
            Self::F16(values) => values.iter().fold(0.0, |most, value| larger(most, value.to_f32())),
        }
    }
}

impl<'a, T: AsRef<[f32]> + ?Sized> From<&'a T> for FloatSlice<'a> {
    fn from(values: &'a T) -> Self {
        Self::F32(values.as_ref())
    }
}

/// Bits of a float but its sign: as numbers in the order of magnitudes.
fn magnitude(value: f32) -> u32 {
    value.abs().to_bits()
}

/// Rounds to bf16: as `half` does, without branches, so that a vector of them can be.
#[inline(always)]
pub(crate) fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    let quiet_nan = bits >> 16 | 0x40;
    (if magnitude(value) > NOT_FINITE_F32 { quiet_nan } else { rounded }) as u16
}

/// a · b + c, rounded once, to nearest, ties to even.
///
/// A product of two f16 is a float, as 22 bits are few enough. Where its sum with the third is none, it becomes that of the two
/// next to it whose last bit is odd, which is on the same side of every tie of f16: rounding it again, to f16, is as rounding
/// once.
pub(crate) fn mul_add_f16(a: f16, b: f16, c: f16) -> f16 {
    let (product, c) = (a.to_f32() * b.to_f32(), c.to_f32());
    let sum = product + c;
    // What the sum lost, exactly (Knuth's two-sum).
    let of_c = sum - product;
    let lost = (product - (sum - of_c)) + (c - of_c);
    // NaN where one is, or an infinity: nothing to mend.
    if lost == 0.0 || lost.is_nan() || sum.to_bits() & 1 == 1 {
        return f16::from_f32(sum);
    }
    // The sum was rounded up in magnitude, or down.
    let up = (lost > 0.0) != (sum > 0.0);
    f16::from_f32(f32::from_bits(if up { sum.to_bits() - 1 } else { sum.to_bits() + 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinoxide_testkit::data::hash32;

    #[test]
    fn bf16_is_rounded_as_half_does() {
        let patterns = (0..=u16::MAX).flat_map(|high| {
            [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF].map(|low| f32::from_bits(u32::from(high) << 16 | low))
        });
        for value in patterns {
            assert_eq!(bf16_bits(value), bf16::from_f32(value).to_bits(), "{:08x}", value.to_bits());
        }
    }

    /// a · b + c from integers: all of it is a multiple of 2⁻⁴⁸, below 2³³.
    fn mul_add_of_integers(a: f16, b: f16, c: f16) -> f16 {
        let integer = |x: f16| (x.to_f64() * 2_f64.powi(24)) as i128;
        let exact = integer(a) * integer(b) + (integer(c) << 24);
        let (magnitude, negative) = (exact.unsigned_abs(), exact < 0);
        // Bits below the last that f16 keeps: 11 significant ones, and none below 2⁻²⁴.
        let dropped = (128 - magnitude.leading_zeros()).saturating_sub(11).max(24);
        let (kept, rest, tie) =
            (magnitude >> dropped, magnitude & ((1 << dropped) - 1), 1_u128 << (dropped - 1));
        let rounded = kept + u128::from(rest > tie || rest == tie && kept & 1 == 1);
        // 2¹⁶ and more become infinite on the way.
        let value = rounded as f64 * 2_f64.powi(dropped.cast_signed() - 48);
        f16::from_f64(if negative { -value } else { value })
    }

    #[test]
    fn f16_are_multiplied_and_added_with_one_rounding() {
        let finite = |seed: u32| {
            let bits = hash32(seed, 100_000).into_iter().map(|x| f16::from_bits(x.to_bits() as u16 ^ 0x5555));
            bits.filter(|x| x.is_finite()).collect::<Vec<_>>()
        };
        let (a, b, mut c) = (finite(1), finite(2), finite(3));
        // Near cancellation, ties and subnormals: sums close to the negated product and far from it.
        for (i, c) in c.iter_mut().enumerate().filter(|(i, _)| i % 3 > 0).take(60_000) {
            let product = a[i].to_f32() * b[i].to_f32();
            *c = f16::from_f32(if i % 3 == 1 { -product } else { product * 1024.0 });
        }
        let mut inexact = 0;
        for ((a, b), c) in a.iter().zip(&b).zip(&c).filter(|(_, c)| c.is_finite()) {
            let (got, want) = (mul_add_f16(*a, *b, *c), mul_add_of_integers(*a, *b, *c));
            assert!(got == want, "{a:?} · {b:?} + {c:?} = {got:?}, want {want:?}");
            inexact +=
                u32::from(f16::from_f32(a.to_f32() * b.to_f32()).to_f32() + c.to_f32() != got.to_f32());
        }
        assert!(inexact > 10_000, "{inexact}");
        let [one, infinite, nan] = [1.0, f32::INFINITY, f32::NAN].map(f16::from_f32);
        assert_eq!(mul_add_f16(one, infinite, one), infinite);
        assert!(mul_add_f16(one, infinite, -infinite).is_nan() && mul_add_f16(nan, one, one).is_nan());
        assert_eq!(mul_add_f16(f16::MAX, f16::MAX, -f16::MAX), infinite);
    }

    #[test]
    fn widening_is_exact_and_a_part_is_widened_as_in_the_whole() {
        let values = hash32(1, 100);
        let (bf16s, f16s): (Vec<_>, Vec<_>) =
            values.iter().map(|value| (bf16::from_f32(*value), f16::from_f32(*value))).unzip();
        let wide = |slice: FloatSlice<'_>| {
            let mut wide = vec![0.0; slice.len()];
            slice.widen(&mut wide);
            wide
        };
        assert_eq!(wide(FloatSlice::from(&values)), values);
        assert_eq!(
            wide(FloatSlice::Bf16(&bf16s)),
            bf16s.iter().map(|value| value.to_f32()).collect::<Vec<_>>()
        );
        let f16s_wide: Vec<f32> = f16s.iter().map(|value| value.to_f32()).collect();
        assert_eq!(wide(FloatSlice::F16(&f16s)), f16s_wide);
        assert_eq!(wide(FloatSlice::F16(&f16s).slice(33..70)), f16s_wide[33..70]);
    }

    #[test]
    fn what_is_not_finite_is_found_and_is_not_the_largest() {
        let both = |values: &[f32]| {
            let bf16s: Vec<_> = values.iter().map(|value| bf16::from_f32(*value)).collect();
            let f16s: Vec<_> = values.iter().map(|value| f16::from_f32(*value)).collect();
            [FloatSlice::from(values), FloatSlice::Bf16(&bf16s), FloatSlice::F16(&f16s)]
                .map(|slice| (slice.all_within(f32::MAX), slice.largest_finite()))
        };
        assert_eq!(both(&[]), [(true, 0.0); 3]);
        assert_eq!(both(&[0.5, -2.0, -0.0]), [(true, 2.0); 3]);
        assert_eq!(both(&[0.5, f32::NEG_INFINITY, -2.0]), [(false, 2.0); 3]);
        assert_eq!(both(&[-f32::NAN, 1.0]), [(false, 1.0); 3]);
    }
}
