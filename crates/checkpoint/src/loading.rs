//! Bringing the tensors of files and the class that is wanted together: what is missing, left over, or of another shape.
//!
//! Tensors of the body must be there. A classifier may be made anew, and so may tensors of other shapes, when the caller says
//! so. What was done is reported as Transformers' `output_loading_info` reports it, with the same names.
//! Source: `modeling_utils.py: _load_pretrained_model` of Transformers 5.24.0.

use std::collections::HashSet;

use crate::check;
use crate::config::{Family, ModelConfig};
use crate::error::CheckpointError;
use crate::fresh;
use crate::head::Head;
use crate::layout::{self, TensorSpec};
use crate::names::module_names;
use crate::options::OpenOptions;
use crate::tensors::Tensors;

/// Starts the canonical names of a classifier's tensors.
pub(crate) const CLASSIFIER: &str = "classifier.";

/// What loading found, by the names that Transformers 5 gives: those of its modules. Each list is sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadingInfo {
    /// Tensors of the model that no file holds: a classifier made anew, or one that is not needed (a mask token, which
    /// then stays absent, where Transformers would put zeros).
    pub missing_keys: Vec<String>,
    /// Tensors of the files that the model has no use for. Files with original or timm's names have them as they stand there.
    pub unexpected_keys: Vec<String>,
    /// Tensors of another shape, made anew.
    pub mismatched_keys: Vec<MismatchedKey>,
}

/// A tensor whose shape in the file is not the model's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MismatchedKey {
    /// Its name.
    pub name: String,
    /// Its shape in the file.
    pub file_shape: Vec<usize>,
    /// Its shape in the model.
    pub model_shape: Vec<usize>,
}

/// Makes `tensors` those of the class `head`.
pub(crate) fn reconcile(
    config: &ModelConfig,
    head: Head,
    tensors: &mut Tensors,
    options: &OpenOptions,
) -> Result<LoadingInfo, CheckpointError> {
    let (classifier, body): (Vec<_>, Vec<_>) =
        layout::model_specs(config, head).into_iter().partition(|spec| spec.name.starts_with(CLASSIFIER));
    let unexpected_keys = unexpected_keys(&body, &classifier, tensors);
    let mut misshapen = check::check_layout(config, &body, tensors, options.ignore_mismatched_sizes)?;
    let mut fresh = Vec::new();
    let wanted = options.wanted_head();
    if wanted == Some(Head::Classifier) && config.common().num_labels() > 0 {
        fresh = check::missing_classifier(&classifier, tensors, options.fresh_classifier)?;
    }
    if options.ignore_mismatched_sizes {
        misshapen.extend(check::misshapen_tensors(&classifier, tensors));
    } else if wanted == Some(Head::Classifier) {
        check::check_classifier_shapes(&classifier, tensors)?;
    }

    let names = Names { family: config.family(), head };
    let specs = body.iter().chain(&classifier);
    let missing = specs.filter(|spec| tensors.entry(&spec.name).is_none());
    let mut info = LoadingInfo {
        missing_keys: missing.flat_map(|spec| names.of(&spec.name)).collect(),
        unexpected_keys,
        mismatched_keys: misshapen.iter().flat_map(|spec| names.mismatched(spec, tensors)).collect(),
    };
    info.missing_keys.sort();
    info.mismatched_keys.sort();
    fresh.extend(misshapen);
    for (spec, values) in fresh::fill(config, fresh, options.seed)? {
        tensors.put(spec, &values);
    }
    if wanted.is_some() && classifier.is_empty() {
        layout::CLASSIFIER_TENSORS.iter().for_each(|name| tensors.remove(name));
    }
    Ok(info)
}

/// Names of the files' tensors that the class does not have.
fn unexpected_keys(body: &[TensorSpec], classifier: &[TensorSpec], tensors: &Tensors) -> Vec<String> {
    let known: HashSet<&str> = body.iter().chain(classifier).map(|spec| spec.name.as_str()).collect();
    let unknown = tensors.entries().filter(|(name, _)| !known.contains(name));
    let mut keys: Vec<String> = unknown
        .flat_map(|(_, parts)| parts)
        .flat_map(|stored| tensors.convention().unexpected_names(&tensors.source(stored).name))
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// How Transformers names the tensors of a class.
struct Names {
    family: Family,
    head: Head,
}

impl Names {
    fn of(&self, canonical: &str) -> Vec<String> {
        let prefix = match canonical.starts_with(CLASSIFIER) {
            true => "",
            false => self.head.file_prefix(self.family),
        };
        module_names(self.family, canonical).into_iter().map(|name| format!("{prefix}{name}")).collect()
    }

    fn mismatched(&self, spec: &TensorSpec, tensors: &Tensors) -> Vec<MismatchedKey> {
        let names = self.of(&spec.name);
        let parts = tensors.entry(&spec.name).unwrap_or_default();
        let key = |(index, name): (usize, &String)| {
            // One part a name, or one tensor for all names.
            let stored = parts.get(index).or(parts.first())?;
            let mut file_shape = stored.shape().to_vec();
            let mut model_shape = spec.shape.clone();
            if parts.len() < names.len()
                && let Some(rows) = file_shape.first_mut()
            {
                *rows /= names.len();
            }
            if let Some(rows) = model_shape.first_mut() {
                *rows /= names.len();
            }
            Some(MismatchedKey { name: name.clone(), file_shape, model_shape })
        };
        names.iter().enumerate().filter_map(key).filter(|key| key.file_shape != key.model_shape).collect()
    }
}
