//! int8 weights: one scale an output, `scale = max |w| / 127`.

use super::{ROWS_A_TASK, fold};
use crate::simd::{Operation, Simd};
use crate::{Context, FloatSlice};

/// The largest code.
const MAX_CODE: f32 = 127.0;

/// Added to a number of magnitude below 2²², it rounds it to the nearest whole one, ties to even, and leaves that in the low bits.
const TO_INTEGER: f32 = 12_582_912.0;

/// A weight [N, K] of signed bytes, symmetric per output: it stands for `codes[n, k] · scales[n]`. Codes that are made here are in
/// −127..=127; those of a checkpoint may be −128 too.
#[derive(Debug, Clone, PartialEq)]
pub struct Int8Weight {
    k: usize,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

impl Int8Weight {
    /// The most inputs of a weight that can be packed: products of bytes, 255 · 128 at most each, are summed in 32 bits.
    pub const MAX_K: usize = i32::MAX as usize / (255 * 128);

    /// Quantises `weight` ([N, K] row-major, finite).
    ///
    /// # Panics
    /// When `weight.len() != n * k`.
    #[must_use]
    pub fn quantize<'a>(ctx: &Context, weight: impl Into<FloatSlice<'a>>, n: usize, k: usize) -> Self {
        let weight = weight.into();
        assert_eq!(Some(weight.len()), n.checked_mul(k), "weight of {n}x{k}");
        let (mut codes, mut scales) = (vec![0; n * k], vec![0.0; n]);
        if k > 0 {
            let mut rows: Vec<_> = codes.chunks_exact_mut(k).zip(&mut scales).collect();
            ctx.for_each_chunk_mut(&mut rows, ROWS_A_TASK, |task, rows| {
                let mut wide = vec![0.0; k];
                for ((codes, scale), i) in rows.iter_mut().zip(task * ROWS_A_TASK..) {
                    let row = weight.slice(i * k..(i + 1) * k);
                    **scale = ctx.dispatch(QuantizeRow { row, wide: &mut wide, codes });
                }
            });
        }
        Self { k, codes, scales }
    }

    /// From codes [N, K], any bytes, and scales `[N]`, 0 or more, as a checkpoint holds them.
    ///
    /// # Panics
    /// When `codes.len() != scales.len() * k`.
    #[must_use]
    pub fn new(codes: Vec<i8>, scales: Vec<f32>, k: usize) -> Self {
        assert_eq!(Some(codes.len()), scales.len().checked_mul(k), "codes of {} rows of {k}", scales.len());
        Self { k, codes, scales }
    }

    /// Output features.
    #[must_use]
    pub fn n(&self) -> usize {
        self.scales.len()
    }

    /// Input features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// [N, K].
    #[must_use]
    pub fn codes(&self) -> &[i8] {
        &self.codes
    }

    /// `[N]`.
    #[must_use]
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// The floats it stands for, [N, K].
    #[must_use]
    pub fn dequantize(&self) -> Vec<f32> {
        let mut weight = vec![0.0; self.codes.len()];
        weight.chunks_exact_mut(self.k.max(1)).enumerate().for_each(|(n, row)| self.dequantize_row(n, row));
        weight
    }

    /// Those of row `n`, which fill `row`.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn dequantize_row(&self, n: usize, row: &mut [f32]) {
        let scale = self.scales[n];
        for (value, code) in row.iter_mut().zip(&self.codes[n * self.k..][..self.k]) {
            *value = f32::from(*code) * scale;
        }
    }
}

/// Writes the codes of a row, and gives its scale; that of a row of zeros is 0.
struct QuantizeRow<'a> {
    row: FloatSlice<'a>,
    /// As long as the row.
    wide: &'a mut [f32],
    codes: &'a mut [i8],
}

impl Operation for QuantizeRow<'_> {
    type Output = f32;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> f32 {
        let Self { row, wide, codes } = self;
        row.widen(wide);
        let scale = fold(wide, 0.0, |largest, w| largest.max(w.abs()), f32::max) / MAX_CODE;
        // A scale that would be a subnormal has too few bits to divide by.
        if scale < f32::MIN_POSITIVE {
            codes.fill(0);
            return 0.0;
        }
        for (code, w) in codes.iter_mut().zip(wide) {
            let rounded = (*w / scale).clamp(-MAX_CODE, MAX_CODE) + TO_INTEGER;
            *code = (rounded.to_bits() as u8).cast_signed();
        }
        scale
    }
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
    fn a_row_is_off_by_at_most_half_a_step_whatever_the_others_hold() {
        let (n, k) = (9, 33);
        let mut weight = hash32(1, n * k);
        weight[4 * k..5 * k].iter_mut().for_each(|w| *w *= 1e6);
        weight[5 * k..6 * k].fill(0.0);
        weight[6 * k] = 1e-42;
        let quantized = Int8Weight::quantize(&context(), &weight, n, k);
        let back = quantized.dequantize();
        for (i, (w, back)) in weight.iter().zip(&back).enumerate() {
            let step = quantized.scales()[i / k];
            assert!((w - back).abs() <= step * 0.5001, "{i}: {w} {back} {step}");
        }
        assert!(back[5 * k..6 * k].iter().all(|w| *w == 0.0));
    }

    #[test]
    fn ties_go_to_the_even_code_and_the_largest_is_127() {
        let row = [127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -127.0];
        let quantized = Int8Weight::quantize(&context(), &row, 1, row.len());
        assert_eq!((quantized.codes(), quantized.scales()), (&[127, 0, 2, 2, 0, -2, -127][..], &[1.0][..]));
    }

    #[test]
    fn codes_are_those_of_the_formula_whatever_the_numbers_are_held_in() {
        let (n, k) = (37, 75);
        let bf16s: Vec<_> = hash32(3, n * k).into_iter().map(half::bf16::from_f32).collect();
        let weight: Vec<f32> = bf16s.iter().map(|w| w.to_f32()).collect();
        for isa in crate::Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(2) }).unwrap();
            let quantized = Int8Weight::quantize(&ctx, &weight, n, k);
            for (i, row) in weight.chunks(k).enumerate() {
                let scale = row.iter().fold(0.0_f32, |largest, w| largest.max(w.abs())) / 127.0;
                let codes: Vec<i8> = row.iter().map(|w| (w / scale).round_ties_even() as i8).collect();
                assert_eq!(
                    (quantized.scales()[i], &quantized.codes()[i * k..][..k]),
                    (scale, &codes[..]),
                    "{isa}"
                );
            }
            assert_eq!(Int8Weight::quantize(&ctx, FloatSlice::Bf16(&bf16s), n, k), quantized, "{isa}");
        }
    }

    #[test]
    fn what_was_quantised_is_quantised_to_the_same_codes() {
        let weight = hash32(2, 20 * 50);
        let once = Int8Weight::quantize(&context(), &weight, 20, 50);
        assert_eq!(Int8Weight::quantize(&context(), &once.dequantize(), 20, 50).codes(), once.codes());
    }
}
