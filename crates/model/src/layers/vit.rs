//! A vision transformer, the same for all ViT families; they differ in how a patch learns its place.
//!
//! ```text
//! pixel_values [B,C,H,W] ─ patches ─► [CLS, registers, patches] [B,S,D] ─ places, layers ─► norm ─► outputs
//! ```

use crate::{
    BackboneOptions, BackboneOutputs, Draws, Inputs, ModelError, Outputs,
    backbone::Kept,
    draws::DrawPlace,
    layers::{
        axial_rope::{AxialRope, RopeTable},
        encoder::{Call, Encoder},
        layer_norm::LayerNorm,
        mask_token::MaskToken,
        patch_embed::PatchEmbed,
        position_table::PositionTable,
        prefix::Prefix,
    },
    outputs::{HiddenStates, array3, token_map},
    record::Record,
    shape::TokenShape,
    train::{TrainRates, dropout},
};
use dinoxide_kernels::Context;
use ndarray::{Array2, Array4, ArrayD, s};
use std::sync::Arc;

/// How a patch learns its place in the grid.
#[derive(Debug)]
pub(crate) enum Positions {
    /// A learned table is added to CLS and patches.
    Table(PositionTable),
    /// Queries and keys of the patches are rotated, in every layer.
    Rope(AxialRope),
}

impl Positions {
    /// Adds a table to the tokens, or gives the angles that the layers take.
    fn apply(
        &self,
        ctx: &Context,
        shape: &TokenShape,
        draws: Option<&dyn Draws>,
        x: &mut [f32],
    ) -> Result<Option<Arc<RopeTable>>, ModelError> {
        match self {
            Self::Table(table) => table.add(ctx, shape, x).map(|()| None),
            Self::Rope(rope) => rope.table(shape.grid, draws).map(Some),
        }
    }
}

/// What a backbone makes of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StageRules {
    /// The last stage is normed whatever `apply_layernorm` says.
    pub(crate) always_norm_last: bool,
    /// Sequences keep CLS and registers.
    pub(crate) keep_prefix: bool,
    /// Class tokens can be given.
    pub(crate) class_tokens: bool,
}

/// A vision transformer.
#[derive(Debug)]
pub(crate) struct Vit {
    pub(crate) model_type: &'static str,
    pub(crate) patch_embed: PatchEmbed,
    pub(crate) mask_token: MaskToken,
    pub(crate) prefix: Prefix,
    pub(crate) positions: Positions,
    pub(crate) encoder: Encoder,
    pub(crate) norm: LayerNorm,
    pub(crate) rates: TrainRates,
    pub(crate) stage_rules: StageRules,
    /// `config.tie_last_hidden_states`: the last of the hidden states is the normed one.
    pub(crate) tie_last_hidden_states: bool,
}

/// The tokens after the last layer, before the norm, and what was recorded on the way.
struct Encoded {
    shape: TokenShape,
    /// [B, S, D].
    tokens: Vec<f32>,
    record: Record,
}

impl Vit {
    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.patch_embed.bytes() + self.encoder.bytes()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(&self, ctx: &Context, inputs: &Inputs<'_>) -> Result<Outputs, ModelError> {
        let wanted = inputs.output_hidden_states.wanted(self.encoder.hidden_states());
        let kept = wanted.clone().unwrap_or_default();
        let Encoded { shape, tokens, mut record } = self.encode(ctx, inputs, kept)?;
        let mut normed = vec![0.0; tokens.len()];
        self.norm.forward(ctx, &tokens, &mut normed);
        if self.tie_last_hidden_states {
            record.replace_last_hidden_state(&normed);
        }
        let (states, attentions) = record.into_parts();
        Ok(Outputs::new(&shape, normed, wanted.map(|_| HiddenStates::all(states)), attentions))
    }

