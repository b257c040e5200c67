//! int4 weights: a scale and a zero for each output and group of inputs,
//! `scale = max(max − min, 1e-6) / 15`, `code = clamp(round((w − min) / scale), 0, 15) − 8`, `zero = min + 8 · scale`.

use super::{ROWS_A_TASK, fold};
use crate::simd::{Operation, Simd};
use crate::{Context, FloatSlice};

/// The least range of a group (torchao's `eps`).
const LEAST_RANGE: f32 = 1e-6;

/// The largest code before 8 is taken off.
const MAX_CODE: f32 = 15.0;

/// Where codes are 0.
const MIDDLE: f32 = 8.0;

/// 8 off a number from 0 to 15, in two's complement of 4 bits.
const MIDDLE_BIT: u8 = 8;

/// Added to a number from 0 to 2²², it rounds it to the nearest whole one, ties to even, and leaves that in the low bits.
const TO_INTEGER: f32 = 8_388_608.0;

/// A weight [N, K] of 4-bit codes, asymmetric per output and group: it stands for
/// `code(n, k) · scales[k / group, n] + zeros[k / group, n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Int4Weight {
    n: usize,
    k: usize,
    group: usize,
    codes: Vec<u8>,
    scales: Vec<f32>,
    zeros: Vec<f32>,
}

impl Int4Weight {
    /// Quantises `weight` ([N, K] row-major, finite) in groups of `group` inputs; the last may be shorter.
    ///
    /// # Panics
    /// When `weight.len() != n * k`, or `group` is 0.
    #[must_use]
    pub fn quantize<'a>(
        ctx: &Context,
        weight: impl Into<FloatSlice<'a>>,
        (n, k): (usize, usize),
        group: usize,
    ) -> Self {
        let weight = weight.into();
        assert_eq!(Some(weight.len()), n.checked_mul(k), "weight of {n}x{k}");
        assert!(group > 0, "a group of inputs");
        let (row_bytes, groups) = (k.div_ceil(2), k.div_ceil(group));
        let (mut codes, mut ranges) = (vec![0_u8; n * row_bytes], vec![(0.0, 0.0); n * groups]);
        if k > 0 {
            let mut rows: Vec<_> =
                codes.chunks_exact_mut(row_bytes).zip(ranges.chunks_exact_mut(groups)).collect();
            ctx.for_each_chunk_mut(&mut rows, ROWS_A_TASK, |task, rows| {
                let (mut wide, mut nibbles) = (vec![0.0; k], vec![0; 2 * row_bytes]);
                for ((codes, ranges), i) in rows.iter_mut().zip(task * ROWS_A_TASK..) {
                    let row = weight.slice(i * k..(i + 1) * k);
                    let (wide, nibbles) = (&mut *wide, &mut *nibbles);
                    ctx.dispatch(QuantizeRow { row, group, wide, nibbles, codes, ranges });
                }
            });
        }
        let mut of_groups = (vec![0.0; n * groups], vec![0.0; n * groups]);
        for (block, ranges) in ranges.chunks(ROWS_A_TASK * groups.max(1)).enumerate() {
            for g in 0..groups {
                for (i, ranges) in ranges.chunks_exact(groups).enumerate() {
                    let place = g * n + block * ROWS_A_TASK + i;
                    (of_groups.0[place], of_groups.1[place]) = ranges[g];
                }
            }
        }
        let (scales, zeros) = of_groups;
        Self { n, k, group, codes, scales, zeros }
    }

    /// From codes [N, ⌈K/2⌉], scales and zeros [⌈K/group⌉, N], as a checkpoint holds them; see [`Self::codes`].
    ///
    /// # Panics
    /// When lengths disagree, or `group` is 0.
    #[must_use]
    pub fn new(
        codes: Vec<u8>,
        (scales, zeros): (Vec<f32>, Vec<f32>),
        (n, k): (usize, usize),
        group: usize,
    ) -> Self {
        assert_eq!(Some(codes.len()), n.checked_mul(k.div_ceil(2)), "codes of {n}x{k}");
        let ranges = n.checked_mul(k.div_ceil(group));
        assert!(Some(scales.len()) == ranges && Some(zeros.len()) == ranges, "scales and zeros of {n}x{k}");
        Self { n, k, group, codes, scales, zeros }
    }

    /// Output features.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// Inputs of a group.
    #[must_use]
    pub fn group(&self) -> usize {
        self.group
    }

    /// [N, ⌈K/2⌉] bytes of two codes in two's complement, that of the even input in the low bits.
    #[must_use]
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// [⌈K/group⌉, N].
    #[must_use]
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// [⌈K/group⌉, N]: what code 0 stands for.
    #[must_use]
    pub fn zeros(&self) -> &[f32] {
        &self.zeros
    }

    /// The code of an element, −8..=7.
    pub(crate) fn code(&self, n: usize, k: usize) -> i8 {
        let byte = self.codes[n * self.k.div_ceil(2) + k / 2];
        let high = if k.is_multiple_of(2) { byte << 4 } else { byte };
        high.cast_signed() >> 4
    }

    /// The floats it stands for, [N, K].
    #[must_use]
    pub fn dequantize(&self) -> Vec<f32> {
        let mut weight = vec![0.0; self.n * self.k];
        weight.chunks_exact_mut(self.k.max(1)).enumerate().for_each(|(n, row)| self.dequantize_row(n, row));
        weight
    }

    /// Those of row `n`, which fill `row`.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn dequantize_row(&self, n: usize, row: &mut [f32]) {
        let row_bytes = self.k.div_ceil(2);
        let codes = &self.codes[n * row_bytes..][..row_bytes];
        for (pair, code) in row[..self.k].chunks_mut(2).zip(codes) {
            for (value, nibble) in pair.iter_mut().zip([code << 4, *code]) {
                *value = f32::from(nibble.cast_signed() >> 4);
            }
        }
        for (g, values) in row[..self.k].chunks_mut(self.group).enumerate() {
            let (scale, zero) = (self.scales[g * self.n + n], self.zeros[g * self.n + n]);
            values.iter_mut().for_each(|value| *value = *value * scale + zero);
        }
    }
}

