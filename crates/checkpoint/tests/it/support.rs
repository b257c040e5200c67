//! Tiny checkpoints made on the spot: configs as text, weights of the shapes that the config asks for.
//!
//! Values are of no matter here unless a test sets them. A tensor can be left out, given another shape or another dtype, to
//! make what is to be refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dinoxide_checkpoint::{Checkpoint, CheckpointError, Dtype, ModelConfig, layout};
use safetensors::tensor::TensorView;
use tempfile::TempDir;

/// 7×7 stored positions, 2 layers.
pub(crate) const DINOV2: &str = r#"{"model_type": "dinov2", "hidden_size": 8, "num_hidden_layers": 2,
    "num_attention_heads": 2, "image_size": 28, "patch_size": 4}"#;
/// The same with a SwiGLU of width 24: 2/3 of 32, rounded up to a multiple of 8.
pub(crate) const DINOV2_SWIGLU: &str = r#"{"model_type": "dinov2", "hidden_size": 8, "num_hidden_layers": 2,
    "num_attention_heads": 2, "image_size": 28, "patch_size": 4, "use_swiglu_ffn": true}"#;
/// A classifier of 3 labels.
pub(crate) const CLASSIFIER: &str = r#"{"model_type": "dinov2", "hidden_size": 8, "num_hidden_layers": 2,
    "num_attention_heads": 2, "image_size": 28, "patch_size": 4, "architectures": ["Dinov2ForImageClassification"],
    "id2label": {"0": "ant", "1": "bee", "2": "cat"}}"#;
/// No registers: its files hold a register tensor without entries.
pub(crate) const DINOV3_VIT: &str = r#"{"model_type": "dinov3_vit", "hidden_size": 8, "intermediate_size": 16,
    "num_hidden_layers": 1, "num_attention_heads": 2, "patch_size": 4}"#;
pub(crate) const CONVNEXT: &str =
    r#"{"model_type": "dinov3_convnext", "hidden_sizes": [4, 8], "depths": [1, 2]}"#;

/// Dtype, shape and bytes of one tensor.
type Tensor = (Dtype, Vec<usize>, Vec<u8>);

/// The tensors of one file.
#[derive(Clone)]
pub(crate) struct Weights(pub(crate) BTreeMap<String, Tensor>);

impl Weights {
    /// All tensors of the bare model, and of the classifier if `config` is one.
    pub(crate) fn of(config: &str) -> Self {
        let config = parse(config).unwrap();
        let mut specs = layout::tensor_specs(&config);
        if config.has_classifier() {
            specs.extend(layout::classifier_specs(&config));
        }
        let tensors = specs.into_iter().enumerate().map(|(index, spec)| {
            let count: usize = spec.shape.iter().product();
            let values: Vec<f32> = (0..count).map(|i| (1000 * index + i) as f32).collect();
            (spec.name, (Dtype::F32, spec.shape, f32_bytes(&values)))
        });
        Self(tensors.collect())
    }

    /// Other names for all tensors.
    pub(crate) fn renamed(self, rename: impl Fn(&str) -> String) -> Self {
        Self(self.0.into_iter().map(|(name, tensor)| (rename(&name), tensor)).collect())
    }

    /// Without the tensors of these names.
    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        for name in names {
            self.0.remove(*name).unwrap_or_else(|| panic!("no {name}"));
        }
        self
    }

    /// With one more tensor of zeros, or another one in its place.
    pub(crate) fn with(mut self, name: &str, shape: &[usize]) -> Self {
        let count: usize = shape.iter().product();
        self.0.insert(name.into(), (Dtype::F32, shape.into(), vec![0; 4 * count]));
        self
    }

    /// Only the tensors whose names `keep` accepts.
    pub(crate) fn only(self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.0.into_iter().filter(|(name, _)| keep(name)).collect())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let views = self.0.iter().map(|(name, (dtype, shape, bytes))| {
            (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        });
        safetensors::serialize(views, None).unwrap()
    }
}

/// The folder of the checkpoints that Transformers wrote.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

pub(crate) fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn parse(config: &str) -> Result<ModelConfig, CheckpointError> {
    ModelConfig::from_json(Path::new("config.json"), config.as_bytes())
}

/// A checkpoint in memory.
pub(crate) fn open(config: &str, weights: &Weights) -> Result<Checkpoint, CheckpointError> {
    Checkpoint::from_bytes(config.as_bytes(), None, weights.bytes())
}

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// A folder with a config and weights in one file.
pub(crate) fn checkpoint_folder(config: &str, weights: &Weights) -> TempDir {
    folder(&[("config.json", config.as_bytes()), ("model.safetensors", &weights.bytes())])
}

/// A safetensors file with this header and this much data.
pub(crate) fn raw_file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}
