//! The two feed-forward forms: `down(act(up(x)))`, and gated `down(act(gate(x)) ⊙ up(x))`.

use crate::{
    ModelError,
    layers::{
        layer::Residual,
        linear::{Linear, LinearShape},
    },
    weights::Weights,
};
use dinoxide_kernels::{Activation, Context, Epilogue, MatMut, MatRef, gate, row_stride};

/// A feed-forward layer.
#[derive(Debug)]
pub(crate) enum Mlp {
    /// `down(act(up(x)))`.
    Plain { up: Linear, activation: Activation, down: Linear },
    /// `down(act(gate(x)) ⊙ up(x))`: one fused linear gives the gate, then up.
    Gated { gate_up: Linear, activation: Activation, down: Linear },
}

impl Mlp {
    /// Reads a plain feed-forward; `names` are those of its two linears.
    pub(crate) fn load_plain(
        weights: &Weights<'_>,
        names: [&str; 2],
        shape: MlpShape,
        activation: Activation,
    ) -> Result<Self, ModelError> {
        let up = Linear::load(&weights.at(names[0]), shape.up())?;
        Ok(Self::Plain { up, activation, down: Linear::load(&weights.at(names[1]), shape.down())? })
    }

    /// Reads a gated feed-forward whose gate and up are one tensor, gate rows first.
    pub(crate) fn load_fused_gate(
        weights: &Weights<'_>,
        names: [&str; 2],
        shape: MlpShape,
        activation: Activation,
    ) -> Result<Self, ModelError> {
        let fused = LinearShape { outputs: 2 * shape.intermediate_size, ..shape.up() };
        let gate_up = Linear::load(&weights.at(names[0]), fused)?;
        Ok(Self::Gated { gate_up, activation, down: Linear::load(&weights.at(names[1]), shape.down())? })
    }

    /// Reads a gated feed-forward of three linears: gate, up, down.
    pub(crate) fn load_gated(
        weights: &Weights<'_>,
        names: [&str; 3],
        shape: MlpShape,
        activation: Activation,
    ) -> Result<Self, ModelError> {
        let pair = [weights.at(names[0]), weights.at(names[1])];
        let gate_up = Linear::load_fused(&pair, &[shape.up(), shape.up()])?;
        Ok(Self::Gated { gate_up, activation, down: Linear::load(&weights.at(names[2]), shape.down())? })
    }

    /// Floats a token of [`Self::forward`]'s working memory.
    pub(crate) fn scratch_width(&self) -> usize {
        match self {
            Self::Plain { up, .. } => row_stride(up.outputs()),
            Self::Gated { gate_up, .. } => gate_up.outputs() + row_stride(gate_up.outputs() / 2),
        }
    }

    /// Floats a row that the kernels take beside that.
    pub(crate) fn kernel_scratch(&self, ctx: &Context) -> usize {
        match self {
            Self::Plain { up, down, .. } | Self::Gated { gate_up: up, down, .. } => {
                up.row_scratch(ctx).max(down.row_scratch(ctx))
            }
        }
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Plain { up, down, .. } => up.bytes() + down.bytes(),
            Self::Gated { gate_up, down, .. } => gate_up.bytes() + down.bytes(),
        }
    }

    /// `residual += scale ⊙ mlp(x)`; `x` is [rows, D], `scratch` has [`Self::scratch_width`] floats a row.
    pub(crate) fn forward(&self, ctx: &Context, x: MatRef<'_>, scratch: &mut [f32], residual: Residual<'_>) {
        let rows = x.rows();
        match self {
            Self::Plain { up, activation, down } => {
                let (width, stride) = (up.outputs(), row_stride(up.outputs()));
                let hidden = &mut scratch[..rows * stride];
                let epilogue = Epilogue { activation: Some(*activation), ..Epilogue::default() };
                up.forward(ctx, x, &mut MatMut::with_stride(hidden, rows, width, stride), epilogue);
                residual.add(ctx, down, MatRef::with_stride(hidden, rows, width, stride));
            }
            Self::Gated { gate_up, activation, down } => {
                let width = gate_up.outputs() / 2;
                let (both, rest) = scratch.split_at_mut(rows * 2 * width);
                let stride = row_stride(width);
                let hidden = &mut rest[..rows * stride];
                gate_up.forward(ctx, x, &mut MatMut::new(both, rows, 2 * width), Epilogue::default());
                gate(ctx, *activation, both, &mut MatMut::with_stride(hidden, rows, width, stride));
                residual.add(ctx, down, MatRef::with_stride(hidden, rows, width, stride));
            }
        }
    }
}

/// The sizes of a feed-forward.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MlpShape {
    pub(crate) hidden_size: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) bias: bool,
}

impl MlpShape {
    fn up(self) -> LinearShape {
        LinearShape { inputs: self.hidden_size, outputs: self.intermediate_size, bias: self.bias }
    }

    fn down(self) -> LinearShape {
        LinearShape { inputs: self.intermediate_size, outputs: self.hidden_size, bias: self.bias }
    }
}
