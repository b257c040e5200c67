//! What a forward gives, under Transformers' names.

use crate::{
    record::{Record, reuse},
    shape::{Grid, TokenShape},
};
use ndarray::{Array2, Array3, Array4, ArrayD, Axis, Slice, s};
use std::ops::Index;

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
    pub hidden_states: Option<HiddenStates>,
    /// When asked for: L tensors [B, A, S, S], after the softmax (and, in train mode, after the dropout).
    pub attentions: Option<Vec<Array4<f32>>>,
    /// Patches of a picture, or places of the last map.
    pub grid: Grid,
    /// Tokens before the patches in `last_hidden_state`: 1 + registers; 1 for ConvNeXt.
    pub prefix: usize,
}

impl Default for Outputs {
    /// Nothing yet: what a first forward writes into.
    fn default() -> Self {
        Self {
            last_hidden_state: Array3::zeros((0, 0, 0)),
            pooler_output: Array2::zeros((0, 0)),
            hidden_states: None,
            attentions: None,
            grid: Grid { rows: 0, cols: 0 },
            prefix: 0,
        }
    }
}

impl Outputs {
    /// Takes the shape of a result, reusing arrays that have it already, and gives room for what else was asked for, reused
    /// likewise. What was not asked for goes.
    pub(crate) fn begin(&mut self, shape: &TokenShape) -> Record {
        let TokenShape { batch, hidden_size, grid, prefix, .. } = *shape;
        let last_hidden_state = std::mem::replace(&mut self.last_hidden_state, Array3::zeros((0, 0, 0)));
        self.last_hidden_state = reuse(Some(last_hidden_state), (batch, shape.tokens(), hidden_size));
        let pooler_output = std::mem::replace(&mut self.pooler_output, Array2::zeros((0, 0)));
        self.pooler_output = reuse(Some(pooler_output), (batch, hidden_size));
        (self.grid, self.prefix) = (grid, prefix);
        let states = self.hidden_states.take().map_or_else(Vec::new, |states| states.0);
        Record { states, attentions: self.attentions.take().unwrap_or_default() }
    }

    /// The floats of `last_hidden_state`.
    pub(crate) fn tokens_mut(&mut self) -> &mut [f32] {
        self.last_hidden_state.as_slice_mut().unwrap_or_default() // `begin` made it in row-major order
    }

    /// Takes the first token for `pooler_output`, and the record for what was asked for.
    pub(crate) fn finish(&mut self, record: Record, states: bool, attentions: bool) {
        self.pooler_output.assign(&self.last_hidden_state.slice(s![.., 0, ..]));
        self.hidden_states = states.then_some(HiddenStates(record.states));
        self.attentions = attentions.then_some(record.attentions);
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

    /// The patch tokens as a map [B, D, rows, cols], CLS and registers dropped.
    #[must_use]
    pub fn patch_features(&self) -> Array4<f32> {
        token_map(&self.last_hidden_state, self.prefix, self.grid)
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
        Self {
            last_hidden_state: self.last_hidden_state.slice_axis(Axis(0), one).to_owned(),
            pooler_output: self.pooler_output.slice_axis(Axis(0), one).to_owned(),
            hidden_states: self.hidden_states.as_ref().map(|all| all.item(item)),
            attentions: self.attentions.as_deref().map(|all| attentions_item(all, item)),
            ..*self
        }
    }
}

/// Hidden states by place; only those that were asked for are there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HiddenStates(Vec<Option<ArrayD<f32>>>);

impl HiddenStates {
    /// Those of `states` that are `wanted`.
    pub(crate) fn select(states: &[Option<ArrayD<f32>>], wanted: &[bool]) -> Self {
        let keep =
            |(state, wanted): (&Option<ArrayD<f32>>, &bool)| state.as_ref().filter(|_| *wanted).cloned();
        Self(states.iter().zip(wanted).map(keep).collect())
    }

    /// Places, whether there is a state or not: L + 1, or stages + 1.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no places.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The state at a place, if it was asked for.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&ArrayD<f32>> {
        self.0.get(place)?.as_ref()
    }

    /// The state at the last place, which is after the last layer or stage, if it was asked for.
    #[must_use]
    pub fn last(&self) -> Option<&ArrayD<f32>> {
        self.0.last()?.as_ref()
    }

    /// The states that are there, each with its place.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &ArrayD<f32>)> {
        self.0.iter().enumerate().filter_map(|(place, state)| Some((place, state.as_ref()?)))
    }

    /// The states that are there, each with its place.
    pub fn into_states(self) -> impl Iterator<Item = (usize, ArrayD<f32>)> {
        self.0.into_iter().enumerate().filter_map(|(place, state)| Some((place, state?)))
    }

    /// Item `item` of the batch, as a batch of one.
    ///
    /// # Panics
    /// When `item` is not in the batch.
    #[must_use]
    pub fn item(&self, item: usize) -> Self {
        let cut = |state: &ArrayD<f32>| state.slice_axis(Axis(0), Slice::from(item..=item)).to_owned();
        Self(self.0.iter().map(|state| state.as_ref().map(cut)).collect())
    }
}

impl Index<usize> for HiddenStates {
    type Output = ArrayD<f32>;

    /// # Panics
    /// When the state at this place was not asked for.
    fn index(&self, place: usize) -> &ArrayD<f32> {
        #[allow(clippy::panic)] // as an index out of bounds
        self.get(place).unwrap_or_else(|| panic!("hidden state {place} of {} was not asked for", self.len()))
    }
}

/// Item `item` of each tensor, as a batch of one.
pub(crate) fn attentions_item(all: &[Array4<f32>], item: usize) -> Vec<Array4<f32>> {
    all.iter().map(|one| one.slice_axis(Axis(0), Slice::from(item..=item)).to_owned()).collect()
}

/// The patch tokens of [B, S, D] as a map [B, D, rows, cols].
pub(crate) fn token_map(tokens: &Array3<f32>, prefix: usize, grid: Grid) -> Array4<f32> {
    let (batch, _, width) = tokens.dim();
    let patches = tokens.slice(s![.., prefix.., ..]).permuted_axes([0, 2, 1]);
    #[allow(clippy::expect_used)] // there are rows·cols tokens after the prefix
    patches
        .as_standard_layout()
        .into_owned()
        .into_shape_with_order((batch, width, grid.rows, grid.cols))
        .expect("as many tokens as the grid has patches")
}

/// A [B, S, D] array over its elements in order.
///
/// # Panics
/// When `data` has another length, which is a mistake of the caller.
pub(crate) fn array3(dim: (usize, usize, usize), data: Vec<f32>) -> Array3<f32> {
    #[allow(clippy::expect_used)] // the callers make `data` of this length
    Array3::from_shape_vec(dim, data).expect("as many elements as the shape has")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_state_is_that_of_the_last_place_and_no_earlier_one() {
        let state = |value| Some(ArrayD::from_elem(vec![1, 2, 3], value));
        let states = [state(0.0), state(1.0), state(2.0)];
        let all = HiddenStates::select(&states, &[true; 3]);
        assert_eq!(all.last(), states[2].as_ref());
        assert_eq!(HiddenStates::select(&states, &[true, true, false]).last(), None);
        assert_eq!(HiddenStates::default().last(), None);
    }
}
