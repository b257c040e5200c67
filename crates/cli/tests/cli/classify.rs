//! `classify`: labels and scores are those of Transformers' pipeline and of the goldens' logits.
//!
//! A checkpoint without classifier is one error before the work; a bad picture loses only itself.

use crate::{
    goldens::{golden, write_inputs},
    support::{listing, mixed_folder, root, run, safetensors, tiny},
};
use dinoxide_testkit::tolerance::{PIPELINE_SCORE_MAX_ABS, TINY_MODEL_MAX_ABS};
use serde_json::Value;
use std::{fs, path::Path};

fn rows(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn labels(row: &Value) -> Vec<(String, f32)> {
    assert_eq!(row.as_object().unwrap().len(), 2, "{row}");
    let label = |entry: &Value| {
        assert_eq!(entry.as_object().unwrap().len(), 2, "{row}");
        (entry["label"].as_str().unwrap().to_owned(), entry["score"].to_string().parse().unwrap())
    };
    row["labels"].as_array().unwrap().iter().map(label).collect()
}

fn assert_same(got: &[(String, f32)], want: &[(String, f32)], bound: f32) {
    assert_eq!(got.len(), want.len(), "{got:?}");
    for ((got_label, got_score), (label, score)) in got.iter().zip(want) {
        assert_eq!(got_label, label, "{got:?} {want:?}");
        assert!((got_score - score).abs() <= bound, "{label}: {got_score}, expected {score}");
    }
}

/// The command's words for a pipeline's options; nothing for those that it does not have.
fn words(options: &Value) -> Option<String> {
    let mut words = String::new();
    for (key, value) in options.as_object().unwrap() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_lowercase);
        match (key.as_str(), value.as_str()) {
            (_, "default" | "0" | "-1" | "-20") => return None,
            ("top_k", "null") => {}
            ("top_k", value) => words += &format!(" --top-k {value}"),
            ("function_to_apply", value) => words += &format!(" --function {value}"),
            ("batch_size", value) => words += &format!(" --batch {value}"),
            (other, _) => panic!("{other}"),
        }
    }
    Some(words)
}

/// A fixture with other keys in its config and its processor's.
fn changed(fixture: &str, config: &Value, processor: &Value) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let fixture = root().join("fixtures").join(fixture);
    fs::copy(fixture.join("model.safetensors"), dir.path().join("model.safetensors")).unwrap();
    for (name, changes) in [("config.json", config), ("preprocessor_config.json", processor)] {
        let mut json: Value = serde_json::from_slice(&fs::read(fixture.join(name)).unwrap()).unwrap();
        json.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        fs::write(dir.path().join(name), json.to_string()).unwrap();
    }
    dir
}

#[test]
fn answers_are_those_of_the_pipeline() {
    let cases = fs::read(root().join("fixtures/pipelines/cases.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    let mut compared = 0;
    for case in cases.iter().filter(|case| case["task"] == "image-classification") {
        let (Some(words), Some(expect)) = (words(&case["options"]), case.get("expect")) else { continue };
        // One label of a single one is refused by either config; the case's was changed after it was made.
        if case["config"]["problem_type"] == "single_label_classification"
            && case["fixture"] == "dinov2-regression"
        {
            continue;
        }
        let model = changed(case["fixture"].as_str().unwrap(), &case["config"], &case["processor"]);
        let (pictures, expect) = match &case["pictures"] {
            Value::String(picture) => (vec![picture.as_str()], vec![expect]),
            list => (
                list.as_array().unwrap().iter().map(|picture| picture.as_str().unwrap()).collect(),
                expect.as_array().unwrap().iter().collect(),
            ),
        };
        let got = run(&format!("classify {} {words} -m", pictures.join(" ")), &[model.path()]).ok();
        let got = rows(&got);
        assert_eq!(got.len(), pictures.len(), "{}", case["name"]);
        for ((row, picture), expect) in got.iter().zip(pictures).zip(expect) {
            assert_eq!(row["path"], picture, "{}", case["name"]);
            let row = labels(row);
            let expect = labels(&serde_json::json!({ "path": picture, "labels": expect }));
            assert_same(&row, &expect, PIPELINE_SCORE_MAX_ABS);
        }
        compared += 1;
    }
    assert!(compared >= 20, "{compared}");
}

/// The fixture has twelve labels, so that in the order of texts c10 would stand before c2.
#[test]
fn a_score_goes_with_the_label_of_its_class() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("in.safetensors");
    for fixture in ["dinov2-classifier", "dinov2-with-registers-classifier"] {
        let golden = golden(fixture, "batch");
        write_inputs(&file, &golden);
        let got = run(
            &format!("classify --top-k 99 --function none -m fixtures/{fixture} --pixel-values"),
            &[&file],
        );
        let got = rows(&got.ok());
        let logits = &safetensors(&golden).1["logits"];
        for (i, (row, logits)) in got.iter().zip(logits.values.chunks(12)).enumerate() {
            assert_eq!(row["path"], format!("{}#{i}", file.display()));
            let mut want: Vec<_> =
                logits.iter().enumerate().map(|(class, &logit)| (format!("c{class}"), logit)).collect();
            want.sort_by(|a, b| b.1.total_cmp(&a.1));
            assert_same(&labels(row), &want, TINY_MODEL_MAX_ABS);
        }
        assert_eq!(got.len(), 2);
    }
}

#[test]
fn a_file_of_lines_is_what_stdout_would_be() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("labels.jsonl");
    let words = "classify -q -m fixtures/dinov2-classifier pictures";
    let want = run(words, &[]).ok();
    assert_eq!(run(words, &[Path::new("-o"), &file]).ok(), "");
    assert_eq!(fs::read_to_string(&file).unwrap(), want);
    assert_eq!(listing(dir.path()), ["labels.jsonl"]);
    let got = run(words, &[Path::new("-o"), Path::new("labels.csv")]);
    assert_eq!((got.code, got.stderr.lines().nth(1)), (Some(1), Some("hint: use one of .jsonl")));
}

