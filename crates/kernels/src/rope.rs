//! Rotary position embedding, half-split ("NeoX") form: `x·cos + rotate_half(x)·sin`, where
//! `rotate_half(x) = [−second half, first half]` over the head axis. Prefix tokens pass through.

use crate::{Context, reference};

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

/// Rotates `x` in place; `cos` and `sin` are [S − prefix, d].
///
/// # Panics
/// When the slices are shorter than the shape says.
pub fn rope(_ctx: &Context, shape: &RopeShape, cos: &[f32], sin: &[f32], x: &mut [f32]) {
    reference::rope(shape, cos, sin, x);
}
