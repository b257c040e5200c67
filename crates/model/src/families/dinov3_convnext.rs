//! DINOv3 ConvNeXt (`dinov3_convnext`).
//!
//! Four stages of downsampling and layers; the mean of the last map is put before its places, and the final norm runs over
//! all of them: `pooler_output` is norm(mean), which is not mean(norm).
//! Source: Transformers 5.24 `models/dinov3_convnext/modeling_dinov3_convnext.py`.

use crate::{
    BackboneOptions, BackboneOutputs, Grid, Inputs, ModelError, Outputs,
    backbone::Kept,
    layers::{
        convnext::{ConvNextLayer, Downsample, Map},
        layer_norm::LayerNorm,
    },
    memory,
    outputs::HiddenStates,
    pixels::{slice, standard},
    record::{Record, States},
    shape::TokenShape,
    train::drop_path,
    weights::Weights,
};
use dinoxide_checkpoint::config::DINOv3ConvNextConfig;
use dinoxide_kernels::Context;
use ndarray::{ArrayD, ArrayView4};

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
}

const MODEL_TYPE: &str = "dinov3_convnext";

/// The last stage's map, and the hidden states that were kept.
struct Encoded {
    shape: TokenShape,
    map: Map,
    states: States,
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
        })
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        let layers = |stage: &Stage| stage.layers.iter().map(ConvNextLayer::bytes).sum::<usize>();
        self.stages.iter().map(|stage| stage.downsample.bytes() + layers(stage)).sum()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(&self, ctx: &Context, inputs: &Inputs<'_>) -> Result<Outputs, ModelError> {
        let layer_norm = self.layer_norm.as_ref().ok_or(ModelError::NoFinalNorm)?;
        let wanted = inputs.output_hidden_states.wanted(self.stages.len() + 1);
        let Encoded { shape, map, states } = self.encode(ctx, inputs, wanted.clone().unwrap_or_default())?;
        let tokens = pooled_first(&map); // [B, 1 + h·w, C]
        let mut normed = vec![0.0; tokens.len()];
        layer_norm.forward(ctx, &tokens, &mut normed);
        Ok(Outputs::new(&shape, normed, wanted.map(|_| HiddenStates::all(states)), None))
    }

    /// From pixels to the maps of the chosen stages, as they are.
    pub(crate) fn forward_backbone(
        &self,
        ctx: &Context,
        inputs: &Inputs<'_>,
        options: &BackboneOptions,
    ) -> Result<BackboneOutputs, ModelError> {
        if options.return_class_token {
            return Err(ModelError::NoClassTokens { model_type: MODEL_TYPE });
        }
        let kept = Kept::new(inputs, options, self.stages.len() + 1)?;
        let Encoded { shape, states, .. } = self.encode(ctx, inputs, kept.places())?;
        let hidden_states = kept.hidden_states(&states);
        let maps = states.into_iter().zip(kept.chosen).filter(|(_, chosen)| *chosen);
        let feature_maps = maps.filter_map(|(map, _)| map).collect();
        Ok(BackboneOutputs {
            feature_maps,
            cls_tokens: None,
            hidden_states,
            attentions: None,
            grid: shape.grid,
        })
    }

    /// From pixels through all stages.
    fn encode(&self, ctx: &Context, inputs: &Inputs<'_>, kept: Vec<bool>) -> Result<Encoded, ModelError> {
        let pixels = &inputs.pixel_values;
        inputs.refuse_bool_masked_pos(MODEL_TYPE)?;
        inputs.refuse_attention_mask(MODEL_TYPE)?;
        if inputs.wants_attentions() {
            return Err(ModelError::NoAttentions { model_type: MODEL_TYPE });
        }
        let shape = self.shape(pixels)?;
        self.check_memory(pixels)?;
        let mut record = Record::new(inputs, &shape, kept, false);
        record.hidden_tensor(|| pixels.to_owned().into_dyn());

        let mut map = self.first_map(ctx, pixels);
        let mut branches = self.drop_path_rates().into_iter().enumerate();
        for (s, stage) in self.stages.iter().enumerate() {
            if s > 0 {
                map = stage.downsample.forward(ctx, &map);
            }
            let factors = |(branch, rate)| drop_path(inputs.train?, branch, rate, shape.batch);
            let factors: Vec<_> = branches.by_ref().take(stage.layers.len()).map(factors).collect();
            stage.forward_layers(ctx, &mut map, &factors);
            record.hidden_tensor(|| channels_first(&map));
        }
        Ok(Encoded { shape, map, states: record.into_parts().0 })
    }

    /// The drop path rate of every layer, from 0 to `drop_path_rate` in equal steps.
    fn drop_path_rates(&self) -> Vec<f64> {
        let layers: usize = self.stages.iter().map(|stage| stage.layers.len()).sum();
        let step = self.drop_path_rate / (layers.max(2) - 1) as f64;
        (0..layers).map(|layer| layer as f64 * step).collect()
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

    /// Refuses pictures whose first maps, the largest, cannot be had.
    fn check_memory(&self, pixels: &ArrayView4<'_, f32>) -> Result<(), ModelError> {
        let (batch, _, height, width) = pixels.dim();
        let first = &self.stages[0];
        let (rows, cols) = (height / first.downsample.stride(), width / first.downsample.stride());
        // The patches, the map before and after its norm, and the layers' working memory.
        let floats = first.downsample.row_len() + 2 * first.downsample.outputs() + first.scratch_width();
        let shape = [batch, rows, cols, floats];
        memory::probe("maps", &shape, &[memory::bytes("maps", &shape)?])
    }

    fn first_map(&self, ctx: &Context, pixels: &ArrayView4<'_, f32>) -> Map {
        let (batch, _, height, width) = pixels.dim();
        let pixels = standard(pixels);
        self.stages[0].downsample.forward_pixels(ctx, slice(&pixels), (batch, height, width))
    }
}

