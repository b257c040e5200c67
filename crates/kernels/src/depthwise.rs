//! Depthwise 7×7 convolution with padding 3 on channels-last maps (ConvNeXt).
//!
//! Vectors run over channels. A block of 7 neighbouring outputs of a row, two vectors wide, is 14 sums in registers; each
//! tap's weights are loaded once for the block, and a product's other factor comes straight from memory:
//! ```text
//! for ky in 0..7 (rows inside the map):  for kx in 0..7:  w = weight[ky, kx];  for o in 0..7: sum[o] += w · x[x0 + o + kx − 3]
//! ```
//! 7 divides the widths of ConvNeXt at 224 pixels (56, 28, 14, 7). Blocks at a border read zeros in place of what is outside.
//! An output is summed in the order of the taps, wherever it lies in a block.

use crate::Context;
use crate::simd::{Operation, Simd};

/// The sizes of a depthwise convolution.
#[derive(Debug, Clone, Copy)]
pub struct DepthwiseShape {
    /// B.
    pub batch: usize,
    /// H.
    pub height: usize,
    /// W.
    pub width: usize,
    /// C.
    pub channels: usize,
}

/// Taps along an axis, and how far the first lies before the output.
const TAPS: usize = 7;
const PADDING: usize = 3;

/// Outputs of a block.
const BLOCK: usize = 7;

/// The widest block of channels, in floats: what a border reads as zeros.
const MOST_CHANNELS: usize = 32;

/// Products below which a task is not worth handing to a thread.
const LEAST_PRODUCTS: usize = 256 * 1024;

/// `out[b,y,x,c] = bias[c] + Σ weight[ky,kx,c] · x[b,y+ky−3,x+kx−3,c]`, zero outside; `x` and `out` are [B, H, W, C],
/// `weight` is [7, 7, C] (taps outermost).
///
/// # Panics
/// When the lengths disagree with the shape.
pub fn depthwise_conv7(
    ctx: &Context,
    shape: &DepthwiseShape,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    out: &mut [f32],
) {
    let DepthwiseShape { batch, height, width, channels } = *shape;
    let row = width * channels;
    assert!(x.len() == batch * height * row && out.len() == x.len(), "maps of {shape:?}");
    assert!(weight.len() == TAPS * TAPS * channels && bias.len() == channels, "weights of {shape:?}");
    let rows = ctx.items_per_task(batch * height, LEAST_PRODUCTS.div_ceil(TAPS * TAPS * row.max(1)));
    ctx.for_each_chunk_mut(out, rows * row, |index, out| {
        for (i, out) in (index * rows..).zip(out.chunks_exact_mut(row)) {
            let map = &x[i / height * height * row..][..height * row];
            ctx.dispatch(Row { shape, map, weight, bias, y: i % height, out });
        }
    });
}

/// One row of the output of one batch item.
struct Row<'a> {
    shape: &'a DepthwiseShape,
    /// [H, W, C].
    map: &'a [f32],
    weight: &'a [f32],
    bias: &'a [f32],
    y: usize,
    out: &'a mut [f32],
}

impl Operation for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(mut self, simd: S) {
        let channels = self.shape.channels;
        let mut c = 0;
        while c + 2 * S::LANES <= channels {
            self.channels::<S, 2>(simd, c, 2 * S::LANES);
            c += 2 * S::LANES;
        }
        while c < channels {
            let lanes = S::LANES.min(channels - c);
            self.channels::<S, 1>(simd, c, lanes);
            c += lanes;
        }
    }
}

