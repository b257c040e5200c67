//! The run through all layers, recording what was asked for: `hidden_states` (the input of the first layer, then the
//! output of each; the last one is before the final norm) and `attentions`.

use crate::{
    Draws, Inputs, ModelError,
    layers::{
        axial_rope::RopeTable,
        layer::{Layer, LayerCall},
    },
    memory::{self, MAX_ATTENTION_BYTES},
    record::Record,
    shape::TokenShape,
    train::{LayerDraws, TrainRates},
};
use dinoxide_kernels::Context;

/// The layers of a ViT.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) layers: Vec<Layer>,
}

/// What a run needs beside the tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) shape: TokenShape,
    pub(crate) rope: Option<&'a RopeTable>,
    /// [B, S]: the keys that are attended to.
    pub(crate) key_mask: Option<&'a [bool]>,
    /// In train mode.
    pub(crate) train: Option<(&'a dyn Draws, TrainRates)>,
}

impl Encoder {
    /// How many hidden states there are: none of no layers, as Transformers records them at the layers.
    pub(crate) fn hidden_states(&self) -> usize {
        if self.layers.is_empty() { 0 } else { self.layers.len() + 1 }
    }

    /// Refuses inputs whose tokens, working memory and asked-for outputs cannot be had. `kept` says which hidden states stay;
    /// `drops_probabilities`, that the eager attention runs for the sake of dropout.
    ///
    /// # Errors
    /// Attentions above [`MAX_ATTENTION_BYTES`], or more memory than the system gives.
    pub(crate) fn check_memory(
        &self,
        shape: &TokenShape,
        inputs: &Inputs<'_>,
        kept: &[bool],
        drops_probabilities: bool,
    ) -> Result<(), ModelError> {
        let (rows, width) = (shape.rows(), shape.hidden_size);
        let (what, tokens) = ("tokens", [shape.batch, shape.tokens(), width]);
        let states = kept.iter().filter(|kept| **kept).count();
        let layers = match (inputs.wants_attentions(), inputs.eager_attention || drops_probabilities) {
            (true, _) => self.layers.len(),
            (false, true) => 1,
            (false, false) => 0,
        };
        let buffers = [
            memory::bytes(what, &[rows, width, 3 + states])?,
            memory::bytes(what, &[rows, self.scratch_width()])?,
            self.attention_bytes(shape, layers)?,
        ];
        memory::probe(what, &tokens, &buffers)
    }

    /// Bytes of the probabilities [B, A, S, S] of so many layers.
    fn attention_bytes(&self, shape: &TokenShape, layers: usize) -> Result<usize, ModelError> {
        let heads = self.layers.first().map_or(0, Layer::heads);
        let one = [shape.batch, heads, shape.tokens(), shape.tokens()];
        let bytes = memory::bytes("attentions", &[&one[..], &[layers]].concat());
        match bytes {
            Ok(bytes) if bytes <= MAX_ATTENTION_BYTES => Ok(bytes),
            _ if layers == 0 => Ok(0),
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
    pub(crate) fn forward(&self, ctx: &Context, call: Call<'_>, x: &mut [f32], record: &mut Record) {
        let Call { shape, rope, key_mask, train } = call;
        let mut scratch = ctx.scratch(shape.rows() * self.scratch_width());
        if !self.layers.is_empty() {
            record.hidden_state(x);
        }
        for (i, layer) in self.layers.iter().enumerate() {
            let drawn = train.map(|(draws, rates)| LayerDraws::new(draws, rates, i, &shape, layer.heads()));
            let probabilities = record.attention(&shape, layer.heads());
            let call = LayerCall { shape, rope, key_mask, drawn: drawn.as_ref(), scratch: &mut scratch };
            layer.forward(ctx, x, call, probabilities);
            record.hidden_state(x);
        }
    }
}
