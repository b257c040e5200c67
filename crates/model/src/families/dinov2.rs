//! DINOv2, plain and with registers (`dinov2`, `dinov2_with_registers`).
//!
//! Tokens are CLS, registers, patches. The learned position table is added to CLS and patches; registers get none. The
//! two differ only in the registers and in how the table is resized.
//! Source: Transformers 5.24 `models/dinov2/modeling_dinov2.py`, `models/dinov2_with_registers/…`.

use crate::{
    ModelError,
    layers::{
        attention::AttentionConfig,
        encoder::Encoder,
        layer::Layer,
        layer_norm::LayerNorm,
        mask_token::{MaskRule, MaskToken},
        mlp::{Mlp, MlpShape},
        patch_embed::{PatchConfig, PatchEmbed},
        position_table::{PositionTable, TableResize},
        prefix::Prefix,
        vit::{Positions, StageRules, Vit},
    },
    train::TrainRates,
    weights::Weights,
};
use dinoxide_checkpoint::config::{Dinov2Config, Dinov2WithRegistersConfig};
use dinoxide_kernels::Activation;

const ATTENTION: [&str; 4] = ["attention.query", "attention.key", "attention.value", "output.dense"];

/// Where plain DINOv2 and the one with registers differ.
struct Variant {
    model_type: &'static str,
    registers: usize,
    resize: TableResize,
    mask: MaskRule,
}

/// Reads a plain DINOv2.
pub(crate) fn load(weights: &Weights<'_>, config: &Dinov2Config) -> Result<Vit, ModelError> {
    let variant =
        Variant { model_type: "dinov2", registers: 0, resize: TableResize::Bicubic, mask: MaskRule::Blend };
    load_variant(weights, config, &variant)
}

/// Reads a DINOv2 with registers.
pub(crate) fn load_with_registers(
    weights: &Weights<'_>,
    config: &Dinov2WithRegistersConfig,
) -> Result<Vit, ModelError> {
    let variant = Variant {
        model_type: "dinov2_with_registers",
        registers: config.num_register_tokens,
        resize: TableResize::BicubicAntialias,
        mask: MaskRule::Select,
    };
    load_variant(weights, &config.base, &variant)
}

fn load_variant(weights: &Weights<'_>, config: &Dinov2Config, variant: &Variant) -> Result<Vit, ModelError> {
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
    let table = PositionTable::load(&embeddings, native.height * native.width, width, variant.resize)?;
    let mask_token = match config.use_mask_token {
        true => MaskToken::load(&embeddings, &[1, width], variant.mask)?,
        false => MaskToken::none(),
    };
    Ok(Vit {
        model_type: variant.model_type,
        patch_embed: PatchEmbed::load(&embeddings.at("patch_embeddings.projection"), patch)?,
        mask_token,
        prefix: Prefix::load(&embeddings, variant.registers, width)?,
        positions: Positions::Table(table),
        encoder: Encoder::new((0..config.num_hidden_layers).map(layer).collect::<Result<_, _>>()?),
        norm: LayerNorm::load(&weights.at("layernorm"), width, eps)?,
        rates: TrainRates {
            embedding: config.hidden_dropout_prob,
            attention: config.attention_probs_dropout_prob,
            drop_path: config.drop_path_rate,
        },
        stage_rules: StageRules { always_norm_last: false, keep_prefix: true, class_tokens: false },
        tie_last_hidden_states: config.common.tie_last_hidden_states == Some(true),
    })
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
