//! `config.json` of the four families, typed, with Transformers' field names, defaults and rules.
//!
//! `ModelConfig::from_json` dispatches on `model_type`. Unknown keys are ignored; a wrong type or an impossible size is an
//! error that names file, key, expected and got. One leniency against Transformers: whole floats count as integers.
//! Source: `models/*/configuration_*.py`, `configuration_utils.py` of Transformers 5.24.0.

use std::path::Path;

use serde_json::{Map, Value};

use crate::error::CheckpointError;
use crate::json::{self, Fields};

pub mod backbone;
mod common;
mod dinov2;
mod dinov2_with_registers;
mod dinov3_convnext;
mod dinov3_vit;
mod family;
mod overrides;
pub(crate) mod python_json;
mod quantization;
mod size;
mod write;

pub use backbone::Stage;
pub use common::{CommonConfig, ProblemType, TorchDtype};
pub use dinov2::Dinov2Config;
pub use dinov2_with_registers::Dinov2WithRegistersConfig;
pub use dinov3_convnext::DINOv3ConvNextConfig;
pub use dinov3_vit::DINOv3ViTConfig;
pub use family::Family;
pub use quantization::Quantization;
pub use size::Size2;

/// The config of one model.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelConfig {
    /// `model_type` `dinov2`.
    Dinov2(Dinov2Config),
    /// `model_type` `dinov2_with_registers`.
    Dinov2WithRegisters(Dinov2WithRegistersConfig),
    /// `model_type` `dinov3_vit`.
    DINOv3Vit(DINOv3ViTConfig),
    /// `model_type` `dinov3_convnext`.
    DINOv3ConvNext(DINOv3ConvNextConfig),
}

impl ModelConfig {
    /// Reads the bytes of a `config.json`; `path` serves error messages only.
    ///
    /// # Errors
    /// Not JSON, an unknown or missing `model_type`, a field of a wrong type or out of range.
    pub fn from_json(path: &Path, bytes: &[u8]) -> Result<Self, CheckpointError> {
        Self::from_map(path, json::object(path, bytes)?)
    }

    /// Reads the object of a `config.json`, and keeps it.
    fn from_map(path: &Path, map: Map<String, Value>) -> Result<Self, CheckpointError> {
        let fields = Fields::new(path, &map);
        let mut config = match Family::read(&fields)? {
            Family::Dinov2 => Self::Dinov2(Dinov2Config::read(&fields)?),
            Family::Dinov2WithRegisters => {
                Self::Dinov2WithRegisters(Dinov2WithRegistersConfig::read(&fields)?)
            }
            Family::DINOv3Vit => Self::DINOv3Vit(DINOv3ViTConfig::read(&fields)?),
            Family::DINOv3ConvNext => Self::DINOv3ConvNext(DINOv3ConvNextConfig::read(&fields)?),
        };
        config.check_stages(path)?;
        config.common_mut().source = map;
        Ok(config)
    }

    /// Holds a config that was made in code to the rules of one that is read; `path` serves error messages only.
    pub(crate) fn check(&self, path: &Path) -> Result<(), CheckpointError> {
        Self::from_map(path, self.given_fields()).map(|_| ())
    }

    /// The config's own choice of stages must fit the computed stage names, and those that replace them.
    fn check_stages(&self, path: &Path) -> Result<(), CheckpointError> {
        let common = self.common();
        let (features, indices) = (common.out_features.as_deref(), common.out_indices.as_deref());
        backbone::resolve_stages(&self.computed_stage_names(), features, indices)
            .and_then(|_| self.stages())
            .map(|_| ())
            .map_err(|source| CheckpointError::ConfigStages { path: path.into(), source: Box::new(source) })
    }

    /// The family.
    pub fn family(&self) -> Family {
        match self {
            Self::Dinov2(_) => Family::Dinov2,
            Self::Dinov2WithRegisters(_) => Family::Dinov2WithRegisters,
            Self::DINOv3Vit(_) => Family::DINOv3Vit,
            Self::DINOv3ConvNext(_) => Family::DINOv3ConvNext,
        }
    }

