//! `DINOv3ViTConfig`: fields of the DINOv3 vision transformer.
//!
//! The MLP width is `intermediate_size` as it stands. The head size is hidden_size / num_attention_heads and a multiple of
//! 4: RoPE turns pairs, half of them by the row and half by the column.
//! Source: `models/dinov3_vit/configuration_dinov3_vit.py`, `modeling_dinov3_vit.py` of Transformers 5.24.0.

use crate::config::{CommonConfig, Size2};
use crate::error::CheckpointError;
use crate::json::Fields;
use crate::limits::{
    MAX_CHANNELS, MAX_HEADS, MAX_IMAGE_SIDE, MAX_LAYERS, MAX_PATCH_SIDE, MAX_REGISTER_TOKENS, MAX_WIDTH,
};

/// Config of a DINOv3 vision transformer.
#[derive(Debug, Clone, PartialEq)]
pub struct DINOv3ViTConfig {
    /// Fields that all families share.
    pub common: CommonConfig,
    /// Size of a patch in pixels.
    pub patch_size: Size2,
    /// Length of a token.
    pub hidden_size: usize,
    /// Width of the MLP.
    pub intermediate_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Attention heads of a layer.
    pub num_attention_heads: usize,
    /// Activation of the MLP, gated or not.
    pub hidden_act: String,
    /// Dropout of attention probabilities, in training.
    pub attention_dropout: f64,
    /// Standard deviation of a fresh model's weights.
    pub initializer_range: f64,
    /// Added to the variance in every layer norm.
    pub layer_norm_eps: f64,
    /// Base of the RoPE frequencies.
    pub rope_theta: f64,
    /// Without effect on the result: RoPE follows the input's own size.
    pub image_size: Size2,
    /// Channels of the input image.
    pub num_channels: usize,
    /// Whether the query projection has a bias.
    pub query_bias: bool,
    /// Whether the key projection has a bias.
    pub key_bias: bool,
    /// Whether the value projection has a bias.
    pub value_bias: bool,
    /// Whether the output projection has a bias.
    pub proj_bias: bool,
    /// Whether the MLP's linears have biases.
    pub mlp_bias: bool,
    /// Layer scale of a fresh model.
    pub layerscale_value: f64,
    /// Share of dropped residual branches, in training.
    pub drop_path_rate: f64,
    /// Whether the MLP is gated.
    pub use_gated_mlp: bool,
    /// Register tokens between CLS and the patches.
    pub num_register_tokens: usize,
    /// Random shift of RoPE's coordinates, in training.
    pub pos_embed_shift: Option<f64>,
    /// Random stretch of each axis of RoPE's coordinates, in training.
    pub pos_embed_jitter: Option<f64>,
    /// Random stretch of RoPE's coordinates, in training.
    pub pos_embed_rescale: Option<f64>,
    /// Whether a backbone's feature maps are normed; the last stage always is.
    pub apply_layernorm: bool,
    /// Whether a backbone's feature maps are images rather than token lists.
    pub reshape_hidden_states: bool,
    /// Whether a backbone also returns each stage's CLS token.
    pub return_class_token: bool,
}

impl Default for DINOv3ViTConfig {
    fn default() -> Self {
        Self {
            common: CommonConfig::default(),
            patch_size: Size2::square(16),
            hidden_size: 384,
            intermediate_size: 1536,
            num_hidden_layers: 12,
            num_attention_heads: 6,
            hidden_act: "gelu".into(),
            attention_dropout: 0.0,
            initializer_range: 0.02,
            layer_norm_eps: 1e-5,
            rope_theta: 100.0,
            image_size: Size2::square(224),
            num_channels: 3,
            query_bias: true,
            key_bias: false,
            value_bias: true,
            proj_bias: true,
            mlp_bias: true,
            layerscale_value: 1.0,
            drop_path_rate: 0.0,
            use_gated_mlp: false,
            num_register_tokens: 0,
            pos_embed_shift: None,
            pos_embed_jitter: None,
            pos_embed_rescale: Some(2.0),
            apply_layernorm: true,
            reshape_hidden_states: true,
            return_class_token: false,
        }
    }
}

