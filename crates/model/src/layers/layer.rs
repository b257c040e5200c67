//! One pre-norm layer with layer scale, the same in all ViT families:
//! `x += λ1 ⊙ attention(norm1(x))`, then `x += λ2 ⊙ mlp(norm2(x))`.

use crate::{
    ModelError,
    layers::{
        attention::{Attention, AttentionConfig, AttentionInput},
        axial_rope::RopeTable,
        layer_norm::LayerNorm,
        linear::Linear,
        mlp::Mlp,
    },
    shape::TokenShape,
    train::LayerDraws,
    weights::Weights,
};
use dinoxide_kernels::{Context, Epilogue, MatMut, MatRef, row_stride};

/// Where a branch adds its result: `x += scale ⊙ branch`.
pub(crate) struct Residual<'a> {
    pub(crate) x: &'a mut [f32],
    pub(crate) scale: &'a [f32],
    /// In train mode, what drop path multiplies the branch by, a factor for each picture.
    pub(crate) factors: Option<&'a [f32]>,
}

impl Residual<'_> {
    /// `x += scale ⊙ linear(input)`; `input` has a row a token.
    pub(crate) fn add(self, ctx: &Context, linear: &Linear, input: MatRef<'_>) {
        let Some(factors) = self.factors.filter(|factors| !factors.is_empty()) else {
            let mut out = MatMut::new(self.x, input.rows(), linear.outputs());
            linear.forward(ctx, input, &mut out, add_scaled(self.scale));
            return;
        };
        let rows = input.rows() / factors.len();
        let items = self.x.chunks_exact_mut(rows * linear.outputs());
        for (item, (x, &factor)) in items.zip(factors).enumerate().filter(|(_, (_, factor))| **factor > 0.0) {
            let scale: Vec<f32> = self.scale.iter().map(|scale| scale * factor).collect();
            let mut out = MatMut::new(x, rows, linear.outputs());
            linear.forward(ctx, input.rows_from(item * rows, rows), &mut out, add_scaled(&scale));
        }
    }
}

/// `out += scale ⊙ result`.
fn add_scaled(scale: &[f32]) -> Epilogue<'_> {
    Epilogue { scale: Some(scale), accumulate: true, ..Epilogue::default() }
}

/// A transformer layer.
#[derive(Debug)]
pub(crate) struct Layer {
    norm1: LayerNorm,
    attention: Attention,
    layer_scale1: Vec<f32>,
    norm2: LayerNorm,
    mlp: Mlp,
    layer_scale2: Vec<f32>,
}

impl Layer {
    /// Reads a layer: norms, layer scales and attention; the family reads its own `mlp`.
    pub(crate) fn load(
        weights: &Weights<'_>,
        attention: &AttentionConfig,
        eps: f64,
        mlp: impl FnOnce(&Weights<'_>) -> Result<Mlp, ModelError>,
    ) -> Result<Self, ModelError> {
        let width = attention.hidden_size;
        Ok(Self {
            norm1: LayerNorm::load(&weights.at("norm1"), width, eps)?,
            attention: Attention::load(&weights.at("attention"), attention)?,
            layer_scale1: weights.read("layer_scale1.lambda1", &[width])?,
            norm2: LayerNorm::load(&weights.at("norm2"), width, eps)?,
            mlp: mlp(&weights.at("mlp"))?,
            layer_scale2: weights.read("layer_scale2.lambda1", &[width])?,
        })
    }

    /// Floats a token of [`Self::forward`]'s working memory. Attention and MLP share a part of it, or have their parts `apart`: then
    /// threads that share a picture do not write where others have just read.
    pub(crate) fn scratch_width(&self, apart: bool) -> usize {
        let (attention, mlp) = (self.attention.scratch_width(), self.mlp.scratch_width());
        row_stride(self.layer_scale1.len()) + if apart { attention + mlp } else { attention.max(mlp) }
    }

    /// Floats a token that the kernels take beside that, at most at the same time.
    pub(crate) fn kernel_scratch(&self, ctx: &Context) -> usize {
        self.attention.kernel_scratch(ctx).max(self.mlp.kernel_scratch(ctx))
    }

    /// A.
    pub(crate) fn heads(&self) -> usize {
        self.attention.heads()
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.attention.bytes() + self.mlp.bytes()
    }

    /// Transforms the tokens `x` [B, S, D] in place; the working memory has [`Self::scratch_width`] floats a token.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        x: &mut [f32],
        call: LayerCall<'_>,
        probabilities: Option<&mut [f32]>,
    ) {
        let LayerCall { shape, rope, key_mask, drawn, scratch, apart } = call;
        let factors = |branch: usize| drawn.and_then(|drawn| drawn.branches[branch].as_deref());
        let (rows, width) = (shape.rows(), shape.hidden_size);
        let stride = row_stride(width);
        let (normed, scratch) = scratch.split_at_mut(rows * stride);
        self.norm1.forward_rows(ctx, x, &mut MatMut::with_stride(normed, rows, width, stride));
        let dropout = drawn.and_then(|drawn| drawn.attention.as_ref());
        let x_normed = MatRef::with_stride(normed, rows, width, stride);
        let input = AttentionInput { shape, x: x_normed, rope, key_mask, dropout };
        let residual = Residual { x: &mut *x, scale: &self.layer_scale1, factors: factors(0) };
        self.attention.forward(ctx, &input, scratch, probabilities, residual);
        let mlp_scratch = if apart { rows * self.attention.scratch_width() } else { 0 };
        self.norm2.forward_rows(ctx, x, &mut MatMut::with_stride(normed, rows, width, stride));
        let residual = Residual { x, scale: &self.layer_scale2, factors: factors(1) };
        let x_normed = MatRef::with_stride(normed, rows, width, stride);
        self.mlp.forward(ctx, x_normed, &mut scratch[mlp_scratch..], residual);
    }
}

/// What a layer needs beside the tokens.
pub(crate) struct LayerCall<'a> {
    pub(crate) shape: TokenShape,
    pub(crate) rope: Option<&'a RopeTable>,
    /// [B, S]: the keys that are attended to.
    pub(crate) key_mask: Option<&'a [bool]>,
    /// In train mode.
    pub(crate) drawn: Option<&'a LayerDraws>,
    pub(crate) scratch: &'a mut [f32],
    /// See [`Layer::scratch_width`].
    pub(crate) apart: bool,
}
