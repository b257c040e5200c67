//! What a forward of one picture costs, from the config alone: floating-point operations and working memory.
//!
//! Operations: matrix multiplications, convolutions and attention, a multiplication and an addition counting two; norms,
//! activations and softmax are left out, as `torch.utils.flop_counter` does (the tests hold its numbers). Memory: the
//! tokens (or the map) and the buffers of the widest layer, f32; attentions, when asked for, come on top.

use crate::args::Size;
use dinoxide::config::{DINOv3ConvNextConfig, Dinov2Config, ModelConfig};

/// Rows and columns of a ConvNeXt's depthwise kernel together.
const DEPTHWISE_TAPS: u64 = 49;

/// The cost of one picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Floating-point operations.
    pub(crate) flops: u64,
    /// Bytes of pixels and activations at the same time.
    pub(crate) activation_bytes: u64,
}

/// The cost of a picture of `size`. A size below one patch costs nothing, as it cannot be run.
pub(crate) fn cost(config: &ModelConfig, size: Size) -> Cost {
    let pixels = product(&[config.num_channels(), size.height, size.width]);
    let (flops, floats) = match config {
        ModelConfig::Dinov2(c) => Vit::dinov2(c, 0).cost(config, size),
        ModelConfig::Dinov2WithRegisters(c) => Vit::dinov2(&c.base, c.num_register_tokens).cost(config, size),
        ModelConfig::DINOv3Vit(c) => Vit {
            hidden_size: c.hidden_size,
            attention_width: c.num_attention_heads * c.head_dim(),
            mlp_width: c.intermediate_size,
            gated: c.use_gated_mlp,
            layers: c.num_hidden_layers,
            prefix: 1 + c.num_register_tokens,
        }
        .cost(config, size),
        ModelConfig::DINOv3ConvNext(c) => convnext(c, size),
    };
    Cost { flops, activation_bytes: 4 * (pixels + floats) }
}

/// The sizes of a ViT that decide its cost.
struct Vit {
    hidden_size: usize,
    attention_width: usize,
    mlp_width: usize,
    gated: bool,
    layers: usize,
    prefix: usize,
}

impl Vit {
    fn dinov2(config: &Dinov2Config, registers: usize) -> Self {
        Self {
            hidden_size: config.hidden_size,
            attention_width: config.attention_width(),
            mlp_width: if config.use_swiglu_ffn { config.swiglu_width() } else { config.mlp_width() },
            gated: config.use_swiglu_ffn,
            layers: config.num_hidden_layers,
            prefix: 1 + registers,
        }
    }

    /// Operations and floats.
    fn cost(&self, config: &ModelConfig, size: Size) -> (u64, u64) {
        let Some(patch) = config.patch_size() else { return (0, 0) };
        let patches = (size.height / patch.height) * (size.width / patch.width);
        let tokens = patches + self.prefix;
        let embedding =
            product(&[2, patches, self.hidden_size, config.num_channels(), patch.height, patch.width]);
        let projections = product(&[2, tokens, self.hidden_size, self.attention_width, 4]);
        let attention = product(&[2, 2, tokens, tokens, self.attention_width]);
        let linears = if self.gated { 3 } else { 2 };
        let mlp = product(&[2, tokens, self.hidden_size, self.mlp_width, linears]);
        // Tokens, their norm, and the wider of: q, k, v, attended values; the MLP's inner layers.
        let inner = if self.gated { 3 * self.mlp_width } else { self.mlp_width };
        let widest = inner.max(4 * self.attention_width);
        let floats = product(&[tokens, 2 * self.hidden_size + widest]);
        (embedding + self.layers as u64 * (projections + attention + mlp), floats)
    }
}

/// Operations and floats of a ConvNeXt.
fn convnext(config: &DINOv3ConvNextConfig, size: Size) -> (u64, u64) {
    let (mut height, mut width) = (size.height, size.width);
    let mut channels = config.num_channels;
    let (mut flops, mut floats) = (0, 0);
    for (stage, (&wide, &depth)) in config.hidden_sizes.iter().zip(&config.depths).enumerate() {
        let stride = if stage == 0 { 4 } else { 2 };
        (height, width) = (height / stride, width / stride);
        let places = product(&[height, width]);
        flops += 2 * places * product(&[channels, stride, stride, wide]);
        let depthwise = 2 * places * wide as u64 * DEPTHWISE_TAPS;
        let pointwise = 2 * places * product(&[wide, 4, wide, 2]);
        flops += depth as u64 * (depthwise + pointwise);
        // The map, convolved, normed, and the inner layer of four times the width.
        floats = floats.max(places * product(&[7, wide]));
        channels = wide;
    }
    (flops, floats)
}

/// Configs are bounded, so a product stays far below the limit; a hand-made monster saturates.
fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn flops(config: &str, size: &str) -> u64 {
        let config = ModelConfig::from_json(Path::new("config.json"), config.as_bytes()).unwrap();
        cost(&config, size.parse().unwrap()).flops
    }

    /// The expected values are `torch.utils.flop_counter.FlopCounterMode`'s (torch 2.15) for Transformers 5.24.0's models
    /// with eager attention.
    #[test]
    fn operations_are_those_that_torch_counts() {
        let small =
            r#""hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6, "image_size": 518"#;
        let dinov2 = format!(r#"{{"model_type": "dinov2", {small}}}"#);
        assert_eq!(flops(&dinov2, "224"), 12_247_123_968);
        assert_eq!(flops(&dinov2, "518x224"), 31_932_057_600);
        let registers = format!(
            r#"{{"model_type": "dinov2_with_registers", "num_register_tokens": 4, "patch_size": 14, {small}}}"#
        );
        assert_eq!(flops(&registers, "224"), 12_455_184_384);
        let giant = r#"{"model_type": "dinov2", "hidden_size": 1536, "num_hidden_layers": 40,
            "num_attention_heads": 24, "use_swiglu_ffn": true, "image_size": 518}"#;
        assert_eq!(flops(giant, "224"), 598_780_133_376);
        let vits16 = r#"{"model_type": "dinov3_vit", "num_register_tokens": 4}"#;
        assert_eq!(flops(vits16, "224"), 9_396_209_664);
        let gated = r#"{"model_type": "dinov3_vit", "num_register_tokens": 4, "use_gated_mlp": true}"#;
        assert_eq!(flops(gated, "224"), 12_241_520_640);
    }

    #[test]
    fn a_convnext_counts_its_last_incomplete_strides_as_the_model_does() {
        let tiny = r#"{"model_type": "dinov3_convnext"}"#;
        assert_eq!(flops(tiny, "224"), 8_909_526_528);
        assert_eq!(flops(tiny, "225x160"), 6_363_947_520);
    }

    #[test]
    fn memory_grows_with_the_tokens() {
        let config = ModelConfig::from_json(Path::new("c"), br#"{"model_type": "dinov3_vit"}"#).unwrap();
        let bytes = |side| cost(&config, Size { height: side, width: side }).activation_bytes;
        // 3·16·16 pixels; 2 tokens (1 patch, CLS) of 2·384 and four times 384.
        assert_eq!(bytes(16), 4 * (768 + 2 * (768 + 1536)));
        assert!(bytes(448) > 3 * bytes(224));
    }
}
