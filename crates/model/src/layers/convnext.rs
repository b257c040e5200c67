//! The two parts of a ConvNeXt, on channels-last maps [B, H, W, C].
//!
//! Downsampling: a convolution with kernel = stride (4, then 2), with a norm over channels after it in the first stage
//! and before it in the others. Layer: `x += γ ⊙ pw2(act(pw1(norm(dw7x7(x)))))`.

use crate::{
    ModelError,
    layers::{
        layer::Residual,
        layer_norm::LayerNorm,
        linear::{Linear, LinearShape},
        mlp::{Mlp, MlpShape},
    },
    weights::Weights,
};
use dinoxide_kernels::{
    Activation, Buffer, Context, DepthwiseShape, Epilogue, MatMut, MatRef, PatchLayout, PatchShape,
    depthwise_conv7, patches,
};

/// A channels-last map.
#[derive(Debug)]
pub(crate) struct Map<'ctx> {
    pub(crate) batch: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    /// [B, H, W, C].
    pub(crate) data: Buffer<'ctx>,
}

impl Map<'_> {
    /// B·H·W.
    pub(crate) fn rows(&self) -> usize {
        self.batch * self.height * self.width
    }
}

/// A norm over channels and a strided convolution.
#[derive(Debug)]
pub(crate) struct Downsample {
    norm: LayerNorm,
    convolution: Linear,
    stride: usize,
    channels: usize,
}

impl Downsample {
    /// Reads the first stage's: convolution `0` [C0, C, 4, 4], then norm `1`.
    pub(crate) fn load_first(
        weights: &Weights<'_>,
        channels: usize,
        outputs: usize,
        eps: f64,
    ) -> Result<Self, ModelError> {
        let stride = 4;
        let weight = weights.numbers("0.weight", &[outputs, channels, stride, stride])?;
        let shape = LinearShape { inputs: channels * stride * stride, outputs, bias: true };
        let bias = Some(weights.read("0.bias", &[outputs])?);
        let convolution = Linear::new(weights, &weight, shape, bias);
        let norm = LayerNorm::load(&weights.at("1"), outputs, eps)?;
        Ok(Self { norm, convolution, stride, channels })
    }

    /// Reads a later stage's: norm `0`, then convolution `1` [C_s, C_(s−1), 2, 2].
    pub(crate) fn load_later(
        weights: &Weights<'_>,
        channels: usize,
        outputs: usize,
        eps: f64,
    ) -> Result<Self, ModelError> {
        let stride = 2;
        let weight = weights.numbers("1.weight", &[outputs, channels, stride, stride])?;
        let shape = LinearShape { inputs: channels * stride * stride, outputs, bias: true };
        let bias = Some(weights.read("1.bias", &[outputs])?);
        let weight = channels_innermost(&weight, outputs, channels, stride * stride);
        let convolution = Linear::new(weights, &weight, shape, bias);
        let norm = LayerNorm::load(&weights.at("0"), channels, eps)?;
        Ok(Self { norm, convolution, stride, channels })
    }

    /// Pixels of input per pixel of output.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Length of a patch.
    pub(crate) fn row_len(&self) -> usize {
        self.channels * self.stride * self.stride
    }

    /// Channels of the result.
    pub(crate) fn outputs(&self) -> usize {
        self.convolution.outputs()
    }

    /// Bytes of the packed weight.
    pub(crate) fn bytes(&self) -> usize {
        self.convolution.bytes()
    }

