//! The run through all layers, recording what was asked for: `hidden_states` (the input of the first layer, then the
//! output of each; the last one is before the final norm) and `attentions`.

use crate::{
    Inputs, ModelError,
    layers::{
        axial_rope::RopeTable,
        layer::{Layer, LayerCall},
    },
    memory::{self, MAX_ATTENTION_BYTES},
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
    /// Refuses inputs whose tokens, working memory and asked-for outputs cannot be had.
    ///
    /// # Errors
    /// Attentions above [`MAX_ATTENTION_BYTES`], or more memory than the system gives.
    pub(crate) fn check_memory(&self, shape: &TokenShape, inputs: &Inputs<'_>) -> Result<(), ModelError> {
        let (rows, width, layers) = (shape.rows(), shape.hidden_size, self.layers.len());
        let (what, tokens) = ("tokens", [shape.batch, shape.tokens(), width]);
        let states = if inputs.output_hidden_states { layers + 1 } else { 0 };
        let buffers = [
            memory::bytes(what, &[rows, width, 3 + states])?,
            memory::bytes(what, &[rows, self.scratch_width()])?,
            self.attention_bytes(shape, inputs)?,
        ];
        memory::probe(what, &tokens, &buffers)
    }

    /// Bytes of the probabilities [B, A, S, S]: of all layers when they are kept, else of one, else none.
    fn attention_bytes(&self, shape: &TokenShape, inputs: &Inputs<'_>) -> Result<usize, ModelError> {
        let layers = match (inputs.output_attentions, inputs.eager_attention) {
            (true, _) => self.layers.len(),
            (false, true) => 1,
            (false, false) => return Ok(0),
        };
        let heads = self.layers.first().map_or(0, Layer::heads);
        let one = [shape.batch, heads, shape.tokens(), shape.tokens()];
        let bytes = memory::bytes("attentions", &[&one[..], &[layers]].concat());
        match bytes {
            Ok(bytes) if bytes <= MAX_ATTENTION_BYTES => Ok(bytes),
            _ => Err(ModelError::AttentionsTooLarge {
                shape: one.to_vec(),
                layers,
                limit: MAX_ATTENTION_BYTES,
            }),
        }
    }

    /// Floats a token of working memory, the widest layer's.
    fn scratch_width(&self) -> usize {
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
