//! `info`: what a checkpoint holds.

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
parameters   530112 (0.5 M)
hidden size  96
layers       4
patch        14x14
registers    4
image size   224x224
model sees   224x224
dtype        f32, 2.0 MiB in files
stages       stem, … stage4 (5)
labels       none (no classifier)
licence      MIT OR Apache-2.0 (from dinoxide itself)
memory       2.0 MiB of weights (f32), 1.1 MiB for a picture of 224x224
work         0.36 GFLOP for a picture of 224x224
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
        ("classifier", json!(false)),
        ("labels", json!([])),
        ("licence", json!("dinov3-license")),
    ];
    for (key, value) in expected {
        assert_eq!(got[key], value, "{key}");
    }
}

#[test]
fn labels_are_those_of_a_classifier_only() {
    let labels = info("fixtures/dinov2-classifier", &[])["labels"].as_array().unwrap().len();
    assert_eq!(labels, 12);
    assert!(run("info fixtures/dinov2-classifier", &[]).ok().contains("\nlabels       12: "));
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
