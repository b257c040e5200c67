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
    weights::Weights,
};
use dinoxide_kernels::{Context, Epilogue, MatMut, MatRef};

/// Where a branch adds its result: `x += scale ⊙ branch`.
pub(crate) struct Residual<'a> {
    pub(crate) x: &'a mut [f32],
    pub(crate) scale: &'a [f32],
}

impl Residual<'_> {
    /// `x += scale ⊙ linear(input)`; `input` has a row a token.
    pub(crate) fn add(self, ctx: &Context, linear: &Linear, input: MatRef<'_>) {
        let mut out = MatMut::new(self.x, input.rows(), linear.outputs());
        let epilogue = Epilogue { scale: Some(self.scale), accumulate: true, ..Epilogue::default() };
        linear.forward(ctx, input, &mut out, epilogue);
    }
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

    /// Floats a token of [`Self::forward`]'s working memory.
    pub(crate) fn scratch_width(&self) -> usize {
        self.layer_scale1.len() + self.attention.scratch_width().max(self.mlp.scratch_width())
    }

    /// A.
    pub(crate) fn heads(&self) -> usize {
        self.attention.heads()
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.attention.bytes() + self.mlp.bytes()
    }

    /// Transforms the tokens `x` [B, S, D] in place; `scratch` has [`Self::scratch_width`] floats a token.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        x: &mut [f32],
        call: LayerCall<'_>,
        probabilities: Option<&mut [f32]>,
    ) {
        let LayerCall { shape, rope, scratch } = call;
        let (rows, width) = (shape.rows(), shape.hidden_size);
        let (normed, scratch) = scratch.split_at_mut(shape.len());
        self.norm1.forward(ctx, x, normed);
        let input = AttentionInput { shape, x: MatRef::new(normed, rows, width), rope };
        let residual = Residual { x: &mut *x, scale: &self.layer_scale1 };
        self.attention.forward(ctx, &input, scratch, probabilities, residual);
        self.norm2.forward(ctx, x, normed);
        let residual = Residual { x, scale: &self.layer_scale2 };
        self.mlp.forward(ctx, MatRef::new(normed, rows, width), scratch, residual);
    }
}

/// What a layer needs beside the tokens.
pub(crate) struct LayerCall<'a> {
    pub(crate) shape: TokenShape,
    pub(crate) rope: Option<&'a RopeTable>,
    pub(crate) scratch: &'a mut [f32],
}