#[test]
fn a_bad_picture_loses_only_itself() {
    let dir = mixed_folder();
    let got = run("classify -m fixtures/dinov2-classifier --batch 2", &[dir.path()]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.ends_with("3 of 6 pictures failed\n"), "{}", got.stderr);
    assert_eq!(rows(&got.stdout).len(), 3);
    let got = run("classify -m fixtures/dinov2-classifier --fail-fast", &[dir.path()]);
    assert_eq!((got.code, rows(&got.stdout).len()), (Some(1), 1));
}

#[test]
fn a_checkpoint_without_classifier_is_one_error_before_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    let hint =
        "hint: use a checkpoint with a classifier, such as `facebook/dinov2-small-imagenet1k-1-layer`\n";
    let got = tiny("classify pictures", &[]);
    let told = "error: `built-in model.safetensors` has no classifier: its weights end at the backbone\n";
    assert_eq!((got.code, got.stdout.as_str(), got.stderr), (Some(1), "", format!("{told}{hint}")));
    let got = tiny("features pictures --logits -o", &[&file]);
    assert_eq!(
        (got.code, got.stderr),
        (Some(1), format!("{}{hint}", told.replace("error:", "error: --logits:")))
    );
    for fixture in ["dinov3-vit", "dinov3-convnext", "dinov2"] {
        let got = run(&format!("classify pictures/rocket.jpg -m fixtures/{fixture}"), &[]);
        assert_eq!(got.code, Some(1));
        assert!(got.stderr.contains("no classifier") && got.stderr.lines().count() == 2, "{}", got.stderr);
    }
    assert!(listing(dir.path()).is_empty());
}

/// With no labels Transformers gives the features for logits, which classify nothing; `features` still has them.
#[test]
fn a_config_without_labels_classifies_nothing() {
    let none = serde_json::json!({});
    let model = changed("dinov2", &serde_json::json!({ "id2label": {}, "num_labels": 0 }), &none);
    let got = run("classify pictures -m", &[model.path()]);
    assert_eq!((got.code, got.stdout.as_str()), (Some(1), ""));
    assert!(got.stderr.contains(" has no classifier: "), "{}", got.stderr);
    let file = model.path().join("f.safetensors");
    run("features -q pictures/rocket.jpg --logits -m", &[model.path(), Path::new("-o"), &file]).ok();
    let tensors = safetensors(&file).1;
    assert_eq!(tensors["logits"].shape, [1, 64]);
    assert_eq!(tensors["logits"].values[..32], tensors["pooler_output"].values);
}

#[test]
fn no_label_at_all_is_refused() {
    for k in ["0", "-1", "x"] {
        let got =
            run(&format!("classify pictures/rocket.jpg -m fixtures/dinov2-classifier --top-k {k}"), &[]);
        let told = format!("error: invalid value '{k}' for '--top-k <K>': expected a whole number from 1\n");
        assert_eq!((got.code, got.stderr), (Some(1), told));
    }
}

#[test]
fn the_default_model_has_a_classifier() {
    let got = run("classify pictures", &[]);
    assert_eq!(got.code, Some(1));
    let named = "`facebook/dinov2-small-imagenet1k-1-layer`";
    assert!(got.stderr.lines().next().unwrap().contains(named), "{}", got.stderr);
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let help = words(run("classify --help", &[]).ok());
    assert!(help.contains("[default: facebook/dinov2-small-imagenet1k-1-layer]"), "{help}");
    assert!(words(run("embed --help", &[]).ok()).contains("[default: facebook/dinov2-small]"));
}
