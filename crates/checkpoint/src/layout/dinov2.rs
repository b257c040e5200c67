//! Tensors of DINOv2, with and without registers.
//!
//! Names are those of the bare model as the hub's files have them; shapes follow from the config. Linear weights are
//! [out, in], the patch kernel [D, C, P, P], tables [1, S, D].

use super::Specs;
use crate::config::Dinov2Config;

/// The tensors; `registers` is given for the variant that has them.
pub(super) fn specs(specs: &mut Specs, config: &Dinov2Config, registers: Option<usize>) {
    embeddings(specs, config, registers);
    for index in 0..config.num_hidden_layers {
        layer(specs, config, &format!("encoder.layer.{index}"));
    }
    specs.norm("layernorm", config.hidden_size);
}

fn embeddings(specs: &mut Specs, config: &Dinov2Config, registers: Option<usize>) {
    let width = config.hidden_size;
    let grid = config.position_grid();
    let positions = grid.height.saturating_mul(grid.width).saturating_add(1);
    specs.tensor("embeddings.cls_token", &[1, 1, width]);
    if config.use_mask_token {
        specs.optional("embeddings.mask_token", &[1, width]);
    }
    match registers {
        // Transformers writes a tensor without entries when there are no registers.
        Some(0) => specs.optional("embeddings.register_tokens", &[1, 0, width]),
        Some(count) => specs.tensor("embeddings.register_tokens", &[1, count, width]),
        None => {}
    }
    specs.tensor("embeddings.position_embeddings", &[1, positions, width]);
    let patch = config.patch_size;
    specs.convolution(
        "embeddings.patch_embeddings.projection",
        [width, config.num_channels, patch.height, patch.width],
    );
}

fn layer(specs: &mut Specs, config: &Dinov2Config, layer: &str) {
    let width = config.hidden_size;
    let inner = config.attention_width();
    specs.norm(&format!("{layer}.norm1"), width);
    for name in ["query", "key", "value"] {
        specs.linear(&format!("{layer}.attention.attention.{name}"), inner, width, config.qkv_bias);
    }
    specs.linear(&format!("{layer}.attention.output.dense"), width, inner, true);
    specs.tensor(format!("{layer}.layer_scale1.lambda1"), &[width]);
    specs.norm(&format!("{layer}.norm2"), width);
    if config.use_swiglu_ffn {
        let hidden = config.swiglu_width();
        specs.linear(&format!("{layer}.mlp.weights_in"), hidden.saturating_mul(2), width, true);
        specs.linear(&format!("{layer}.mlp.weights_out"), width, hidden, true);
    } else {
        let hidden = config.mlp_width();
        specs.linear(&format!("{layer}.mlp.fc1"), hidden, width, true);
        specs.linear(&format!("{layer}.mlp.fc2"), width, hidden, true);
    }
    specs.tensor(format!("{layer}.layer_scale2.lambda1"), &[width]);
}
