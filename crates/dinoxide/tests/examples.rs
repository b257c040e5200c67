//! Every file in `examples/` runs, on a fixture and a photograph, and prints what Transformers gives for them. (`bench_worker` has a
//! test of its own.)
//!
//! Cargo builds the examples before it runs all tests; `cargo test --test examples` alone does not, and then these tests say so.

#![allow(clippy::unwrap_used, clippy::panic)]

use dinoxide_testkit::{
    compare::assert_close,
    tolerance::{PIPELINE_FEATURE_MAX_ABS, PIPELINE_SCORE_MAX_ABS},
};
use safetensors::SafeTensors;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A run of an example.
struct Run {
    example: &'static str,
    args: Vec<PathBuf>,
    /// What it must print, line by line among others.
    lines: Vec<String>,
    /// A line, by its start, and the numbers that must follow.
    numbers: Vec<(String, Vec<f32>, f32)>,
}

impl Run {
    fn new(example: &'static str, args: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { example, args: args.into_iter().collect(), lines: Vec::new(), numbers: Vec::new() }
    }

    /// On a fixture and the cat of the pages.
    fn of_cat(example: &'static str, model: &str) -> Self {
        Self::new(example, [fixture(model), root().join("pictures/chelsea.png")])
    }

    fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    fn numbers(mut self, start: impl Into<String>, want: Vec<f32>, max_abs: f32) -> Self {
        self.numbers.push((start.into(), want, max_abs));
        self
    }

