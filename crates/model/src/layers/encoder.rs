//! The run through all layers, recording what was asked for: `hidden_states` (the input of the first layer, then the
//! output of each; the last one is before the final norm) and `attentions`.

use crate::{
    layers::{
        axial_rope::RopeTable,
        layer::{Layer, LayerCall},
    },
    outputs::Record,
    shape::TokenShape,
};
use dinoxide_kernels::Context;

/// The layers of a ViT.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) layers: Vec<Layer>,
}

impl Encoder {
    /// Floats a token of working memory, the widest layer's.
    pub(crate) fn scratch_width(&self) -> usize {
        self.layers.iter().map(Layer::scratch_width).max().unwrap_or(0)
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(Layer::bytes).sum()
    }

    /// Transforms the tokens `x` [B, S, D] in place.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        shape: TokenShape,
        rope: Option<&RopeTable>,
        x: &mut [f32],
        record: &mut Record,
    ) {
        let mut scratch = ctx.scratch(shape.rows() * self.scratch_width());
        record.hidden_state(x);
        for layer in &self.layers {
            let probabilities = record.attention(&shape, layer.heads());
            layer.forward(ctx, x, LayerCall { shape, rope, scratch: &mut scratch }, probabilities);
            record.hidden_state(x);
        }
    }
}
