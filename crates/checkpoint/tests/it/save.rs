//! Saved checkpoints are those that Transformers writes, byte for byte.
//!
//! The fixtures were written by Transformers 5.24.0, so opening one and saving it must give its files again, whatever names
//! the weights had in the files that were opened. `tools/golden/check_saved.py` has Transformers read what is written here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dinoxide_checkpoint::config::TorchDtype;
use dinoxide_checkpoint::{Checkpoint, CheckpointError, Head, InitOptions, OpenOptions, SaveOptions};
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::support::{DINOV2, DINOV3_VIT, Weights, checkpoint_folder, fixtures, folder, parse};

/// Ends of the names of fixtures whose weights have other names or are in other files than those that are saved.
const OTHER_NAMES: [&str; 6] = ["-v5-names", "-fb-names", "-timm-names", "-sharded-bin", "-bin", "-pth"];

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .filter(|(name, _)| !name.starts_with("golden-") && name != "selections.json")
        .collect()
}

fn assert_same_files(name: &str, got: &Path, expected: &Path) {
    let (got, expected) = (files(got), files(expected));
    assert_eq!(got.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{name}");
    for (file, bytes) in &expected {
        assert!(got[file] == *bytes, "{name}: {file} differs");
    }
}

fn shards(size: &str) -> SaveOptions {
    SaveOptions { max_shard_size: size.parse().unwrap() }
}

#[test]
fn every_fixture_is_saved_as_transformers_saved_it() {
    let mut count = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let source = entry.unwrap().path();
        if !source.join("config.json").is_file() {
            continue;
        }
        let name = source.file_name().unwrap().to_str().unwrap();
        if name.ends_with("-int8") || name.ends_with("-int4") {
            continue; // Scales become f32, see `quantized`.
        }
        let checkpoint = Checkpoint::open(&source).unwrap();
        let saved = tempdir().unwrap();
        let options = if name.ends_with("-sharded") { shards("36KB") } else { SaveOptions::default() };
        checkpoint.save_pretrained(saved.path(), &options).unwrap();
        let other = OTHER_NAMES.iter().find_map(|suffix| name.strip_suffix(suffix));
        if name.ends_with("-timm-names") {
            // There is no mask token in those files.
            let again = Checkpoint::open(saved.path()).unwrap();
            assert!(again.loading_info().missing_keys.iter().all(|key| key == "embeddings.mask_token"));
        } else {
            assert_same_files(name, saved.path(), &source.with_file_name(other.unwrap_or(name)));
        }
        count += 1;
    }
    assert!(count >= 50, "{count} fixtures");
}

#[test]
fn a_checkpoint_can_be_saved_into_the_folder_it_was_opened_from() {
    let source = fixtures().join("dinov2-sharded");
    let place = tempdir().unwrap();
    for (name, bytes) in files(&source) {
        fs::write(place.path().join(name), bytes).unwrap();
    }
    let checkpoint = Checkpoint::open(place.path()).unwrap();
    checkpoint.save_pretrained(place.path(), &shards("20KB")).unwrap();
    let many = files(place.path()).len();
    assert!(many > 3 + 3, "{many} files");
    // From the files that were mapped before, over those that have taken their places.
    checkpoint.save_pretrained(place.path(), &SaveOptions::default()).unwrap();
    let expected = fixtures().join("dinov2");
    assert_same_files("dinov2", place.path(), &expected);
    checkpoint.save_pretrained(place.path(), &shards("36KB")).unwrap();
    assert_same_files("dinov2-sharded", place.path(), &source);
}

#[test]
fn files_of_others_stay_where_they_are() {
    let place = folder(&[
        ("README.md", b"x"),
        ("model-00001-of-00009.safetensors", b"x"),
        ("other-00001-of-00009.safetensors", b"x"),
    ]);
    let checkpoint = Checkpoint::open(&fixtures().join("dinov3-vit")).unwrap();
    checkpoint.save_pretrained(place.path(), &SaveOptions::default()).unwrap();
    let names: Vec<_> = files(place.path()).into_keys().collect();
    let expected = [
        "README.md",
        "config.json",
        "model.safetensors",
        "other-00001-of-00009.safetensors",
        "preprocessor_config.json",
    ];
    assert_eq!(names, expected);
}

