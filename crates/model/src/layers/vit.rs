//! A vision transformer, the same for all ViT families; they differ in how a patch learns its place.
//!
//! ```text
//! pixel_values [B,C,H,W] ─ patches ─► [CLS, registers, patches] [B,S,D] ─ places, layers ─► norm ─► outputs
//! ```

use crate::{
    BackboneOptions, BackboneOutputs, Draws, ModelError, Outputs,
    backbone::Kept,
    draws::DrawPlace,
    inputs::{Asked, ByPlace, Mask},
    interrupt::Stop,
    layers::{
        axial_rope::{AxialRope, RopeTable},
        encoder::{Call, Encoder},
        layer_norm::LayerNorm,
        mask_token::MaskToken,
        patch_embed::PatchEmbed,
        position_table::PositionTable,
        prefix::Prefix,
    },
    outputs::{array3, token_map},
    pixels::standard,
    record::{Probabilities, Record, Recorder, Split},
    shape::TokenShape,
    train::{TrainRates, dropout},
};
use dinoxide_kernels::{Buffer, Context};
use ndarray::{Array2, Array4, ArrayD, CowArray, Ix4, s};
use std::{ops::Range, sync::Arc};

/// How a patch learns its place in the grid.
#[derive(Debug)]
pub(crate) enum Positions {
    /// A learned table is added to CLS and patches.
    Table(PositionTable),
    /// Queries and keys of the patches are rotated, in every layer.
    Rope(AxialRope),
}

/// What pictures of a shape share.
enum Places {
    /// [N, D], to be added.
    Table(Arc<Vec<f32>>),
    /// The angles that the layers take.
    Rope(Arc<RopeTable>),
}

impl Positions {
    /// What the pictures of a shape share.
    fn places(
        &self,
        ctx: &Context,
        shape: &TokenShape,
        draws: Option<&dyn Draws>,
    ) -> Result<Places, ModelError> {
        match self {
            Self::Table(table) => table.for_shape(ctx, shape).map(Places::Table),
            Self::Rope(rope) => rope.table(shape.grid, draws).map(Places::Rope),
        }
    }

    /// Adds a table to the tokens, or gives the angles that the layers take.
    fn apply<'p>(&self, places: &'p Places, shape: &TokenShape, x: &mut [f32]) -> Option<&'p RopeTable> {
        match (self, places) {
            (Self::Table(table), Places::Table(places)) => table.add(places, shape, x),
            (_, Places::Rope(rope)) => return Some(rope),
            (Self::Rope(_), Places::Table(_)) => {}
        }
        None
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

/// What a forward was asked, checked: all that groups of its items share.
struct Plan<'a> {
    /// Of the whole batch.
    shape: TokenShape,
    split: Split,
    pixels: CowArray<'a, f32, Ix4>,
    places: Places,
    /// [B, N].
    masked_patches: Option<Mask<'a>>,
    /// [B, S].
    key_mask: Option<Mask<'a>>,
    train: Option<&'a dyn Draws>,
    stop: Stop<'a>,
}

