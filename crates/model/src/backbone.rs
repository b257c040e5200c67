//! A model as a backbone: feature maps of chosen stages. Stage 0, `stem`, is what goes into the first layer (of a ConvNeXt, the
//! picture itself); stage i is what layer i (of a ConvNeXt, stage i) gives.
//!
//! | family | norm | as maps | as sequences | class tokens |
//! | --- | --- | --- | --- | --- |
//! | DINOv2, with registers | all, if `apply_layernorm` | patches | all tokens | – |
//! | DINOv3 ViT | the last stage always, the others if `apply_layernorm` | patches | patches | if `return_class_token` |
//! | DINOv3 ConvNeXt | none | as they are | as maps | – |
//!
//! Source: the `…Backbone` classes of Transformers 5.24.

use crate::{
    Grid, ModelError,
    inputs::{Asked, ByPlace},
    outputs::{HiddenStates, attentions_item},
};
use dinoxide_checkpoint::config::{Dinov2Config, ModelConfig};
use ndarray::{Array2, Array4, ArrayD, Axis, Slice};
use smallvec::smallvec;

/// What a backbone gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackboneOptions {
    /// Indices of the stages, at least one, ascending, each once; 0 is the stem. See [`dinoxide_checkpoint::config::backbone::resolve_stages`].
    pub stages: Vec<usize>,
    /// Run the final norm over every chosen stage.
    pub apply_layernorm: bool,
    /// Maps [B, D, rows, cols] rather than sequences of tokens.
    pub reshape_hidden_states: bool,
    /// Also give the class token of every chosen stage, after the norm if there is one. DINOv3 ViT only.
    pub return_class_token: bool,
}

impl BackboneOptions {
    /// The stages and options of a config.
    ///
    /// # Errors
    /// The config's choice of stages does not fit its stages.
    pub fn from_config(config: &ModelConfig) -> Result<Self, ModelError> {
        let stages = config.stages()?.into_iter().map(|stage| stage.index).collect();
        let of = |config: &Dinov2Config| (config.apply_layernorm, config.reshape_hidden_states, false);
        let (apply_layernorm, reshape_hidden_states, return_class_token) = match config {
            ModelConfig::Dinov2(config) => of(config),
            ModelConfig::Dinov2WithRegisters(config) => of(&config.base),
            ModelConfig::DINOv3Vit(config) => {
                (config.apply_layernorm, config.reshape_hidden_states, config.return_class_token)
            }
            ModelConfig::DINOv3ConvNext(_) => (false, true, false),
        };
        Ok(Self { stages, apply_layernorm, reshape_hidden_states, return_class_token })
    }

    /// For each of `count` stages whether it is chosen.
    fn chosen(&self, count: usize) -> Result<ByPlace, ModelError> {
        if !self.stages.is_sorted_by(|a, b| a < b) {
            return Err(ModelError::StageOrder { stages: self.stages.clone() });
        }
        if self.stages.is_empty() {
            return Err(ModelError::NoStageChosen);
        }
        let mut chosen: ByPlace = smallvec![false; count];
        for &stage in &self.stages {
            *chosen.get_mut(stage).ok_or(ModelError::NoStage { stage, stages: count })? = true;
        }
        Ok(chosen)
    }
}

/// Which hidden states the forward of a backbone keeps, by place, and what for.
pub(crate) struct Kept {
    /// For feature maps.
    pub(crate) chosen: ByPlace,
    /// For `hidden_states`, when asked for.
    wanted: Option<ByPlace>,
}

impl Kept {
    /// Those that inputs and options ask of a model with `count` hidden states.
    pub(crate) fn new(
        asked: Asked<'_, '_>,
        options: &BackboneOptions,
        count: usize,
    ) -> Result<Self, ModelError> {
        Ok(Self { chosen: options.chosen(count)?, wanted: asked.hidden_states(count) })
    }

    /// For each place whether its state is kept at all.
    pub(crate) fn places(&self) -> ByPlace {
        let wanted = |i: usize| self.wanted.as_ref().is_some_and(|wanted| wanted[i]);
        self.chosen.iter().enumerate().map(|(i, &chosen)| chosen || wanted(i)).collect()
    }

    /// `hidden_states`, when asked for.
    pub(crate) fn hidden_states(&self, states: &[Option<ArrayD<f32>>]) -> Option<HiddenStates> {
        self.wanted.as_ref().map(|wanted| HiddenStates::select(states, wanted))
    }
}

/// What a backbone's forward gives.
#[derive(Debug, Clone)]
pub struct BackboneOutputs {
    /// One a chosen stage, in order of the stages: [B, D, rows, cols], or sequences [B, S, D].
    pub feature_maps: Vec<ArrayD<f32>>,
    /// When asked for: [B, D] a chosen stage.
    pub cls_tokens: Option<Vec<Array2<f32>>>,
    /// When asked for: as those of the bare model, without norm.
    pub hidden_states: Option<HiddenStates>,
    /// When asked for: as those of the bare model.
    pub attentions: Option<Vec<Array4<f32>>>,
    /// Patches of a picture, or places of the last map.
    pub grid: Grid,
}

impl BackboneOutputs {
    /// B.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.feature_maps.first().map_or(0, |map| map.len_of(Axis(0)))
    }

    /// Item `item` of the batch, as a batch of one.
    ///
    /// # Panics
    /// When `item` is not in the batch.
    #[must_use]
    pub fn item(&self, item: usize) -> Self {
        let one = Slice::from(item..=item);
        let cut = |all: &ArrayD<f32>| all.slice_axis(Axis(0), one).to_owned();
        let cut2 = |all: &Array2<f32>| all.slice_axis(Axis(0), one).to_owned();
        Self {
            feature_maps: self.feature_maps.iter().map(cut).collect(),
            cls_tokens: self.cls_tokens.as_ref().map(|all| all.iter().map(cut2).collect()),
            hidden_states: self.hidden_states.as_ref().map(|all| all.item(item)),
            attentions: self.attentions.as_deref().map(|all| attentions_item(all, item)),
            grid: self.grid,
        }
    }
}