    /// `model_type` as the JSON has it.
    pub fn model_type(&self) -> &'static str {
        self.family().model_type()
    }

    /// The fields that all families share.
    pub fn common(&self) -> &CommonConfig {
        match self {
            Self::Dinov2(config) => &config.common,
            Self::Dinov2WithRegisters(config) => &config.base.common,
            Self::DINOv3Vit(config) => &config.common,
            Self::DINOv3ConvNext(config) => &config.common,
        }
    }

    /// The fields that all families share, to be changed.
    pub fn common_mut(&mut self) -> &mut CommonConfig {
        match self {
            Self::Dinov2(config) => &mut config.common,
            Self::Dinov2WithRegisters(config) => &mut config.base.common,
            Self::DINOv3Vit(config) => &mut config.common,
            Self::DINOv3ConvNext(config) => &mut config.common,
        }
    }

    /// Length of an output token; for ConvNeXt the channels of the last stage.
    pub fn hidden_size(&self) -> usize {
        match self {
            Self::Dinov2(config) => config.hidden_size,
            Self::Dinov2WithRegisters(config) => config.base.hidden_size,
            Self::DINOv3Vit(config) => config.hidden_size,
            Self::DINOv3ConvNext(config) => config.hidden_sizes.last().copied().unwrap_or(0),
        }
    }

    /// Size of a patch in pixels; a ConvNeXt has none.
    pub fn patch_size(&self) -> Option<Size2> {
        match self {
            Self::Dinov2(config) => Some(config.patch_size),
            Self::Dinov2WithRegisters(config) => Some(config.base.patch_size),
            Self::DINOv3Vit(config) => Some(config.patch_size),
            Self::DINOv3ConvNext(_) => None,
        }
    }

    /// `image_size` in pixels: the size of the stored positions for DINOv2, without effect elsewhere.
    pub fn image_size(&self) -> Size2 {
        match self {
            Self::Dinov2(config) => config.image_size,
            Self::Dinov2WithRegisters(config) => config.base.image_size,
            Self::DINOv3Vit(config) => config.image_size,
            Self::DINOv3ConvNext(config) => config.image_size,
        }
    }

    /// Channels of the input image.
    pub fn num_channels(&self) -> usize {
        match self {
            Self::Dinov2(config) => config.num_channels,
            Self::Dinov2WithRegisters(config) => config.base.num_channels,
            Self::DINOv3Vit(config) => config.num_channels,
            Self::DINOv3ConvNext(config) => config.num_channels,
        }
    }

    /// Register tokens between CLS and the patches; 0 where the family has none.
    pub fn num_register_tokens(&self) -> usize {
        match self {
            Self::Dinov2(_) | Self::DINOv3ConvNext(_) => 0,
            Self::Dinov2WithRegisters(config) => config.num_register_tokens,
            Self::DINOv3Vit(config) => config.num_register_tokens,
        }
    }

    /// Length of one attention head; a ConvNeXt has none.
    pub fn head_dim(&self) -> Option<usize> {
        match self {
            Self::Dinov2(config) => Some(config.head_dim()),
            Self::Dinov2WithRegisters(config) => Some(config.base.head_dim()),
            Self::DINOv3Vit(config) => Some(config.head_dim()),
            Self::DINOv3ConvNext(_) => None,
        }
    }

    /// Width of the SwiGLU MLP by DINOv2's 2/3 rule, when the config uses it.
    pub fn swiglu_width(&self) -> Option<usize> {
        match self {
            Self::Dinov2(config) => config.use_swiglu_ffn.then(|| config.swiglu_width()),
            Self::Dinov2WithRegisters(config) => {
                config.base.use_swiglu_ffn.then(|| config.base.swiglu_width())
            }
            Self::DINOv3Vit(_) | Self::DINOv3ConvNext(_) => None,
        }
    }

    /// Whether the saved model was a classifier, by `architectures`.
    pub fn has_classifier(&self) -> bool {
        self.architecture_ends_with("ForImageClassification")
    }

    /// Whether the saved model was a backbone, by `architectures`.
    pub fn is_backbone(&self) -> bool {
        self.architecture_ends_with("Backbone")
    }

    fn architecture_ends_with(&self, suffix: &str) -> bool {
        self.common().architectures.iter().any(|name| name.ends_with(suffix))
    }

    /// `stem`, `stage1`, …: the places whose output a backbone can return, unless the config renames them.
    pub fn stage_names(&self) -> Vec<String> {
        match &self.common().stage_names {
            Some(names) => names.clone(),
            None => self.computed_stage_names(),
        }
    }

    /// The channels of every stage, `stem` first (`num_features` of a backbone).
    pub fn num_features(&self) -> Vec<usize> {
        match self {
            Self::DINOv3ConvNext(config) => [&[config.num_channels][..], &config.hidden_sizes].concat(),
            config => vec![config.hidden_size(); config.stage_names().len()],
        }
    }

    /// The smallest picture, in pixels: one patch; for a ConvNeXt one place of the last map.
    pub fn least_picture(&self) -> Size2 {
        self.patch_size().unwrap_or_else(|| {
            // The stem's stride is 4, that of each further stage 2.
            let stages = self.num_features().len().saturating_sub(1);
            let side = (1..stages).fold(4_usize, |side, _| side.saturating_mul(2));
            Size2 { height: side, width: side }
        })
    }

    fn computed_stage_names(&self) -> Vec<String> {
        let stages = match self {
            Self::Dinov2(config) => config.num_hidden_layers,
            Self::Dinov2WithRegisters(config) => config.base.num_hidden_layers,
            Self::DINOv3Vit(config) => config.num_hidden_layers,
            Self::DINOv3ConvNext(config) => config.depths.len(),
        };
        std::iter::once("stem".to_owned()).chain((1..=stages).map(|i| format!("stage{i}"))).collect()
    }

    /// The stages that a backbone returns, by the config's own `out_features` and `out_indices`.
    ///
    /// # Errors
    /// The config's choice does not fit its stages; never for a config that `from_json` gave.
    pub fn stages(&self) -> Result<Vec<Stage>, CheckpointError> {
        let common = self.common();
        backbone::resolve_stages(
            &self.stage_names(),
            common.out_features.as_deref(),
            common.out_indices.as_deref(),
        )
    }
}

impl From<Dinov2Config> for ModelConfig {
    fn from(config: Dinov2Config) -> Self {
        Self::Dinov2(config)
    }
}

impl From<Dinov2WithRegistersConfig> for ModelConfig {
    fn from(config: Dinov2WithRegistersConfig) -> Self {
        Self::Dinov2WithRegisters(config)
    }
}

impl From<DINOv3ViTConfig> for ModelConfig {
    fn from(config: DINOv3ViTConfig) -> Self {
        Self::DINOv3Vit(config)
    }
}

impl From<DINOv3ConvNextConfig> for ModelConfig {
    fn from(config: DINOv3ConvNextConfig) -> Self {
        Self::DINOv3ConvNext(config)
    }
}

#[cfg(test)]
mod tests;