impl Row<'_> {
    /// The channels `c..c + lanes` of the row: V vectors, the last of which may be partial when V is 1.
    #[inline(always)]
    fn channels<S: Simd, const V: usize>(&mut self, simd: S, c: usize, lanes: usize) {
        let width = self.shape.width;
        for first in (0..width).step_by(BLOCK) {
            let inside = first >= PADDING && first + BLOCK + PADDING <= width;
            if inside && lanes == V * S::LANES {
                self.block::<S, V, true>(simd, c, lanes, first);
            } else {
                self.block::<S, V, false>(simd, c, lanes, first);
            }
        }
    }

    /// Outputs `first..first + BLOCK`, those within the row. `INSIDE`: so are all taps, and vectors are whole.
    #[inline(always)]
    fn block<S: Simd, const V: usize, const INSIDE: bool>(&mut self, simd: S, c: usize, lanes: usize, first: usize) {
        let DepthwiseShape { height, width, channels, .. } = *self.shape;
        let zeros = [0.0; MOST_CHANNELS];
        let load = |from: &[f32], v: usize| {
            if INSIDE || lanes == V * S::LANES {
                simd.load(&from[v * S::LANES..][..S::LANES])
            } else {
                simd.load_part(&from[..lanes], 0.0)
            }
        };
        let mut sums = [[simd.splat(0.0); V]; BLOCK];
        for sum in &mut sums {
            for (v, sum) in sum.iter_mut().enumerate() {
                *sum = load(&self.bias[c..], v);
            }
        }
        for ky in PADDING.saturating_sub(self.y)..TAPS.min(height + PADDING - self.y) {
            let line = &self.map[(self.y + ky - PADDING) * width * channels..][..width * channels];
            for kx in 0..TAPS {
                let mut weights = [simd.splat(0.0); V];
                for (v, weight) in weights.iter_mut().enumerate() {
                    *weight = load(&self.weight[(ky * TAPS + kx) * channels + c..], v);
                }
                for (o, sum) in sums.iter_mut().enumerate() {
                    // Past the end of `usize` when left of the map, so that one comparison finds both borders.
                    let column = (first + o + kx).wrapping_sub(PADDING);
                    let outside = !INSIDE && column >= width;
                    let from = if outside { &zeros[..] } else { &line[column * channels + c..] };
                    for (v, (sum, &weight)) in sum.iter_mut().zip(&weights).enumerate() {
                        *sum = simd.mul_add(weight, load(from, v), *sum);
                    }
                }
            }
        }
        for (o, sum) in sums.into_iter().enumerate().take(width - first) {
            let to = &mut self.out[(first + o) * channels + c..][..lanes];
            for (v, sum) in sum.into_iter().enumerate() {
                if lanes == V * S::LANES {
                    simd.store(sum, &mut to[v * S::LANES..]);
                } else {
                    simd.store_part(sum, to);
                }
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

    fn run(ctx: &Context, shape: &DepthwiseShape, x: &[f32]) -> Vec<f32> {
        let (weight, bias) = (hash32(2, 49 * shape.channels), hash32(3, shape.channels));
        let mut out = vec![f32::NAN; x.len()];
        depthwise_conv7(ctx, shape, x, &weight, &bias, &mut out);
        out
    }

    #[test]
    fn depthwise_conv7_equals_its_twin_at_every_size() {
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(2) }).unwrap();
            for (height, width) in [(1, 1), (1, 9), (2, 3), (7, 7), (8, 6), (5, 13), (9, 14), (10, 17), (3, 28)] {
                for channels in [1, 3, 8, 15, 16, 17, 24, 33, 64, 96] {
                    let shape = DepthwiseShape { batch: 2, height, width, channels };
                    let x = hash32(1, 2 * height * width * channels);
                    let mut want = vec![0.0; x.len()];
                    let (weight, bias) = (hash32(2, 49 * channels), hash32(3, channels));
                    reference::depthwise_conv7(&shape, &x, &weight, &bias, &mut want);
                    assert_close(&format!("{isa} {shape:?}"), &run(&ctx, &shape, &x), &want, 3e-5);
                }
            }
        }
    }

    #[test]
    fn a_batch_item_has_the_bits_it_has_alone_on_any_number_of_threads() {
        let shape = DepthwiseShape { batch: 3, height: 20, width: 23, channels: 40 };
        let (single, item) = (DepthwiseShape { batch: 1, ..shape }, 20 * 23 * 40);
        let x = hash32(1, 3 * item);
        for isa in Isa::available() {
            for threads in [1, 2, 3] {
                let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
                let alone = Context::new(ContextOptions { isa: Some(isa), threads: Some(1) }).unwrap();
                let together = run(&ctx, &shape, &x);
                for (together, x) in together.chunks(item).zip(x.chunks(item)) {
                    assert_eq!(together, run(&alone, &single, x), "{isa} {threads} threads");
                }
            }
        }
    }
}
