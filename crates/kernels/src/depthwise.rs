//! Depthwise 7×7 convolution with padding 3 on channels-last maps (ConvNeXt).
//!
//! Vectors run over channels. A block of 7 neighbouring outputs of a row is 7 sums; for each row of taps the block's 13
//! inputs and the 7 weights are loaded once, and meet in 49 products:
//! ```text
//! for each vector of channels, output row, block, ky in 0..7 (rows inside the map):
//!   x[0..13] = map[y + ky − 3, x0 − 3..];  w[0..7] = weight[ky];  for kx, o in 0..7: sum[o] += w[kx] · x[o + kx]
//! ```
//! Rows come inside channels, as neighbouring rows share 6 of 7 input rows, then in the L1 cache. 7 divides ConvNeXt's
//! widths at 224 pixels. An output is summed in the order of the taps, wherever it lies in a block.

use crate::Context;
use crate::matrix::product;
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

/// Inputs of a block.
const INPUTS: usize = BLOCK + TAPS - 1;

/// Floats of the widest vector.
const MOST_LANES: usize = 16;

/// Products that one task has at least: 20 µs of work, and some rows that share their inputs.
const LEAST_PRODUCTS: usize = 1024 * 1024;

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
    let maps = product(&[batch, height, width, channels]);
    assert!(maps == Some(x.len()) && out.len() == x.len(), "maps of {shape:?}");
    let weights = product(&[TAPS, TAPS, channels]);
    assert!(weights == Some(weight.len()) && bias.len() == channels, "weights of {shape:?}");
    if out.is_empty() {
        return;
    }
    let _span = ctx.span(|| shape.into());
    let row = width * channels;
    let rows = ctx.items_per_task(batch * height, LEAST_PRODUCTS.div_ceil(TAPS * TAPS * row.max(1)));
    ctx.for_each_chunk_mut(out, rows * row, |index, out| {
        ctx.dispatch(Rows { shape, x, weight, bias, first: index * rows, out });
    });
}

/// Some rows of the output, on one thread.
struct Rows<'a> {
    shape: &'a DepthwiseShape,
    x: &'a [f32],
    weight: &'a [f32],
    bias: &'a [f32],
    /// The first row, counted over the batch.
    first: usize,
    out: &'a mut [f32],
}

impl Operation for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { shape, x, weight, bias, first, out } = self;
        let DepthwiseShape { height, width, channels, .. } = *shape;
        let row = width * channels;
        for c in (0..channels).step_by(S::LANES) {
            for (i, out) in (first..).zip(out.chunks_exact_mut(row)) {
                let map = &x[i / height * height * row..][..height * row];
                let mut row = Row { shape, map, weight, bias, y: i % height, out };
                if c + S::LANES <= channels { row.whole_vector(simd, c) } else { row.last_channels(c) }
            }
        }
    }
}

/// One row of the output.
struct Row<'a> {
    shape: &'a DepthwiseShape,
    /// [H, W, C].
    map: &'a [f32],
    weight: &'a [f32],
    bias: &'a [f32],
    y: usize,
    out: &'a mut [f32],
}

