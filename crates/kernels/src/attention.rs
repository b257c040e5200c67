//! Scaled dot-product attention: `softmax(q·kᵀ·scale + mask)·v`, not causal.

use crate::{Context, reference};

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
}

/// Fused attention into `out` [B, S, A·d], memory linear in S.
///
/// # Panics
/// When the slices are shorter than the shape says.
pub fn attention(_ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>, out: &mut [f32]) {
    reference::attention(shape, qkv, None, out);
}

/// Eager attention: also stores the probabilities [B, A, S, S].
///
/// # Panics
/// When the slices are shorter than the shape says.
pub fn attention_with_probabilities(
    _ctx: &Context,
    shape: &AttentionShape,
    qkv: &Qkv<'_>,
    probabilities: &mut [f32],
    out: &mut [f32],
) {
    reference::attention(shape, qkv, Some(probabilities), out);
}
