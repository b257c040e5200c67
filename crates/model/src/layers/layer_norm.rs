//! LayerNorm over the last axis (biased variance), with weight and bias.

use crate::{ModelError, weights::Weights};
use dinoxide_kernels::{Context, MatMut, layer_norm};

/// A layer norm.
#[derive(Debug)]
pub(crate) struct LayerNorm {
    weight: Vec<f32>,
    bias: Vec<f32>,
    eps: f32,
}

impl LayerNorm {
    /// Reads `weight` and `bias`, both [width].
    pub(crate) fn load(weights: &Weights<'_>, width: usize, eps: f64) -> Result<Self, ModelError> {
        let (weight, bias) = (weights.read("weight", &[width])?, weights.read("bias", &[width])?);
        Ok(Self { weight, bias, eps: eps as f32 })
    }

    /// Normalises each row of `x` [rows, width] into `out` [rows, width].
    pub(crate) fn forward(&self, ctx: &Context, x: &[f32], out: &mut [f32]) {
        let width = self.weight.len();
        let rows = x.len() / width.max(1);
        self.forward_rows(ctx, x, &mut MatMut::new(out, rows, width));
    }

    /// [`Self::forward`] into rows that may be apart.
    pub(crate) fn forward_rows(&self, ctx: &Context, x: &[f32], out: &mut MatMut<'_>) {
        layer_norm(ctx, x, &self.weight, &self.bias, self.eps, out);
    }
}
