//! Opening with other settings and as other classes, against what Transformers reports (`data/loading.json`).

use dinoxide_checkpoint::config::TorchDtype;
use dinoxide_checkpoint::{Checkpoint, CheckpointError, Head, OpenOptions, layout};
use serde_json::{Map, Value, json};

use crate::support::{CLASSIFIER, DINOV2, Weights, checkpoint_folder, fixtures};

const LOADING: &str = include_str!("../data/loading.json");

fn overrides(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn options(case: &Value) -> OpenOptions {
    let mut overrides = overrides(&case["options"]);
    let ignore = overrides.remove("ignore_mismatched_sizes").is_some();
    let class = case["class"].as_str().unwrap();
    let head = match class {
        _ if class.ends_with("ForImageClassification") => Head::Classifier,
        _ if class.ends_with("Backbone") => Head::Backbone,
        _ => Head::Bare,
    };
    OpenOptions {
        overrides,
        head: Some(head),
        fresh_classifier: head == Head::Classifier,
        ignore_mismatched_sizes: ignore,
        ..OpenOptions::default()
    }
}

#[test]
fn what_is_missing_left_over_or_misshapen_is_what_transformers_reports() {
    let file: Value = serde_json::from_str(LOADING).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= 30);
    for case in cases {
        let name = format!("{} as {} with {}", case["fixture"], case["class"], case["options"]);
        let folder = fixtures().join(case["fixture"].as_str().unwrap());
        let opened = Checkpoint::open_with(&folder, &options(case));
        if case.get("error").is_some() {
            assert!(opened.is_err(), "{name}: Transformers refuses it");
            continue;
        }
        let checkpoint = opened.unwrap_or_else(|error| panic!("{name}: {error}"));
        let info = checkpoint.loading_info();
        assert_eq!(json!(info.missing_keys), case["missing_keys"], "{name}");
        assert_eq!(json!(info.unexpected_keys), case["unexpected_keys"], "{name}");
        let mismatched: Vec<Value> = info
            .mismatched_keys
            .iter()
            .map(|key| json!([key.name, key.file_shape, key.model_shape]))
            .collect();
        assert_eq!(json!(mismatched), case["mismatched_keys"], "{name}");
        assert_eq!(checkpoint.config().to_json(), case["config"].as_str().unwrap(), "{name}");
        for spec in layout::model_specs(checkpoint.config(), checkpoint.head()) {
            checkpoint.tensors().read_f32(&spec.name, &spec.shape).unwrap();
        }
    }
}

