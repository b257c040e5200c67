//! What a forward takes and gives, under Transformers' names.

use crate::shape::{Grid, TokenShape};
use ndarray::{Array2, Array3, Array4, ArrayD, ArrayView4, Axis, Slice, s};

/// What a forward takes.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// [B, C, H, W], normalised.
    pub pixel_values: ArrayView4<'a, f32>,
    /// Also give `hidden_states`.
    pub output_hidden_states: bool,
    /// Also give `attentions`: runs the eager attention, whose memory is quadratic in the tokens.
    pub output_attentions: bool,
    /// Run the eager attention without giving its probabilities (`attn_implementation="eager"`).
    pub eager_attention: bool,
}

impl<'a> Inputs<'a> {
    /// Pixels alone.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a view is passed as a slice is
    pub fn new(pixel_values: ArrayView4<'a, f32>) -> Self {
        Self { pixel_values, output_hidden_states: false, output_attentions: false, eager_attention: false }
    }
}

/// What a forward gives.
#[derive(Debug, Clone)]
pub struct Outputs {
    /// [B, S, D] after the final norm: CLS, registers, patches row-major. For ConvNeXt [B, 1 + h·w, C]: the pooled
    /// vector, then the places of the last map.
    pub last_hidden_state: Array3<f32>,
    /// [B, D]: the first token of `last_hidden_state`.
    pub pooler_output: Array2<f32>,
    /// When asked for. ViT: L + 1 tensors [B, S, D], the embedding output first; the last one is before the final norm.
    /// ConvNeXt: the input picture, then the map [B, C, H, W] of each stage, without norm.
    pub hidden_states: Option<Vec<ArrayD<f32>>>,
    /// When asked for: L tensors [B, A, S, S], after the softmax.
    pub attentions: Option<Vec<Array4<f32>>>,
    /// Patches of a picture, or places of the last map.
    pub grid: Grid,
    /// Tokens before the patches in `last_hidden_state`: 1 + registers; 1 for ConvNeXt.
    pub prefix: usize,
}

impl Outputs {
    /// From the final tokens [B, S, D]; `record` holds what else was asked for.
    pub(crate) fn new(shape: &TokenShape, tokens: Vec<f32>, record: Record) -> Self {
        let dim = (shape.batch, shape.tokens(), shape.hidden_size);
        let last_hidden_state = array3(dim, tokens);
        let pooler_output = last_hidden_state.slice(s![.., 0, ..]).to_owned();
        let (grid, prefix) = (shape.grid, shape.prefix);
        let Record { hidden_states, attentions, .. } = record;
        let attentions = match attentions {
            Attentions::Kept(all) => Some(all),
            Attentions::Fused | Attentions::Dropped(_) => None,
        };
        Self { last_hidden_state, pooler_output, hidden_states, attentions, grid, prefix }
    }

    /// What CLS attends to in layer `layer`, as maps over the patches [B, A, rows, cols]: the first row of the
    /// attentions, CLS and registers dropped. Nothing when attentions were not asked for, or there is no such layer.
    #[must_use]
    pub fn cls_attention(&self, layer: usize) -> Option<Array4<f32>> {
        let attention = self.attentions.as_ref()?.get(layer)?;
        let (batch, heads, ..) = attention.dim();
        let row = attention.slice(s![.., .., 0, self.prefix..]).as_standard_layout().into_owned();
        row.into_shape_with_order((batch, heads, self.grid.rows, self.grid.cols)).ok()
    }

    /// B.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.pooler_output.nrows()
    }

    /// The items of the batch, each as a batch of one; nothing is copied when there is one.
    #[must_use]
    pub fn into_items(self) -> Vec<Self> {
        match self.batch() {
            1 => vec![self],
            batch => (0..batch).map(|item| self.item(item)).collect(),
        }
    }

    /// Item `item` of the batch, as a batch of one.
    ///
    /// # Panics
    /// When `item` is not in the batch.
    #[must_use]
    pub fn item(&self, item: usize) -> Self {
        let one = Slice::from(item..=item);
        let cut = |all: &ArrayD<f32>| all.slice_axis(Axis(0), one).to_owned();
        let cut4 = |all: &Array4<f32>| all.slice_axis(Axis(0), one).to_owned();
        Self {
            last_hidden_state: self.last_hidden_state.slice_axis(Axis(0), one).to_owned(),
            pooler_output: self.pooler_output.slice_axis(Axis(0), one).to_owned(),
            hidden_states: self.hidden_states.as_ref().map(|all| all.iter().map(cut).collect()),
            attentions: self.attentions.as_ref().map(|all| all.iter().map(cut4).collect()),
            ..*self
        }
    }
}

/// Collects hidden states and attentions during a forward.
#[derive(Debug)]
pub(crate) struct Record {
    /// Shape of a hidden state.
    dim: (usize, usize, usize),
    hidden_states: Option<Vec<ArrayD<f32>>>,
    attentions: Attentions,
}

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
    /// Collects what the inputs ask for.
    pub(crate) fn new(inputs: &Inputs<'_>, shape: &TokenShape) -> Self {
        Self {
            dim: (shape.batch, shape.tokens(), shape.hidden_size),
            hidden_states: inputs.output_hidden_states.then(Vec::new),
            attentions: match (inputs.output_attentions, inputs.eager_attention) {
                (true, _) => Attentions::Kept(Vec::new()),
                (false, true) => Attentions::Dropped(Vec::new()),
                (false, false) => Attentions::Fused,
            },
        }
    }

    /// Keeps a copy of the tokens [B, S, D].
    pub(crate) fn hidden_state(&mut self, x: &[f32]) {
        let dim = self.dim;
        self.hidden_tensor(|| array3(dim, x.to_vec()).into_dyn());
    }

    /// Keeps a tensor as it is.
    pub(crate) fn hidden_tensor(&mut self, make: impl FnOnce() -> ArrayD<f32>) {
        if let Some(states) = &mut self.hidden_states {
            states.push(make());
        }
    }

    /// Keeps the normed tokens in place of the last layer's output.
    pub(crate) fn replace_last_hidden_state(&mut self, normed: &[f32]) {
        self.hidden_states.as_mut().and_then(Vec::pop);
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
}

/// A [B, S, D] array over its elements in order.
///
/// # Panics
/// When `data` has another length, which is a mistake of the caller.
pub(crate) fn array3(dim: (usize, usize, usize), data: Vec<f32>) -> Array3<f32> {
    #[allow(clippy::expect_used)] // the callers make `data` of this length
    Array3::from_shape_vec(dim, data).expect("as many elements as the shape has")
}
