//! DINOv2, plain and with registers (`dinov2`, `dinov2_with_registers`).
//!
//! Tokens are CLS, registers, patches. The learned position table is added to CLS and patches; registers get none. The
//! two differ only in the registers and in how the table is resized.
//! Source: Transformers 5.24 `models/dinov2/modeling_dinov2.py`, `models/dinov2_with_registers/…`.

use crate::{
    Inputs, ModelError, Outputs,
    layers::{
        attention::AttentionConfig,
        encoder::Encoder,
        layer::Layer,
        layer_norm::LayerNorm,
        mlp::{Mlp, MlpShape},
        patch_embed::{PatchConfig, PatchEmbed},
        position_table::{PositionTable, TableResize},
        prefix::Prefix,
    },
    outputs::Record,
    shape::TokenShape,
    weights::Weights,
};
use dinoxide_checkpoint::config::{Dinov2Config, Dinov2WithRegistersConfig};
use dinoxide_kernels::{Activation, Context};

const ATTENTION: [&str; 4] = ["attention.query", "attention.key", "attention.value", "output.dense"];

/// A DINOv2 model.
#[derive(Debug)]
pub(crate) struct Dinov2 {
    patch_embed: PatchEmbed,
    prefix: Prefix,
    positions: PositionTable,
    encoder: Encoder,
    layernorm: LayerNorm,
    hidden_size: usize,
}

impl Dinov2 {
    /// Reads a plain DINOv2.
    pub(crate) fn load(weights: &Weights<'_>, config: &Dinov2Config) -> Result<Self, ModelError> {
        Self::load_variant(weights, config, 0, TableResize::Bicubic)
    }

    /// Reads a DINOv2 with registers.
    pub(crate) fn load_with_registers(
        weights: &Weights<'_>,
        config: &Dinov2WithRegistersConfig,
    ) -> Result<Self, ModelError> {
        Self::load_variant(weights, &config.base, config.num_register_tokens, TableResize::BicubicAntialias)
    }

    fn load_variant(
        weights: &Weights<'_>,
        config: &Dinov2Config,
        registers: usize,
        resize: TableResize,
    ) -> Result<Self, ModelError> {
        let (width, eps) = (config.hidden_size, config.layer_norm_eps);
        let (embeddings, native) = (weights.at("embeddings"), config.position_grid());
        let patch = (config.patch_size.height, config.patch_size.width);
        let patch = PatchConfig { channels: config.num_channels, patch, hidden_size: width };
        let attention = AttentionConfig {
            hidden_size: width,
            heads: config.num_attention_heads,
            head_dim: config.head_dim(),
            bias: [config.qkv_bias, config.qkv_bias, config.qkv_bias, true],
            names: ATTENTION,
        };
        let layer = |i| {
            let place = weights.at(format_args!("encoder.layer.{i}"));
            Layer::load(&place, &attention, eps, |mlp| load_mlp(mlp, config))
        };
        Ok(Self {
            patch_embed: PatchEmbed::load(&embeddings.at("patch_embeddings.projection"), patch)?,
            prefix: Prefix::load(&embeddings, registers, width)?,
            positions: PositionTable::load(&embeddings, native.height * native.width, width, resize)?,
            encoder: Encoder { layers: (0..config.num_hidden_layers).map(layer).collect::<Result<_, _>>()? },
            layernorm: LayerNorm::load(&weights.at("layernorm"), width, eps)?,
            hidden_size: width,
        })
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.patch_embed.bytes() + self.encoder.bytes()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(&self, ctx: &Context, inputs: &Inputs<'_>) -> Result<Outputs, ModelError> {
        let pixels = &inputs.pixel_values;
        let grid = self.patch_embed.grid(pixels)?;
        let (batch, prefix, hidden_size) = (pixels.dim().0, self.prefix.len(), self.hidden_size);
        let shape = TokenShape { batch, prefix, grid, hidden_size };
        shape.check(self.encoder.scratch_width())?;

        let mut x = vec![0.0; shape.len()]; // [B, S, D]
        self.prefix.write(&shape, &mut x);
        self.patch_embed.forward(ctx, pixels, &shape, &mut x);
        self.positions.add(ctx, &shape, &mut x)?;
        let mut record = Record::new(inputs, &shape);
        self.encoder.forward(ctx, shape, None, &mut x, &mut record);
        let mut normed = vec![0.0; x.len()];
        self.layernorm.forward(ctx, &x, &mut normed);
        Ok(Outputs::new(&shape, normed, record))
    }
}

/// SwiGLU is always gated by SiLU, whatever `hidden_act` says.
fn load_mlp(weights: &Weights<'_>, config: &Dinov2Config) -> Result<Mlp, ModelError> {
    let shape =
        |intermediate_size| MlpShape { hidden_size: config.hidden_size, intermediate_size, bias: true };
    if config.use_swiglu_ffn {
        let names = ["weights_in", "weights_out"];
        return Mlp::load_fused_gate(weights, names, shape(config.swiglu_width()), Activation::Silu);
    }
    let activation = super::activation(&config.hidden_act)?;
    Mlp::load_plain(weights, ["fc1", "fc2"], shape(config.mlp_width()), activation)
}
