//! The four families, told apart by `model_type`.
//!
//! A name that is none of them is an error that lists them. The spelling of the variants is that of Transformers' classes:
//! `Dinov2Model`, `Dinov2WithRegistersModel`, `DINOv3ViTModel`, `DINOv3ConvNextModel`.

use serde_json::Value;

use crate::error::CheckpointError;
use crate::json::{self, Fields};

/// One of the four model types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// DINOv2 without registers.
    Dinov2,
    /// DINOv2 with register tokens.
    Dinov2WithRegisters,
    /// DINOv3 vision transformer.
    DINOv3Vit,
    /// DINOv3 ConvNeXt.
    DINOv3ConvNext,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Dinov2, Self::Dinov2WithRegisters, Self::DINOv3Vit, Self::DINOv3ConvNext];

    /// Its name in `config.json`.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Dinov2 => "dinov2",
            Self::Dinov2WithRegisters => "dinov2_with_registers",
            Self::DINOv3Vit => "dinov3_vit",
            Self::DINOv3ConvNext => "dinov3_convnext",
        }
    }

    /// The family of that `model_type`.
    pub fn from_model_type(model_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.model_type() == model_type)
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let (path, known) = (fields.path().into(), Self::ALL.map(Self::model_type).to_vec());
        match fields.get("model_type") {
            None | Some(Value::Null) => Err(CheckpointError::NoModelType { path, known }),
            Some(value) => value
                .as_str()
                .and_then(Self::from_model_type)
                .ok_or_else(|| CheckpointError::UnknownModelType { path, got: json::describe(value), known }),
        }
    }
}
