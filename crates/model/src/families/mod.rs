//! The model families: names and choices only; the arithmetic is in `layers`.

pub(crate) mod dinov2;
pub(crate) mod dinov3_convnext;
pub(crate) mod dinov3_vit;

use crate::ModelError;
use dinoxide_kernels::{Activation, KernelError};

/// The activation of a config's `hidden_act`.
fn activation(name: &str) -> Result<Activation, ModelError> {
    name.parse().map_err(|reason: KernelError| ModelError::UnknownActivation { reason })
}
