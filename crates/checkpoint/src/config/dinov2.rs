//! `Dinov2Config`: fields of DINOv2, shared by the variant with registers.
//!
//! MLP width: hidden_size · mlp_ratio; with `use_swiglu_ffn` 2/3 of it, rounded up to a multiple of 8. Head size:
//! `head_dim` where the JSON has it, else hidden_size / num_attention_heads, rounded down.
//! Source: `models/dinov2/configuration_dinov2.py`, `modeling_dinov2.py` of Transformers 5.24.0.

use crate::config::{CommonConfig, Size2};
use crate::error::CheckpointError;
use crate::json::Fields;
use crate::limits::{
    MAX_CHANNELS, MAX_HEADS, MAX_IMAGE_SIDE, MAX_LAYERS, MAX_MLP_RATIO, MAX_PATCH_SIDE, MAX_WIDTH,
};

/// Config of a DINOv2 model.
#[derive(Debug, Clone, PartialEq)]
pub struct Dinov2Config {
    /// Fields that all families share.
    pub common: CommonConfig,
    /// Length of a token.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Attention heads of a layer.
    pub num_attention_heads: usize,
    /// Head size that replaces `hidden_size / num_attention_heads`.
    pub head_dim: Option<usize>,
    /// MLP width as a multiple of `hidden_size`.
    pub mlp_ratio: usize,
    /// Activation of the plain MLP; SwiGLU always uses SiLU.
    pub hidden_act: String,
    /// Dropout after the embeddings, in training.
    pub hidden_dropout_prob: f64,
    /// Dropout of attention probabilities, in training.
    pub attention_probs_dropout_prob: f64,
    /// Standard deviation of a fresh model's weights.
    pub initializer_range: f64,
    /// Added to the variance in every layer norm.
    pub layer_norm_eps: f64,
    /// Size in pixels that the stored positions belong to.
    pub image_size: Size2,
    /// Size of a patch in pixels.
    pub patch_size: Size2,
    /// Channels of the input image.
    pub num_channels: usize,
    /// Whether query, key and value have biases.
    pub qkv_bias: bool,
    /// Layer scale of a fresh model.
    pub layerscale_value: f64,
    /// Share of dropped residual branches, in training.
    pub drop_path_rate: f64,
    /// Whether the MLP is a SwiGLU.
    pub use_swiglu_ffn: bool,
    /// Whether a backbone's feature maps are normed.
    pub apply_layernorm: bool,
    /// Whether a backbone's feature maps are images rather than token lists.
    pub reshape_hidden_states: bool,
    /// Whether the model has a mask token.
    pub use_mask_token: bool,
}

impl Default for Dinov2Config {
    fn default() -> Self {
        Self {
            common: CommonConfig::default(),
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            head_dim: None,
            mlp_ratio: 4,
            hidden_act: "gelu".into(),
            hidden_dropout_prob: 0.0,
            attention_probs_dropout_prob: 0.0,
            initializer_range: 0.02,
            layer_norm_eps: 1e-6,
            image_size: Size2::square(224),
            patch_size: Size2::square(14),
            num_channels: 3,
            qkv_bias: true,
            layerscale_value: 1.0,
            drop_path_rate: 0.0,
            use_swiglu_ffn: false,
            apply_layernorm: true,
            reshape_hidden_states: true,
            use_mask_token: true,
        }
    }
}