#[test]
fn places_that_cannot_be_written_are_typed_errors() {
    let place = folder(&[("file", b"x")]);
    let checkpoint = Checkpoint::open(&fixtures().join("dinov3-vit")).unwrap();
    let save = |path: &Path| checkpoint.save_pretrained(path, &SaveOptions::default()).unwrap_err();
    let file = place.path().join("file");
    assert!(matches!(save(&file), CheckpointError::NotAFolder { .. }));
    assert!(matches!(save(&file.join("below")), CheckpointError::Write { .. }));
    fs::create_dir_all(place.path().join("taken/model.safetensors/x")).unwrap();
    let error = save(&place.path().join("taken"));
    assert!(
        matches!(&error, CheckpointError::Write { path, .. } if path.ends_with("model.safetensors")),
        "{error:?}"
    );
    // Nothing half-written is left.
    assert_eq!(fs::read_dir(place.path().join("taken")).unwrap().count(), 1);
}

#[test]
fn a_fresh_model_is_saved_and_opened_again_the_same() {
    for text in [DINOV2, DINOV3_VIT] {
        let head = Head::Backbone;
        let fresh = Checkpoint::initialize(parse(text).unwrap(), &InitOptions { seed: 4, head }).unwrap();
        let place = tempdir().unwrap();
        let below = place.path().join("a/b");
        fresh.save_pretrained(&below, &SaveOptions::default()).unwrap();
        let opened = Checkpoint::open(&below).unwrap();
        assert_eq!((opened.head(), opened.loading_info()), (head, &Default::default()));
        for name in fresh.tensors().names() {
            let view = fresh.tensors().get(name).unwrap();
            assert_eq!(opened.tensors().get(name).unwrap().bytes, view.bytes, "{name}");
        }
        assert_eq!(opened.config().to_json(), fresh.config().to_json());
    }
}

#[test]
fn the_class_and_the_dtype_asked_for_are_what_is_saved() {
    let options =
        OpenOptions { head: Some(Head::Bare), dtype: Some(TorchDtype::BFloat16), ..OpenOptions::default() };
    let checkpoint = Checkpoint::open_with(&fixtures().join("dinov2-classifier"), &options).unwrap();
    let place = tempdir().unwrap();
    checkpoint.save_pretrained(place.path(), &SaveOptions::default()).unwrap();
    let config: Value = serde_json::from_slice(&fs::read(place.path().join("config.json")).unwrap()).unwrap();
    assert_eq!(config["architectures"], json!(["Dinov2Model"]));
    assert_eq!(config["dtype"], "bfloat16");
    let saved = Checkpoint::open(place.path()).unwrap();
    assert!(!saved.has_classifier() && saved.unexpected().is_empty());
    let read = |checkpoint: &Checkpoint| checkpoint.tensors().read_f32("layernorm.bias", &[32]).unwrap();
    assert_eq!(read(&saved), read(&checkpoint));
    assert_eq!(saved.total_bytes(), 2 * 20512);
}

#[test]
fn a_classifier_that_is_not_there_cannot_be_saved() {
    let config = DINOV2.replacen('{', r#"{"architectures": ["Dinov2ForImageClassification"], "#, 1);
    let source = checkpoint_folder(&config, &Weights::of(DINOV2));
    let checkpoint = Checkpoint::open(source.path()).unwrap();
    let place = tempdir().unwrap();
    let error = checkpoint.save_pretrained(place.path(), &SaveOptions::default()).unwrap_err();
    assert!(matches!(error, CheckpointError::NoClassifier { .. }), "{error:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn keys_of_the_processor_that_are_not_known_are_kept() {
    let source = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
    let text =
        r#"{"image_processor_type": "BitImageProcessor", "zeta": {"b": 1.0, "a": [1e-7]}, "do_pad": null}"#;
    fs::write(source.path().join("preprocessor_config.json"), text).unwrap();
    let place = tempdir().unwrap();
    let checkpoint = Checkpoint::open(source.path()).unwrap();
    checkpoint.save_pretrained(place.path(), &SaveOptions::default()).unwrap();
    let saved = fs::read_to_string(place.path().join("preprocessor_config.json")).unwrap();
    let expected = "{\n  \"do_pad\": null,\n  \"image_processor_type\": \"BitImageProcessor\",\n  \"zeta\": {\n    \
                    \"a\": [\n      1e-07\n    ],\n    \"b\": 1.0\n  }\n}\n";
    assert_eq!(saved, expected);
}
