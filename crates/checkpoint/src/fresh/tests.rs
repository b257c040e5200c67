//! Fresh weights against what Transformers makes (`tests/data/fresh.json`, written by `tools/golden/make_fresh.py`), and what
//! a seed decides.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::config::Family;

const FRESH: &str = include_str!("../../tests/data/fresh.json");
/// The cut of the truncated normal distribution.
const CUT: f32 = 2.0;

struct Case {
    class: String,
    config: ModelConfig,
    head: Head,
    tensors: Vec<Value>,
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(FRESH).unwrap();
    let case = |case: &Value| {
        let json = case["config"].to_string();
        let config = ModelConfig::from_json(Path::new("config.json"), json.as_bytes()).unwrap();
        Case {
            class: case["class"].as_str().unwrap().to_owned(),
            head: Head::of(&config),
            config,
            tensors: case["tensors"].as_array().unwrap().clone(),
        }
    };
    file["cases"].as_array().unwrap().iter().map(case).collect()
}

fn bytes(checkpoint: &Checkpoint) -> Vec<(String, Vec<u32>)> {
    let tensors = checkpoint.tensors();
    let specs = layout::model_specs(checkpoint.config(), Head::of(checkpoint.config()));
    let bits = |spec: TensorSpec| {
        let values = tensors.read_f32(&spec.name, &spec.shape).unwrap();
        (spec.name, values.into_iter().map(f32::to_bits).collect())
    };
    specs.into_iter().map(bits).collect()
}

fn fresh(case: &Case, seed: u64) -> Checkpoint {
    Checkpoint::initialize(case.config.clone(), &InitOptions { seed, head: case.head }).unwrap()
}

#[test]
fn every_class_has_the_tensors_of_transformers_filled_by_its_rules() {
    let cases = cases();
    assert_eq!(cases.len(), 10);
    for case in cases {
        let checkpoint = fresh(&case, 0);
        assert_eq!(checkpoint.config().common().architectures, [case.class.as_str()]);
        let family = case.config.family();
        let prefix = case.head.file_prefix(family);
        let ours: BTreeSet<String> = layout::model_specs(&case.config, case.head)
            .into_iter()
            .map(|spec| match spec.name.starts_with("classifier.") {
                true => spec.name,
                false => format!("{prefix}{}", spec.name),
            })
            .collect();
        let theirs = case.tensors.iter().map(|tensor| tensor["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ours, theirs, "{}", case.class);
        for tensor in &case.tensors {
            check_tensor(&checkpoint, &case.class, prefix, tensor);
        }
    }
}

fn check_tensor(checkpoint: &Checkpoint, class: &str, prefix: &str, tensor: &Value) {
    let name = tensor["name"].as_str().unwrap();
    let shape: Vec<usize> = serde_json::from_value(tensor["shape"].clone()).unwrap();
    let canonical = name.strip_prefix(prefix).unwrap_or(name);
    let values = checkpoint.tensors().read_f32(canonical, &shape).unwrap();
    let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    match tensor["kind"].as_str().unwrap() {
        "constant" => {
            let expected = tensor["value"].as_f64().unwrap() as f32;
            assert!(values.iter().all(|value| *value == expected), "{class} {name}");
        }
        // 64 numbers of deviation 1.5 stay within 2 with probability 2e-6, and within 0.5 with 1e-37.
        "normal" => assert!(largest > CUT, "{class} {name}: {largest}"),
        "truncated_normal" => assert!(largest <= CUT && largest > 0.5, "{class} {name}: {largest}"),
        other => panic!("{other}"),
    }
}

#[test]
fn equal_seeds_give_equal_weights_and_others_do_not() {
    for case in cases() {
        let first = bytes(&fresh(&case, 7));
        assert_eq!(first, bytes(&fresh(&case, 7)), "{}", case.class);
        let other = bytes(&fresh(&case, 8));
        for (a, b) in first.iter().zip(&other) {
            let random = case.tensors.iter().any(|tensor| {
                tensor["name"].as_str().unwrap().ends_with(&a.0) && tensor["kind"] != "constant"
            });
            assert_eq!(a.1 != b.1, random, "{} {}", case.class, a.0);
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let case = &cases()[0];
    let specs = layout::model_specs(&case.config, case.head);
    let one = fill_on(1, &case.config, &specs, 5);
    for threads in [2, 7] {
        assert_eq!(one, fill_on(threads, &case.config, &specs, 5));
    }
}

#[test]
fn a_head_changes_no_tensor_of_the_body() {
    let case = &cases()[1];
    assert_eq!(case.class, "Dinov2ForImageClassification");
    let of = |head| Checkpoint::initialize(case.config.clone(), &InitOptions { seed: 1, head }).unwrap();
    let (bare, classifier) = (of(Head::Bare), of(Head::Classifier));
    assert!(!bare.has_classifier() && classifier.has_classifier());
    classifier.check_classifier().unwrap();
    let body = bytes(&bare);
    assert_eq!(body, bytes(&classifier)[..body.len()]);
}

#[test]
fn a_fresh_checkpoint_is_in_memory_and_behaves_as_an_opened_one() {
    let checkpoint = fresh(&cases()[0], 0);
    assert_eq!(checkpoint.path(), None);
    assert_eq!(checkpoint.unexpected(), [] as [&str; 0]);
    assert!(checkpoint.processor().unwrap().is_none());
    assert_eq!(checkpoint.total_bytes(), 4 * layout::parameter_count(checkpoint.config()));
    let error = checkpoint.tensors().read_f32("embeddings.cls_token", &[1, 1, 65]).unwrap_err();
    assert!(matches!(error, CheckpointError::TensorShape { .. }), "{error:?}");
}

#[test]
fn dinov3_has_no_classifier_to_make() {
    for family in [Family::DINOv3Vit, Family::DINOv3ConvNext] {
        let json = format!(r#"{{"model_type": "{}"}}"#, family.model_type());
        let config = ModelConfig::from_json(Path::new("config.json"), json.as_bytes()).unwrap();
        let error =
            Checkpoint::initialize(config, &InitOptions { seed: 0, head: Head::Classifier }).unwrap_err();
        assert!(matches!(error, CheckpointError::NoClassifierClass { .. }), "{error:?}");
    }
}

#[test]
fn sizes_beyond_the_limit_are_refused_before_memory_is_taken() {
    let json =
        br#"{"model_type": "dinov2", "hidden_size": 1048576, "mlp_ratio": 1, "num_attention_heads": 1}"#;
    let config = ModelConfig::from_json(Path::new("config.json"), json).unwrap();
    let error = Checkpoint::initialize(config, &InitOptions::default()).unwrap_err();
    assert!(matches!(error, CheckpointError::TooManyParameters { .. }), "{error:?}");
}