impl Dinov2Config {
    /// Length of one attention head.
    pub fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or_else(|| self.hidden_size.checked_div(self.num_attention_heads).unwrap_or(0))
    }

    /// Width of the query, key and value projections: heads × head size.
    pub fn attention_width(&self) -> usize {
        self.num_attention_heads.saturating_mul(self.head_dim())
    }

    /// Width of the plain MLP.
    pub fn mlp_width(&self) -> usize {
        self.hidden_size.saturating_mul(self.mlp_ratio)
    }

    /// Width of the SwiGLU MLP: 2/3 of the plain one, rounded up to a multiple of 8.
    pub fn swiglu_width(&self) -> usize {
        let two_thirds = self.mlp_width().saturating_mul(2) / 3;
        two_thirds.saturating_add(7) / 8 * 8
    }

    /// Rows and columns of the stored positions.
    pub fn position_grid(&self) -> Size2 {
        Size2 {
            height: self.image_size.height.checked_div(self.patch_size.height).unwrap_or(0),
            width: self.image_size.width.checked_div(self.patch_size.width).unwrap_or(0),
        }
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let default = Self::default();
        let use_mask_token = fields.flag("use_mask_token", default.use_mask_token)?;
        Self::read_over(fields, &Self { use_mask_token, ..default })
    }

    /// Reads over the given defaults, which differ in the variant with registers.
    pub(crate) fn read_over(fields: &Fields<'_>, default: &Self) -> Result<Self, CheckpointError> {
        let config = Self {
            common: CommonConfig::read(fields)?,
            hidden_size: fields.int("hidden_size", default.hidden_size, 1..=MAX_WIDTH)?,
            num_hidden_layers: fields.int("num_hidden_layers", default.num_hidden_layers, 0..=MAX_LAYERS)?,
            num_attention_heads: fields.int(
                "num_attention_heads",
                default.num_attention_heads,
                1..=MAX_HEADS,
            )?,
            head_dim: match fields.get("head_dim") {
                None => None,
                Some(_) => Some(fields.int("head_dim", 1, 1..=MAX_WIDTH)?),
            },
            mlp_ratio: fields.int("mlp_ratio", default.mlp_ratio, 1..=MAX_MLP_RATIO)?,
            hidden_act: fields.text("hidden_act", &default.hidden_act)?,
            hidden_dropout_prob: fields.float(
                "hidden_dropout_prob",
                default.hidden_dropout_prob,
                0.0..=1.0,
            )?,
            attention_probs_dropout_prob: fields.float(
                "attention_probs_dropout_prob",
                default.attention_probs_dropout_prob,
                0.0..=1.0,
            )?,
            initializer_range: fields.float(
                "initializer_range",
                default.initializer_range,
                0.0..=f64::MAX,
            )?,
            layer_norm_eps: fields.float("layer_norm_eps", default.layer_norm_eps, 0.0..=1.0)?,
            image_size: Size2::read(fields, "image_size", default.image_size, MAX_IMAGE_SIDE)?,
            patch_size: Size2::read(fields, "patch_size", default.patch_size, MAX_PATCH_SIDE)?,
            num_channels: fields.int("num_channels", default.num_channels, 1..=MAX_CHANNELS)?,
            qkv_bias: fields.flag("qkv_bias", default.qkv_bias)?,
            layerscale_value: fields.float(
                "layerscale_value",
                default.layerscale_value,
                f64::MIN..=f64::MAX,
            )?,
            drop_path_rate: fields.float("drop_path_rate", default.drop_path_rate, 0.0..=1.0)?,
            use_swiglu_ffn: fields.flag("use_swiglu_ffn", default.use_swiglu_ffn)?,
            apply_layernorm: fields.flag("apply_layernorm", default.apply_layernorm)?,
            reshape_hidden_states: fields.flag("reshape_hidden_states", default.reshape_hidden_states)?,
            use_mask_token: default.use_mask_token,
        };
        config.check(fields)?;
        Ok(config)
    }

    /// Sizes that are each possible, but not together.
    fn check(&self, fields: &Fields<'_>) -> Result<(), CheckpointError> {
        if self.head_dim() == 0 {
            let expected = format!("at most hidden_size, {}", self.hidden_size);
            return Err(fields.refuse("num_attention_heads", expected, self.num_attention_heads.to_string()));
        }
        if self.attention_width() > MAX_WIDTH {
            let most = MAX_WIDTH / self.num_attention_heads;
            let expected = format!("at most {most} with {} heads", self.num_attention_heads);
            return Err(fields.refuse("head_dim", expected, self.head_dim().to_string()));
        }
        if self.mlp_width() > MAX_WIDTH {
            let expected =
                format!("at most {} with hidden_size {}", MAX_WIDTH / self.hidden_size, self.hidden_size);
            return Err(fields.refuse("mlp_ratio", expected, self.mlp_ratio.to_string()));
        }
        let grid = self.position_grid();
        if grid.height == 0 || grid.width == 0 {
            let expected = format!("at least patch_size, {}", self.patch_size);
            return Err(fields.refuse("image_size", expected, self.image_size.to_string()));
        }
        Ok(())
    }
}