/// Writes the codes of a row, and the scale and the zero of each of its groups.
struct QuantizeRow<'a> {
    row: FloatSlice<'a>,
    group: usize,
    /// As long as the row.
    wide: &'a mut [f32],
    /// As long, rounded up to even; what is past the row is 0.
    nibbles: &'a mut [u8],
    codes: &'a mut [u8],
    ranges: &'a mut [(f32, f32)],
}

impl Operation for QuantizeRow<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) {
        let Self { row, group, wide, nibbles, codes, ranges } = self;
        row.widen(wide);
        for ((values, nibbles), range) in wide.chunks(group).zip(nibbles.chunks_mut(group)).zip(ranges) {
            *range = quantize_group(values, nibbles);
        }
        let (pairs, _) = nibbles.as_chunks::<2>();
        for (code, [even, odd]) in codes.iter_mut().zip(pairs) {
            *code = even | odd << 4;
        }
    }
}

/// Writes the codes of a group, each in the low bits of a byte; its scale and zero.
#[inline(always)]
fn quantize_group(values: &[f32], nibbles: &mut [u8]) -> (f32, f32) {
    let least = fold(values, f32::INFINITY, f32::min, f32::min);
    let most = fold(values, f32::NEG_INFINITY, f32::max, f32::max);
    let scale = (most - least).max(LEAST_RANGE) / MAX_CODE;
    for (nibble, w) in nibbles.iter_mut().zip(values) {
        let step = (w - least) / scale;
        // Where the range is beyond f32, steps may be no numbers.
        let step = if step.is_nan() { MIDDLE } else { step.clamp(0.0, MAX_CODE) };
        *nibble = ((step + TO_INTEGER).to_bits() as u8 & 0xF) ^ MIDDLE_BIT;
    }
    (scale, least + MIDDLE * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextOptions;
    use dinoxide_testkit::data::hash32;

    fn context() -> Context {
        Context::new(ContextOptions { isa: None, threads: Some(2) }).unwrap()
    }

    #[test]
    fn every_float_is_off_by_at_most_half_a_step_of_its_group() {
        for (n, k, group) in [(3, 64, 32), (5, 48, 128), (4, 37, 16), (2, 1, 32), (3, 0, 32)] {
            let weight = hash32(1, n * k);
            let quantized = Int4Weight::quantize(&context(), &weight, (n, k), group);
            for (i, (w, back)) in weight.iter().zip(quantized.dequantize()).enumerate() {
                let step = quantized.scales()[i % k / group * n + i / k];
                assert!((w - back).abs() <= step * 0.501, "{n}x{k} {group} at {i}: {w} {back} {step}");
            }
        }
    }

    /// By hand: least −1, most 2, scale 0.2, zero 0.6; (w + 1) / 0.2 = 0, 15, 5, 8, then a constant group.
    #[test]
    fn codes_scales_and_zeros_are_those_of_the_scheme() {
        let weight = [-1.0, 2.0, 0.0, 0.6, 5.0, 5.0, 5.0];
        let quantized = Int4Weight::quantize(&context(), &weight, (1, 7), 4);
        let codes: Vec<i8> = (0..7).map(|k| quantized.code(0, k)).collect();
        assert_eq!(codes, [-8, 7, -3, 0, -8, -8, -8]);
        assert_eq!(quantized.codes(), [0x78, 0x0D, 0x88, 0x08]);
        assert_eq!(quantized.scales(), [3.0 / 15.0, 1e-6 / 15.0]);
        assert!((quantized.zeros()[0] - 0.6).abs() < 1e-6, "{:?}", quantized.zeros());
        assert!(quantized.dequantize()[4..].iter().all(|w| (w - 5.0).abs() < 1e-6));
    }
    #[test]
    fn codes_are_those_of_the_formula_whatever_the_numbers_are_held_in() {
        for (n, k, group) in [(35, 300, 128), (3, 75, 25), (17, 64, 7), (2, 1, 32)] {
            let bf16s: Vec<_> = hash32(3, n * k).into_iter().map(half::bf16::from_f32).collect();
            let weight: Vec<f32> = bf16s.iter().map(|w| w.to_f32()).collect();
            for isa in crate::Isa::available() {
                let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(2) }).unwrap();
                let quantized = Int4Weight::quantize(&ctx, &weight, (n, k), group);
                for (i, row) in weight.chunks(k).enumerate() {
                    for (g, values) in row.chunks(group).enumerate() {
                        let least = values.iter().fold(f32::INFINITY, |least, w| least.min(*w));
                        let most = values.iter().fold(f32::NEG_INFINITY, |most, w| most.max(*w));
                        let scale = (most - least).max(1e-6) / 15.0;
                        let range = (quantized.scales()[g * n + i], quantized.zeros()[g * n + i]);
                        assert_eq!(range, (scale, least + 8.0 * scale), "{isa} {n}x{k}");
                        for (j, w) in values.iter().enumerate() {
                            let code = ((w - least) / scale).round_ties_even().clamp(0.0, 15.0) as i8 - 8;
                            assert_eq!(quantized.code(i, g * group + j), code, "{isa} {n}x{k} {i} {g} {j}");
                        }
                    }
                }
                let of_halves = Int4Weight::quantize(&ctx, FloatSlice::Bf16(&bf16s), (n, k), group);
                assert_eq!(of_halves, quantized, "{isa}");
            }
        }
    }

    #[test]
    fn a_range_beyond_f32_has_code_0() {
        let quantized = Int4Weight::quantize(&context(), &[f32::MAX, f32::MIN][..], (1, 2), 32);
        assert_eq!((quantized.scales(), quantized.code(0, 0)), (&[f32::INFINITY][..], 0));
    }
}
