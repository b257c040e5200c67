//! Do the weights fit the config? Every missing and misshapen tensor, in one error.
//!
//! The config says which tensors of which shapes there must be (`layout`); the headers say what there is. Where a wrong
//! `patch_size` or `image_size` explains the difference, the error says that instead of leaving the user to guess.

use std::collections::HashSet;

use crate::config::{Dinov2Config, ModelConfig, Size2};
use crate::error::{
    CheckpointError, LayoutMismatch, MissingTensor, PatchKernelMismatch, PositionTableMismatch, ShapeMismatch,
};
use crate::layout::{self, TensorSpec};
use crate::tensors::{Stored, Tensors};

/// Canonical name of DINOv2's position table.
const POSITION_TABLE: &str = "embeddings.position_embeddings";
/// Canonical names of the patch kernels.
const PATCH_KERNELS: [&str; 2] =
    ["embeddings.patch_embeddings.projection.weight", "embeddings.patch_embeddings.weight"];

/// Compares the weights with the bare model that the config asks for.
pub(crate) fn check_layout(config: &ModelConfig, tensors: &Tensors) -> Result<(), CheckpointError> {
    let mut mismatch = LayoutMismatch {
        path: tensors.path().into(),
        missing: Vec::new(),
        misshapen: Vec::new(),
        position_table: None,
        patch_kernel: None,
    };
    let prefix = file_prefix(tensors);
    let specs = layout::tensor_specs(config);
    for spec in &specs {
        compare(spec, tensors, prefix, &mut mismatch);
    }
    if mismatch.missing.is_empty() && mismatch.misshapen.is_empty() {
        return Ok(());
    }
    mismatch.patch_kernel = patch_kernel(config, tensors);
    mismatch.position_table = position_table(config, tensors, mismatch.patch_kernel.as_ref());
    Err(CheckpointError::Layout(Box::new(mismatch)))
}

/// Names in the files that neither the bare model nor its classifier has.
pub(crate) fn unexpected(config: &ModelConfig, tensors: &Tensors) -> Vec<String> {
    let specs = [layout::tensor_specs(config), layout::classifier_specs(config)].concat();
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    tensors
        .entries()
        .filter(|(name, _)| !known.contains(name))
        .flat_map(|(_, parts)| parts.iter().map(|stored| stored.name_in_file.clone()))
        .collect()
}

fn compare(spec: &TensorSpec, tensors: &Tensors, prefix: &str, mismatch: &mut LayoutMismatch) {
    let parts = tensors.entry(&spec.name).unwrap_or_default();
    let Some(first) = parts.first() else {
        if spec.required {
            let name = format!("{prefix}{}", spec.name);
            mismatch.missing.push(MissingTensor { name, shape: spec.shape.clone() });
        }
        return;
    };
    for index in 0..first.part.count {
        match parts.iter().find(|stored| stored.part.index == index) {
            Some(stored) => compare_part(spec, stored, mismatch),
            None => mismatch.missing.push(MissingTensor {
                name: tensors.convention().sibling(&first.name_in_file, index),
                shape: first.expected(&spec.shape),
            }),
        }
    }
}

fn compare_part(spec: &TensorSpec, stored: &Stored, mismatch: &mut LayoutMismatch) {
    let expected = stored.expected(&spec.shape);
    if stored.shape != expected {
        mismatch.misshapen.push(ShapeMismatch {
            name: stored.name_in_file.clone(),
            expected,
            got: stored.shape.clone(),
        });
    }
}

/// What the file puts before canonical names, so that missing tensors are named as the file would name them.
fn file_prefix(tensors: &Tensors) -> &str {
    tensors
        .entries()
        .filter(|(name, _)| !name.starts_with("classifier."))
        .find_map(|(name, parts)| parts.first()?.name_in_file.strip_suffix(name))
        .unwrap_or("")
}

/// The patch kernel's size, when it differs from the config's `patch_size`.
fn patch_kernel(config: &ModelConfig, tensors: &Tensors) -> Option<PatchKernelMismatch> {
    let patch_size = config.patch_size()?;
    let stored = PATCH_KERNELS.iter().find_map(|name| tensors.entry(name)?.first())?;
    let [_, _, height, width] = stored.shape[..] else { return None };
    let kernel = Size2 { height, width };
    (kernel != patch_size).then_some(PatchKernelMismatch { patch_size, kernel })
}

/// The position table's length, when it differs from the config's grid and the kernel does not explain it.
fn position_table(
    config: &ModelConfig,
    tensors: &Tensors,
    patch_kernel: Option<&PatchKernelMismatch>,
) -> Option<PositionTableMismatch> {
    let config: &Dinov2Config = match config {
        ModelConfig::Dinov2(config) => config,
        ModelConfig::Dinov2WithRegisters(config) => &config.base,
        ModelConfig::DINOv3Vit(_) | ModelConfig::DINOv3ConvNext(_) => return None,
    };
    let [1, got, _] = tensors.entry(POSITION_TABLE)?.first()?.shape[..] else { return None };
    let positions = |patch_size: Size2| {
        let rows = config.image_size.height.checked_div(patch_size.height).unwrap_or(0);
        let cols = config.image_size.width.checked_div(patch_size.width).unwrap_or(0);
        rows.saturating_mul(cols).saturating_add(1)
    };
    let expected = positions(config.patch_size);
    if got == expected || patch_kernel.is_some_and(|kernel| positions(kernel.kernel) == got) {
        return None;
    }
    Some(PositionTableMismatch {
        image_size: config.image_size,
        patch_size: config.patch_size,
        expected,
        got,
    })
}