#[test]
fn a_setting_that_is_none_is_refused_by_name() {
    let folder = fixtures().join("dinov3-vit");
    for key in ["dropout", "model_type", "mlp_ratio"] {
        let options = OpenOptions { overrides: overrides(&json!({key: 1})), ..OpenOptions::default() };
        match Checkpoint::open_with(&folder, &options).unwrap_err() {
            CheckpointError::UnknownSetting { key: got, model_type: "dinov3_vit", .. } => {
                assert_eq!(got, key);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Message, cause and hint of overrides that are refused.
fn told(value: &Value) -> [String; 3] {
    let options = OpenOptions { overrides: overrides(value), ..OpenOptions::default() };
    let error = Checkpoint::open_with(&fixtures().join("dinov3-vit"), &options).unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    [error.to_string(), cause.unwrap_or_default(), error.hint().unwrap_or_default()]
}

#[test]
fn an_override_that_does_not_fit_is_at_fault_and_not_the_file() {
    let [message, cause, _] = told(&json!({"out_features": ["stage99"], "num_labels": 3}));
    assert_eq!(message, "the override of `out_features` does not fit the model's config");
    assert!(cause.starts_with("no stage `stage99`: the model has stem, stage1"), "{cause}");
    let [message, cause, _] = told(&json!({"rope_theta": "x", "num_labels": 3}));
    assert_eq!(message, "the override of `rope_theta` does not fit the model's config");
    assert!(cause.starts_with("`rope_theta` must be ") && !cause.contains("config.json"), "{cause}");
    // 64 does not divide by 7, whichever of the two the reader looks at.
    let [message, cause, _] = told(&json!({"num_attention_heads": 7}));
    assert_eq!(message, "the override of `num_attention_heads` does not fit the model's config");
    assert!(!cause.is_empty() && !cause.contains("config.json"), "{cause}");
}

#[test]
fn a_mistyped_setting_is_told_the_one_that_there_is() {
    for (given, meant) in
        [("out_feature", "out_features"), ("num_label", "num_labels"), ("ropetheta", "rope_theta")]
    {
        let [message, _, hint] = told(&json!({given: 1}));
        assert_eq!(message, format!("`{given}` is not a setting of a dinov3_vit config"));
        assert_eq!(hint, format!("did you mean `{meant}`?"));
    }
    assert_eq!(told(&json!({"dropout": 1}))[2], "");
}

#[test]
fn a_headless_checkpoint_is_a_classifier_only_with_a_fresh_head() {
    let folder = checkpoint_folder(DINOV2, &Weights::of(DINOV2));
    let mut options = OpenOptions { head: Some(Head::Classifier), ..OpenOptions::default() };
    let error = Checkpoint::open_with(folder.path(), &options).unwrap_err();
    assert!(matches!(error, CheckpointError::NoClassifier { .. }), "{error:?}");
    options.fresh_classifier = true;
    options.overrides = overrides(&json!({"num_labels": 7}));
    let head = |seed| {
        let checkpoint =
            Checkpoint::open_with(folder.path(), &OpenOptions { seed, ..options.clone() }).unwrap();
        checkpoint.check_classifier().unwrap();
        assert_eq!(checkpoint.config().common().architectures, ["Dinov2ForImageClassification"]);
        checkpoint.tensors().read_f32("classifier.weight", &[7, 16]).unwrap()
    };
    assert_eq!(head(1), head(1));
    assert_ne!(head(1), head(2));
}

#[test]
fn another_number_of_labels_is_an_error_until_it_is_ignored_and_leaves_the_body_alone() {
    let folder = checkpoint_folder(CLASSIFIER, &Weights::of(CLASSIFIER));
    let plain = Checkpoint::open(folder.path()).unwrap();
    let mut options = OpenOptions {
        head: Some(Head::Classifier),
        overrides: overrides(&json!({"num_labels": 5})),
        ..OpenOptions::default()
    };
    match Checkpoint::open_with(folder.path(), &options).unwrap_err() {
        CheckpointError::LabelCount { config, weights, .. } => assert_eq!((config, weights), (5, 3)),
        other => panic!("{other:?}"),
    }
    options.ignore_mismatched_sizes = true;
    let checkpoint = Checkpoint::open_with(folder.path(), &options).unwrap();
    checkpoint.check_classifier().unwrap();
    assert_eq!(checkpoint.config().common().label(4), Some("LABEL_4"));
    for spec in layout::tensor_specs(plain.config()) {
        let read = |checkpoint: &Checkpoint| checkpoint.tensors().read_f32(&spec.name, &spec.shape).unwrap();
        assert_eq!(read(&plain), read(&checkpoint), "{}", spec.name);
    }
}

#[test]
fn missing_tensors_of_the_body_stay_an_error() {
    let weights = Weights::of(DINOV2).without(&["layernorm.bias"]);
    let folder = checkpoint_folder(DINOV2, &weights);
    let options =
        OpenOptions { ignore_mismatched_sizes: true, fresh_classifier: true, ..OpenOptions::default() };
    let error = Checkpoint::open_with(folder.path(), &options).unwrap_err();
    assert!(matches!(error, CheckpointError::Layout(_)), "{error:?}");
}

#[test]
fn a_mask_token_that_is_not_there_is_reported_and_stays_absent() {
    let folder = checkpoint_folder(DINOV2, &Weights::of(DINOV2).without(&["embeddings.mask_token"]));
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(checkpoint.loading_info().missing_keys, ["embeddings.mask_token"]);
    assert!(!checkpoint.tensors().contains("embeddings.mask_token"));
}

#[test]
fn dinov3_cannot_be_opened_as_a_classifier() {
    for fixture in ["dinov3-vit", "dinov3-convnext"] {
        let options = OpenOptions { fresh_classifier: true, ..OpenOptions::default() };
        let error = Checkpoint::open_with(&fixtures().join(fixture), &options).unwrap_err();
        assert!(matches!(error, CheckpointError::NoClassifierClass { .. }), "{error:?}");
    }
}

#[test]
fn weights_are_rounded_to_the_dtype_that_is_asked_for() {
    let folder = fixtures().join("dinov2");
    let read = |folder: &std::path::Path, dtype| {
        let options = OpenOptions { dtype, ..OpenOptions::default() };
        let checkpoint = Checkpoint::open_with(folder, &options).unwrap();
        let values = checkpoint.tensors().read_f32("layernorm.weight", &[32]).unwrap();
        (values, checkpoint.config().common().dtype)
    };
    let (plain, auto) = read(&folder, None);
    assert_eq!(auto, Some(TorchDtype::Float32));
    // The fixture in bf16 was rounded by torch.
    let (rounded, dtype) = read(&folder, Some(TorchDtype::BFloat16));
    assert_eq!(dtype, Some(TorchDtype::BFloat16));
    assert_eq!(rounded, read(&fixtures().join("dinov2-bf16"), None).0);
    let (half, _) = read(&folder, Some(TorchDtype::Float16));
    assert_eq!(half, read(&fixtures().join("dinov2-f16"), None).0);
    assert!(plain != rounded && plain != half);
    assert_eq!(read(&fixtures().join("dinov2-bf16"), Some(TorchDtype::Float32)).1, Some(TorchDtype::Float32));
}

#[test]
fn auto_is_the_configs_dtype_and_else_the_files() {
    let weights = Weights::of(DINOV2);
    let of = |config: &str| Checkpoint::open(checkpoint_folder(config, &weights).path()).unwrap();
    assert_eq!(of(DINOV2).config().common().dtype, Some(TorchDtype::Float32));
    let half = of(&DINOV2.replacen('{', r#"{"torch_dtype": "bfloat16", "#, 1));
    assert_eq!(half.tensors().dtype(), Some(TorchDtype::BFloat16));
}
