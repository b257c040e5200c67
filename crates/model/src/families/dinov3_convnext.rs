//! DINOv3 ConvNeXt (`dinov3_convnext`).
//!
//! Four stages of downsampling and layers; the mean of the last map is put before its places, and the final norm runs over
//! all of them: `pooler_output` is norm(mean), which is not mean(norm).
//! Source: Transformers 5.24 `models/dinov3_convnext/modeling_dinov3_convnext.py`.

use crate::{
    BackboneOptions, BackboneOutputs, Draws, Grid, ModelError, Outputs,
    backbone::Kept,
    inputs::{Asked, ByPlace},
    interrupt::Stop,
    layers::{
        convnext::{ConvNextLayer, Downsample, Map},
        layer_norm::LayerNorm,
    },
    memory::{self, Probe},
    pixels::{slice, standard},
    record::{Probabilities, Record, Recorder, Split},
    shape::TokenShape,
    train::drop_path,
    weights::Weights,
};
use dinoxide_checkpoint::config::DINOv3ConvNextConfig;
use dinoxide_kernels::Context;
use ndarray::{ArrayView4, CowArray, Ix4};
use std::ops::Range;

/// A stage: downsampling, then layers.
#[derive(Debug)]
struct Stage {
    downsample: Downsample,
    layers: Vec<ConvNextLayer>,
}

/// A DINOv3 ConvNeXt.
#[derive(Debug)]
pub(crate) struct DINOv3ConvNext {
    stages: Vec<Stage>,
    /// A backbone's checkpoint has none.
    layer_norm: Option<LayerNorm>,
    num_channels: usize,
    hidden_size: usize,
    drop_path_rate: f64,
    memory: Probe,
}

const MODEL_TYPE: &str = "dinov3_convnext";

/// What a forward was asked, checked: all that groups of its items share.
struct Plan<'a> {
    /// Of the whole batch.
    shape: TokenShape,
    split: Split,
    pixels: CowArray<'a, f32, Ix4>,
    train: Option<&'a dyn Draws>,
    stop: Stop<'a>,
}

impl DINOv3ConvNext {
    /// Reads the model.
    pub(crate) fn load(weights: &Weights<'_>, config: &DINOv3ConvNextConfig) -> Result<Self, ModelError> {
        let (eps, activation) = (config.layer_norm_eps, super::activation(&config.hidden_act)?);
        let stage = |s: usize| {
            let (place, width) = (weights.at(format_args!("stages.{s}")), config.hidden_sizes[s]);
            let downsample = place.at("downsample_layers");
            let downsample = match s {
                0 => Downsample::load_first(&downsample, config.num_channels, width, eps)?,
                _ => Downsample::load_later(&downsample, config.hidden_sizes[s - 1], width, eps)?,
            };
            let layer =
                |j| ConvNextLayer::load(&place.at(format_args!("layers.{j}")), width, activation, eps);
            let layers = (0..config.depths[s]).map(layer).collect::<Result<_, _>>()?;
            Ok::<_, ModelError>(Stage { downsample, layers })
        };
        let hidden_size = config.hidden_sizes.last().copied().unwrap_or(0);
        let layer_norm = weights.at("layer_norm");
        let has_norm = layer_norm.contains("weight");
        Ok(Self {
            stages: (0..config.hidden_sizes.len()).map(stage).collect::<Result<_, _>>()?,
            layer_norm: has_norm.then(|| LayerNorm::load(&layer_norm, hidden_size, eps)).transpose()?,
            num_channels: config.num_channels,
            hidden_size,
            drop_path_rate: config.drop_path_rate,
            memory: Probe::default(),
        })
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        let layers = |stage: &Stage| stage.layers.iter().map(ConvNextLayer::bytes).sum::<usize>();
        self.stages.iter().map(|stage| stage.downsample.bytes() + layers(stage)).sum()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        asked: Asked<'_, '_>,
        outputs: &mut Outputs,
    ) -> Result<(), ModelError> {
        let layer_norm = self.layer_norm.as_ref().ok_or(ModelError::NoFinalNorm)?;
        let wanted = asked.hidden_states(self.stages.len() + 1);
        let asked_states = wanted.is_some();
        let plan = self.plan(ctx, asked, wanted.unwrap_or_default())?;
        let mut record = self.room(&plan, outputs.begin(&plan.shape));
        record.fill(ctx, &plan.split, outputs.tokens_mut(), |items, recorder| {
            let map = self.run(ctx, &plan, items, recorder);
            if plan.stop.stopped() {
                return;
            }
            let mut tokens = ctx.scratch(plan.shape.of_items(map.batch).len()); // [items, 1 + h·w, C]
            pooled_first(&map, &mut tokens);
            layer_norm.forward(ctx, &tokens, recorder.first());
        });
        plan.stop.result()?;
        outputs.finish(record, asked_states, false);
        Ok(())
    }

