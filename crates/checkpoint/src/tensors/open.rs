//! Finding the weights of a folder: one file, or an index and its shards.
//!
//! `model.safetensors` wins over an index, as in Transformers. An index is JSON, `weight_map`: tensor name → shard. Only
//! shards that it names are opened, each must be a path inside the folder, and each must hold what the index says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Component, Path};

use serde_json::Value;

use super::{TensorFile, Tensors};
use crate::config::ModelConfig;
use crate::error::CheckpointError;
use crate::files;
use crate::json::{self, Fields};
use crate::limits::{MAX_INDEX_BYTES, MAX_SHARDS};
use crate::names::Convention;

/// The weights of an unsharded checkpoint.
pub(crate) const SINGLE_FILE: &str = "model.safetensors";
/// The index of a sharded checkpoint.
pub(crate) const INDEX_FILE: &str = "model.safetensors.index.json";
/// Weights of other formats, named when nothing else is there.
const OTHER_FORMATS: [&str; 4] =
    ["pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"];

impl Tensors {
    /// Opens the weights of a folder.
    pub(crate) fn open(folder: &Path, config: &ModelConfig) -> Result<Self, CheckpointError> {
        let single = folder.join(SINGLE_FILE);
        if let Some(bytes) = files::map(&single)? {
            let mut tensors = Self::empty(&single, Convention::hub(config));
            tensors.add(TensorFile { path: single, bytes }, |_| true)?;
            tensors.place_all(config)?;
            return Ok(tensors);
        }
        let index = folder.join(INDEX_FILE);
        match files::read_small(&index, MAX_INDEX_BYTES)? {
            Some(bytes) => Self::open_shards(folder, &index, &bytes, config),
            None => Err(CheckpointError::NoWeights {
                path: folder.into(),
                looked_for: vec![SINGLE_FILE, INDEX_FILE],
                other: OTHER_FORMATS.into_iter().find(|name| folder.join(name).exists()).map(str::to_owned),
            }),
        }
    }

    fn open_shards(
        folder: &Path,
        index: &Path,
        bytes: &[u8],
        config: &ModelConfig,
    ) -> Result<Self, CheckpointError> {
        let shard_of = weight_map(index, bytes)?;
        let mut shards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (tensor, shard) in &shard_of {
            shards.entry(shard).or_default().push(tensor);
        }
        check_shards(folder, index, shards.keys().copied())?;

        let mut tensors = Self::empty(folder, Convention::hub(config));
        for (shard, expected) in shards {
            let path = folder.join(shard);
            let missing =
                || CheckpointError::MissingShard { index: index.into(), missing: vec![shard.to_owned()] };
            let bytes = files::map(&path)?.ok_or_else(missing)?;
            // What the index places elsewhere is not read from here; what it does not know is, as in Transformers.
            let wanted = |name: &str| shard_of.get(name).is_none_or(|place| place == shard);
            tensors.add(TensorFile { path, bytes }, wanted)?;
            tensors.check_shard(index, shard, &expected)?;
        }
        tensors.place_all(config)?;
        Ok(tensors)
    }

    /// The file added last must hold every tensor that the index places in it.
    fn check_shard(&self, index: &Path, shard: &str, expected: &[&str]) -> Result<(), CheckpointError> {
        let file = self.files.len().saturating_sub(1);
        let held: HashSet<&str> = self
            .sources
            .iter()
            .filter(|source| source.file == file)
            .map(|source| source.name.as_str())
            .collect();
        for &tensor in expected {
            if !held.contains(tensor) {
                return Err(CheckpointError::TensorNotInShard {
                    index: index.into(),
                    tensor: tensor.into(),
                    shard: shard.into(),
                });
            }
        }
        Ok(())
    }
}

/// Tensor name → shard name.
fn weight_map(index: &Path, bytes: &[u8]) -> Result<HashMap<String, String>, CheckpointError> {
    let map = json::object(index, bytes)?;
    let fields = Fields::new(index, &map);
    let expected = "an object of tensor names and file names";
    let value = fields.get("weight_map").unwrap_or(&Value::Null);
    value
        .as_object()
        .filter(|map| !map.is_empty())
        .and_then(|map| map.iter().map(|(name, file)| Some((name.clone(), json::text(file)?))).collect())
        .ok_or_else(|| fields.invalid("weight_map", expected, value))
}

/// The shards that an index names, sorted; each would lie inside the index's folder.
pub(crate) fn shard_names(index: &Path, bytes: &[u8]) -> Result<BTreeSet<String>, CheckpointError> {
    let names: BTreeSet<String> = weight_map(index, bytes)?.into_values().collect();
    check_names(index, names.iter().map(String::as_str))?;
    Ok(names)
}

/// No more shards than are opened, and each inside the folder.
fn check_names<'a>(
    index: &Path,
    mut shards: impl ExactSizeIterator<Item = &'a str>,
) -> Result<(), CheckpointError> {
    if shards.len() > MAX_SHARDS {
        return Err(CheckpointError::TooManyShards {
            index: index.into(),
            count: shards.len(),
            limit: MAX_SHARDS,
        });
    }
    let leaves = |shard: &str| {
        let mut parts = Path::new(shard).components();
        shard.is_empty() || shard.contains('\\') || !parts.all(|part| matches!(part, Component::Normal(_)))
    };
    match shards.find(|shard| leaves(shard)) {
        Some(shard) => Err(CheckpointError::UnsafeShardName { index: index.into(), name: shard.into() }),
        None => Ok(()),
    }
}

/// Every shard must exist; all that are missing are named at once.
fn check_shards<'a>(
    folder: &Path,
    index: &Path,
    shards: impl ExactSizeIterator<Item = &'a str> + Clone,
) -> Result<(), CheckpointError> {
    check_names(index, shards.clone())?;
    let mut missing = Vec::new();
    for shard in shards {
        if files::metadata(&folder.join(shard))?.is_none() {
            missing.push(shard.to_owned());
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(CheckpointError::MissingShard { index: index.into(), missing }),
    }
}