    /// The first stage's: from `pixels` [B, C, H, W] to a map; `dim` is (B, H, W).
    pub(crate) fn forward_pixels<'ctx>(
        &self,
        ctx: &'ctx Context,
        pixels: &[f32],
        dim: (usize, usize, usize),
    ) -> Map<'ctx> {
        let map = self.convolve(ctx, pixels, dim, PatchLayout::ChannelsFirst);
        let mut normed = ctx.scratch(map.data.len());
        self.norm.forward(ctx, &map.data, &mut normed);
        Map { data: normed, ..map }
    }

    /// A later stage's: from map to map.
    pub(crate) fn forward<'ctx>(&self, ctx: &'ctx Context, x: &Map<'_>) -> Map<'ctx> {
        let mut normed = ctx.scratch(x.data.len());
        self.norm.forward(ctx, &x.data, &mut normed);
        self.convolve(ctx, &normed, (x.batch, x.height, x.width), PatchLayout::ChannelsLast)
    }

    fn convolve<'ctx>(
        &self,
        ctx: &'ctx Context,
        x: &[f32],
        dim: (usize, usize, usize),
        layout: PatchLayout,
    ) -> Map<'ctx> {
        let (batch, height, width) = dim;
        let (channels, stride) = (self.channels, self.stride);
        let shape =
            PatchShape { batch, channels, height, width, patch_height: stride, patch_width: stride, layout };
        let ((height, width), row_len) = (shape.grid(), shape.row_len());
        let (rows, outputs) = (batch * height * width, self.convolution.outputs());
        let mut matrix = ctx.scratch(rows * row_len);
        patches(ctx, &shape, x, &mut matrix);
        let mut data = ctx.scratch(rows * outputs);
        let mut out = MatMut::new(&mut data, rows, outputs);
        self.convolution.forward(ctx, MatRef::new(&matrix, rows, row_len), &mut out, Epilogue::default());
        Map { batch, height, width, channels: outputs, data }
    }
}

/// [outputs, channels, taps] to [outputs, taps, channels]: the order in which channels-last patches lie.
fn channels_innermost(weight: &[f32], outputs: usize, channels: usize, taps: usize) -> Vec<f32> {
    let at = |o: usize, t: usize, c: usize| weight[(o * channels + c) * taps + t];
    (0..outputs * taps * channels)
        .map(|i| at(i / channels / taps, i / channels % taps, i % channels))
        .collect()
}

/// A ConvNeXt layer.
#[derive(Debug)]
pub(crate) struct ConvNextLayer {
    /// [7, 7, C].
    depthwise_weight: Vec<f32>,
    depthwise_bias: Vec<f32>,
    norm: LayerNorm,
    pointwise: Mlp,
    gamma: Vec<f32>,
}

impl ConvNextLayer {
    /// Reads a layer of `channels` channels.
    pub(crate) fn load(
        weights: &Weights<'_>,
        channels: usize,
        activation: Activation,
        eps: f64,
    ) -> Result<Self, ModelError> {
        let depthwise = weights.numbers("depthwise_conv.weight", &[channels, 1, 7, 7])?;
        let shape = MlpShape { hidden_size: channels, intermediate_size: 4 * channels, bias: true };
        Ok(Self {
            depthwise_weight: channels_innermost(&depthwise, 1, channels, 49),
            depthwise_bias: weights.read("depthwise_conv.bias", &[channels])?,
            norm: LayerNorm::load(&weights.at("layer_norm"), channels, eps)?,
            pointwise: Mlp::load_plain(weights, ["pointwise_conv1", "pointwise_conv2"], shape, activation)?,
            gamma: weights.read("gamma", &[channels])?,
        })
    }

    /// Floats a pixel of [`Self::forward`]'s working memory.
    pub(crate) fn scratch_width(&self) -> usize {
        2 * self.gamma.len() + self.pointwise.scratch_width()
    }

    /// Floats a pixel that the kernels take beside that.
    pub(crate) fn kernel_scratch(&self, ctx: &Context) -> usize {
        self.pointwise.kernel_scratch(ctx)
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.pointwise.bytes()
    }

    /// Transforms a map in place; `scratch` has [`Self::scratch_width`] floats a pixel.
    /// In train mode, `factors` is what drop path multiplies the branch by, one for each picture.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        x: &mut Map<'_>,
        scratch: &mut [f32],
        factors: Option<&[f32]>,
    ) {
        let (rows, channels) = (x.rows(), x.channels);
        let (convolved, scratch) = scratch.split_at_mut(rows * channels);
        let (normed, scratch) = scratch.split_at_mut(rows * channels);
        let shape = DepthwiseShape { batch: x.batch, height: x.height, width: x.width, channels };
        depthwise_conv7(ctx, &shape, &x.data, &self.depthwise_weight, &self.depthwise_bias, convolved);
        self.norm.forward(ctx, convolved, normed);
        let residual = Residual { x: &mut x.data, scale: &self.gamma, factors };
        self.pointwise.forward(ctx, MatRef::new(normed, rows, channels), scratch, residual);
    }
}
