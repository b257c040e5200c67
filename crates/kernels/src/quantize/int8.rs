//! int8 weights: one scale an output, `scale = max |w| / 127`.

use crate::Context;

/// The largest code.
const MAX_CODE: f32 = 127.0;

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
    pub fn quantize(ctx: &Context, weight: &[f32], n: usize, k: usize) -> Self {
        assert_eq!(Some(weight.len()), n.checked_mul(k), "weight of {n}x{k}");
        let (mut codes, mut scales) = (vec![0; n * k], vec![0.0; n]);
        if k > 0 {
            let mut rows: Vec<_> = codes.chunks_exact_mut(k).zip(&mut scales).collect();
            ctx.for_each_chunk_mut(&mut rows, 1, |i, row| {
                for (codes, scale) in row {
                    **scale = quantize_row(&weight[i * k..][..k], codes);
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
        let value = |(i, code): (usize, &i8)| f32::from(*code) * self.scales[i / self.k];
        self.codes.iter().enumerate().map(value).collect()
    }
}

/// Writes the codes of a row, and gives its scale; that of a row of zeros is 0.
fn quantize_row(row: &[f32], codes: &mut [i8]) -> f32 {
    let largest = row.iter().fold(0.0_f32, |largest, w| largest.max(w.abs()));
    let scale = largest / MAX_CODE;
    // A scale that would be a subnormal has too few bits to divide by.
    if scale < f32::MIN_POSITIVE {
        codes.fill(0);
        return 0.0;
    }
    for (code, w) in codes.iter_mut().zip(row) {
        *code = (w / scale).round_ties_even().clamp(-MAX_CODE, MAX_CODE) as i8;
    }
    scale
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
    fn what_was_quantised_is_quantised_to_the_same_codes() {
        let weight = hash32(2, 20 * 50);
        let once = Int8Weight::quantize(&context(), &weight, 20, 50);
        assert_eq!(Int8Weight::quantize(&context(), &once.dequantize(), 20, 50).codes(), once.codes());
    }
}
