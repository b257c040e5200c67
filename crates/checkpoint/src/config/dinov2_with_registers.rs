//! `Dinov2WithRegistersConfig`: DINOv2's fields and the number of registers.
//!
//! Differences: `patch_size` defaults to 16, the mask token always exists, 4 registers.
//! Source: `models/dinov2_with_registers/configuration_dinov2_with_registers.py` of Transformers 5.24.0.

use crate::config::{Dinov2Config, Size2};
use crate::error::CheckpointError;
use crate::json::Fields;
use crate::limits::MAX_REGISTER_TOKENS;

/// Config of a DINOv2 model with register tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Dinov2WithRegistersConfig {
    /// The fields it shares with DINOv2.
    pub base: Dinov2Config,
    /// Register tokens between CLS and the patches.
    pub num_register_tokens: usize,
}

impl Default for Dinov2WithRegistersConfig {
    fn default() -> Self {
        let base = Dinov2Config { patch_size: Size2::square(16), ..Dinov2Config::default() };
        Self { base, num_register_tokens: 4 }
    }
}

impl Dinov2WithRegistersConfig {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let default = Self::default();
        Ok(Self {
            num_register_tokens: fields.int(
                "num_register_tokens",
                default.num_register_tokens,
                0..=MAX_REGISTER_TOKENS,
            )?,
            base: Dinov2Config::read_over(fields, &default.base)?,
        })
    }
}