    /// The first values of a tensor of `fixtures/pipelines/features.safetensors`.
    fn first_values(self, start: &str, tensor: &str) -> Self {
        let bytes = fs::read(fixture("pipelines/features.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let values = file.tensor(tensor).unwrap().data().as_chunks().0.iter();
        let want = values.take(4).map(|bytes| f32::from_le_bytes(*bytes)).collect();
        self.numbers(start, want, PIPELINE_FEATURE_MAX_ABS)
    }

    fn check(&self) {
        let what = self.example;
        let output = Command::new(built(self.example)).args(&self.args).current_dir(root()).output().unwrap();
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{what}: {stderr}");
        assert!(stderr.is_empty() && !stdout.is_empty(), "{what}: {stderr}");
        for line in &self.lines {
            assert!(stdout.lines().any(|printed| printed == line), "{what}: no `{line}` in\n{stdout}");
        }
        for (start, want, max_abs) in &self.numbers {
            let rest = stdout.lines().find_map(|line| line.strip_prefix(start.as_str()));
            let rest = rest.unwrap_or_else(|| panic!("{what}: no `{start}` in\n{stdout}"));
            let numbers = rest.split(|c: char| "[], ".contains(c)).filter(|text| !text.is_empty());
            let got: Vec<f32> = numbers.map(|text| text.parse().unwrap()).collect();
            assert_close(what, &got, want, *max_abs);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn fixture(name: &str) -> PathBuf {
    root().join("fixtures").join(name)
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// The binary of an example, which must not be older than its source.
fn built(example: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap(); // target/…/deps/examples-…
    let folder = tests.parent().unwrap().parent().unwrap().join("examples");
    let binary = folder.join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let source = modified(&examples().join(format!("{example}.rs"))).unwrap();
    let is_new = modified(&binary).is_some_and(|binary| binary >= source);
    assert!(is_new, "{} is not built: run `cargo build -p dinoxide --examples`", binary.display());
    binary
}

/// The predictions of a case of `fixtures/pipelines/cases.json`.
fn predictions(name: &str) -> (Value, Vec<(String, f32)>) {
    let cases: Vec<Value> =
        serde_json::from_slice(&fs::read(fixture("pipelines/cases.json")).unwrap()).unwrap();
    let case = cases.into_iter().find(|case| case["name"] == name).unwrap();
    let prediction =
        |it: &Value| (it["label"].as_str().unwrap().to_owned(), it["score"].as_f64().unwrap() as f32);
    let all = case["expect"].as_array().unwrap().iter().map(prediction).collect();
    (case, all)
}

/// The fixture of a case with the case's processor, in a folder of its own.
fn folder_of(case: &Value) -> tempfile::TempDir {
    let (folder, from) = (tempfile::tempdir().unwrap(), fixture(case["fixture"].as_str().unwrap()));
    for name in ["config.json", "model.safetensors"] {
        fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    let name = "preprocessor_config.json";
    let mut processor: Value = serde_json::from_slice(&fs::read(from.join(name)).unwrap()).unwrap();
    for (key, value) in case["processor"].as_object().unwrap() {
        processor[key] = value.clone();
    }
    fs::write(folder.path().join(name), processor.to_string()).unwrap();
    folder
}

/// The examples of classifiers.
fn classifiers(with_registers: &Path) -> Vec<Run> {
    let (_, want) = predictions("the fixture's own processor");
    let (_, of_registers) = predictions("registers");
    let mut pipeline = Run::of_cat("dinov2_image_classification_pipeline", "dinov2-classifier");
    for (label, score) in &want {
        pipeline = pipeline.numbers(format!("{label}: "), vec![*score], PIPELINE_SCORE_MAX_ABS);
    }
    let registers = [with_registers.to_owned(), root().join("pictures/chelsea.png")];
    vec![
        pipeline,
        Run::of_cat("dinov2_image_classification", "dinov2-classifier")
            .line(format!("Predicted class: {}", want[0].0)),
        Run::of_cat("dinov2_for_image_classification", "dinov2-classifier").line(&want[0].0),
        Run::new("dinov2_with_registers_for_image_classification", registers).line(&of_registers[0].0),
    ]
}

/// The examples of features; what gives vectors does so with every family.
fn features() -> Vec<Run> {
    let pooled = |model: &str, width: usize| {
        Run::of_cat("dinov3_pooled_output", model)
            .line(format!("Pooled output shape: [1, {width}]"))
            .first_values("First values: ", &format!("pooled, {model}/0"))
    };
    vec![
        pooled("dinov2-518", 16),
        pooled("dinov2-with-registers-518", 16),
        pooled("dinov3-vit-16", 16),
        pooled("dinov3-convnext", 32),
        Run::of_cat("dinov3_image_feature_extraction_pipeline", "dinov3-vit-16")
            .first_values("tokens: [1, 201, 16], first values ", "tokens, dinov3-vit-16/0"),
        Run::of_cat("dinov2_split_output", "dinov2-518")
            .line("Image size: 300 451")
            .line("pixel_values: [1, 3, 224, 224]")
            .line("last_hidden_state: [1, 257, 16]")
            .line("patch features: [1, 16, 16, 16]")
            .first_values("CLS: [1, 16], first values ", "tokens, dinov2-518/0"),
        Run::of_cat("dinov3_split_output", "dinov3-vit-16")
            .line("Image size: 300 451")
            .line("Patch size: 16")
            .line("Num register tokens: 4")
            .line("last_hidden_state: [1, 201, 16]")
            .line("registers: [1, 4, 16]")
            .line("patch features: [1, 16, 14, 14]")
            .first_values("CLS: [1, 16], first values ", "tokens, dinov3-vit-16/0"),
        Run::of_cat("backbone", "dinov3-convnext")
            .line("stage1: [1, 8, 56, 56]")
            .line("stage2: [1, 16, 28, 28]"),
        Run::of_cat("backbone", "dinov2-with-registers-backbone").line("stage2: [1, 16, 56, 56]"),
        Run::new("embed_folder", [fixture("dinov2-518"), root().join("pictures")])
            .line("6 pictures of 16 values each"),
    ]
}

/// The examples of configs, made smaller by their argument.
fn configs() -> Vec<Run> {
    let small = |example, size: &str| Run::new(example, [PathBuf::from(size)]);
    vec![
        small("dinov2_config", "1").line("1 layers of width 768"),
        small("dinov2_with_registers_config", "1").line("1 layers").line("4 registers"),
        small("dinov3_vit_config", "2").line("2 layers of width 384"),
        small("dinov3_convnext_config", "1").line("[1, 1, 1, 1] blocks of width [96, 192, 384, 768]"),
    ]
}

#[test]
fn every_example_runs_and_prints_the_numbers_of_transformers() {
    let with_registers = folder_of(&predictions("registers").0);
    let runs: Vec<_> =
        classifiers(with_registers.path()).into_iter().chain(features()).chain(configs()).collect();
    let files = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let names = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let names: BTreeSet<_> = names.filter(|name| name != "bench_worker").collect();
    assert_eq!(names, runs.iter().map(|run| run.example.to_owned()).collect(), "an example without a run");
    runs.iter().for_each(Run::check);
}

#[test]
fn a_failing_example_shows_message_and_hint() {
    let nowhere = root().join("fixtures/processor");
    let output = Command::new(built("dinov3_pooled_output"))
        .args([nowhere, root().join("pictures/chelsea.png")])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("Error: ") && stderr.contains("preprocessor_config.json"), "{stderr}");
    assert!(!stderr.contains('{'), "fields of a variant: {stderr}");
}
