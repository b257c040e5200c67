//! Which tensors a config asks for: the bare model's names, as hub files spell them, with exact shapes.
//!
//! D hidden size, P patches of the stored positions, R registers, C channels, p patch size. Linear weights are
//! `[out, in]`, convolution kernels `[out, in, height, width]`. Products of sizes saturate: a config read from JSON stays
//! far below that (see `limits`), and a hand-made one then simply fits no file.

use crate::config::{Dinov2Config, ModelConfig};
use crate::head::Head;

mod convnext;
mod dinov2;
mod dinov3_vit;

/// One tensor that a model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorSpec {
    /// Its bare name in hub files.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether a checkpoint without it cannot be run.
    pub required: bool,
}

impl TensorSpec {
    /// How many numbers it holds.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product: u64, &side| product.saturating_mul(side as u64))
    }
}

impl TensorSpec {
    /// Whether it is the weight `[outputs, inputs]` of a linear layer: not a convolution's, a norm's or a token.
    pub fn is_linear_weight(&self) -> bool {
        self.shape.len() == 2 && self.name.ends_with(".weight")
    }
}

/// Canonical names of a classifier's tensors.
pub(crate) const CLASSIFIER_TENSORS: [&str; 2] = ["classifier.weight", "classifier.bias"];

/// Every tensor of the bare model, in the order of the forward.
pub fn tensor_specs(config: &ModelConfig) -> Vec<TensorSpec> {
    let mut specs = Specs::default();
    match config {
        ModelConfig::Dinov2(config) => dinov2::specs(&mut specs, config, None),
        ModelConfig::Dinov2WithRegisters(config) => {
            dinov2::specs(&mut specs, &config.base, Some(config.num_register_tokens));
        }
        ModelConfig::DINOv3Vit(config) => dinov3_vit::specs(&mut specs, config),
        ModelConfig::DINOv3ConvNext(config) => {
            convnext::specs(&mut specs, config, !config_is_backbone(config));
        }
    }
    specs.0
}

/// The classifier on top: none for DINOv3, and none where the config has no labels.
///
/// Weight `[labels, 2·D]` over CLS and the mean of the patches, bias `[labels]`.
pub fn classifier_specs(config: &ModelConfig) -> Vec<TensorSpec> {
    let base: &Dinov2Config = match config {
        ModelConfig::Dinov2(config) => config,
        ModelConfig::Dinov2WithRegisters(config) => &config.base,
        ModelConfig::DINOv3Vit(_) | ModelConfig::DINOv3ConvNext(_) => return Vec::new(),
    };
    let labels = base.common.num_labels();
    let mut specs = Specs::default();
    if labels > 0 {
        specs.linear("classifier", labels, base.hidden_size.saturating_mul(2), true);
    }
    specs.0
}

/// Every tensor of the class that `head` names, in the order of the forward: the body, then the classifier.
///
/// The backbone of a ConvNeXt has no final norm; a head that the family does not have adds nothing.
pub fn model_specs(config: &ModelConfig, head: Head) -> Vec<TensorSpec> {
    let mut specs = tensor_specs(config);
    if let ModelConfig::DINOv3ConvNext(_) = config {
        let norm = |spec: &TensorSpec| spec.name.starts_with("layer_norm.");
        match head {
            Head::Backbone => specs.retain(|spec| !norm(spec)),
            Head::Bare | Head::Classifier => {
                specs.iter_mut().filter(|spec| norm(spec)).for_each(|spec| spec.required = true);
            }
        }
    }
    if head == Head::Classifier {
        specs.extend(classifier_specs(config));
    }
    specs
}

/// Parameters of the bare model, mask token included, classifier not.
pub fn parameter_count(config: &ModelConfig) -> u64 {
    tensor_specs(config).iter().fold(0, |sum: u64, spec| sum.saturating_add(spec.elements()))
}

/// A backbone's file has no final norm.
fn config_is_backbone(config: &crate::config::DINOv3ConvNextConfig) -> bool {
    config.common.architectures.iter().any(|name| name.ends_with("Backbone"))
}

/// The list under construction.
#[derive(Default)]
struct Specs(Vec<TensorSpec>);

impl Specs {
    fn tensor(&mut self, name: impl Into<String>, shape: &[usize]) {
        self.0.push(TensorSpec { name: name.into(), shape: shape.to_vec(), required: true });
    }

    fn optional(&mut self, name: impl Into<String>, shape: &[usize]) {
        self.0.push(TensorSpec { name: name.into(), shape: shape.to_vec(), required: false });
    }

    /// Weight `[outputs, inputs]` and, where there is one, bias `[outputs]`.
    fn linear(&mut self, name: &str, outputs: usize, inputs: usize, bias: bool) {
        self.tensor(format!("{name}.weight"), &[outputs, inputs]);
        if bias {
            self.tensor(format!("{name}.bias"), &[outputs]);
        }
    }

    /// Kernel `[outputs, inputs, height, width]` and bias `[outputs]`.
    fn convolution(&mut self, name: &str, kernel: [usize; 4]) {
        self.tensor(format!("{name}.weight"), &kernel);
        self.tensor(format!("{name}.bias"), &kernel[..1]);
    }

    /// Weight and bias `[width]` of a layer norm.
    fn norm(&mut self, name: &str, width: usize) {
        self.tensor(format!("{name}.weight"), &[width]);
        self.tensor(format!("{name}.bias"), &[width]);
    }
}

#[cfg(test)]
mod tests;
