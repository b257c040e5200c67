//! What stands on a model's body: which of Transformers' classes a checkpoint is.
//!
//! `Dinov2Model`, `Dinov2ForImageClassification`, `Dinov2Backbone`, and so on. The class decides which tensors there are
//! (`layout::model_specs`), what stands before their names in a file, and `architectures` in config.json.

use crate::config::{Family, ModelConfig};
use crate::error::CheckpointError;

/// One of the classes of a family.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Head {
    /// The bare model, such as `Dinov2Model`.
    #[default]
    Bare,
    /// With a classifier over CLS and the patch mean, such as `Dinov2ForImageClassification`; DINOv3 has none.
    Classifier,
    /// Feature maps of chosen stages, such as `Dinov2Backbone`.
    Backbone,
}

impl Head {
    /// What `architectures` of a config names; the bare model when it names none of the family's classes.
    pub fn of(config: &ModelConfig) -> Self {
        if config.has_classifier() && Self::Classifier.class_name(config.family()).is_some() {
            return Self::Classifier;
        }
        match config.is_backbone() {
            true => Self::Backbone,
            false => Self::Bare,
        }
    }

    /// The name of Transformers' class; `None` for a classifier of DINOv3.
    pub fn class_name(self, family: Family) -> Option<&'static str> {
        match (family, self) {
            (Family::Dinov2, Self::Bare) => Some("Dinov2Model"),
            (Family::Dinov2, Self::Classifier) => Some("Dinov2ForImageClassification"),
            (Family::Dinov2, Self::Backbone) => Some("Dinov2Backbone"),
            (Family::Dinov2WithRegisters, Self::Bare) => Some("Dinov2WithRegistersModel"),
            (Family::Dinov2WithRegisters, Self::Classifier) => {
                Some("Dinov2WithRegistersForImageClassification")
            }
            (Family::Dinov2WithRegisters, Self::Backbone) => Some("Dinov2WithRegistersBackbone"),
            (Family::DINOv3Vit, Self::Bare) => Some("DINOv3ViTModel"),
            (Family::DINOv3Vit, Self::Backbone) => Some("DINOv3ViTBackbone"),
            (Family::DINOv3ConvNext, Self::Bare) => Some("DINOv3ConvNextModel"),
            (Family::DINOv3ConvNext, Self::Backbone) => Some("DINOv3ConvNextBackbone"),
            (Family::DINOv3Vit | Family::DINOv3ConvNext, Self::Classifier) => None,
        }
    }

    /// The class's name, or the error that there is no such class.
    pub(crate) fn require_class(self, family: Family) -> Result<&'static str, CheckpointError> {
        self.class_name(family).ok_or(CheckpointError::NoClassifierClass { model_type: family.model_type() })
    }

    /// What stands before the names of the body's tensors in a file of this class.
    pub(crate) fn file_prefix(self, family: Family) -> &'static str {
        match (family, self) {
            (Family::Dinov2, Self::Classifier) => "dinov2.",
            (Family::Dinov2WithRegisters, Self::Classifier) => "dinov2_with_registers.",
            _ => "",
        }
    }
}