    /// From pixels to the maps of the chosen stages, as they are.
    pub(crate) fn forward_backbone(
        &self,
        ctx: &Context,
        asked: Asked<'_, '_>,
        options: &BackboneOptions,
    ) -> Result<BackboneOutputs, ModelError> {
        if options.return_class_token {
            return Err(ModelError::NoClassTokens { model_type: MODEL_TYPE });
        }
        let kept = Kept::new(asked, options, self.stages.len() + 1)?;
        let plan = self.plan(ctx, asked, kept.places())?;
        let mut record = self.room(&plan, Record::default());
        // Of the last map nothing else is wanted.
        record.fill(ctx, &plan.split, &mut [], |items, recorder| drop(self.run(ctx, &plan, items, recorder)));
        plan.stop.result()?;
        let (grid, states) = (plan.shape.grid, record.states);
        let hidden_states = kept.hidden_states(&states);
        let maps = states.into_iter().zip(kept.chosen).filter(|(_, chosen)| *chosen);
        let feature_maps = maps.filter_map(|(map, _)| map).collect();
        Ok(BackboneOutputs { feature_maps, cls_tokens: None, hidden_states, attentions: None, grid })
    }

    /// Checks what is asked.
    fn plan<'a>(&self, ctx: &Context, asked: Asked<'a, '_>, kept: ByPlace) -> Result<Plan<'a>, ModelError> {
        let inputs = asked.inputs;
        inputs.refuse_bool_masked_pos(MODEL_TYPE)?;
        inputs.refuse_attention_mask(MODEL_TYPE)?;
        if asked.attentions() {
            return Err(ModelError::NoAttentions { model_type: MODEL_TYPE });
        }
        let (shape, train) = (self.shape(&inputs.pixel_values)?, inputs.train);
        // Draws are made for the batch as a whole.
        let per_group = if train.is_some() { shape.batch } else { 1 };
        self.check_memory(ctx, &inputs.pixel_values, shape.batch.min(per_group * ctx.threads()))?;
        let split = Split { batch: shape.batch, per_group, kept, probabilities: Probabilities::Fused };
        let (pixels, stop) = (standard(&inputs.pixel_values), Stop::new(inputs.interrupt));
        Ok(Plan { shape, split, pixels, train, stop })
    }

    /// Room for what is kept: the picture, then the map of each stage.
    fn room(&self, plan: &Plan<'_>, mut record: Record) -> Record {
        let (batch, channels, height, width) = plan.pixels.dim();
        record.keep_states(&plan.split.kept, |place| {
            self.stages[..place].iter().fold(
                [batch, channels, height, width],
                |[.., height, width], stage| {
                    let (outputs, stride) = (stage.downsample.outputs(), stage.downsample.stride());
                    [batch, outputs, height / stride, width / stride]
                },
            )
        });
        record
    }

