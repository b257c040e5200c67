//! Tensors of the DINOv3 vision transformer.
//!
//! Names are those of the bare model as the hub's files have them; shapes follow from the config. Each projection has a
//! bias or not by its own flag. There is no position table: positions are rotations.

use super::Specs;
use crate::config::DINOv3ViTConfig;

pub(super) fn specs(specs: &mut Specs, config: &DINOv3ViTConfig) {
    let width = config.hidden_size;
    specs.tensor("embeddings.cls_token", &[1, 1, width]);
    specs.optional("embeddings.mask_token", &[1, 1, width]);
    let registers = [1, config.num_register_tokens, width];
    match config.num_register_tokens {
        // Transformers writes a tensor without entries when there are no registers.
        0 => specs.optional("embeddings.register_tokens", &registers),
        _ => specs.tensor("embeddings.register_tokens", &registers),
    }
    let patch = config.patch_size;
    specs.convolution("embeddings.patch_embeddings", [width, config.num_channels, patch.height, patch.width]);
    for index in 0..config.num_hidden_layers {
        layer(specs, config, &format!("layer.{index}"));
    }
    specs.norm("norm", width);
}

fn layer(specs: &mut Specs, config: &DINOv3ViTConfig, layer: &str) {
    let (width, hidden) = (config.hidden_size, config.intermediate_size);
    specs.norm(&format!("{layer}.norm1"), width);
    let projections = [
        ("q_proj", config.query_bias),
        ("k_proj", config.key_bias),
        ("v_proj", config.value_bias),
        ("o_proj", config.proj_bias),
    ];
    for (name, bias) in projections {
        specs.linear(&format!("{layer}.attention.{name}"), width, width, bias);
    }
    specs.tensor(format!("{layer}.layer_scale1.lambda1"), &[width]);
    specs.norm(&format!("{layer}.norm2"), width);
    if config.use_gated_mlp {
        specs.linear(&format!("{layer}.mlp.gate_proj"), hidden, width, config.mlp_bias);
    }
    specs.linear(&format!("{layer}.mlp.up_proj"), hidden, width, config.mlp_bias);
    specs.linear(&format!("{layer}.mlp.down_proj"), width, hidden, config.mlp_bias);
    specs.tensor(format!("{layer}.layer_scale2.lambda1"), &[width]);
}
