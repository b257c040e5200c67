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
use crate::names::Role;
use crate::tensors::{Stored, Tensors};

/// Canonical name of DINOv2's position table.
const POSITION_TABLE: &str = "embeddings.position_embeddings";
/// Canonical names of the patch kernels.
const PATCH_KERNELS: [&str; 2] =
    ["embeddings.patch_embeddings.projection.weight", "embeddings.patch_embeddings.weight"];

/// Compares the weights with the body that the config asks for. Tensors of other shapes are an error, or given back when
/// they are to be made anew.
pub(crate) fn check_layout(
    config: &ModelConfig,
    body: &[TensorSpec],
    tensors: &Tensors,
    ignore_mismatched_sizes: bool,
) -> Result<Vec<TensorSpec>, CheckpointError> {
    let mut mismatch = LayoutMismatch {
        path: tensors.path().into(),
        missing: Vec::new(),
        misshapen: Vec::new(),
        position_table: None,
        patch_kernel: None,
    };
    let prefix = file_prefix(tensors);
    for spec in body {
        compare(spec, tensors, prefix, &mut mismatch);
    }
    if ignore_mismatched_sizes {
        mismatch.misshapen.clear();
    }
    if mismatch.missing.is_empty() && mismatch.misshapen.is_empty() {
        return Ok(if ignore_mismatched_sizes { misshapen_tensors(body, tensors) } else { Vec::new() });
    }
    mismatch.patch_kernel = patch_kernel(config, tensors);
    mismatch.position_table = position_table(config, tensors, mismatch.patch_kernel.as_ref());
    Err(CheckpointError::Layout(Box::new(mismatch)))
}

/// Those of the tensors that are there in another shape.
pub(crate) fn misshapen_tensors(specs: &[TensorSpec], tensors: &Tensors) -> Vec<TensorSpec> {
    let fits =
        |spec: &TensorSpec, stored: &Stored| stored.role.fits(&spec.shape, &tensors.source(stored).shape);
    let misshapen = |spec: &&TensorSpec| {
        tensors.entry(&spec.name).unwrap_or_default().iter().any(|stored| !fits(spec, stored))
    };
    specs.iter().filter(misshapen).cloned().collect()
}

/// The tensors of the classifier that are not there and are to be made anew.
pub(crate) fn missing_classifier(
    classifier: &[TensorSpec],
    tensors: &Tensors,
    fresh_classifier: bool,
) -> Result<Vec<TensorSpec>, CheckpointError> {
    let missing: Vec<_> = classifier.iter().filter(|spec| !tensors.contains(&spec.name)).cloned().collect();
    match missing.is_empty() || fresh_classifier {
        true => Ok(missing),
        false => Err(CheckpointError::NoClassifier { path: tensors.path().into() }),
    }
}

/// The classifier's tensors must fit the config's labels and the model's width.
pub(crate) fn check_classifier_shapes(
    classifier: &[TensorSpec],
    tensors: &Tensors,
) -> Result<(), CheckpointError> {
    for spec in classifier {
        let Some(view) = tensors.get(&spec.name) else { continue };
        let (config, weights) = (spec.shape[0], view.shape.first().copied().unwrap_or(0));
        if view.shape.len() == spec.shape.len() && config != weights {
            return Err(CheckpointError::LabelCount { path: tensors.path().into(), config, weights });
        }
        if view.shape != spec.shape {
            return Err(CheckpointError::TensorShape {
                path: view.file.into(),
                tensor: view.name_in_file.into(),
                expected: spec.shape.clone(),
                got: view.shape.to_vec(),
            });
        }
    }
    Ok(())
}

/// Names in the files that neither the bare model nor its classifier has.
pub(crate) fn unexpected(config: &ModelConfig, tensors: &Tensors) -> Vec<String> {
    let specs = [layout::tensor_specs(config), layout::classifier_specs(config)].concat();
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    tensors
        .entries()
        .filter(|(name, _)| !known.contains(name))
        .flat_map(|(_, parts)| parts.iter().map(|stored| tensors.source(stored).name.clone()))
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
    let (_, count) = first.role.part();
    for index in 0..count {
        match parts.iter().find(|stored| stored.role.part().0 == index) {
            Some(stored) => compare_part(spec, tensors, stored, mismatch),
            None => mismatch.missing.push(MissingTensor {
                name: tensors.convention().sibling(&tensors.source(first).name, index),
                shape: first.role.expected(&spec.shape),
            }),
        }
    }
}

fn compare_part(spec: &TensorSpec, tensors: &Tensors, stored: &Stored, mismatch: &mut LayoutMismatch) {
    let source = tensors.source(stored);
    // One tensor of a file may serve several of the model's: it is named once.
    let named = mismatch.misshapen.iter().any(|other| other.name == source.name);
    if !named && !stored.role.fits(&spec.shape, &source.shape) {
        mismatch.misshapen.push(ShapeMismatch {
            name: source.name.clone(),
            expected: stored.role.expected(&spec.shape),
            got: source.shape.clone(),
        });
    }
}

/// What the file puts before canonical names, so that missing tensors are named as the file would name them.
fn file_prefix(tensors: &Tensors) -> &str {
    tensors
        .entries()
        .filter(|(name, _)| !name.starts_with("classifier."))
        .find_map(|(name, parts)| tensors.source(parts.first()?).name.strip_suffix(name))
        .unwrap_or("")
}

/// The patch kernel's size, when it differs from the config's `patch_size`.
fn patch_kernel(config: &ModelConfig, tensors: &Tensors) -> Option<PatchKernelMismatch> {
    let patch_size = config.patch_size()?;
    let stored = PATCH_KERNELS.iter().find_map(|name| tensors.entry(name)?.first())?;
    let [_, _, height, width] = tensors.source(stored).shape[..] else { return None };
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
    let stored = tensors.entry(POSITION_TABLE)?.first()?;
    let [1, entries, _] = tensors.source(stored).shape[..] else { return None };
    let got = entries + usize::from(stored.role == Role::AfterFirst);
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
