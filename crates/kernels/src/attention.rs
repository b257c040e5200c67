//! Scaled dot-product attention: `softmax(q·kᵀ·scale + mask)·v`, not causal.
//!
//! The plan, from the outside in:
//! ```text
//! for each (batch item, head, some panels of queries)           on any thread (here)
//!   pack the queries · scale · log₂e, one in a lane             `panel.rs`
//!   for each block of keys                                      equal blocks of about 128 (`fused.rs`)
//!     for each panel (two vectors of queries)
//!       scores = keys · queries         [block, W], L1 cache    `tile.rs`
//!       streaming softmax: p = 2^(scores − max so far)          `panel.rs`
//!       sums = sums · 2^(old max − new max) + p · values        `tile.rs`
//!   out = sums / (sum of p)
//! ```
//! Keys and values are read in place. Memory is linear in S. A query is computed the same way at any place in a panel,
//! in any batch: keys are cut by S alone. So its bits depend on nothing else, the number of threads included.
//! With products of bf16, keys and values are made words first (`bf16.rs`), queries and p on the way.
//! The eager form (`eager.rs`) has one block of all keys, and gives the probabilities away.

mod bf16;
mod eager;
mod fused;
mod head;
mod panel;
#[cfg(test)]
mod tests;
mod tile;

use crate::matrix::{Blocks, product, span};
use crate::profile::Op;
use crate::simd::{Bf16Pairs, FloatProducts, Floats, Operation, Simd};
use crate::{Context, MatMut};
use bf16::HeadWords;
use eager::Eager;
use fused::{Fused, MAX_PANELS};
use head::Head;
use std::marker::PhantomData;
use std::ops::Range;

/// The sizes of an attention.
#[derive(Debug, Clone, Copy)]
pub struct AttentionShape {
    /// B.
    pub batch: usize,
    /// A.
    pub heads: usize,
    /// S.
    pub tokens: usize,
    /// d.
    pub head_dim: usize,
    /// Multiplies q·kᵀ; above 0, d^(−1/2) in all families.
    pub scale: f32,
}

/// Queries, keys and values, each [B, S, A, d] with rows (one token) `row_stride` floats apart, so that the three may
/// lie side by side in one buffer.
#[derive(Debug, Clone, Copy)]
pub struct Qkv<'a> {
    /// Queries, from element (0, 0) on.
    pub q: &'a [f32],
    /// Keys.
    pub k: &'a [f32],
    /// Values.
    pub v: &'a [f32],
    /// Floats from one token to the next.
    pub row_stride: usize,
    /// [B, S]: keys that take part; all when absent.
    pub key_mask: Option<&'a [bool]>,
    /// Drops probabilities; the eager form only.
    pub dropout: Option<Dropout<'a>>,
}

/// Which probabilities stay after the softmax, and what those are multiplied by; the others become 0.
#[derive(Debug, Clone, Copy)]
pub struct Dropout<'a> {
    /// [B, A, S, S].
    pub keep: &'a [bool],
    /// 1 / (1 − rate).
    pub scale: f32,
}

/// Fused attention into `out` [B·S, A·d], memory linear in S. Where all keys of an item are masked, its result is 0.
///
/// # Panics
/// When `out` has another shape or slices are shorter than the shape says, or there is a dropout.
pub fn attention(ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>, out: &mut MatMut<'_>) {
    check(shape, qkv, out);
    assert!(qkv.dropout.is_none(), "the fused attention has no probabilities to drop");
    let _span = ctx.span(|| shape.into());
    fused::<Floats>(ctx, shape, &|index| Head::new(shape, qkv, index), out);
}

/// As [`attention`], with products of bf16 where the processor does more of those: queries, keys, values and probabilities are
/// rounded to bf16, sums and softmax are in f32. Elsewhere it is [`attention`].
///
/// # Panics
/// As [`attention`].
pub fn attention_bf16(ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>, out: &mut MatMut<'_>) {
    match ctx.multiplies_bf16() {
        true => with_bf16(ctx, shape, qkv, out),
        false => attention(ctx, shape, qkv, out),
    }
}

/// Floats of scratch memory that [`attention_bf16`] takes for each token, to hold its key and its value in the words that are
/// multiplied.
#[must_use]
pub fn attention_bf16_scratch(ctx: &Context, heads: usize, head_dim: usize) -> usize {
    if ctx.multiplies_bf16() { heads * 2 * head_dim.div_ceil(2) } else { 0 }
}