impl Row<'_> {
    /// Row `self.y + ky − 3` of the map, for each ky where that is inside.
    #[inline(always)]
    fn lines(&self) -> impl Iterator<Item = (usize, &[f32])> {
        let DepthwiseShape { height, width, channels, .. } = *self.shape;
        let rows = PADDING.saturating_sub(self.y)..TAPS.min(height + PADDING - self.y);
        rows.map(move |ky| (ky, &self.map[(self.y + ky - PADDING) * width * channels..][..width * channels]))
    }

    /// A vector of channels from `c` on.
    #[inline(always)]
    fn whole_vector<S: Simd>(&mut self, simd: S, c: usize) {
        let width = self.shape.width;
        for first in (0..width).step_by(BLOCK) {
            if first >= PADDING && first + BLOCK + PADDING <= width {
                self.block::<S, true>(simd, c, first);
            } else {
                self.block::<S, false>(simd, c, first);
            }
        }
    }

    /// Outputs `first..first + BLOCK`, those within the row. `INSIDE`: so are all their taps.
    #[inline(always)]
    fn block<S: Simd, const INSIDE: bool>(&mut self, simd: S, c: usize, first: usize) {
        let DepthwiseShape { width, channels, .. } = *self.shape;
        let mut sums = [simd.load(&self.bias[c..]); BLOCK];
        for (ky, line) in self.lines() {
            let mut weights = [simd.splat(0.0); TAPS];
            for (kx, weight) in weights.iter_mut().enumerate() {
                *weight = simd.load(&self.weight[(ky * TAPS + kx) * channels + c..]);
            }
            let line = Line { floats: line, width, channels, c };
            let inputs = line.inputs::<S, INSIDE>(simd, first);
            for (kx, &weight) in weights.iter().enumerate() {
                for (o, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.mul_add(weight, inputs[o + kx], *sum);
                }
            }
        }
        for (o, sum) in sums.into_iter().enumerate().take(width - first) {
            simd.store(sum, &mut self.out[(first + o) * channels + c..]);
        }
    }

    /// The channels from `c` on, fewer than a vector: no model has any.
    fn last_channels(&mut self, c: usize) {
        let DepthwiseShape { width, channels, .. } = *self.shape;
        for (column, c) in (0..width).flat_map(|column| (c..channels).map(move |c| (column, c))) {
            let mut sum = self.bias[c];
            for (ky, line) in self.lines() {
                for kx in PADDING.saturating_sub(column)..TAPS.min(width + PADDING - column) {
                    let weight = self.weight[(ky * TAPS + kx) * channels + c];
                    sum += weight * line[(column + kx - PADDING) * channels + c];
                }
            }
            self.out[column * channels + c] = sum;
        }
    }
}

/// A line of the map [W, C], of which a vector of channels from `c` on is read.
#[derive(Clone, Copy)]
struct Line<'a> {
    floats: &'a [f32],
    width: usize,
    channels: usize,
    c: usize,
}

impl Line<'_> {
    /// The inputs of the outputs `first..first + BLOCK`: 0 outside the line. `INSIDE`: none is outside.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn inputs<S: Simd, const INSIDE: bool>(self, simd: S, first: usize) -> [S::Vec; INPUTS] {
        const { assert!(S::LANES <= MOST_LANES) };
        let Self { floats, width, channels, c } = self;
        assert!(c + S::LANES <= channels && floats.len() >= width * channels, "channels out of bounds");
        assert!(!INSIDE || first >= PADDING && first + BLOCK + PADDING <= width, "a block across the border");
        let zeros = [0.0; MOST_LANES];
        let mut inputs = [simd.splat(0.0); INPUTS];
        for (i, input) in inputs.iter_mut().enumerate() {
            // Past the end of `usize` when left of the map, so that one comparison finds both borders.
            let column = (first + i).wrapping_sub(PADDING);
            // Outside the map there are zeros.
            let from = if !INSIDE && column >= width {
                zeros.as_ptr()
            } else {
                floats.as_ptr().wrapping_add(column * channels + c)
            };
            // SAFETY: `from` is `zeros`, as long as the widest vector, or the channels from `c` on of a column < width:
            // checked above, or by the second assertion; by the first there is a vector of them
            // (and `width · channels` does not overflow, as that many floats exist).
            *input = unsafe { simd.load_ptr(from) };
        }
        inputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextOptions, Isa, reference};
    use dinoxide_testkit::compare::assert_close;
    use dinoxide_testkit::data::hash32;
    use dinoxide_testkit::tolerance::DEPTHWISE_MAX_ABS;

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
            for (height, width) in
                [(1, 1), (1, 9), (2, 3), (7, 7), (8, 6), (5, 13), (9, 14), (10, 17), (3, 28)]
            {
                for channels in [1, 3, 8, 15, 16, 17, 24, 33, 64, 96] {
                    let shape = DepthwiseShape { batch: 2, height, width, channels };
                    let x = hash32(1, 2 * height * width * channels);
                    let mut want = vec![0.0; x.len()];
                    let (weight, bias) = (hash32(2, 49 * channels), hash32(3, channels));
                    reference::depthwise_conv7(&shape, &x, &weight, &bias, &mut want);
                    let got = run(&ctx, &shape, &x);
                    assert_close(&format!("{isa} {shape:?}"), &got, &want, DEPTHWISE_MAX_ABS);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "maps of")]
    fn sizes_too_large_to_count_are_not_taken_for_small_ones() {
        let ctx = Context::new(ContextOptions { isa: None, threads: Some(1) }).unwrap();
        let shape = DepthwiseShape { batch: 1 << 32, height: 1 << 32, width: 1, channels: 1 };
        depthwise_conv7(&ctx, &shape, &[], &[0.0; 49], &[0.0], &mut []);
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
