//! What a forward takes, under Transformers' names.

use crate::{Draws, Interrupt, ModelError, shape::TokenShape};
use dinoxide_checkpoint::config::CommonConfig;
use ndarray::{ArrayView2, ArrayView4, CowArray, Ix2};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

/// What a forward takes.
///
/// ```
/// # use dinoxide_model::Inputs;
/// # use ndarray::Array4;
/// let pixels = Array4::<f32>::zeros((1, 3, 224, 224));
/// let inputs = Inputs::new(pixels.view()).with_hidden_states([-2, -1]).with_attentions();
/// ```
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// [B, C, H, W], normalised.
    pub pixel_values: ArrayView4<'a, f32>,
    /// [B, N] over the patches, row-major: those that the mask token replaces. ViT families.
    pub bool_masked_pos: Option<ArrayView2<'a, bool>>,
    /// [B, S] over all tokens, CLS and registers included: the keys that are attended to. A masked token is still computed; where all
    /// keys of a picture are masked, the fused attention gives 0, and in the eager one each counts the same. DINOv2 families.
    pub attention_mask: Option<ArrayView2<'a, bool>>,
    /// Which `hidden_states` to give as well.
    pub output_hidden_states: OutputHiddenStates,
    /// Whether to give `attentions` as well, which runs the eager attention, whose memory is quadratic in the tokens; absent, the
    /// config's `output_attentions` says.
    pub output_attentions: Option<bool>,
    /// Run the eager attention without giving its probabilities (`attn_implementation="eager"`).
    pub eager_attention: bool,
    /// Run in train mode: dropout, drop path and the augmentation of RoPE, as the config says, with these draws. Without them
    /// the forward is that of eval mode, and draws nothing.
    pub train: Option<&'a dyn Draws>,
    /// Who may stop the forward before its end, which is then [`ModelError::Interrupted`].
    pub interrupt: Option<&'a dyn Interrupt>,
}

impl<'a> Inputs<'a> {
    /// Pixels [B, C, H, W] alone.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a view is passed as a slice is
    pub fn new(pixel_values: ArrayView4<'a, f32>) -> Self {
        Self {
            pixel_values,
            bool_masked_pos: None,
            attention_mask: None,
            output_hidden_states: OutputHiddenStates::Config,
            output_attentions: None,
            eager_attention: false,
            train: None,
            interrupt: None,
        }
    }

    /// The same with hidden states: all (`true`), or those of a list, negative ones from the end.
    #[must_use]
    pub fn with_hidden_states(mut self, which: impl Into<OutputHiddenStates>) -> Self {
        self.output_hidden_states = which.into();
        self
    }

    /// The same with attentions.
    #[must_use]
    pub fn with_attentions(mut self) -> Self {
        self.output_attentions = Some(true);
        self
    }

    /// The same with the eager attention, whose probabilities are given only when they are asked for.
    #[must_use]
    pub fn with_eager_attention(mut self) -> Self {
        self.eager_attention = true;
        self
    }

    /// The same with patches [B, N] replaced by the mask token.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a view is passed as a slice is
    pub fn with_bool_masked_pos(mut self, masked: ArrayView2<'a, bool>) -> Self {
        self.bool_masked_pos = Some(masked);
        self
    }

    /// The same with only these tokens [B, S] attended to.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // a view is passed as a slice is
    pub fn with_attention_mask(mut self, mask: ArrayView2<'a, bool>) -> Self {
        self.attention_mask = Some(mask);
        self
    }

    /// The same in train mode.
    #[must_use]
    pub fn with_train(mut self, draws: &'a dyn Draws) -> Self {
        self.train = Some(draws);
        self
    }

    /// The same, stopped when this says so.
    #[must_use]
    pub fn with_interrupt(mut self, interrupt: &'a dyn Interrupt) -> Self {
        self.interrupt = Some(interrupt);
        self
    }

    /// The same with what the config says where the caller leaves it open.
    pub(crate) fn resolved<'r>(&'r self, config: &'r CommonConfig) -> Asked<'r, 'a> {
        Asked { inputs: self, config }
    }

    /// `attention_mask`; nothing when it masks no key.
    pub(crate) fn key_mask(&self, shape: &TokenShape) -> Result<Option<Mask<'_>>, ModelError> {
        let mask = self.attention_mask.as_ref();
        let mask = read_mask("attention_mask", mask, [shape.batch, shape.tokens()])?;
        Ok(mask.filter(|mask| mask.0.iter().any(|attended| !attended)))
    }

    /// `bool_masked_pos`.
    pub(crate) fn masked_patches(&self, shape: &TokenShape) -> Result<Option<Mask<'_>>, ModelError> {
        read_mask("bool_masked_pos", self.bool_masked_pos.as_ref(), [shape.batch, shape.grid.len()])
    }

    /// Refuses masked patches where a model has no use for them; it would be wrong to ignore them.
    pub(crate) fn refuse_bool_masked_pos(&self, model_type: &'static str) -> Result<(), ModelError> {
        refuse(self.bool_masked_pos.is_some(), "bool_masked_pos", model_type)
    }

    /// The same of masked keys.
    pub(crate) fn refuse_attention_mask(&self, model_type: &'static str) -> Result<(), ModelError> {
        refuse(self.attention_mask.is_some(), "attention_mask", model_type)
    }
}

