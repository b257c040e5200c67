//! Tensors of the DINOv3 ConvNeXt.
//!
//! Stage 0 begins with a 4×4 convolution and then a norm, the others with a norm and then a 2×2 convolution.

use super::Specs;
use crate::config::DINOv3ConvNextConfig;

/// Side of the stem's kernel.
const STEM_KERNEL: usize = 4;
/// Side of the kernel between stages.
const DOWNSAMPLE_KERNEL: usize = 2;
/// Side of the depthwise kernel.
const DEPTHWISE_KERNEL: usize = 7;
/// Width of a block's MLP as a multiple of its channels.
const MLP_RATIO: usize = 4;

/// The tensors; `final_norm` is false for a backbone's file.
pub(super) fn specs(specs: &mut Specs, config: &DINOv3ConvNextConfig, final_norm: bool) {
    let mut inputs = config.num_channels;
    for (stage, (&width, &depth)) in config.hidden_sizes.iter().zip(&config.depths).enumerate() {
        let prefix = format!("stages.{stage}");
        let (first, second) =
            (format!("{prefix}.downsample_layers.0"), format!("{prefix}.downsample_layers.1"));
        if stage == 0 {
            specs.convolution(&first, [width, inputs, STEM_KERNEL, STEM_KERNEL]);
            specs.norm(&second, width);
        } else {
            specs.norm(&first, inputs);
            specs.convolution(&second, [width, inputs, DOWNSAMPLE_KERNEL, DOWNSAMPLE_KERNEL]);
        }
        for block in 0..depth {
            block_specs(specs, width, &format!("{prefix}.layers.{block}"));
        }
        inputs = width;
    }
    let norm_at = specs.0.len();
    specs.norm("layer_norm", inputs);
    for spec in &mut specs.0[norm_at..] {
        spec.required = final_norm;
    }
}

fn block_specs(specs: &mut Specs, width: usize, block: &str) {
    let hidden = width.saturating_mul(MLP_RATIO);
    specs.convolution(&format!("{block}.depthwise_conv"), [width, 1, DEPTHWISE_KERNEL, DEPTHWISE_KERNEL]);
    specs.norm(&format!("{block}.layer_norm"), width);
    specs.linear(&format!("{block}.pointwise_conv1"), hidden, width, true);
    specs.linear(&format!("{block}.pointwise_conv2"), width, hidden, true);
    specs.tensor(format!("{block}.gamma"), &[width]);
}
