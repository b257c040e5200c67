//! `(x − mean) / √(var + eps) · weight + bias` over the last axis, with the biased variance.

use crate::{Context, reference};

/// Normalises each row of `x` ([rows, D], D = `weight.len()`) into `out`.
///
/// # Panics
/// When the lengths disagree.
pub fn layer_norm(_ctx: &Context, x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
    reference::layer_norm(x, weight, bias, eps, out);
}
