//! Settings that a caller puts over a config: the keyword arguments of Transformers' `from_pretrained`.
//!
//! They are put into the file's object, which is then read again, so that all rules of reading hold. What follows from a
//! setting follows anew: one of `out_features` and `out_indices` from the other, the labels from their number, the
//! stages from the number of layers.
//! Source: `configuration_utils.py: from_dict` of Transformers 5.24.0.

use std::path::Path;

use serde_json::{Map, Value};

use super::ModelConfig;
use crate::error::CheckpointError;
use crate::json;
use crate::near;

/// Settings, and what they make out of date.
const FOLLOWS: [(&str, &[&str]); 6] = [
    ("out_features", &["out_indices"]),
    ("out_indices", &["out_features"]),
    ("id2label", &["num_labels", "label2id"]),
    ("num_hidden_layers", &["stage_names", "out_features", "out_indices"]),
    ("depths", &["stage_names", "out_features", "out_indices"]),
    ("dtype", &["torch_dtype"]),
];
/// The dtype that means: as the file has it.
const AUTO: &str = "auto";

impl ModelConfig {
    /// Reads the bytes of a `config.json` with other values for some of its keys; `path` serves error messages only.
    ///
    /// # Errors
    /// As `from_json`, and a key that the family's config does not have.
    pub fn from_json_with(
        path: &Path,
        bytes: &[u8],
        overrides: &Map<String, Value>,
    ) -> Result<Self, CheckpointError> {
        Self::from_map(path, json::object(path, bytes)?)?.with_overrides(path, overrides)
    }

    /// This config with other values for some of its keys; `path` serves error messages only.
    ///
    /// # Errors
    /// A key that the family's config does not have; a value of a wrong type or out of range, in [`CheckpointError::Override`].
    pub fn with_overrides(
        self,
        path: &Path,
        overrides: &Map<String, Value>,
    ) -> Result<Self, CheckpointError> {
        if overrides.is_empty() {
            return Ok(self);
        }
        let mut map = self.to_map();
        for key in overrides.keys() {
            let known = key != "model_type"
                && (map.contains_key(key)
                    || self.undeclared_keys().contains(&key.as_str())
                    || self.known_keys().any(|known| known == key));
            if !known {
                return Err(self.unknown(key, &map));
            }
        }
        for (setting, outdated) in FOLLOWS {
            if overrides.contains_key(setting) {
                outdated.iter().for_each(|key| drop(map.remove(*key)));
            }
        }
        for (key, value) in overrides {
            match key.as_str() {
                "dtype" | "torch_dtype" if value == AUTO => {}
                "torch_dtype" if overrides.contains_key("dtype") => {}
                "torch_dtype" => drop(map.insert("dtype".into(), value.clone())),
                _ => drop(map.insert(key.clone(), value.clone())),
            }
        }
        Self::from_map(path, map).map_err(|error| refused(error, overrides))
    }

    /// The error for a setting that there is not, with the one that may be meant.
    fn unknown(&self, key: &str, map: &Map<String, Value>) -> CheckpointError {
        let others = self.undeclared_keys().iter().copied().chain(self.known_keys()).map(str::to_owned);
        let names = map.keys().cloned().chain(others).filter(|name| name != "model_type");
        let near = near::nearest(key, names);
        CheckpointError::UnknownSetting { key: key.to_owned(), model_type: self.model_type(), near }
    }

    /// The keys that the models read though no class declares them. Transformers takes them from the file only.
    fn undeclared_keys(&self) -> &'static [&'static str] {
        match self {
            Self::Dinov2(_) | Self::Dinov2WithRegisters(_) => &["tie_last_hidden_states", "head_dim"],
            Self::DINOv3Vit(_) => &["tie_last_hidden_states", "return_class_token"],
            Self::DINOv3ConvNext(_) => &[],
        }
    }
}

/// The error of a config that was sound before the overrides: theirs, so that no file is named.
fn refused(error: CheckpointError, overrides: &Map<String, Value>) -> CheckpointError {
    let given = |at_fault: &dyn Fn(&str) -> bool| -> Vec<String> {
        overrides.keys().filter(|key| at_fault(key)).cloned().collect()
    };
    let (mut keys, source) = match error {
        CheckpointError::InvalidField { key, expected, got, .. } => {
            // A key may lead into a value: `id2label.3`.
            let keys = given(&|name| key.split(['.', '[']).next() == Some(name));
            (keys, Box::new(CheckpointError::InvalidSetting { key, expected, got }))
        }
        CheckpointError::ConfigStages { source, .. } => {
            (given(&|name| matches!(name, "out_features" | "out_indices")), source)
        }
        other => (Vec::new(), Box::new(other)),
    };
    if keys.is_empty() {
        keys = given(&|_| true);
    }
    CheckpointError::Override { keys, source }
}