impl Stage {
    /// Floats a place of working memory, the widest layer's.
    fn scratch_width(&self) -> usize {
        self.layers.iter().map(ConvNextLayer::scratch_width).max().unwrap_or(0)
    }

    /// `factors` are those of drop path, for each layer one a picture.
    fn forward_layers(&self, ctx: &Context, map: &mut Map, factors: &[Option<Vec<f32>>]) {
        let mut scratch = ctx.scratch(map.rows() * self.scratch_width());
        for (layer, factors) in self.layers.iter().zip(factors) {
            layer.forward(ctx, map, &mut scratch, factors.as_deref());
        }
    }
}

/// [B, H, W, C] to [B, C, H, W].
fn channels_first(map: &Map) -> ArrayD<f32> {
    let dim = (map.batch, map.height, map.width, map.channels);
    #[allow(clippy::expect_used)] // a map holds as many elements as its sizes say
    let map = ArrayView4::from_shape(dim, &map.data).expect("as many elements as the map has");
    map.permuted_axes([0, 3, 1, 2]).as_standard_layout().into_owned().into_dyn()
}

/// The mean over the places of each map, then the places: [B, 1 + h·w, C]. The mean is summed in f64.
fn pooled_first(map: &Map) -> Vec<f32> {
    let (places, channels) = (map.height * map.width, map.channels);
    let mut tokens = Vec::with_capacity((map.rows() + map.batch) * channels);
    for item in map.data.chunks_exact(places * channels) {
        let mut sum = vec![0.0_f64; channels];
        for place in item.chunks_exact(channels) {
            sum.iter_mut().zip(place).for_each(|(s, v)| *s += f64::from(*v));
        }
        tokens.extend(sum.iter().map(|s| (s / places as f64) as f32));
        tokens.extend_from_slice(item);
    }
    tokens
}
