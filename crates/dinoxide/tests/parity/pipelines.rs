//! Both pipelines on the photographs: the answers of Transformers' (`fixtures/pipelines`).

use crate::fixtures::{fixture, root};
use dinoxide::{
    Checkpoint, ClassifyOptions, ContextOptions, FunctionToApply, ImageClassifier, ImageProcessor,
    LoadOptions, Model, Pipeline, Prediction, ProcessorConfig, config::CommonConfig,
};
use dinoxide_testkit::{
    compare::assert_close,
    tolerance::{PIPELINE_FEATURE_MAX_ABS, PIPELINE_SCORE_MAX_ABS},
};
use safetensors::SafeTensors;
use serde_json::Value;
use std::path::PathBuf;

fn cases(file: &str) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(fixture("pipelines").join(file)).unwrap()).unwrap()
}

fn pictures(case: &Value) -> Vec<PathBuf> {
    let path = |value: &Value| root().join(value.as_str().unwrap());
    case["pictures"]
        .as_array()
        .map_or_else(|| vec![path(&case["pictures"])], |all| all.iter().map(path).collect())
}

/// The fixture's processor with the case's keys.
fn processor(case: &Value) -> ImageProcessor {
    let path = fixture(case["fixture"].as_str().unwrap()).join("preprocessor_config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let keywords = case["options"]["image_processor_kwargs"].as_object();
    for (key, value) in case["processor"].as_object().unwrap().iter().chain(keywords.into_iter().flatten()) {
        config[key] = value.clone();
    }
    let config = ProcessorConfig::from_json(&path, config.to_string().as_bytes(), None).unwrap();
    ImageProcessor::from_config(&config).unwrap()
}

fn checkpoint(case: &Value) -> Checkpoint {
    let overrides = case["config"].as_object().unwrap().clone();
    let options = LoadOptions { overrides, ..LoadOptions::default() };
    dinoxide::open(fixture(case["fixture"].as_str().unwrap()), &options).unwrap()
}

fn options(case: &Value) -> ClassifyOptions {
    let function = case["function_to_apply"].as_str().map(|name| match name.to_lowercase().as_str() {
        "softmax" => FunctionToApply::Softmax,
        "sigmoid" => FunctionToApply::Sigmoid,
        "none" => FunctionToApply::None,
        other => panic!("{other}"),
    });
    let top_k = case["top_k"].as_u64().map_or(5, |k| usize::try_from(k).unwrap());
    ClassifyOptions { top_k, function_to_apply: function }
}

fn assert_predictions(what: &str, got: &[Prediction], want: &Value) {
    let want = want.as_array().unwrap();
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert_eq!(got.label, want["label"].as_str().unwrap(), "{what}: {got:?}");
        let score = want["score"].as_f64().unwrap_or(f64::NAN) as f32;
        assert_close(what, &[got.score], &[score], PIPELINE_SCORE_MAX_ABS);
    }
}

#[test]
fn image_classification_gives_transformers_labels_and_scores() {
    let mut compared = 0;
    for case in cases("cases.json").iter().filter(|case| case["task"] == "image-classification") {
        let negative = case["options"]["top_k"].as_i64().is_some_and(|k| k < 0);
        if case.get("error").is_some() || negative {
            continue; // A negative top_k, or another function than the three, cannot be written here.
        }
        let what = format!("{}: {}", case["fixture"], case["name"]);
        if what.contains("one label, single_label_classification") {
            continue; // Set after loading there: neither config takes it.
        }
        let model = ImageClassifier::from_checkpoint(&checkpoint(case), ContextOptions::default()).unwrap();
        let pipeline = Pipeline { model, processor: processor(case) };
        let (paths, options) = (pictures(case), options(&case["options"]));
        let many: Vec<_> =
            pipeline.classify_files(&paths, &options).into_iter().map(Result::unwrap).collect();
        let wanted = match case["pictures"].as_array() {
            Some(_) => case["expect"].as_array().unwrap().clone(),
            None => vec![case["expect"].clone()],
        };
        for ((path, got), want) in paths.iter().zip(&many).zip(&wanted) {
            assert_predictions(&what, got, want);
            assert_eq!(&pipeline.classify(path, &options).unwrap(), got, "{what}");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} answers");
}

#[test]
fn image_feature_extraction_gives_transformers_numbers() {
    let bytes = std::fs::read(fixture("pipelines/features.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut compared = 0;
    for case in cases("cases.json").iter().filter(|case| case["task"] == "image-feature-extraction") {
        if case.get("error").is_some() {
            continue;
        }
        let what = format!("{}: {}", case["fixture"], case["name"]);
        let model = Model::from_checkpoint(&checkpoint(case), ContextOptions::default()).unwrap();
        let pipeline = Pipeline { model, processor: processor(case) };
        let names: Vec<&str> = case["expect"].as_array().map_or_else(
            || vec![case["expect"].as_str().unwrap()],
            |all| all.iter().map(|n| n.as_str().unwrap()).collect(),
        );
        for (path, name) in pictures(case).iter().zip(names) {
            let want = file.tensor(name).unwrap();
            let want_values: Vec<f32> =
                want.data().as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
            let got = match case["options"]["pool"].as_bool() {
                Some(true) => pipeline.pooled(path).unwrap().into_dyn(),
                _ => pipeline.features(path).unwrap().into_dyn(),
            };
            assert_eq!(got.shape(), want.shape(), "{what}");
            assert_close(&what, got.as_slice().unwrap(), &want_values, PIPELINE_FEATURE_MAX_ABS);
            compared += 1;
        }
    }
    assert!(compared >= 8, "{compared} tensors");
}

#[test]
fn labels_and_scores_follow_from_logits_as_transformers_makes_them() {
    let rows = cases("postprocess.json");
    let mut compared = 0;
    for case in rows.iter().filter(|case| case["top_k"].as_i64().is_none_or(|k| k >= 0)) {
        let logits: Vec<f32> = case["logits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap_or(f64::NAN) as f32)
            .collect();
        let labels = (0..logits.len()).map(|i| (i as i64, format!("c{i}"))).collect();
        let problem_type = case["problem_type"].as_str().map(|name| {
            let all = [
                dinoxide::config::ProblemType::Regression,
                dinoxide::config::ProblemType::SingleLabelClassification,
                dinoxide::config::ProblemType::MultiLabelClassification,
            ];
            all.into_iter().find(|kind| kind.name() == name).unwrap()
        });
        let config = CommonConfig { id2label: labels, problem_type, ..CommonConfig::default() };
        let got = options(case).predictions(&config, &logits);
        assert_predictions(&case.to_string(), &got, &case["expect"]);
        compared += 1;
    }
    assert!(compared >= 60, "{compared} of {} rows", rows.len());
}
