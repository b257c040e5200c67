//! Depthwise 7×7 convolution with padding 3 on channels-last maps (ConvNeXt).

use crate::{Context, reference};

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

/// `out[b,y,x,c] = bias[c] + Σ weight[ky,kx,c] · x[b,y+ky−3,x+kx−3,c]`, zero outside; `x` and `out` are [B, H, W, C],
/// `weight` is [7, 7, C] (taps outermost).
///
/// # Panics
/// When the lengths disagree with the shape.
pub fn depthwise_conv7(
    _ctx: &Context,
    shape: &DepthwiseShape,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    out: &mut [f32],
) {
    reference::depthwise_conv7(shape, x, weight, bias, out);
}