impl Vit {
    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.patch_embed.bytes() + self.encoder.bytes()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        asked: Asked<'_, '_>,
        outputs: &mut Outputs,
    ) -> Result<(), ModelError> {
        let wanted = asked.hidden_states(self.encoder.hidden_states());
        let asked_states = wanted.is_some();
        let plan = self.plan(ctx, asked, wanted.unwrap_or_default())?;
        let mut record = self.room(&plan, outputs.begin(&plan.shape));
        record.fill(ctx, &plan.split, outputs.tokens_mut(), |items, recorder| {
            let tokens = self.run(ctx, &plan, items, recorder);
            // Then the last hidden state was not reached, nor is there one to tie.
            if plan.stop.stopped() {
                return;
            }
            self.norm.forward(ctx, &tokens, recorder.first());
            if self.tie_last_hidden_states {
                recorder.tie_last_hidden_state();
            }
        });
        plan.stop.result()?;
        outputs.finish(record, asked_states, plan.split.probabilities == Probabilities::Kept);
        Ok(())
    }

    /// From pixels to the feature maps of the chosen stages.
    pub(crate) fn forward_backbone(
        &self,
        ctx: &Context,
        asked: Asked<'_, '_>,
        options: &BackboneOptions,
    ) -> Result<BackboneOutputs, ModelError> {
        asked.inputs.refuse_bool_masked_pos(self.model_type)?;
        if options.return_class_token && !self.stage_rules.class_tokens {
            return Err(ModelError::NoClassTokens { model_type: self.model_type });
        }
        let count = self.encoder.hidden_states();
        let kept = Kept::new(asked, options, count)?;
        let plan = self.plan(ctx, asked, kept.places())?;
        let mut record = self.room(&plan, Record::default());
        // Of the tokens after the last layer nothing else is wanted.
        record.fill(ctx, &plan.split, &mut [], |items, recorder| drop(self.run(ctx, &plan, items, recorder)));
        plan.stop.result()?;
        let (shape, states) = (plan.shape, record.states);
        let attentions = (plan.split.probabilities == Probabilities::Kept).then_some(record.attentions);
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

    /// Checks what is asked, and makes what the items share.
    fn plan<'a>(&self, ctx: &Context, asked: Asked<'a, '_>, kept: ByPlace) -> Result<Plan<'a>, ModelError> {
        let inputs = asked.inputs;
        let shape = self.patch_embed.token_shape(&inputs.pixel_values, self.prefix.len())?;
        if matches!(self.positions, Positions::Rope(_)) {
            inputs.refuse_attention_mask(self.model_type)?;
        }
        let (key_mask, train) = (inputs.key_mask(&shape)?, inputs.train);
        let probabilities = Probabilities::of(asked, train.is_some() && self.rates.attention > 0.0);
        // Draws are made for the batch as a whole.
        let per_group = if train.is_some() { shape.batch } else { shape.per_group(ctx) };
        let states = kept.iter().filter(|kept| **kept).count();
        let at_work = shape.batch.min(per_group * ctx.threads());
        self.encoder.check_memory(ctx, &shape, states, at_work, probabilities)?;
        let masked_patches = self.mask_token.masked(inputs, &shape)?;
        let places = self.positions.places(ctx, &shape, train)?;
        let split = Split { batch: shape.batch, per_group, kept, probabilities };
        let (pixels, stop) = (standard(&inputs.pixel_values), Stop::new(inputs.interrupt));
        Ok(Plan { shape, split, pixels, places, masked_patches, key_mask, train, stop })
    }

    /// Room for what is kept.
    fn room(&self, plan: &Plan<'_>, mut record: Record) -> Record {
        let TokenShape { batch, hidden_size, .. } = plan.shape;
        let tokens = plan.shape.tokens();
        record.keep_states(&plan.split.kept, |_| [batch, tokens, hidden_size]);
        let layers =
            if plan.split.probabilities == Probabilities::Kept { self.encoder.layers.len() } else { 0 };
        record.keep_attentions(layers, (batch, self.encoder.heads(), tokens, tokens));
        record
    }

    /// The tokens of a group of items after all layers, before the norm: [items, S, D].
    fn run<'ctx>(
        &self,
        ctx: &'ctx Context,
        plan: &Plan<'_>,
        items: Range<usize>,
        recorder: &mut Recorder<'_, '_, 'ctx>,
    ) -> Buffer<'ctx> {
        let shape = plan.shape.of_items(items.len());
        let mut x = ctx.scratch(shape.len());
        self.prefix.write(&shape, &mut x);
        self.patch_embed.forward(ctx, &plan.pixels, items.clone(), &shape, &mut x);
        if let Some(masked) = &plan.masked_patches {
            self.mask_token.apply(masked.of_items(&items), &shape, &mut x);
        }
        let rope = self.positions.apply(&plan.places, &shape, &mut x);
        if let Some(draws) = plan.train {
            dropout(draws, DrawPlace::EmbeddingDropout, self.rates.embedding, &mut x);
        }
        let key_mask = plan.key_mask.as_ref().map(|mask| mask.of_items(&items));
        let train = plan.train.map(|draws| (draws, self.rates));
        self.encoder.forward(ctx, Call { shape, rope, key_mask, train, stop: &plan.stop }, &mut x, recorder);
        x
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