impl DINOv3ViTConfig {
    /// Length of one attention head.
    pub fn head_dim(&self) -> usize {
        self.hidden_size.checked_div(self.num_attention_heads).unwrap_or(0)
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let default = Self::default();
        let config = Self {
            common: CommonConfig::read(fields)?,
            patch_size: Size2::read(fields, "patch_size", default.patch_size, MAX_PATCH_SIDE)?,
            hidden_size: fields.int("hidden_size", default.hidden_size, 1..=MAX_WIDTH)?,
            intermediate_size: fields.int("intermediate_size", default.intermediate_size, 1..=MAX_WIDTH)?,
            num_hidden_layers: fields.int("num_hidden_layers", default.num_hidden_layers, 0..=MAX_LAYERS)?,
            num_attention_heads: fields.int(
                "num_attention_heads",
                default.num_attention_heads,
                1..=MAX_HEADS,
            )?,
            hidden_act: fields.text("hidden_act", &default.hidden_act)?,
            attention_dropout: fields.float("attention_dropout", default.attention_dropout, 0.0..=1.0)?,
            initializer_range: fields.float(
                "initializer_range",
                default.initializer_range,
                0.0..=f64::MAX,
            )?,
            layer_norm_eps: fields.float("layer_norm_eps", default.layer_norm_eps, 0.0..=1.0)?,
            rope_theta: fields.float("rope_theta", default.rope_theta, f64::MIN_POSITIVE..=f64::MAX)?,
            image_size: Size2::read(fields, "image_size", default.image_size, MAX_IMAGE_SIDE)?,
            num_channels: fields.int("num_channels", default.num_channels, 1..=MAX_CHANNELS)?,
            query_bias: fields.flag("query_bias", default.query_bias)?,
            key_bias: fields.flag("key_bias", default.key_bias)?,
            value_bias: fields.flag("value_bias", default.value_bias)?,
            proj_bias: fields.flag("proj_bias", default.proj_bias)?,
            mlp_bias: fields.flag("mlp_bias", default.mlp_bias)?,
            layerscale_value: fields.float(
                "layerscale_value",
                default.layerscale_value,
                f64::MIN..=f64::MAX,
            )?,
            drop_path_rate: fields.float("drop_path_rate", default.drop_path_rate, 0.0..=1.0)?,
            use_gated_mlp: fields.flag("use_gated_mlp", default.use_gated_mlp)?,
            num_register_tokens: fields.int(
                "num_register_tokens",
                default.num_register_tokens,
                0..=MAX_REGISTER_TOKENS,
            )?,
            apply_layernorm: fields.flag("apply_layernorm", default.apply_layernorm)?,
            reshape_hidden_states: fields.flag("reshape_hidden_states", default.reshape_hidden_states)?,
            return_class_token: fields.flag_or_off("return_class_token", default.return_class_token)?,
            ..default
        };
        config.read_augmentation(fields)?.check(fields)
    }

    /// The training-only changes of RoPE's coordinates.
    fn read_augmentation(self, fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let range = f64::MIN..=f64::MAX;
        Ok(Self {
            pos_embed_shift: fields.nullable_float("pos_embed_shift", self.pos_embed_shift, range.clone())?,
            pos_embed_jitter: fields.nullable_float(
                "pos_embed_jitter",
                self.pos_embed_jitter,
                range.clone(),
            )?,
            pos_embed_rescale: fields.nullable_float("pos_embed_rescale", self.pos_embed_rescale, range)?,
            ..self
        })
    }

    /// Sizes that are each possible, but not together.
    fn check(self, fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            let expected = format!("a multiple of num_attention_heads, {}", self.num_attention_heads);
            return Err(fields.refuse("hidden_size", expected, self.hidden_size.to_string()));
        }
        if !self.head_dim().is_multiple_of(4) {
            let expected = format!(
                "a multiple of 4 times num_attention_heads, {}, as RoPE needs",
                self.num_attention_heads.saturating_mul(4)
            );
            return Err(fields.refuse("hidden_size", expected, self.hidden_size.to_string()));
        }
        Ok(self)
    }
}
