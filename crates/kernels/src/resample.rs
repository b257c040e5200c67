//! Separable float resampling of maps [rows, cols, C], as torch's `interpolate` does it: the position tables' resize.
//! The weights of an axis are made by [`AxisWeights`] (`weights.rs`); then columns are resampled, then rows, in f32.
//! Vectors run over the channels; an output is summed in the order of its taps.
//!
//! Measured against torch 2.15 (goldens in `tests/data`, values in ±2): within 1e-6.

mod weights;

pub use weights::AxisWeights;

use crate::Context;
use crate::matrix::product;
use crate::profile::Op;
use crate::simd::{Operation, Simd};

/// Output floats below which a task is not worth handing to a thread.
const LEAST_FLOATS: usize = 4 * 1024;

/// Resamples a channels-last map [n_in_y, n_in_x, C] to [n_out_y, n_out_x, C].
///
/// # Panics
/// When `map.len()` disagrees with the weights.
#[must_use]
pub fn resample_with(
    ctx: &Context,
    map: &[f32],
    channels: usize,
    y: &AxisWeights,
    x: &AxisWeights,
) -> Vec<f32> {
    let len = product(&[y.n_in, x.n_in, channels]);
    assert_eq!(Some(map.len()), len, "map of {}x{}x{channels}", y.n_in, x.n_in);
    let _span = ctx.span(|| {
        let (from, to) = ((y.n_in, x.n_in), (y.taps.len(), x.taps.len()));
        Op::Resample { from, to, channels }
    });
    let row_out = x.taps.len() * channels;
    let mut out = vec![0.0; y.taps.len() * row_out];
    let mut rows = ctx.scratch(y.n_in * row_out);
    let per_task = |count: usize| ctx.items_per_task(count, LEAST_FLOATS.div_ceil(row_out.max(1)));
    let batch = per_task(y.n_in);
    ctx.for_each_chunk_mut(&mut rows, batch * row_out, |index, rows| {
        for (i, target) in rows.chunks_exact_mut(row_out).enumerate() {
            let source = &map[(index * batch + i) * x.n_in * channels..][..x.n_in * channels];
            for ((start, weights), target) in x.taps.iter().zip(target.chunks_exact_mut(channels)) {
                ctx.dispatch(WeightedSum {
                    weights,
                    source: &source[start * channels..],
                    stride: channels,
                    target,
                });
            }
        }
    });
    let batch = per_task(y.taps.len());
    ctx.for_each_chunk_mut(&mut out, batch * row_out, |index, out| {
        for (target, (start, weights)) in out.chunks_exact_mut(row_out).zip(&y.taps[index * batch..]) {
            ctx.dispatch(WeightedSum { weights, source: &rows[start * row_out..], stride: row_out, target });
        }
    });
    out
}

/// `target[i] = Σ_j weights[j] · source[j · stride + i]`, j ascending.
struct WeightedSum<'a> {
    weights: &'a [f32],
    source: &'a [f32],
    stride: usize,
    target: &'a mut [f32],
}

impl Operation for WeightedSum<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { weights, source, stride, target } = self;
        for (block, target) in target.chunks_mut(S::LANES).enumerate() {
            let mut sum = simd.splat(0.0);
            for (j, &w) in weights.iter().enumerate() {
                let from = &source[j * stride + block * S::LANES..][..target.len()];
                let x = if from.len() == S::LANES { simd.load(from) } else { simd.load_part(from, 0.0) };
                sum = simd.mul_add(simd.splat(w), x, sum);
            }
            if target.len() == S::LANES {
                simd.store(sum, target);
            } else {
                simd.store_part(sum, target);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextOptions, Isa, reference};
    use dinoxide_testkit::compare::assert_close;
    use dinoxide_testkit::data::hash32;
    use dinoxide_testkit::tolerance::RESAMPLE_MAX_ABS;

    #[test]
    fn resampling_equals_its_twin_on_every_level_and_number_of_threads() {
        for isa in Isa::available() {
            for threads in [1, 2, 3] {
                let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
                for (n_in, rows, cols) in [(37, 16, 16), (5, 9, 2), (1, 3, 4), (16, 40, 39)] {
                    for channels in [1, 3, 16, 37, 384] {
                        let map = hash32(1, n_in * n_in * channels);
                        let (y, x) =
                            (AxisWeights::bicubic(n_in, rows), AxisWeights::bicubic_antialias(n_in, cols));
                        let got = resample_with(&ctx, &map, channels, &y, &x);
                        let want = reference::resample(&map, channels, &y, &x);
                        let name = format!("{isa} {n_in} {rows}x{cols}x{channels}");
                        assert_close(&name, &got, &want, RESAMPLE_MAX_ABS);
                    }
                }
            }
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let map = hash32(2, 37 * 37 * 384);
        let (y, x) = (AxisWeights::bicubic(37, 16), AxisWeights::bicubic(37, 18));
        let run = |threads| {
            let ctx = Context::new(ContextOptions { isa: None, threads: Some(threads) }).unwrap();
            resample_with(&ctx, &map, 384, &y, &x)
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(3));
    }
}