/// Fused attention with products of bf16.
fn with_bf16(ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>, out: &mut MatMut<'_>) {
    check(shape, qkv, out);
    assert!(qkv.dropout.is_none(), "the fused attention has no probabilities to drop");
    let _span = ctx.span(|| shape.into());
    let words = HeadWords::new(ctx, shape, qkv);
    let head = |index| Head::new(shape, qkv, index).with_key_values(words.of_head(index));
    fused::<Bf16Pairs>(ctx, shape, &head, out);
}

/// The fused form of all heads.
fn fused<'a, P: FloatProducts>(
    ctx: &Context,
    shape: &AttentionShape,
    head: &(impl Fn(usize) -> Head<'a> + Sync),
    out: &mut MatMut<'_>,
) {
    let out = Blocks::new(out);
    for_each_panels(ctx, shape, |index, panels| {
        let head = head(index);
        for start in panels.clone().step_by(MAX_PANELS) {
            let panels = start..panels.end.min(start + MAX_PANELS);
            let task = Fused { ctx, head, panels, out: &out, products: PhantomData::<P> };
            ctx.dispatch_products::<P, _>(task);
        }
    });
}

/// Eager attention: also stores the probabilities [B, A, S, S], after the dropout if there is one. Where all keys of an item
/// are masked, each counts the same. (So do torch's fused and eager attention on a CPU differ.)
///
/// # Panics
/// When `out` has another shape or slices are shorter than the shape says.
pub fn attention_with_probabilities(
    ctx: &Context,
    shape: &AttentionShape,
    qkv: &Qkv<'_>,
    probabilities: &mut [f32],
    out: &mut MatMut<'_>,
) {
    check(shape, qkv, out);
    let AttentionShape { batch, heads, tokens, .. } = *shape;
    let len = product(&[batch, heads, tokens, tokens]);
    assert!(len.is_some_and(|len| probabilities.len() >= len), "probabilities of {shape:?}");
    assert!(
        qkv.dropout.is_none_or(|dropout| len.is_some_and(|len| dropout.keep.len() >= len)),
        "dropout of {shape:?}"
    );
    let _span = ctx.span(|| Op::Attention { batch, heads, tokens, head_dim: shape.head_dim, eager: true });
    // Fewer than the floats, which could be counted.
    let rows = product(&[batch, heads, tokens]).unwrap_or(0);
    let mut probabilities = MatMut::new(&mut probabilities[..rows * tokens], rows, tokens);
    let (out, probabilities) = (Blocks::new(out), Blocks::new(&mut probabilities));
    for_each_panels(ctx, shape, |index, panels| {
        let head = Head::new(shape, qkv, index);
        for panel in panels {
            ctx.dispatch(Eager { ctx, head, panel, out: &out, probabilities: &probabilities });
        }
    });
}

/// Checks the lengths; after it no product of sizes of a computation that has any work overflows.
fn check(shape: &AttentionShape, qkv: &Qkv<'_>, out: &MatMut<'_>) {
    let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
    let len = product(&[batch, tokens, heads, head_dim]);
    let sides = (product(&[batch, tokens]), product(&[heads, head_dim]));
    assert!(len.is_some() && sides == (Some(out.rows()), Some(out.cols())), "out of {shape:?}");
    if len == Some(0) {
        return;
    }
    // Parts of a product that could be counted, and is not 0.
    let (rows, width) = (batch * tokens, heads * head_dim);
    let span = span(rows, width, qkv.row_stride);
    assert!(qkv.q.len() >= span && qkv.k.len() >= span && qkv.v.len() >= span, "q, k, v of {shape:?}");
    assert!(qkv.key_mask.is_none_or(|mask| mask.len() >= rows), "key mask of {shape:?}");
}

/// Calls `task(b·A + h, panels)` for ranges of the panels of each head, on the context's threads.
fn for_each_panels(ctx: &Context, shape: &AttentionShape, task: impl Fn(usize, Range<usize>) + Sync) {
    let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
    if [batch, heads, tokens, head_dim].contains(&0) {
        return;
    }
    let panels = tokens.div_ceil(ctx.dispatch(PanelWidth));
    ctx.for_each_range(batch * heads * panels, |range| {
        let mut start = range.start;
        while start < range.end {
            let head = start / panels;
            let end = range.end.min((head + 1) * panels);
            task(head, start - head * panels..end - head * panels);
            start = end;
        }
    });
}

/// Asks a level for the queries of its panels.
struct PanelWidth;

impl Operation for PanelWidth {
    type Output = usize;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> usize {
        panel::panel_width::<S>()
    }
}