    /// From pixels to the feature maps of the chosen stages.
    pub(crate) fn forward_backbone(
        &self,
        ctx: &Context,
        inputs: &Inputs<'_>,
        options: &BackboneOptions,
    ) -> Result<BackboneOutputs, ModelError> {
        inputs.refuse_bool_masked_pos(self.model_type)?;
        if options.return_class_token && !self.stage_rules.class_tokens {
            return Err(ModelError::NoClassTokens { model_type: self.model_type });
        }
        let count = self.encoder.hidden_states();
        let kept = Kept::new(inputs, options, count)?;
        let Encoded { shape, record, .. } = self.encode(ctx, inputs, kept.places())?;
        let (states, attentions) = record.into_parts();
        let (mut feature_maps, mut cls_tokens) = (Vec::new(), Vec::new());
        for stage in (0..count).filter(|&stage| kept.chosen[stage]) {
            let Some(state) = &states[stage] else { continue };
            let norm = options.apply_layernorm || (self.stage_rules.always_norm_last && stage + 1 == count);
            let (map, cls) = self.stage(ctx, &shape, state, norm, options.reshape_hidden_states);
            feature_maps.push(map);
            cls_tokens.push(cls);
        }
        let hidden_states = kept.hidden_states(&states);
        let cls_tokens = options.return_class_token.then_some(cls_tokens);
        Ok(BackboneOutputs { feature_maps, cls_tokens, hidden_states, attentions, grid: shape.grid })
    }

    /// From pixels through all layers.
    fn encode(&self, ctx: &Context, inputs: &Inputs<'_>, kept: Vec<bool>) -> Result<Encoded, ModelError> {
        let pixels = &inputs.pixel_values;
        let shape = self.patch_embed.token_shape(pixels, self.prefix.len())?;
        if matches!(self.positions, Positions::Rope(_)) {
            inputs.refuse_attention_mask(self.model_type)?;
        }
        let key_mask = inputs.key_mask(&shape)?;
        let drops_probabilities = inputs.train.is_some() && self.rates.attention > 0.0;
        self.encoder.check_memory(&shape, inputs, &kept, drops_probabilities)?;

        let mut x = vec![0.0; shape.len()]; // [B, S, D]
        self.prefix.write(&shape, &mut x);
        self.patch_embed.forward(ctx, pixels, &shape, &mut x);
        self.mask_token.apply(inputs, &shape, &mut x)?;
        let rope = self.positions.apply(ctx, &shape, inputs.train, &mut x)?;
        if let Some(draws) = inputs.train {
            dropout(draws, DrawPlace::EmbeddingDropout, self.rates.embedding, &mut x);
        }
        let mut record = Record::new(inputs, &shape, kept, drops_probabilities);
        let (rope, key_mask, train) =
            (rope.as_deref(), key_mask.as_deref(), inputs.train.map(|draws| (draws, self.rates)));
        self.encoder.forward(ctx, Call { shape, rope, key_mask, train }, &mut x, &mut record);
        Ok(Encoded { shape, tokens: x, record })
    }

    /// A stage's feature map and class token, from its tokens [B, S, D].
    fn stage(
        &self,
        ctx: &Context,
        shape: &TokenShape,
        state: &ArrayD<f32>,
        norm: bool,
        reshape: bool,
    ) -> (ArrayD<f32>, Array2<f32>) {
        let raw = state.as_slice().unwrap_or_default(); // a recorded state is in row-major order
        let tokens = if norm {
            let mut normed = vec![0.0; raw.len()];
            self.norm.forward(ctx, raw, &mut normed);
            normed
        } else {
            raw.to_vec()
        };
        let tokens = array3((shape.batch, shape.tokens(), shape.hidden_size), tokens);
        let cls = tokens.slice(s![.., 0, ..]).to_owned();
        let map = match (reshape, self.stage_rules.keep_prefix) {
            (true, _) => Array4::into_dyn(token_map(&tokens, shape.prefix, shape.grid)),
            (false, true) => tokens.into_dyn(),
            (false, false) => tokens.slice(s![.., shape.prefix.., ..]).to_owned().into_dyn(),
        };
        (map, cls)
    }
}
