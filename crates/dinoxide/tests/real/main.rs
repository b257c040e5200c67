//! Public checkpoints against the values that were published for them (`expected.json`): CLS, registers and patches of one picture.
//!
//! The test of it downloads gigabytes and is ignored unless asked for; `docs/parity.md` tells how. What it reads from the environment:
//! `DINOXIDE_REAL_EXPECTED` another file of expected values, `DINOXIDE_REAL_ONLY` a part of the ids to run,
//! `DINOXIDE_REAL_GIGABYTES` the largest download (2 unless told otherwise), and the hub's own variables. That the test itself works
//! is tried here on stand-ins: tiny checkpoints in the public ones' place, on a hub on the loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod standins;

use dinoxide::{
    Checkpoint, ContextOptions, DecodeOptions, ImageProcessor, Inputs, LoadOptions, Model, decode,
};
use ndarray::{Axis, s};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// A checkpoint and what it gives.
#[derive(Debug, Clone, Deserialize)]
struct Expected {
    id: String,
    /// Of the download.
    gigabytes: f64,
    /// Whether it needs a token.
    gated: bool,
    /// An address, or a path from the root of the repository.
    picture: String,
    /// Keys set on the checkpoint's own processor config.
    processor: Map<String, Value>,
    atol: f32,
    rtol: f32,
    tokens: Vec<Token>,
}

/// The first values of a row of `last_hidden_state`.
#[derive(Debug, Clone, Deserialize)]
struct Token {
    what: String,
    token: usize,
    values: Vec<f32>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn picture(place: &str) -> Vec<u8> {
    if !place.starts_with("http") {
        return fs::read(root().join(place)).unwrap();
    }
    let mut answer = ureq::get(place).call().unwrap_or_else(|error| panic!("{place}: {error}"));
    answer.body_mut().read_to_vec().unwrap()
}

fn processor(checkpoint: &Checkpoint, keys: &Map<String, Value>) -> ImageProcessor {
    let mut config = checkpoint.require_processor().unwrap().clone();
    for (key, value) in keys {
        let numbers = value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
        match key.as_str() {
            "image_mean" => config.image_mean = Some(numbers),
            "image_std" => config.image_std = Some(numbers),
            other => panic!("key `{other}` of a processor"),
        }
    }
    ImageProcessor::from_config(&config).unwrap()
}

/// What does not agree.
fn compare(expected: &Expected) -> Vec<String> {
    let checkpoint = dinoxide::open(&expected.id, &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{}: {error}", expected.id));
    let picture = decode(&picture(&expected.picture), &DecodeOptions::default()).unwrap();
    let pixels = processor(&checkpoint, &expected.processor).process(&picture).unwrap().insert_axis(Axis(0));
    let model = Model::from_checkpoint(&checkpoint, ContextOptions::default()).unwrap();
    let tokens = model.forward(&Inputs::new(pixels.view())).unwrap().last_hidden_state;
    let mut failures = Vec::new();
    for Token { what, token, values } in &expected.tokens {
        let got = tokens.slice(s![0, *token, ..values.len()]).to_vec();
        let bound = |want: &f32| expected.atol + expected.rtol * want.abs();
        println!("{} {what}: got {got:?}, published {values:?}", expected.id);
        if !got.iter().zip(values).all(|(got, want)| (got - want).abs() <= bound(want)) {
            failures.push(format!("{} {what}: got {got:?}, published {values:?}", expected.id));
        }
    }
    failures
}

/// Why a checkpoint is left out, if it is.
fn skipped(expected: &Expected) -> Option<String> {
    let most: f64 = env::var("DINOXIDE_REAL_GIGABYTES").map_or(2.0, |text| text.parse().unwrap());
    let wanted = env::var("DINOXIDE_REAL_ONLY").unwrap_or_default();
    if !expected.id.contains(&wanted) {
        return Some("not asked for".to_owned());
    }
    if expected.gigabytes > most {
        return Some(format!("{} GB, more than DINOXIDE_REAL_GIGABYTES", expected.gigabytes));
    }
    let hub = dinoxide::hub::HubEnv::from_process();
    let has_token = hub.hf_token.is_some() || hub.token_path().is_some_and(|file| file.is_file());
    (expected.gated && !has_token).then(|| "needs HF_TOKEN".to_owned())
}

#[test]
#[ignore = "downloads public checkpoints: docs/parity.md tells how to run it"]
fn public_checkpoints_have_their_published_values() {
    let file = env::var_os("DINOXIDE_REAL_EXPECTED")
        .map_or_else(|| root().join("crates/dinoxide/tests/real/expected.json"), PathBuf::from);
    let all: Vec<Expected> = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let (mut compared, mut failures) = (0, Vec::new());
    for expected in &all {
        match skipped(expected) {
            Some(reason) => println!("{} skipped: {reason}", expected.id),
            None => {
                failures.extend(compare(expected));
                compared += 1;
            }
        }
    }
    println!("{compared} of {} compared", all.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 0, "nothing to compare");
}
