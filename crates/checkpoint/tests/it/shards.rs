//! Checkpoints in several files.
//!
//! The index says which file has which tensor. What it names must be there, in that file, and nothing it names may leave the
//! folder; an unfinished download is named as such.

use std::fs;

use dinoxide_checkpoint::limits::MAX_SHARDS;
use dinoxide_checkpoint::{Checkpoint, CheckpointError, layout};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::support::{DINOV2, Weights, f32_bytes, folder, parse};

const INDEX: &str = "model.safetensors.index.json";
const SHARDS: [&str; 3] = [
    "model-00001-of-00003.safetensors",
    "model-00002-of-00003.safetensors",
    "model-00003-of-00003.safetensors",
];

/// Which shard a tensor goes to: by turns.
fn shard_of(place: usize) -> &'static str {
    SHARDS[place % SHARDS.len()]
}

fn index_of(weights: &Weights) -> Map<String, Value> {
    weights.0.keys().enumerate().map(|(place, name)| (name.clone(), shard_of(place).into())).collect()
}

fn write_index(dir: &TempDir, weight_map: impl Into<Value>) {
    let index = json!({"metadata": {"total_size": 1}, "weight_map": weight_map.into()});
    fs::write(dir.path().join(INDEX), index.to_string()).unwrap();
}

/// A model in three shards.
fn sharded(weights: &Weights) -> TempDir {
    let dir = folder(&[("config.json", DINOV2.as_bytes())]);
    for shard in SHARDS {
        let names: Vec<&String> = weights
            .0
            .keys()
            .enumerate()
            .filter(|(place, _)| shard_of(*place) == shard)
            .map(|(_, n)| n)
            .collect();
        let part = weights.clone().only(|name| names.iter().any(|wanted| *wanted == name));
        fs::write(dir.path().join(shard), part.bytes()).unwrap();
    }
    write_index(&dir, index_of(weights));
    dir
}

fn error(dir: &TempDir) -> CheckpointError {
    Checkpoint::open(dir.path()).unwrap_err()
}

#[test]
fn three_shards_read_as_one_file_does() {
    let weights = Weights::of(DINOV2);
    let dir = sharded(&weights);
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    for spec in layout::tensor_specs(&parse(DINOV2).unwrap()) {
        let values = checkpoint.tensors().read_f32(&spec.name, &spec.shape).unwrap();
        assert_eq!(f32_bytes(&values), weights.0[&spec.name].2, "{}", spec.name);
    }
}

#[test]
fn missing_shards_are_all_named_with_the_likely_cause() {
    let dir = sharded(&Weights::of(DINOV2));
    fs::remove_file(dir.path().join(SHARDS[1])).unwrap();
    let got = error(&dir);
    assert!(
        matches!(&got, CheckpointError::MissingShard { missing, .. } if missing == &SHARDS[1..2]),
        "{got:?}"
    );
    assert!(got.hint().unwrap().contains("unfinished"));
    fs::remove_file(dir.path().join(SHARDS[2])).unwrap();
    let got = error(&dir).to_string();
    assert!(got.contains(SHARDS[1]) && got.contains(SHARDS[2]), "{got}");
}

#[test]
fn a_tensor_that_is_not_where_the_index_says_is_named() {
    let weights = Weights::of(DINOV2);
    for shard in SHARDS {
        let dir = sharded(&weights);
        let mut index = index_of(&weights);
        index.insert("no.such.tensor".into(), shard.into());
        write_index(&dir, index);
        match error(&dir) {
            CheckpointError::TensorNotInShard { tensor, shard: named, .. } => {
                assert_eq!((tensor.as_str(), named.as_str()), ("no.such.tensor", shard));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn files_outside_the_folder_are_never_opened() {
    let weights = Weights::of(DINOV2);
    let dir = sharded(&weights);
    let outside = dir.path().parent().unwrap().join("x.safetensors").to_str().unwrap().to_owned();
    for name in ["../x.safetensors", "a/../../x.safetensors", outside.as_str(), "", ".", "..", "..\\x", "./x"]
    {
        let mut index = index_of(&weights);
        index.insert("layernorm.weight".into(), name.into());
        write_index(&dir, index);
        let got = error(&dir);
        assert!(
            matches!(&got, CheckpointError::UnsafeShardName { name: found, .. } if found == name),
            "{name}: {got:?}"
        );
    }
}

#[test]
fn an_index_without_a_usable_weight_map_is_refused() {
    let dir = sharded(&Weights::of(DINOV2));
    for weight_map in [Value::Null, json!([]), json!({}), json!({"a": 1}), json!("x")] {
        write_index(&dir, weight_map);
        assert!(matches!(error(&dir), CheckpointError::InvalidField { .. }));
    }
    for bytes in ["", "{", "[]"] {
        fs::write(dir.path().join(INDEX), bytes).unwrap();
        let got = error(&dir);
        assert!(
            matches!(
                got,
                CheckpointError::EmptyFile { .. }
                    | CheckpointError::Json { .. }
                    | CheckpointError::NotAnObject { .. }
            ),
            "{got:?}"
        );
    }
}

#[test]
fn too_many_shards_are_refused_before_any_is_opened() {
    let dir = folder(&[("config.json", DINOV2.as_bytes())]);
    let index: Map<String, Value> =
        (0..=MAX_SHARDS).map(|i| (format!("t{i}"), format!("{i}.safetensors").into())).collect();
    write_index(&dir, index);
    assert!(matches!(error(&dir), CheckpointError::TooManyShards { limit: MAX_SHARDS, .. }));
}

#[test]
fn one_file_wins_over_an_index_and_files_that_the_index_does_not_name_are_ignored() {
    let dir = sharded(&Weights::of(DINOV2));
    fs::write(dir.path().join("stray.safetensors"), b"not weights").unwrap();
    Checkpoint::open(dir.path()).unwrap();
    fs::write(dir.path().join("model.safetensors"), Weights::of(DINOV2).with("layernorm.bias", &[9]).bytes())
        .unwrap();
    assert!(matches!(error(&dir), CheckpointError::Layout(_)));
}

#[test]
fn a_tensor_that_a_shard_holds_besides_its_own_place_is_not_read_from_there() {
    let weights = Weights::of(DINOV2);
    let dir = sharded(&weights);
    let index = index_of(&weights);
    let name = "layernorm.weight";
    let other = SHARDS.into_iter().find(|shard| index[name] != *shard).unwrap();
    let stale = weights.clone().only(|n| index[n] == other || n == name).with(name, &[8]);
    fs::write(dir.path().join(other), stale.bytes()).unwrap();
    let checkpoint = Checkpoint::open(dir.path()).unwrap();
    let values = checkpoint.tensors().read_f32(name, &[8]).unwrap();
    assert_eq!(f32_bytes(&values), weights.0[name].2);
}
