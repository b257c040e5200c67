//! The run through all layers, recording what was asked for: `hidden_states` (the input of the first layer, then the
//! output of each; the last one is before the final norm) and `attentions`.

use crate::{
    Draws, ModelError,
    interrupt::Stop,
    layers::{
        axial_rope::RopeTable,
        layer::{Layer, LayerCall},
    },
    memory::{self, MAX_ATTENTION_BYTES, Probe},
    record::{Probabilities, Recorder},
    shape::TokenShape,
    train::{LayerDraws, TrainRates},
};
use dinoxide_kernels::Context;

/// The most floats of working memory whose parts lie apart: 16 MiB, some 1,300 tokens of a small model. Beyond it memory counts more.
const MAX_APART: usize = 4 << 20;

/// The layers of a ViT.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) layers: Vec<Layer>,
    memory: Probe,
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
    pub(crate) stop: &'a Stop<'a>,
}

impl Encoder {
    /// Of these layers.
    pub(crate) fn new(layers: Vec<Layer>) -> Self {
        Self { layers, memory: Probe::default() }
    }

    /// How many hidden states there are: none of no layers, as Transformers records them at the layers.
    pub(crate) fn hidden_states(&self) -> usize {
        if self.layers.is_empty() { 0 } else { self.layers.len() + 1 }
    }

    /// A.
    pub(crate) fn heads(&self) -> usize {
        self.layers.first().map_or(0, Layer::heads)
    }

    /// Refuses inputs whose tokens, working memory and asked-for outputs cannot be had: `states` hidden states, `at_work` items
    /// that are computed at the same time.
    ///
    /// # Errors
    /// Attentions above [`MAX_ATTENTION_BYTES`], or more memory than the system gives.
    pub(crate) fn check_memory(
        &self,
        ctx: &Context,
        shape: &TokenShape,
        states: usize,
        at_work: usize,
        probabilities: Probabilities,
    ) -> Result<(), ModelError> {
        let (rows, width) = (shape.rows(), shape.hidden_size);
        let working = at_work.saturating_mul(shape.tokens());
        let (what, tokens) = ("tokens", [shape.batch, shape.tokens(), width]);
        let layers = match probabilities {
            Probabilities::Kept => self.layers.len(),
            Probabilities::Dropped => 1,
            Probabilities::Fused => 0,
        };
        let kernels = self.layers.iter().map(|layer| layer.kernel_scratch(ctx)).max().unwrap_or(0);
        let buffers = [
            memory::bytes(what, &[rows, width, 1 + states])?,
            memory::bytes(what, &[working, width + self.scratch_width(false) + kernels])?,
            self.attention_bytes(shape, layers)?,
        ];
        self.memory.check(what, &tokens, &buffers)
    }

    /// Bytes of the probabilities [B, A, S, S] of so many layers.
    fn attention_bytes(&self, shape: &TokenShape, layers: usize) -> Result<usize, ModelError> {
        let one @ [batch, heads, queries, keys] = [shape.batch, self.heads(), shape.tokens(), shape.tokens()];
        let bytes = memory::bytes("attentions", &[batch, heads, queries, keys, layers]);
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

    /// Floats a token of working memory, the widest layer's; see [`Layer::scratch_width`].
    fn scratch_width(&self, apart: bool) -> usize {
        self.layers.iter().map(|layer| layer.scratch_width(apart)).max().unwrap_or(0)
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.layers.iter().map(Layer::bytes).sum()
    }

    /// Transforms the tokens `x` [B, S, D] in place.
    pub(crate) fn forward<'ctx>(
        &self,
        ctx: &'ctx Context,
        call: Call<'_>,
        x: &mut [f32],
        recorder: &mut Recorder<'_, '_, 'ctx>,
    ) {
        let Call { shape, rope, key_mask, train, stop } = call;
        let apart = ctx.hands() > 1 && shape.rows() * self.scratch_width(true) <= MAX_APART;
        let mut scratch = ctx.scratch(shape.rows() * self.scratch_width(apart));
        if !self.layers.is_empty() {
            recorder.hidden_state(|state| state.copy_from_slice(x));
        }
        for (i, layer) in self.layers.iter().enumerate() {
            if stop.now() {
                return;
            }
            let drawn = train.map(|(draws, rates)| LayerDraws::new(draws, rates, i, &shape, layer.heads()));
            let probabilities = recorder.attention(ctx, shape.rows() * layer.heads() * shape.tokens());
            let drawn = drawn.as_ref();
            let call = LayerCall { shape, rope, key_mask, drawn, scratch: &mut scratch, apart };
            layer.forward(ctx, x, call, probabilities);
            recorder.hidden_state(|state| state.copy_from_slice(x));
        }
    }
}
