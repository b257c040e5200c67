//! DINOv3 ViT (`dinov3_vit`): no position table; queries and keys of the patches are rotated by their place in the grid.
//!
//! Source: Transformers 5.24 `models/dinov3_vit/modeling_dinov3_vit.py`.

use crate::{
    ModelError,
    layers::{
        attention::AttentionConfig,
        axial_rope::{Augment, AxialRope},
        encoder::Encoder,
        layer::Layer,
        layer_norm::LayerNorm,
        mask_token::{MaskRule, MaskToken},
        mlp::{Mlp, MlpShape},
        patch_embed::{PatchConfig, PatchEmbed},
        prefix::Prefix,
        vit::{Positions, StageRules, Vit},
    },
    train::TrainRates,
    weights::Weights,
};
use dinoxide_checkpoint::config::DINOv3ViTConfig;

const ATTENTION: [&str; 4] = ["q_proj", "k_proj", "v_proj", "o_proj"];

/// Reads a DINOv3 ViT.
pub(crate) fn load(weights: &Weights<'_>, config: &DINOv3ViTConfig) -> Result<Vit, ModelError> {
    let (width, eps) = (config.hidden_size, config.layer_norm_eps);
    let embeddings = weights.at("embeddings");
    let patch = (config.patch_size.height, config.patch_size.width);
    let patch = PatchConfig { channels: config.num_channels, patch, hidden_size: width };
    let attention = AttentionConfig {
        hidden_size: width,
        heads: config.num_attention_heads,
        head_dim: config.head_dim(),
        bias: [config.query_bias, config.key_bias, config.value_bias, config.proj_bias],
        names: ATTENTION,
    };
    let layer = |i| {
        let place = weights.at(format_args!("layer.{i}"));
        Layer::load(&place, &attention, eps, |mlp| load_mlp(mlp, config))
    };
    let augment = Augment {
        shift: config.pos_embed_shift,
        jitter: config.pos_embed_jitter,
        rescale: config.pos_embed_rescale,
    };
    Ok(Vit {
        model_type: "dinov3_vit",
        patch_embed: PatchEmbed::load(&embeddings.at("patch_embeddings"), patch)?,
        mask_token: MaskToken::load(&embeddings, &[1, 1, width], MaskRule::Select)?,
        prefix: Prefix::load(&embeddings, config.num_register_tokens, width)?,
        positions: Positions::Rope(AxialRope::new(config.head_dim(), config.rope_theta, augment)),
        encoder: Encoder::new((0..config.num_hidden_layers).map(layer).collect::<Result<_, _>>()?),
        norm: LayerNorm::load(&weights.at("norm"), width, eps)?,
        // Neither the embedding output nor anything but probabilities has a dropout.
        rates: TrainRates {
            embedding: 0.0,
            attention: config.attention_dropout,
            drop_path: config.drop_path_rate,
        },
        stage_rules: StageRules { always_norm_last: true, keep_prefix: false, class_tokens: true },
        tie_last_hidden_states: config.common.tie_last_hidden_states == Some(true),
    })
}

/// Gated or plain, both with `hidden_act` and `intermediate_size` as they stand in the config.
fn load_mlp(weights: &Weights<'_>, config: &DINOv3ViTConfig) -> Result<Mlp, ModelError> {
    let (hidden_size, intermediate_size) = (config.hidden_size, config.intermediate_size);
    let shape = MlpShape { hidden_size, intermediate_size, bias: config.mlp_bias };
    let activation = super::activation(&config.hidden_act)?;
    if config.use_gated_mlp {
        return Mlp::load_gated(weights, ["gate_proj", "up_proj", "down_proj"], shape, activation);
    }
    Mlp::load_plain(weights, ["up_proj", "down_proj"], shape, activation)
}
