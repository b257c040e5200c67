//! The worker of `benchmarks/`: a conversation in its line protocol, on the built-in model and a golden of Transformers.
//!
//! Cargo builds the examples before it runs all tests; `cargo test --test bench_worker` alone does not.

#![allow(clippy::unwrap_used, clippy::panic)]

use dinoxide::{AutoImageProcessor, Golden, Precision};
use dinoxide_testkit::{compare::assert_close, tolerance::TINY_MODEL_MAX_ABS};
use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The binary, target/…/examples/bench_worker beside target/…/deps/bench_worker-….
fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    folder.join(format!("bench_worker{}", std::env::consts::EXE_SUFFIX))
}

fn run(args: &[&str], peers_root: &Path, requests: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(args).env("PEERS_ROOT", peers_root).env("PEERS_THREADS", "2");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut worker = command.spawn().unwrap();
    // A worker that refuses to start does not read what it is asked.
    let _ = worker.stdin.take().unwrap().write_all(requests.as_bytes());
    worker.wait_with_output().unwrap()
}

/// Answers, each its name and value.
fn answers(output: &Output) -> Vec<(String, Value)> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    let split = |line: &str| {
        let (name, value) = line.split_once(' ').unwrap();
        (name.to_owned(), serde_json::from_str(value).unwrap())
    };
    lines.map(split).collect()
}

fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn golden() -> Golden {
    Golden::open(root().join("fixtures/builtin/golden-224.safetensors")).unwrap()
}

/// A `PEERS_ROOT` whose one input, a picture of 224, is the golden's.
fn root_with_input_of(golden: &Golden) -> TempDir {
    let peers_root = tempfile::tempdir().unwrap();
    fs::create_dir(peers_root.path().join("inputs")).unwrap();
    let bytes: Vec<u8> = golden.pixel_values().iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(peers_root.path().join("inputs/x_b1_r224.f32"), bytes).unwrap();
    peers_root
}

#[test]
fn the_worker_gives_the_vector_of_transformers_and_times_what_it_is_asked() {
    let golden = golden();
    let peers_root = root_with_input_of(&golden);
    let requests = "CHK 1 224\nRUN 1 224 0 3\nMEM\nGEMM 5 16 8 0\nQUIT\nCHK 1 224\n";
    let output = run(&["builtin:tiny", "f32"], peers_root.path(), requests);
    let answers = answers(&output);
    let names: Vec<_> = answers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["READY", "CHK", "RES", "MEM", "OPS"], "nothing after QUIT");

    let (_, last_hidden_state) = golden.outputs().find(|(name, _)| *name == "last_hidden_state").unwrap();
    let width = last_hidden_state.shape()[2];
    let want: Vec<f32> = last_hidden_state.iter().take(width).copied().collect();
    assert_close("CLS", &numbers(&answers[1].1["v"]), &want, TINY_MODEL_MAX_ABS);
    let times = numbers(&answers[2].1["times"]);
    assert!(times.len() == 3 && times.iter().all(|&seconds| seconds > 0.0), "{times:?}");
    let memory = |key: &str| answers[3].1[key].as_f64().unwrap();
    assert!(0.0 < memory("rss_mb") && memory("rss_mb") <= memory("peak_mb"), "{}", answers[3].1);
    assert_eq!(numbers(&answers[4].1["dinoxide"]).len(), 3);
}

#[test]
fn the_worker_computes_in_each_precision_that_it_is_started_with() {
    let peers_root = root_with_input_of(&golden());
    let cls = |dtype: &str| {
        let answers = answers(&run(&["builtin:tiny", dtype], peers_root.path(), "CHK 1 224\n"));
        numbers(&answers[1].1["v"])
    };
    let exact = cls("f32");
    for dtype in Precision::NAMES.into_iter().filter(|&name| name != "f32") {
        let cls = cls(dtype);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let cosine = dot(&cls, &exact) / (dot(&cls, &cls) * dot(&exact, &exact)).sqrt();
        assert!(cosine > 0.95 && cls != exact, "{dtype}: cosine {cosine}");
    }
}

#[test]
fn the_worker_times_a_photograph_and_gives_the_row_of_the_processor() {
    let photograph = root().join("pictures/coffee.jpg").canonicalize().unwrap();
    let requests = format!("PIXELS {0}\nPICTURE 0 2 {0}\n", photograph.display());
    let output = run(&["builtin:tiny"], Path::new("nowhere"), &requests);
    let answers = answers(&output);
    let pixels = AutoImageProcessor::from_pretrained("builtin:tiny").unwrap().open(&photograph).unwrap();
    let row: Vec<f32> =
        (0..3).flat_map(|c| (0..224).map(move |x| (c, x))).map(|(c, x)| pixels[[c, 112, x]]).collect();
    assert_eq!(numbers(&answers[1].1["v"]), row);
    assert_eq!(numbers(&answers[2].1["times"]).len(), 2);
}

#[test]
fn what_the_worker_cannot_do_is_an_answer_and_the_next_request_is_served() {
    let requests = "RUN 1 99 0 1\nRUN 1\nRUN one 224 0 1\nFLY\nMEM\n";
    let answers = answers(&run(&["builtin:tiny"], Path::new("nowhere"), requests));
    let expected = ["x_b1_r99.f32", "unknown request: RUN 1", "invalid digit", "unknown request: FLY"];
    for ((name, value), part) in answers[1..5].iter().zip(expected) {
        assert!(name == "ERR" && value.as_str().unwrap().contains(part), "{name} {value}");
    }
    assert_eq!(answers[5].0, "MEM");
}

#[test]
fn a_worker_that_cannot_start_says_why() {
    for (args, part) in [
        (&["builtin:tiny", "half"][..], "unknown precision `half`"),
        (&["builtin:tiny", "f32", "many"][..], "threads many: not a number"),
        (&["./no-such-folder"][..], "no-such-folder"),
        (&[][..], "usage: bench_worker"),
    ] {
        let output = run(args, Path::new("nowhere"), "QUIT\n");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && output.stdout.is_empty(), "{args:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(part), "{args:?}: {stderr}");
    }
}
