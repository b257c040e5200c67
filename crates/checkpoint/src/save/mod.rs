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
use crate::config::{ModelConfig, Quantization, TorchDtype, python_json};
use crate::error::CheckpointError;
use crate::head::Head;
use crate::layout::{self, TensorSpec};
use crate::loading::CLASSIFIER;
use crate::names::module_names;
use crate::processor_config::PREPROCESSOR_FILE;
use crate::tensors::{INDEX_FILE, SINGLE_FILE, Storage};

mod configs;
mod content;
mod items;
mod shards;
mod size;
mod write;

pub use content::Quantizer;
pub use size::ShardSize;

use content::Content;
use items::{Item, Names};
use shards::Shard;

/// How to save a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SaveOptions {
    /// The most bytes of tensors in one file; a single tensor may be larger. 50 GB by default, as in Transformers.
    pub max_shard_size: ShardSize,
}

impl Checkpoint {
    /// Writes the checkpoint to a folder, which is made where there is none.
    ///
    /// The class is the one it was opened or made as. Weights are written in the dtype they are read in (`config.dtype`), and
    /// those in codes with the same codes.
    /// Shards, an index or a single file of an earlier save that are no part of this one are removed; other files stay.
    ///
    /// # Errors
    /// The folder's path is a file, a place that cannot be written, a classifier that is not there or does not fit.
    pub fn save_pretrained(&self, dir: &Path, options: &SaveOptions) -> Result<(), CheckpointError> {
        let tensors = self.tensors();
        let items = self.items(|spec| match tensors.storage(&spec.name) {
            Some(codes @ (Storage::Int8 | Storage::Int4 { .. })) => Ok(codes),
            _ => Ok(Storage::Float(self.saved_dtype())),
        })?;
        self.save_items(dir, options, items, Content::new(tensors, None), &self.saved_config()?)
    }

    /// Writes the checkpoint in other formats: `quantizer` decides that of each tensor and makes codes, `quantization` is what
    /// the config comes to say of them. The config's dtype becomes float32: each tensor is read as it was written.
    ///
    /// Tensors are read, converted and written one after the other, so that memory holds one of them.
    ///
    /// # Errors
    /// As [`Self::save_pretrained`], and what the quantiser says.
    pub fn save_quantized(
        &self,
        dir: &Path,
        options: &SaveOptions,
        quantization: Option<Quantization>,
        quantizer: &mut dyn Quantizer,
    ) -> Result<(), CheckpointError> {
        let items = self.items(|spec| quantizer.storage(self.tensors(), spec))?;
        let mut config = self.saved_model_config()?;
        let common = config.common_mut();
        common.dtype = Some(TorchDtype::Float32);
        common.quantization = quantization;
        Quantization::put(quantization, &mut common.source);
        self.save_items(dir, options, items, Content::new(self.tensors(), Some(quantizer)), &config.to_json())
    }

    fn save_items(
        &self,
        dir: &Path,
        options: &SaveOptions,
        items: Vec<Item>,
        mut content: Content<'_>,
        config: &str,
    ) -> Result<(), CheckpointError> {
        let processor = self.processor_file()?.map(|file| python_json::to_string(&file.source));
        configs::make_folder(dir)?;
        let metadata = items::metadata(items.iter());
        let shards = shards::split(items, options.max_shard_size.bytes());
        for shard in &shards {
            write::tensors(&dir.join(&shard.file), &mut content, &shard.items, &metadata)?;
        }
        if shards.len() > 1 {
            write::text(&dir.join(INDEX_FILE), &index(&shards))?;
        }
        remove_outdated(dir, &shards)?;
        if let Some(processor) = processor {
            write::text(&dir.join(PREPROCESSOR_FILE), &processor)?;
        }
        write::text(&dir.join(CONFIG_FILE), config)
    }

    /// The text of the config, with the class and the dtype that the files have.
    fn saved_config(&self) -> Result<String, CheckpointError> {
        let mut config = self.saved_model_config()?;
        config.common_mut().dtype = Some(self.saved_dtype());
        Ok(config.to_json())
    }

    /// The config with the class that the files have.
    fn saved_model_config(&self) -> Result<ModelConfig, CheckpointError> {
        let mut config = self.config().clone();
        let class = self.head().require_class(config.family())?;
        config.common_mut().architectures = vec![class.to_owned()];
        Ok(config)
    }

    fn saved_dtype(&self) -> TorchDtype {
        self.tensors().dtype().unwrap_or(TorchDtype::Float32)
    }

    /// What is to be written, in the order of Transformers' state dict; `storage` says in which format.
    fn items(
        &self,
        mut storage: impl FnMut(&TensorSpec) -> Result<Storage, CheckpointError>,
    ) -> Result<Vec<Item>, CheckpointError> {
        let (config, head) = (self.config(), self.head());
        if head == Head::Classifier {
            let specs = layout::classifier_specs(config);
            check::missing_classifier(&specs, self.tensors(), false)?;
            check::check_classifier_shapes(&specs, self.tensors())?;
        }
        let prefix = head.file_prefix(config.family());
        let full = |name: &str| match name.starts_with(CLASSIFIER) {
            true => name.to_owned(),
            false => format!("{prefix}{name}"),
        };
        let mut items = Vec::new();
        for spec in layout::model_specs(config, head) {
            if !self.tensors().contains(&spec.name) {
                continue;
            }
            let modules = module_names(config.family(), &spec.name);
            let parameters: Vec<_> = modules.iter().map(|name| full(name)).collect();
            let names = Names { file: full(&spec.name), parameters };
            items.extend(Item::of(&spec, storage(&spec)?, names).into_iter().map(|item| (item.key(), item)));
        }
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(items.into_iter().map(|(_, item)| item).collect())
    }
}

/// The text of the index: which tensor is in which shard.
fn index(shards: &[Shard]) -> String {
    let items = || shards.iter().flat_map(|shard| &shard.items);
    let total_size: u64 = items().map(Item::bytes).sum();
    let total_parameters: u64 = items().map(Item::elements).sum();
    let places = shards.iter().flat_map(|shard| {
        shard.items.iter().flat_map(|item| &item.pieces).map(move |piece| (piece, &shard.file))
    });
    let weight_map: Map<String, Value> =
        places.map(|(piece, file)| (piece.name.clone(), json!(file))).collect();
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
