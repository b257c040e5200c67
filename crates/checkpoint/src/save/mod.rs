//! Writing a checkpoint as Transformers' `save_pretrained` does, so that Transformers reads it back.
//!
//! `config.json`, `preprocessor_config.json` where there is one, and `model.safetensors`, or shards and their index: the
//! hub's tensor names with the prefix of the class, the weights' own bytes, the same order, sizes and metadata. Every
//! file is written beside its place and renamed, so that the folder it was opened from can be saved to.
//! Source: `modeling_utils.py: save_pretrained` of Transformers 5.24.0.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::check;
use crate::checkpoint::{CONFIG_FILE, Checkpoint};
use crate::config::{TorchDtype, python_json};
use crate::error::CheckpointError;
use crate::head::Head;
use crate::layout;
use crate::loading::CLASSIFIER;
use crate::names::module_names;
use crate::processor_config::PREPROCESSOR_FILE;
use crate::tensors::{INDEX_FILE, SINGLE_FILE, file_dtype};

mod configs;
mod shards;
mod size;
mod write;

pub use size::ShardSize;

use shards::Shard;

/// How to save a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SaveOptions {
    /// The most bytes of tensors in one file; a single tensor may be larger. 50 GB by default, as in Transformers.
    pub max_shard_size: ShardSize,
}

/// A tensor to be written.
pub(crate) struct Item {
    /// Its canonical name.
    name: String,
    /// Its name in the file.
    file_name: String,
    shape: Vec<usize>,
    dtype: TorchDtype,
}

impl Item {
    fn bytes(&self) -> u64 {
        let bits = file_dtype(self.dtype).bitsize() as u64;
        self.elements().saturating_mul(bits / 8)
    }

    fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product: u64, &side| product.saturating_mul(side as u64))
    }
}

impl Checkpoint {
    /// Writes the checkpoint to a folder, which is made where there is none.
    ///
    /// The class is the one it was opened or made as. Weights are written in the dtype they are read in (`config.dtype`).
    /// Shards, an index or a single file of an earlier save that are no part of this one are removed; other files stay.
    ///
    /// # Errors
    /// The folder's path is a file, a place that cannot be written, a classifier that is not there or does not fit.
    pub fn save_pretrained(&self, dir: &Path, options: &SaveOptions) -> Result<(), CheckpointError> {
        let items = self.items()?;
        let processor = self.processor_file()?.map(|file| python_json::to_string(&file.source));
        configs::make_folder(dir)?;
        let shards = shards::split(items, options.max_shard_size.bytes());
        for shard in &shards {
            write::tensors(&dir.join(&shard.file), self.tensors(), &shard.items)?;
        }
        if shards.len() > 1 {
            write::text(&dir.join(INDEX_FILE), &index(&shards))?;
        }
        remove_outdated(dir, &shards)?;
        if let Some(processor) = processor {
            write::text(&dir.join(PREPROCESSOR_FILE), &processor)?;
        }
        write::text(&dir.join(CONFIG_FILE), &self.saved_config()?)
    }

    /// The config with the class and the dtype that the files have.
    fn saved_config(&self) -> Result<String, CheckpointError> {
        let mut config = self.config().clone();
        let class = self.head().require_class(config.family())?;
        let common = config.common_mut();
        common.architectures = vec![class.to_owned()];
        common.dtype = Some(self.saved_dtype());
        Ok(config.to_json())
    }

    fn saved_dtype(&self) -> TorchDtype {
        self.tensors().dtype().unwrap_or(TorchDtype::Float32)
    }

    /// What is to be written, in the order of Transformers' state dict.
    fn items(&self) -> Result<Vec<Item>, CheckpointError> {
        let (config, head) = (self.config(), self.head());
        if head == Head::Classifier {
            let specs = layout::classifier_specs(config);
            check::missing_classifier(&specs, self.tensors(), false)?;
            check::check_classifier_shapes(&specs, self.tensors())?;
        }
        let prefix = head.file_prefix(config.family());
        let (body, classifier) = (|name: &str| format!("{prefix}{name}"), str::to_owned);
        let full = |name: &str| match name.starts_with(CLASSIFIER) {
            true => classifier(name),
            false => body(name),
        };
        let mut items: Vec<(Vec<shards::Key>, Item)> = layout::model_specs(config, head)
            .into_iter()
            .filter(|spec| self.tensors().contains(&spec.name))
            .map(|spec| {
                let module = module_names(config.family(), &spec.name).into_iter().next();
                let key = shards::natural_key(&full(module.as_deref().unwrap_or(&spec.name)));
                let file_name = full(&spec.name);
                (key, Item { file_name, name: spec.name, shape: spec.shape, dtype: self.saved_dtype() })
            })
            .collect();
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(items.into_iter().map(|(_, item)| item).collect())
    }
}

/// The text of the index: which tensor is in which shard.
fn index(shards: &[Shard]) -> String {
    let items = || shards.iter().flat_map(|shard| &shard.items);
    let total_size: u64 = items().map(Item::bytes).sum();
    let total_parameters: u64 = items().map(Item::elements).sum();
    let places = shards.iter().flat_map(|shard| shard.items.iter().map(move |item| (item, &shard.file)));
    let weight_map: Map<String, Value> =
        places.map(|(item, file)| (item.file_name.clone(), json!(file))).collect();
    let mut index = Map::new();
    index.insert("metadata".into(), json!({"total_parameters": total_parameters, "total_size": total_size}));
    index.insert("weight_map".into(), Value::Object(weight_map));
    python_json::to_string(&index)
}

/// Removes the weights of an earlier save. Transformers removes shards only; but a single file left beside new shards, or an
/// index without its shards, would be read in place of what was saved.
fn remove_outdated(dir: &Path, shards: &[Shard]) -> Result<(), CheckpointError> {
    let entries = fs::read_dir(dir).map_err(|error| write::error(dir, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| write::error(dir, error))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let current =
            shards.iter().any(|shard| shard.file == name) || (name == INDEX_FILE && shards.len() > 1);
        let ours = name == SINGLE_FILE || name == INDEX_FILE || shards::is_shard_name(&name);
        let is_file = || entry.file_type().is_ok_and(|kind| !kind.is_dir());
        if ours && !current && is_file() {
            fs::remove_file(entry.path()).map_err(|error| write::error(&entry.path(), error))?;
        }
    }
    Ok(())
}