    /// The map of a group of items after all stages, or whichever it was stopped in.
    fn run<'ctx>(
        &self,
        ctx: &'ctx Context,
        plan: &Plan<'_>,
        items: Range<usize>,
        recorder: &mut Recorder<'_, '_, 'ctx>,
    ) -> Map<'ctx> {
        let (_, channels, height, width) = plan.pixels.dim();
        let picture_len = channels * height * width;
        let pixels = &slice(&plan.pixels)[items.start * picture_len..items.end * picture_len];
        recorder.hidden_state(|state| state.copy_from_slice(pixels));
        let mut map = self.stages[0].downsample.forward_pixels(ctx, pixels, (items.len(), height, width));
        let mut first_layer = 0;
        for (s, stage) in self.stages.iter().enumerate() {
            if s > 0 {
                map = stage.downsample.forward(ctx, &map);
            }
            stage.forward_layers(ctx, &mut map, &plan.stop, |layer| {
                let (branch, draws) = (first_layer + layer, plan.train?);
                drop_path(draws, branch, self.drop_path_rate(branch), items.len())
            });
            if plan.stop.stopped() {
                break;
            }
            first_layer += stage.layers.len();
            recorder.hidden_state(|state| channels_first(&map, state));
        }
        map
    }

    /// The drop path rate of a layer; from 0 to `drop_path_rate` in equal steps.
    fn drop_path_rate(&self, layer: usize) -> f64 {
        let layers: usize = self.stages.iter().map(|stage| stage.layers.len()).sum();
        layer as f64 * (self.drop_path_rate / (layers.max(2) - 1) as f64)
    }

    /// The token shape of the result: the strides floor, one stage after the other.
    fn shape(&self, pixels: &ArrayView4<'_, f32>) -> Result<TokenShape, ModelError> {
        let (batch, channels, height, width) = pixels.dim();
        if channels != self.num_channels {
            return Err(ModelError::Channels { expected: self.num_channels, got: channels });
        }
        let floor = |n: usize| self.stages.iter().fold(n, |n, stage| n / stage.downsample.stride());
        let grid = Grid { rows: floor(height), cols: floor(width) };
        if grid.is_empty() {
            let least: usize = self.stages.iter().map(|stage| stage.downsample.stride()).product();
            return Err(ModelError::TooSmall { height, width, least_height: least, least_width: least });
        }
        let square = height == width;
        Ok(TokenShape { batch, prefix: 1, grid, square, hidden_size: self.hidden_size })
    }

    /// Refuses pictures whose first maps, the largest, cannot be had for so many items at the same time.
    fn check_memory(
        &self,
        ctx: &Context,
        pixels: &ArrayView4<'_, f32>,
        at_work: usize,
    ) -> Result<(), ModelError> {
        let (_, _, height, width) = pixels.dim();
        let first = &self.stages[0];
        let (rows, cols) = (height / first.downsample.stride(), width / first.downsample.stride());
        // The patches, the map before and after its norm, and the layers' working memory.
        let kernels = first.layers.iter().map(|layer| layer.kernel_scratch(ctx)).max().unwrap_or(0);
        let layers = first.scratch_width() + kernels;
        let floats = first.downsample.row_len() + 2 * first.downsample.outputs() + layers;
        let shape = [at_work, rows, cols, floats];
        self.memory.check("maps", &shape, &[memory::bytes("maps", &shape)?])
    }
}

impl Stage {
    /// Floats a place of working memory, the widest layer's.
    fn scratch_width(&self) -> usize {
        self.layers.iter().map(ConvNextLayer::scratch_width).max().unwrap_or(0)
    }

    /// `factors` gives those of drop path of a layer, one a picture.
    fn forward_layers(
        &self,
        ctx: &Context,
        map: &mut Map<'_>,
        stop: &Stop<'_>,
        factors: impl Fn(usize) -> Option<Vec<f32>>,
    ) {
        let mut scratch = ctx.scratch(map.rows() * self.scratch_width());
        for (i, layer) in self.layers.iter().enumerate() {
            if stop.now() {
                return;
            }
            layer.forward(ctx, map, &mut scratch, factors(i).as_deref());
        }
    }
}

/// [B, H, W, C] to [B, C, H, W].
fn channels_first(map: &Map<'_>, out: &mut [f32]) {
    let (places, channels) = (map.height * map.width, map.channels);
    for (item, out) in map.data.chunks_exact(places * channels).zip(out.chunks_exact_mut(places * channels)) {
        for (channel, out) in out.chunks_exact_mut(places).enumerate() {
            out.iter_mut().zip(item[channel..].iter().step_by(channels)).for_each(|(out, v)| *out = *v);
        }
    }
}

/// The mean over the places of each map, then the places: `tokens` is [B, 1 + h·w, C]. The mean is summed in f64.
fn pooled_first(map: &Map<'_>, tokens: &mut [f32]) {
    let (places, channels) = (map.height * map.width, map.channels);
    let items = map.data.chunks_exact(places * channels);
    for (item, tokens) in items.zip(tokens.chunks_exact_mut((1 + places) * channels)) {
        let (pooled, rest) = tokens.split_at_mut(channels);
        for (channel, pooled) in pooled.iter_mut().enumerate() {
            let sum: f64 = item[channel..].iter().step_by(channels).map(|v| f64::from(*v)).sum();
            *pooled = (sum / places as f64) as f32;
        }
        rest.copy_from_slice(item);
    }
}
