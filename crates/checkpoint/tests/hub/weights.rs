//! Which weights are brought: one file, shards, or none that can be read.

use dinoxide_checkpoint::hub::{self, HubError, HubOptions};
use dinoxide_checkpoint::{Checkpoint, CheckpointError, ModelConfig, ProcessorConfig};
use serde_json::json;
use std::path::Path;

use crate::hub::{Cache, Hub, REPO, WEIGHTS, dinov2};

const INDEX: &str = "model.safetensors.index.json";

/// A hub whose weights are one shard in a subfolder, placed there by an index.
fn sharded(shards: &[&str]) -> Hub {
    let mut hub = dinov2();
    let bytes = hub.files.remove(WEIGHTS).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let names = header.tensors().into_keys().enumerate();
    let map: serde_json::Map<_, _> = names.map(|(i, name)| (name, json!(shards[i % shards.len()]))).collect();
    hub.files.insert(INDEX.into(), json!({ "weight_map": map }).to_string().into_bytes());
    hub.files.insert("shards/one.safetensors".into(), bytes);
    hub
}

#[test]
fn every_shard_of_an_index_is_brought() {
    let (cache, server) = (Cache::new(), sharded(&["shards/one.safetensors"]).serve());
    let located = cache.fetch(&server).unwrap();
    Checkpoint::open(&located.dir).unwrap();
    assert!(cache.repo().join(".no_exist").join(crate::hub::COMMIT).join(WEIGHTS).is_file());
    server.take();
    cache.fetch(&server).unwrap();
    assert_eq!(server.take().len(), 1);
    std::fs::remove_file(located.dir.join("shards/one.safetensors")).unwrap();
    cache.fetch(&server).unwrap();
    assert_eq!(server.take().len(), 2);
}

#[test]
fn one_file_goes_before_an_index() {
    let mut hub = sharded(&["shards/one.safetensors"]);
    hub.files.insert(WEIGHTS.into(), crate::hub::fixture(WEIGHTS));
    let (cache, server) = (Cache::new(), hub.serve());
    cache.fetch(&server).unwrap();
    assert!(!server.lines().iter().any(|line| line.contains("index") || line.contains("shards")));
}

#[test]
fn an_index_that_names_files_outside_its_folder_is_refused_before_they_are_asked_for() {
    for name in ["../x", "/etc/passwd", "a/../../x", "", ".", "a\\b", "C:\\x"] {
        let (cache, server) = (Cache::new(), sharded(&["shards/one.safetensors", name]).serve());
        let error = cache.fetch(&server).unwrap_err();
        let is_told = matches!(&error, CheckpointError::UnsafeShardName { name: told, .. } if told == name);
        assert!(is_told, "{name:?}: {error}");
        let last = server.lines().pop().unwrap();
        assert!(last.starts_with("GET") && last.ends_with(INDEX), "{last}");
    }
}

#[test]
fn a_shard_that_is_not_there_is_named() {
    let error = Cache::new().fails(&sharded(&["shards/one.safetensors", "two.safetensors"]).serve());
    let told = "`model.safetensors.index.json` of `facebook/dinov2-small` names `two.safetensors`, which is not there";
    assert_eq!(error.to_string(), told);
}

/// The fixture whose weights are files of `torch.save`, as a hub.
fn pickled(file: &str) -> Hub {
    let mut hub = dinov2();
    hub.files.remove(WEIGHTS);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(file);
    hub.files.insert("config.json".into(), std::fs::read(folder.join("config.json")).unwrap());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.starts_with("pytorch_model") {
            hub.files.insert(name, std::fs::read(path).unwrap());
        }
    }
    hub
}

#[test]
fn files_of_torch_save_are_brought_where_there_are_no_safetensors() {
    for (fixture, file) in [
        ("dinov2-nomask-bin", "pytorch_model.bin"),
        ("dinov2-no-qkv-bias-sharded-bin", "pytorch_model.bin.index.json"),
    ] {
        let hub = pickled(fixture);
        assert!(hub.files.contains_key(file));
        let (cache, server) = (Cache::new(), hub.serve());
        let located = cache.fetch(&server).unwrap();
        Checkpoint::open(&located.dir).unwrap();
        server.take();
        cache.fetch(&server).unwrap();
        assert_eq!(server.take().len(), 1, "all of it is there");
    }
}

#[test]
fn other_formats_are_named_with_the_way_to_convert_them() {
    let mut hub = dinov2();
    let bytes = hub.files.remove(WEIGHTS).unwrap();
    hub.files.insert("tf_model.h5".into(), bytes);
    let server = hub.serve();
    let error = Cache::new().fails(&server);
    assert!(
        matches!(&error, HubError::NoWeights { other: Some(other), .. } if other == "tf_model.h5"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("save_pretrained"), "{error}");
    assert!(server.gets("tf_model.h5").is_empty());
    let mut hub = dinov2();
    hub.files.remove(WEIGHTS);
    let error = Cache::new().fails(&hub.serve());
    let told = "looked for model.safetensors, model.safetensors.index.json, pytorch_model.bin, \
                pytorch_model.bin.index.json";
    assert!(error.to_string().ends_with(told), "{error}");
}

#[test]
fn another_familys_weights_are_not_brought() {
    let mut hub = dinov2();
    hub.files.insert("config.json".into(), br#"{"model_type": "bert"}"#.to_vec());
    let server = hub.serve();
    let error = Cache::new().fetch(&server).unwrap_err();
    assert!(matches!(error, CheckpointError::UnknownModelType { .. }), "{error}");
    assert!(!server.lines().iter().any(|line| line.contains(WEIGHTS)));
}

#[test]
fn configs_are_brought_without_the_weights_and_the_weights_when_they_are_wanted() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    let configs = HubOptions { weights: false, ..cache.options(&server.url()) };
    let located = hub::fetch(REPO, &configs).unwrap();
    ModelConfig::open(&located.dir).unwrap();
    assert!(ProcessorConfig::open(&located.dir, None).unwrap().is_some());
    assert!(!server.lines().iter().any(|line| line.contains(WEIGHTS)));
    server.take();
    hub::fetch(REPO, &configs).unwrap();
    assert_eq!(server.take().len(), 1, "one question for the commit");
    Checkpoint::open(&cache.fetch(&server).unwrap().dir).unwrap();
}