fn refuse(given: bool, input: &'static str, model_type: &'static str) -> Result<(), ModelError> {
    if given { Err(ModelError::InputNotTaken { input, model_type }) } else { Ok(()) }
}

/// Inputs, with the config for what they leave open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a, 'i> {
    pub(crate) inputs: &'a Inputs<'i>,
    config: &'a CommonConfig,
}

impl Asked<'_, '_> {
    /// For each of `count` hidden states whether it is wanted; nothing when none was asked for.
    pub(crate) fn hidden_states(self, count: usize) -> Option<ByPlace> {
        match &self.inputs.output_hidden_states {
            OutputHiddenStates::Config => {
                OutputHiddenStates::from(self.config.output_hidden_states).wanted(count)
            }
            which => which.wanted(count),
        }
    }

    /// Whether `attentions` are wanted.
    pub(crate) fn attentions(self) -> bool {
        self.inputs.output_attentions.unwrap_or(self.config.output_attentions)
    }
}

/// A mask with a row an item, in row-major order; copied only when the caller's is not.
#[derive(Debug)]
pub(crate) struct Mask<'a>(CowArray<'a, bool, Ix2>);

impl Mask<'_> {
    /// The rows of these items.
    pub(crate) fn of_items(&self, items: &Range<usize>) -> &[bool] {
        let one = self.0.ncols();
        self.0.as_slice().map_or(&[], |mask| &mask[items.start * one..items.end * one])
    }
}

fn read_mask<'a>(
    input: &'static str,
    mask: Option<&'a ArrayView2<'_, bool>>,
    expected: [usize; 2],
) -> Result<Option<Mask<'a>>, ModelError> {
    let Some(mask) = mask else { return Ok(None) };
    let got = [mask.nrows(), mask.ncols()];
    if got != expected {
        return Err(ModelError::InputShape { input, expected: expected.to_vec(), got: got.to_vec() });
    }
    Ok(Some(Mask(mask.as_standard_layout())))
}

/// Places that a [`ByPlace`] has room for without an allocation; the largest known model has 41.
pub(crate) const MANY_PLACES: usize = 64;

/// A flag for each hidden state.
pub(crate) type ByPlace = SmallVec<[bool; MANY_PLACES]>;

/// Which hidden states a forward gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OutputHiddenStates {
    /// All of them if the config's `output_hidden_states` says so, else none.
    #[default]
    Config,
    /// None of them.
    None,
    /// All of them.
    All,
    /// Those at these places, negative ones counted from the end. Places that there are not are ignored, as Transformers does; no
    /// place at all means none.
    Only(Vec<i64>),
}

impl OutputHiddenStates {
    /// For each of `count` hidden states whether it is wanted; nothing when none was asked for.
    pub(crate) fn wanted(&self, count: usize) -> Option<ByPlace> {
        match self {
            Self::Config | Self::None => None,
            Self::Only(places) if places.is_empty() => None,
            Self::All => Some(smallvec![true; count]),
            Self::Only(places) => {
                let is_named = |i: usize| {
                    places.iter().any(|&place| place == i as i64 || place == i as i64 - count as i64)
                };
                Some((0..count).map(is_named).collect())
            }
        }
    }
}

impl From<bool> for OutputHiddenStates {
    fn from(all: bool) -> Self {
        if all { Self::All } else { Self::None }
    }
}

impl From<Vec<i64>> for OutputHiddenStates {
    fn from(places: Vec<i64>) -> Self {
        Self::Only(places)
    }
}

impl<const N: usize> From<[i64; N]> for OutputHiddenStates {
    fn from(places: [i64; N]) -> Self {
        Self::Only(places.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_places_count_from_the_end_and_others_are_ignored() {
        let wanted = |which: OutputHiddenStates| which.wanted(3);
        assert_eq!(wanted(false.into()), None);
        assert_eq!(wanted(true.into()), Some(smallvec![true; 3]));
        assert_eq!(wanted([0, -1].into()), Some(smallvec![true, false, true]));
        assert_eq!(wanted([1, -2, 7, -4].into()), Some(smallvec![false, true, false]));
        assert_eq!(wanted(Vec::new().into()), None);
    }
}
