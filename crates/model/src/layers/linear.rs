//! `y = x·Wᵀ + b`: a weight [out, in], packed at load, and its bias.

use crate::{ModelError, layers::packing, weights::Weights};
use dinoxide_kernels::{Context, Epilogue, MatMut, MatRef, PackedWeight, gemm};

/// A linear layer.
#[derive(Debug)]
pub(crate) struct Linear {
    weight: PackedWeight,
    bias: Option<Vec<f32>>,
}

/// The sizes of a linear layer, and whether it has a bias.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearShape {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) bias: bool,
}

impl Linear {
    /// Reads `weight` [outputs, inputs], in the precision of the load, and, when there is one, `bias` [outputs].
    pub(crate) fn load(weights: &Weights<'_>, shape: LinearShape) -> Result<Self, ModelError> {
        let weight = packing::pack(std::slice::from_ref(weights), &[shape])?;
        let bias = shape.bias.then(|| weights.read("bias", &[shape.outputs])).transpose()?;
        Ok(Self { weight, bias })
    }

    /// From a weight [outputs, inputs] already in memory, in f32: that of a convolution.
    pub(crate) fn new(
        weights: &Weights<'_>,
        weight: &[f32],
        shape: LinearShape,
        bias: Option<Vec<f32>>,
    ) -> Self {
        Self { weight: PackedWeight::pack(weights.context(), weight, shape.outputs, shape.inputs), bias }
    }

    /// Several linear layers over the same input as one: their outputs lie side by side. A layer without bias
    /// has a bias of zeros.
    pub(crate) fn load_fused(weights: &[Weights<'_>], shapes: &[LinearShape]) -> Result<Self, ModelError> {
        let mut bias = Vec::new();
        for (weights, shape) in weights.iter().zip(shapes) {
            match shape.bias {
                true => bias.extend(weights.read("bias", &[shape.outputs])?),
                false => bias.resize(bias.len() + shape.outputs, 0.0),
            }
        }
        Ok(Self {
            weight: packing::pack(weights, shapes)?,
            bias: shapes.iter().any(|shape| shape.bias).then_some(bias),
        })
    }

    /// Output features.
    pub(crate) fn outputs(&self) -> usize {
        self.weight.n()
    }

    /// See [`PackedWeight::allows_rounded_rows`].
    pub(crate) fn allows_rounded_rows(&self) -> bool {
        self.weight.allows_rounded_rows()
    }

    /// See [`PackedWeight::row_scratch`].
    pub(crate) fn row_scratch(&self, ctx: &Context) -> usize {
        self.weight.row_scratch(ctx)
    }

    /// Bytes of the packed weight.
    pub(crate) fn bytes(&self) -> usize {
        self.weight.bytes()
    }

    /// `out = epilogue(x·Wᵀ + b)`: `x` is [rows, inputs], `out` [rows, outputs]; the epilogue's own bias is replaced.
    pub(crate) fn forward(&self, ctx: &Context, x: MatRef<'_>, out: &mut MatMut<'_>, epilogue: Epilogue<'_>) {
        gemm(ctx, x, &self.weight, &Epilogue { bias: self.bias.as_deref(), ..epilogue }, out);
    }
}
