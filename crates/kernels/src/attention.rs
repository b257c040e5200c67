//! Scaled dot-product attention: `softmax(q·kᵀ·scale + mask)·v`, not causal.
//!
//! The plan, from the outside in:
//! ```text
//! for each (batch item, head, part of the queries)              on any thread (here)
//!   pack the queries, times scale·log₂e                         `pack.rs`
//!   for each block of keys                                      equal blocks of at most 512
//!     pack its keys and values: they fit the L2 cache           `pack.rs`
//!     for each tile of queries (≤ 12 rows)                      `job.rs`
//!       scores = tile · keysᵀ          [rows, block], L1 cache  `tile.rs`
//!       streaming softmax: p = 2^(scores − max so far)          `softmax.rs`
//!       sums = sums · 2^(old max − new max) + p · values        `tile.rs`
//!   out = sums / (sum of p)
//! ```
//! Memory is linear in S. A row is computed the same way at any place in a tile, in any part, in any batch: keys
//! are cut by S alone. So its bits depend on nothing else, the number of threads included.

mod eager;
mod job;
mod pack;
mod shared;
mod softmax;
#[cfg(test)]
mod tests;
mod tile;

use crate::Context;
use crate::matrix::{product, span};
use crate::profile::Op;
use eager::EagerJob;
use job::{Head, Job};
use shared::SharedRows;
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
    /// Multiplies q·kᵀ; d^(−1/2) in all families.
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

/// The most queries of a job: its sums stay in the L2 cache beside a block of keys and values.
const MOST_QUERIES: usize = 384;

/// The fewest: packing the keys is shared by this many rows.
const LEAST_QUERIES: usize = 48;

/// Fused attention into `out` [B, S, A·d], memory linear in S. Where all keys of an item are masked, its result is 0.
///
/// # Panics
/// When the slices are shorter than the shape says, or there is a dropout.
pub fn attention(ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>, out: &mut [f32]) {
    check(shape, qkv, out);
    assert!(qkv.dropout.is_none(), "the fused attention has no probabilities to drop");
    let _span = ctx.span(|| shape.into());
    let out = SharedRows::new(out);
    for_each_job(ctx, shape, |b, h, queries| {
        let head = Head::new(shape, qkv, b, h);
        ctx.dispatch(Job { ctx, head, queries, out: &out });
    });
}

/// Eager attention: also stores the probabilities [B, A, S, S], after the dropout if there is one. Where all keys of an item
/// are masked, each counts the same. (So do torch's fused and eager attention on a CPU differ.)
///
/// # Panics
/// When the slices are shorter than the shape says.
pub fn attention_with_probabilities(
    ctx: &Context,
    shape: &AttentionShape,
    qkv: &Qkv<'_>,
    probabilities: &mut [f32],
    out: &mut [f32],
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
    let (out, probabilities) = (SharedRows::new(out), SharedRows::new(probabilities));
    for_each_job(ctx, shape, |b, h, queries| {
        let head = Head::new(shape, qkv, b, h);
        ctx.dispatch(EagerJob { ctx, head, queries, out: &out, probabilities: &probabilities });
    });
}

/// Checks the lengths; after it no product of sizes of a computation that has any work overflows.
fn check(shape: &AttentionShape, qkv: &Qkv<'_>, out: &[f32]) {
    let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
    let len = product(&[batch, tokens, heads, head_dim]);
    assert!(len.is_some_and(|len| out.len() >= len), "out of {shape:?}");
    if len == Some(0) {
        return;
    }
    // Parts of a product that could be counted, and is not 0.
    let (rows, width) = (batch * tokens, heads * head_dim);
    let span = span(rows, width, qkv.row_stride);
    assert!(qkv.q.len() >= span && qkv.k.len() >= span && qkv.v.len() >= span, "q, k, v of {shape:?}");
    assert!(qkv.key_mask.is_none_or(|mask| mask.len() >= rows), "key mask of {shape:?}");
}

/// Calls `job(b, h, queries)` for equal parts of the queries of each head, on the context's threads.
fn for_each_job(ctx: &Context, shape: &AttentionShape, job: impl Fn(usize, usize, Range<usize>) + Sync) {
    let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
    if [batch, heads, tokens, head_dim].contains(&0) {
        return;
    }
    let wanted = ctx.items_per_task(batch * heads * tokens, LEAST_QUERIES).min(MOST_QUERIES);
    let parts = tokens.div_ceil(wanted);
    // Equal parts, in whole tiles.
    let queries = tokens.div_ceil(parts).next_multiple_of(tile::MAX_ROWS);
    let parts = tokens.div_ceil(queries);
    ctx.for_each(batch * heads * parts, |index| {
        let (head, start) = (index / parts, index % parts * queries);
        job(head / heads, head % heads, start..(start + queries).min(tokens));
    });
}
