//! int4 weights: a scale and a zero for each output and group of inputs,
//! `scale = max(max − min, 1e-6) / 15`, `code = clamp(round((w − min) / scale), 0, 15) − 8`, `zero = min + 8 · scale`.

use crate::Context;
use std::ops::Range;

/// The least range of a group (torchao's `eps`).
const LEAST_RANGE: f32 = 1e-6;

/// The largest code before 8 is taken off.
const MAX_CODE: f32 = 15.0;

/// Where codes are 0.
const MIDDLE: f32 = 8.0;

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
    pub fn quantize(ctx: &Context, weight: &[f32], (n, k): (usize, usize), group: usize) -> Self {
        assert_eq!(Some(weight.len()), n.checked_mul(k), "weight of {n}x{k}");
        assert!(group > 0, "a group of inputs");
        let (row_bytes, groups) = (k.div_ceil(2), k.div_ceil(group));
        let mut rows = vec![(vec![0_u8; row_bytes], vec![(0.0, 0.0); groups]); n];
        ctx.for_each_chunk_mut(&mut rows, 1, |i, row| {
            for (codes, ranges) in row {
                for (g, range) in ranges.iter_mut().enumerate() {
                    let inputs = g * group..k.min((g + 1) * group);
                    *range = quantize_group(&weight[i * k..][..k], inputs, codes);
                }
            }
        });
        let codes = rows.iter().flat_map(|(codes, _)| codes.iter().copied()).collect();
        let of_groups = |value: fn(&(f32, f32)) -> f32| {
            (0..groups).flat_map(|g| rows.iter().map(move |(_, ranges)| value(&ranges[g]))).collect()
        };
        let (scales, zeros) = (of_groups(|range| range.0), of_groups(|range| range.1));
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
        let mut weight = Vec::with_capacity(self.n * self.k);
        for n in 0..self.n {
            for k in 0..self.k {
                let range = k / self.group * self.n + n;
                weight.push(f32::from(self.code(n, k)) * self.scales[range] + self.zeros[range]);
            }
        }
        weight
    }
}

/// Writes the codes of a group of inputs of a row into the row's codes; its scale and zero.
fn quantize_group(row: &[f32], inputs: Range<usize>, codes: &mut [u8]) -> (f32, f32) {
    let values = &row[inputs.clone()];
    let least = values.iter().fold(f32::INFINITY, |least, w| least.min(*w));
    let most = values.iter().fold(f32::NEG_INFINITY, |most, w| most.max(*w));
    let scale = (most - least).max(LEAST_RANGE) / MAX_CODE;
    for (k, w) in inputs.zip(values) {
        let code = ((w - least) / scale).round_ties_even().clamp(0.0, MAX_CODE) - MIDDLE;
        let nibble = (code as i8).cast_unsigned() & 0xF;
        codes[k / 2] |= if k.is_multiple_of(2) { nibble } else { nibble << 4 };
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
}
