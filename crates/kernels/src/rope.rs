//! Rotary position embedding, half-split ("NeoX") form: `x·cos + rotate_half(x)·sin`, where
//! `rotate_half(x) = [−second half, first half]` over the head axis. Prefix tokens pass through.
//!
//! `x` is [B, S, A, d], in place; `cos` and `sin` are [S − prefix, d], the same for all heads. Products and sums are rounded one
//! by one, never fused, as torch does it (`apply_rotary_pos_emb` in Transformers' DINOv3).

use crate::Context;
use crate::matrix::{product, span};
use crate::profile::Op;
use crate::simd::{Operation, Simd};

/// Where the rotated values lie: [B, S, A, d] with tokens `row_stride` floats apart.
#[derive(Debug, Clone, Copy)]
pub struct RopeShape {
    /// B.
    pub batch: usize,
    /// S, prefix included.
    pub tokens: usize,
    /// Tokens at the start of each item that are not rotated.
    pub prefix: usize,
    /// A.
    pub heads: usize,
    /// d, even.
    pub head_dim: usize,
    /// Floats from one token to the next.
    pub row_stride: usize,
}

/// Floats below which a task is not worth handing to a thread.
const LEAST_FLOATS: usize = 16 * 1024;

/// Rotates `x` in place; `cos` and `sin` are [S − prefix, d].
///
/// # Panics
/// When the slices are shorter than the shape says, or `head_dim` is odd.
pub fn rope(ctx: &Context, shape: &RopeShape, cos: &[f32], sin: &[f32], x: &mut [f32]) {
    let RopeShape { batch, tokens, prefix, heads, head_dim, row_stride } = *shape;
    if [batch, tokens, heads, head_dim].contains(&0) {
        return;
    }
    assert!(product(&[batch, tokens, heads, head_dim]).is_some(), "values of {shape:?}");
    let (rows, width) = (batch * tokens, heads * head_dim);
    let angles = tokens.saturating_sub(prefix) * head_dim;
    assert!(head_dim.is_multiple_of(2) && cos.len() >= angles && sin.len() >= angles, "angles of {shape:?}");
    let _span = ctx.span(|| Op::Rope { rows: batch * tokens.saturating_sub(prefix), width });
    let x = &mut x[..span(rows, width, row_stride)];
    let rows_per_task = ctx.items_per_task(rows, LEAST_FLOATS.div_ceil(width));
    ctx.for_each_chunk_mut(x, rows_per_task * row_stride, |index, x| {
        ctx.dispatch(Rope { shape, cos, sin, first: index * rows_per_task, x });
    });
}

/// [`rope`] of the rows from `first` on, on one thread.
struct Rope<'a> {
    shape: &'a RopeShape,
    cos: &'a [f32],
    sin: &'a [f32],
    first: usize,
    x: &'a mut [f32],
}

impl Operation for Rope<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { shape, cos, sin, first, x } = self;
        let d = shape.head_dim;
        for (row, x) in (first..).zip(x.chunks_mut(shape.row_stride)) {
            let Some(patch) = (row % shape.tokens).checked_sub(shape.prefix) else { continue };
            let (cos, sin) = (&cos[patch * d..][..d], &sin[patch * d..][..d]);
            for head in x[..shape.heads * d].chunks_exact_mut(d) {
                rotate(simd, cos, sin, head);
            }
        }
    }
}

#[inline(always)]
fn rotate<S: Simd>(simd: S, cos: &[f32], sin: &[f32], head: &mut [f32]) {
    let half = head.len() / 2;
    let (first, second) = head.split_at_mut(half);
    let ((cos_1, cos_2), (sin_1, sin_2)) = (cos.split_at(half), sin.split_at(half));
    let whole = half - half % S::LANES;
    for i in (0..whole).step_by(S::LANES) {
        let (a, b) = (simd.load(&first[i..]), simd.load(&second[i..]));
        let a_turned = simd.mul(b, simd.load(&sin_1[i..]));
        simd.store(simd.sub(simd.mul(a, simd.load(&cos_1[i..])), a_turned), &mut first[i..]);
        let b_turned = simd.mul(a, simd.load(&sin_2[i..]));
        simd.store(simd.add(simd.mul(b, simd.load(&cos_2[i..])), b_turned), &mut second[i..]);
    }
    for i in whole..half {
        let (a, b) = (first[i], second[i]);
        first[i] = a * cos_1[i] - b * sin_1[i];
        second[i] = b * cos_2[i] + a * sin_2[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextOptions, Isa, reference};
    use dinoxide_testkit::data::hash32;

    /// Products and sums are rounded one by one, as torch and the twin do, so there is nothing to tolerate.
    #[test]
    fn rope_equals_its_twin_to_the_bit() {
        for isa in Isa::available() {
            for threads in [1, 2, 3] {
                let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
                for head_dim in [2, 4, 12, 16, 20, 32, 34, 64, 128] {
                    for (tokens, prefix, gap) in [(1, 0, 0), (9, 5, 3), (5, 5, 0), (201, 5, 7)] {
                        let shape = RopeShape {
                            batch: 2,
                            tokens,
                            prefix,
                            heads: 3,
                            head_dim,
                            row_stride: 3 * head_dim + gap,
                        };
                        let x = hash32(1, 2 * tokens * shape.row_stride);
                        let angles = (tokens - prefix) * head_dim;
                        let (cos, sin) = (hash32(2, angles), hash32(3, angles));
                        let (mut got, mut want) = (x.clone(), x);
                        rope(&ctx, &shape, &cos, &sin, &mut got);
                        reference::rope(&shape, &cos, &sin, &mut want);
                        assert_eq!(got, want, "{isa} {shape:?}");
                    }
                }
            }
        }
    }
}
