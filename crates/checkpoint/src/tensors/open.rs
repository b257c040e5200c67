//! Finding the weights of a folder: one file, or an index and its shards.
//!
//! `model.safetensors` wins over an index, as in Transformers, and both over the files of `torch.save`. An index is JSON, `weight_map`: tensor name → shard. Only
//! shards that it names are opened, each must be a path inside the folder, and each must hold what the index says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
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
/// The weights of an unsharded checkpoint of older versions.
const SINGLE_PICKLE: &str = "pytorch_model.bin";
/// The index of a sharded checkpoint of older versions.
const PICKLE_INDEX: &str = "pytorch_model.bin.index.json";
/// What Transformers takes, in its order: one file, else an index and its shards.
pub(crate) const WEIGHTS: [(&str, &str); 2] = [(SINGLE_FILE, INDEX_FILE), (SINGLE_PICKLE, PICKLE_INDEX)];
/// How original files end, which have names of their own.
const PICKLE_ENDINGS: [&str; 2] = ["pth", "pt"];
/// Weights of other formats, named when nothing else is there.
pub(crate) const OTHER_FORMATS: [&str; 2] = ["tf_model.h5", "flax_model.msgpack"];

impl Tensors {
    /// Opens the weights of a folder: what Transformers takes, in its order, and else the only file of `torch.save`.
    pub(crate) fn open(folder: &Path, config: &ModelConfig) -> Result<Self, CheckpointError> {
        let mut tensors = Self::empty(folder, Convention::hub(config));
        for name in WEIGHTS.into_iter().flat_map(<[&str; 2]>::from) {
            if tensors.add_weights(folder, name)? {
                tensors.place_all(config)?;
                return Ok(tensors);
            }
        }
        let originals = original_files(folder)?;
        if let [only] = &originals[..]
            && tensors.add_pickle(&folder.join(only), |_| true)?
        {
            tensors.root = folder.join(only);
            tensors.place_all(config)?;
            return Ok(tensors);
        }
        let other = OTHER_FORMATS.into_iter().find(|name| folder.join(name).exists()).map(str::to_owned);
        Err(CheckpointError::NoWeights {
            path: folder.into(),
            looked_for: vec![SINGLE_FILE, INDEX_FILE, SINGLE_PICKLE, PICKLE_INDEX],
            several: originals,
            other,
        })
    }

    /// Adds the tensors of one of the four kinds of weights, if the folder has it.
    fn add_weights(&mut self, folder: &Path, name: &str) -> Result<bool, CheckpointError> {
        let path = folder.join(name);
        if name == INDEX_FILE || name == PICKLE_INDEX {
            let bytes = files::read_small(&path, MAX_INDEX_BYTES)?;
            return bytes.map_or(Ok(false), |bytes| self.add_shards(folder, &path, &bytes).map(|()| true));
        }
        let found = self.add_file(&path, |_| true)?;
        if found {
            self.root = path;
        }
        Ok(found)
    }

    /// Adds the tensors of a file that `wanted` accepts; false when there is no such file.
    fn add_file(&mut self, path: &Path, wanted: impl Fn(&str) -> bool) -> Result<bool, CheckpointError> {
        if path.extension().is_none_or(|extension| extension != "safetensors") {
            return self.add_pickle(path, wanted);
        }
        let Some(bytes) = files::map(path)? else { return Ok(false) };
        self.add(TensorFile { path: path.into(), bytes }, wanted)?;
        Ok(true)
    }

    fn add_shards(&mut self, folder: &Path, index: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
        let shard_of = weight_map(index, bytes)?;
        let mut shards: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (tensor, shard) in &shard_of {
            shards.entry(shard).or_default().push(tensor);
        }
        check_shards(folder, index, shards.keys().copied())?;
        for (shard, expected) in shards {
            let first = self.sources.len();
            // What the index places elsewhere is not read from here; what it does not know is, as in Transformers.
            let wanted = |name: &str| shard_of.get(name).is_none_or(|place| place == shard);
            if !self.add_file(&folder.join(shard), wanted)? {
                return Err(CheckpointError::MissingShard {
                    index: index.into(),
                    missing: vec![shard.to_owned()],
                });
            }
            let held: HashSet<&str> =
                self.sources[first..].iter().map(|source| source.name.as_str()).collect();
            if let Some(tensor) = expected.into_iter().find(|tensor| !held.contains(tensor)) {
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

/// The folder's files that end as original ones do, in order.
fn original_files(folder: &Path) -> Result<Vec<String>, CheckpointError> {
    let failed = |error| files::io_error(folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        let name = path.file_name().and_then(|name| name.to_str());
        if let (Some(ending), Some(name)) = (ending, name)
            && PICKLE_ENDINGS.contains(&ending)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
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
