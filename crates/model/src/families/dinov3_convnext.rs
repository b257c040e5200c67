//! DINOv3 ConvNeXt (`dinov3_convnext`).
//!
//! Four stages of downsampling and layers; the mean of the last map is put before its places, and the final norm runs over
//! all of them: `pooler_output` is norm(mean), which is not mean(norm).
//! Source: Transformers 5.24 `models/dinov3_convnext/modeling_dinov3_convnext.py`.

use crate::{
    Grid, Inputs, ModelError, Outputs,
    layers::{
        convnext::{ConvNextLayer, Downsample, Map},
        layer_norm::LayerNorm,
    },
    memory,
    outputs::Record,
    pixels::{slice, standard},
    shape::TokenShape,
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
    layer_norm: LayerNorm,
    num_channels: usize,
    hidden_size: usize,
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
        Ok(Self {
            stages: (0..config.hidden_sizes.len()).map(stage).collect::<Result<_, _>>()?,
            layer_norm: LayerNorm::load(&weights.at("layer_norm"), hidden_size, eps)?,
            num_channels: config.num_channels,
            hidden_size,
        })
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        let layers = |stage: &Stage| stage.layers.iter().map(ConvNextLayer::bytes).sum::<usize>();
        self.stages.iter().map(|stage| stage.downsample.bytes() + layers(stage)).sum()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(&self, ctx: &Context, inputs: &Inputs<'_>) -> Result<Outputs, ModelError> {
        let pixels = &inputs.pixel_values;
        let shape = self.shape(pixels)?;
        self.check_memory(pixels)?;
        let mut record = Record::new(inputs, &shape);
        record.hidden_tensor(|| pixels.to_owned().into_dyn());

        let mut map = self.first_map(ctx, pixels);
        for (s, stage) in self.stages.iter().enumerate() {
            if s > 0 {
                map = stage.downsample.forward(ctx, &map);
            }
            stage.forward_layers(ctx, &mut map);
            record.hidden_tensor(|| channels_first(&map));
        }
        let tokens = pooled_first(&map); // [B, 1 + h·w, C]
        let mut normed = vec![0.0; tokens.len()];
        self.layer_norm.forward(ctx, &tokens, &mut normed);
        Ok(Outputs::new(&shape, normed, record))
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

    fn forward_layers(&self, ctx: &Context, map: &mut Map) {
        let mut scratch = ctx.scratch(map.rows() * self.scratch_width());
        for layer in &self.layers {
            layer.forward(ctx, map, &mut scratch);
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
