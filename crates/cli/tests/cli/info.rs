//! `info`: what a checkpoint holds.
//!
//! The table is compared as a whole for the built-in model; the JSON by keys, for fixtures of other families, dtypes and
//! heads. That costs are counted by formula is said in both.

use crate::support::{root, run};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn info(words: &str, extra: &[&Path]) -> Value {
    serde_json::from_str(&run(&format!("info --json {words}"), extra).ok()).unwrap()
}

#[test]
fn the_table_tells_what_a_person_asks() {
    let expected = "\
model        builtin:tiny
family       dinov2_with_registers
parameters   530112 (0.5 M, by the config)
hidden size  96
layers       4
patch        14x14
registers    4
image size   224x224
model sees   224x224
dtype        f32, 2.0 MiB in files
stages       stem, … stage4 (5)
channels     96
mask token   yes
classifier   no
labels       none
licence      MIT OR Apache-2.0 (from dinoxide itself)
memory       2.0 MiB of weights (f32), 1.1 MiB for a picture of 224x224 (formula)
work         0.36 GFLOP for a picture of 224x224 (formula)
";
    assert_eq!(run("info builtin:tiny", &[]).ok(), expected);
    assert_eq!(run("info -m builtin:tiny", &[]).ok(), expected);
}

#[test]
fn json_has_the_same_in_numbers() {
    let got = info("fixtures/dinov3-convnext", &[]);
    let expected = [
        ("model", json!("fixtures/dinov3-convnext")),
        ("family", json!("dinov3_convnext")),
        ("patch_size", Value::Null),
        ("num_register_tokens", json!(0)),
        ("dtype", json!("f32")),
        ("stages", json!(["stem", "stage1", "stage2", "stage3", "stage4"])),
        ("channels", json!([3, 8, 16, 24, 32])),
        ("out_features", json!(["stage4"])),
        ("mask_token", json!(false)),
        ("problem_type", Value::Null),
        ("missing_keys", json!([])),
        ("unexpected_keys", json!([])),
        ("classifier", json!(false)),
        ("labels", json!([])),
        ("licence", json!("dinov3-license")),
    ];
    for (key, value) in expected {
        assert_eq!(got[key], value, "{key}");
    }
}

/// In the order of their numbers, in which 10 comes after 9.
#[test]
fn labels_are_those_of_a_classifier_only() {
    let report = info("fixtures/dinov2-classifier", &[]);
    let labels: Vec<String> = (0..12).map(|class| format!("c{class}")).collect();
    assert_eq!((&report["classifier"], &report["labels"]), (&json!(true), &json!(labels)));
    let table = run("info fixtures/dinov2-classifier", &[]).ok();
    assert!(table.contains("\nclassifier   yes\nlabels       12: c0, c1, c2, …\n"), "{table}");
}

#[test]
fn tensors_that_are_missing_or_left_over_and_the_problem_type_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = root().join("fixtures/dinov2-nomask");
    let bytes = fs::read(fixture.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors = file.tensors();
    tensors.push(("teacher.head".to_owned(), tensors[0].1.clone()));
    fs::write(dir.path().join("model.safetensors"), safetensors::serialize(tensors, None).unwrap()).unwrap();
    let mut config: Value = serde_json::from_slice(&fs::read(fixture.join("config.json")).unwrap()).unwrap();
    config["problem_type"] = json!("multi_label_classification");
    config["use_mask_token"] = json!(true);
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    let report = info("", &[dir.path()]);
    assert_eq!(
        (&report["mask_token"], &report["problem_type"]),
        (&json!(false), &json!("multi_label_classification"))
    );
    assert_eq!(report["missing_keys"], json!(["embeddings.mask_token"]));
    assert_eq!(report["unexpected_keys"], json!(["teacher.head"]));
    let table = run("info", &[dir.path()]).ok();
    let end = "problem type multi_label_classification\nmissing      embeddings.mask_token\nunexpected   teacher.head\n";
    assert!(table.ends_with(end), "{table}");
}

#[test]
fn a_classifier_that_does_not_fit_its_labels_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = root().join("fixtures/dinov2-classifier");
    fs::copy(fixture.join("model.safetensors"), dir.path().join("model.safetensors")).unwrap();
    let mut config: Value = serde_json::from_slice(&fs::read(fixture.join("config.json")).unwrap()).unwrap();
    config["id2label"] = json!({ "0": "one", "1": "two" });
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    let got = run("info", &[dir.path()]);
    assert_eq!(got.code, Some(0));
    assert!(got.stderr.starts_with("warning: "), "{}", got.stderr);
    assert!(got.stderr.contains('2') && got.stderr.contains("12"), "both numbers: {}", got.stderr);
    assert!(got.stdout.contains("\nclassifier   yes\nlabels       one, two\n"), "{}", got.stdout);
}

#[test]
fn half_precision_files_are_told_as_such() {
    assert_eq!(info("fixtures/dinov2-bf16", &[])["dtype"], "bf16");
    assert_eq!(info("fixtures/dinov2-f16", &[])["dtype"], "f16");
}

#[test]
fn the_cost_is_for_the_size_that_is_asked_for() {
    let small = info("builtin:tiny --size 224", &[]);
    let large = info("builtin:tiny --size 448x224", &[]);
    assert_eq!(large["picture"]["size"], json!([448, 224]));
    assert_eq!(large["picture"]["method"], "formula");
    assert!(large["picture"]["flops"].as_u64() > small["picture"]["flops"].as_u64());
    assert!(large["picture"]["activation_bytes"].as_u64() > small["picture"]["activation_bytes"].as_u64());
}

#[test]
fn the_licence_is_what_the_model_card_says() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["config.json", "preprocessor_config.json", "model.safetensors"] {
        fs::copy(root().join("fixtures/dinov2").join(name), dir.path().join(name)).unwrap();
    }
    assert_eq!(info("", &[dir.path()])["licence"], "apache-2.0");
    fs::write(dir.path().join("README.md"), "---\nlicense: cc-by-nc-4.0\n---\n# Mine\n").unwrap();
    let got = info("", &[dir.path()]);
    assert_eq!((&got["licence"], &got["licence_from"]), (&json!("cc-by-nc-4.0"), &json!("README.md")));
}
