//! Collects hidden states and attentions during a forward.

use crate::{Inputs, outputs::array3, shape::TokenShape};
use ndarray::{Array4, ArrayD};

/// What was asked for, and what is there so far.
#[derive(Debug)]
pub(crate) struct Record {
    /// Shape of a hidden state of a ViT.
    dim: (usize, usize, usize),
    /// By place: whether it is kept.
    kept: Vec<bool>,
    /// By place, up to the last one met.
    states: States,
    attentions: Attentions,
}

/// Hidden states by place, those that are kept.
pub(crate) type States = Vec<Option<ArrayD<f32>>>;

/// What becomes of the attention probabilities.
#[derive(Debug)]
enum Attentions {
    /// They are never made: the fused attention runs.
    Fused,
    /// Made by the eager attention, each layer's over the last one's.
    Dropped(Vec<f32>),
    /// Made by the eager attention and given to the caller.
    Kept(Vec<Array4<f32>>),
}

impl Record {
    /// Collects the hidden states at the places that are `kept`, and the attentions that the inputs ask for; `eager` runs the eager
    /// attention in any case.
    pub(crate) fn new(inputs: &Inputs<'_>, shape: &TokenShape, kept: Vec<bool>, eager: bool) -> Self {
        Self {
            dim: (shape.batch, shape.tokens(), shape.hidden_size),
            kept,
            states: Vec::new(),
            attentions: match (inputs.wants_attentions(), inputs.eager_attention || eager) {
                (true, _) => Attentions::Kept(Vec::new()),
                (false, true) => Attentions::Dropped(Vec::new()),
                (false, false) => Attentions::Fused,
            },
        }
    }

    /// The next hidden state is the tokens [B, S, D]; copied when it is kept.
    pub(crate) fn hidden_state(&mut self, x: &[f32]) {
        let dim = self.dim;
        self.hidden_tensor(|| array3(dim, x.to_vec()).into_dyn());
    }

    /// The next hidden state is what `make` makes, when it is kept.
    pub(crate) fn hidden_tensor(&mut self, make: impl FnOnce() -> ArrayD<f32>) {
        let kept = self.kept.get(self.states.len()) == Some(&true);
        self.states.push(kept.then(make));
    }

    /// Keeps the normed tokens in place of the last layer's output.
    pub(crate) fn replace_last_hidden_state(&mut self, normed: &[f32]) {
        self.states.pop();
        self.hidden_state(normed);
    }

    /// Room for the probabilities [B, A, S, S] of the next layer, when the eager attention is to run.
    pub(crate) fn attention(&mut self, shape: &TokenShape, heads: usize) -> Option<&mut [f32]> {
        let dim = (shape.batch, heads, shape.tokens(), shape.tokens());
        match &mut self.attentions {
            Attentions::Fused => None,
            Attentions::Dropped(one) => {
                one.resize(dim.0 * dim.1 * dim.2 * dim.3, 0.0);
                Some(one)
            }
            Attentions::Kept(all) => {
                all.push(Array4::zeros(dim));
                all.last_mut()?.as_slice_mut()
            }
        }
    }

    /// The hidden states by place, and the attentions.
    pub(crate) fn into_parts(self) -> (States, Option<Vec<Array4<f32>>>) {
        let attentions = match self.attentions {
            Attentions::Kept(all) => Some(all),
            Attentions::Fused | Attentions::Dropped(_) => None,
        };
        (self.states, attentions)
    }
}
