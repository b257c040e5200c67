//! `DINOv3ConvNextConfig`: fields of the DINOv3 ConvNeXt.
//!
//! `hidden_sizes` and `depths` speak of the same stages and must be equally long; `null` gives the tiny model's.
//! Source: `models/dinov3_convnext/configuration_dinov3_convnext.py` of Transformers 5.24.0.

use crate::config::{CommonConfig, Size2};
use crate::error::CheckpointError;
use crate::json::Fields;
use crate::limits::{MAX_CHANNELS, MAX_IMAGE_SIDE, MAX_LAYERS, MAX_STAGES, MAX_WIDTH};

/// Widest stage: its MLP has four times the width.
const MAX_STAGE_WIDTH: usize = MAX_WIDTH / 4;

/// Config of a DINOv3 ConvNeXt.
#[derive(Debug, Clone, PartialEq)]
pub struct DINOv3ConvNextConfig {
    /// Fields that all families share.
    pub common: CommonConfig,
    /// Channels of the input image.
    pub num_channels: usize,
    /// Channels of each stage.
    pub hidden_sizes: Vec<usize>,
    /// Blocks of each stage.
    pub depths: Vec<usize>,
    /// Activation between the two pointwise linears.
    pub hidden_act: String,
    /// Standard deviation of a fresh model's weights.
    pub initializer_range: f64,
    /// Added to the variance in every layer norm.
    pub layer_norm_eps: f64,
    /// Layer scale of a fresh model.
    pub layer_scale_init_value: f64,
    /// Share of dropped blocks at the end of the model, in training.
    pub drop_path_rate: f64,
    /// Without effect.
    pub image_size: Size2,
}

impl Default for DINOv3ConvNextConfig {
    fn default() -> Self {
        Self {
            common: CommonConfig::default(),
            num_channels: 3,
            hidden_sizes: vec![96, 192, 384, 768],
            depths: vec![3, 3, 9, 3],
            hidden_act: "gelu".into(),
            initializer_range: 0.02,
            layer_norm_eps: 1e-6,
            layer_scale_init_value: 1e-6,
            drop_path_rate: 0.0,
            image_size: Size2::square(224),
        }
    }
}

impl DINOv3ConvNextConfig {
    /// How many stages the model has, the stem not counted.
    pub fn num_stages(&self) -> usize {
        self.hidden_sizes.len()
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let default = Self::default();
        let hidden_sizes = fields.nullable_ints("hidden_sizes", 1..=MAX_STAGE_WIDTH)?;
        let depths = fields.nullable_ints("depths", 0..=MAX_LAYERS)?;
        let config = Self {
            common: CommonConfig::read(fields)?,
            num_channels: fields.int("num_channels", default.num_channels, 1..=MAX_CHANNELS)?,
            hidden_sizes: hidden_sizes.unwrap_or(default.hidden_sizes),
            depths: depths.unwrap_or(default.depths),
            hidden_act: fields.text("hidden_act", &default.hidden_act)?,
            initializer_range: fields.float(
                "initializer_range",
                default.initializer_range,
                0.0..=f64::MAX,
            )?,
            layer_norm_eps: fields.float("layer_norm_eps", default.layer_norm_eps, 0.0..=1.0)?,
            layer_scale_init_value: fields.float(
                "layer_scale_init_value",
                default.layer_scale_init_value,
                f64::MIN..=f64::MAX,
            )?,
            drop_path_rate: fields.float("drop_path_rate", default.drop_path_rate, 0.0..=1.0)?,
            image_size: Size2::read(fields, "image_size", default.image_size, MAX_IMAGE_SIDE)?,
        };
        let stages = config.num_stages();
        if !(1..=MAX_STAGES).contains(&stages) {
            let expected = format!("a list of 1 to {MAX_STAGES} integers");
            return Err(fields.refuse("hidden_sizes", expected, format!("{stages} of them")));
        }
        if config.depths.len() != stages {
            let expected = format!("as long as hidden_sizes, {stages}");
            return Err(fields.refuse("depths", expected, format!("{} entries", config.depths.len())));
        }
        Ok(config)
    }
}
