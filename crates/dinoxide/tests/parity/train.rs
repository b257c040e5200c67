//! The train mode: with the draws that a golden recorded, all that Transformers gave; with seeded draws, what chance allows.
//! Without draws nothing is random.

use crate::fixtures::{f32_checkpoints, goldens_of, model_for};
use dinoxide::{
    ContextOptions, DrawPlace, Draws, Golden, ImageClassifier, Inputs, Isa, LoadOptions, Model, Outputs,
    SeededDraws,
};
use dinoxide_testkit::{compare::assert_close, tolerance::TINY_MODEL_MAX_ABS};
use ndarray::{Array1, Array4, ArrayD, IxDyn, arr0};
use safetensors::{Dtype, SafeTensors};
use serde_json::json;
use std::{collections::BTreeMap, path::Path};

/// Draws that were recorded. Asking for one that was not is a failure, as is one of another length.
#[derive(Debug)]
struct Recorded {
    masks: BTreeMap<String, Vec<bool>>,
    numbers: BTreeMap<String, Vec<f32>>,
}

fn name(place: DrawPlace) -> String {
    match place {
        DrawPlace::EmbeddingDropout => "draws.embedding_dropout".to_owned(),
        DrawPlace::AttentionDropout { layer } => format!("draws.attention_dropout.{layer}"),
        DrawPlace::DropPath { branch } => format!("draws.drop_path.{branch}"),
        DrawPlace::RopeShift => "draws.rope_shift".to_owned(),
        DrawPlace::RopeJitter => "draws.rope_jitter".to_owned(),
        DrawPlace::RopeRescale => "draws.rope_rescale".to_owned(),
    }
}

impl Draws for Recorded {
    fn keep(&self, place: DrawPlace, _: f64, kept: &mut [bool]) {
        kept.copy_from_slice(&self.masks[&name(place)]);
    }

    fn uniform(&self, place: DrawPlace, limit: f64, numbers: &mut [f32]) {
        numbers.copy_from_slice(&self.numbers[&name(place)]);
        assert!(numbers.iter().all(|x| f64::from(x.abs()) <= limit + 1e-6), "{place:?} within {limit}");
    }
}

/// A golden of the train mode: its draws, and its expected tensors.
struct TrainGolden {
    golden: Golden,
    draws: Recorded,
    labels: Option<Array1<i64>>,
    expected: BTreeMap<String, ArrayD<f32>>,
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

/// Reads a golden; what `Golden` takes for expected tensors are the draws, so the file without them goes through it.
fn read(path: &Path) -> TrainGolden {
    let bytes = std::fs::read(path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let (drawn, rest): (Vec<_>, Vec<_>) =
        file.tensors().into_iter().partition(|(name, _)| name.starts_with("draws."));
    let mut draws = Recorded { masks: BTreeMap::new(), numbers: BTreeMap::new() };
    for (name, tensor) in drawn {
        match tensor.dtype() {
            Dtype::BOOL => drop(draws.masks.insert(name, tensor.data().iter().map(|&b| b != 0).collect())),
            _ => drop(draws.numbers.insert(name, floats(tensor.data()))),
        }
    }
    let is_input = |name: &str| ["pixel_values", "labels"].contains(&name);
    let expected = rest.iter().filter(|(name, _)| !is_input(name)).map(|(name, tensor)| {
        (name.clone(), ArrayD::from_shape_vec(IxDyn(tensor.shape()), floats(tensor.data())).unwrap())
    });
    let expected = expected.collect();
    let labels = file
        .tensor("labels")
        .ok()
        .map(|labels| labels.data().as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect());
    let copy = tempfile::Builder::new().suffix(".safetensors").tempfile().unwrap();
    let written = safetensors::serialize(rest, metadata.metadata().clone()).unwrap();
    std::fs::write(copy.path(), written).unwrap();
    TrainGolden { golden: Golden::open(copy.path()).unwrap(), draws, labels, expected }
}

fn tensors(outputs: Outputs) -> BTreeMap<String, ArrayD<f32>> {
    let mut all = BTreeMap::from([
        ("last_hidden_state".to_owned(), outputs.last_hidden_state.into_dyn()),
        ("pooler_output".to_owned(), outputs.pooler_output.into_dyn()),
    ]);
    if let Some(states) = &outputs.hidden_states {
        all.extend(states.iter().map(|(i, state)| (format!("hidden_states.{i}"), state.clone())));
    }
    for (i, attention) in outputs.attentions.into_iter().flatten().enumerate() {
        all.insert(format!("attentions.{i}"), attention.into_dyn());
    }
    all
}

fn run(model: &Model, golden: &TrainGolden) -> BTreeMap<String, ArrayD<f32>> {
    let inputs = golden.golden.inputs().unwrap().with_train(&golden.draws);
    if !golden.expected.contains_key("logits") {
        return tensors(model.forward(&inputs).unwrap());
    }
    let classifier = ImageClassifier::new(model.clone()).unwrap();
    let outputs = match &golden.labels {
        Some(labels) => classifier.forward_with_labels(&inputs, labels.view()).unwrap(),
        None => classifier.forward(&inputs).unwrap(),
    };
    let mut all = tensors(outputs.base);
    all.extend(outputs.loss.map(|loss| ("loss".to_owned(), arr0(loss).into_dyn())));
    all.insert("logits".to_owned(), outputs.logits.into_dyn());
    all
}

#[test]
fn recorded_draws_give_what_transformers_gave_on_every_isa_with_one_and_two_threads() {
    let mut compared = 0;
    for name in f32_checkpoints() {
        for path in goldens_of(&name, "train") {
            let golden = read(&path);
            for isa in Isa::available() {
                for threads in [1, 2] {
                    let got = run(&model_for(&name, &golden.golden, isa, threads), &golden);
                    for (tensor, want) in &golden.expected {
                        let what = format!("{} {isa} x{threads} {tensor}", path.display());
                        assert_eq!(got[tensor].shape(), want.shape(), "{what}");
                        let (got, want) = (got[tensor].as_standard_layout(), want.as_standard_layout());
                        assert_close(
                            &what,
                            got.as_slice().unwrap(),
                            want.as_slice().unwrap(),
                            TINY_MODEL_MAX_ABS,
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= 50, "{compared} tensors");
}

fn open(name: &str, overrides: &[(&str, serde_json::Value)]) -> Model {
    let mut options = LoadOptions::default();
    for (key, value) in overrides {
        options = options.with(key, value.clone());
    }
    Model::from_pretrained_with(crate::fixtures::fixture(name), &options).unwrap()
}

fn pixels(batch: usize, side: usize) -> Array4<f32> {
    let len = batch * 3 * side * side;
    Array4::from_shape_vec((batch, 3, side, side), dinoxide::hash32(5, len)).unwrap()
}

fn forward(model: &Model, pixels: &Array4<f32>, draws: Option<&dyn Draws>) -> Vec<f32> {
    let inputs = Inputs { train: draws, ..Inputs::new(pixels.view()) };
    model.forward(&inputs).unwrap().last_hidden_state.iter().copied().collect()
}

#[test]
fn a_seed_decides_the_draws_and_eval_mode_draws_nothing() {
    let rates = |keys: &[&'static str]| keys.iter().map(|&key| (key, json!(0.4))).collect::<Vec<_>>();
    for (name, keys) in [
        ("dinov2", &["hidden_dropout_prob", "attention_probs_dropout_prob", "drop_path_rate"][..]),
        ("dinov2-with-registers", &["hidden_dropout_prob", "attention_probs_dropout_prob", "drop_path_rate"]),
        ("dinov3-vit", &["attention_dropout", "drop_path_rate"]),
        ("dinov3-convnext", &["drop_path_rate"]),
    ] {
        let (plain, dropping) = (open(name, &[]), open(name, &rates(keys)));
        let pixels = pixels(3, 64);
        let eval = forward(&plain, &pixels, None);
        assert_eq!(forward(&dropping, &pixels, None), eval, "{name}: rates have no effect in eval mode");
        let train = |seed| forward(&dropping, &pixels, Some(&SeededDraws(seed)));
        assert_eq!(train(1), train(1), "{name}");
        assert!(train(1) != train(2) && train(1) != eval, "{name}");
        assert!(train(1).iter().all(|x| x.is_finite()), "{name}");
    }
}

#[test]
fn without_rates_only_rope_differs_in_train_mode() {
    let pixels = pixels(2, 64);
    for name in ["dinov2", "dinov2-with-registers", "dinov3-convnext"] {
        let model = open(name, &[]);
        assert_eq!(forward(&model, &pixels, Some(&SeededDraws(1))), forward(&model, &pixels, None), "{name}");
    }
    // DINOv3's config stretches the coordinates unless it is told not to.
    let rope = open("dinov3-vit", &[]);
    assert_ne!(forward(&rope, &pixels, Some(&SeededDraws(1))), forward(&rope, &pixels, None));
    let still = open("dinov3-vit", &[("pos_embed_rescale", json!(null))]);
    assert_eq!(forward(&still, &pixels, Some(&SeededDraws(1))), forward(&still, &pixels, None));
}

#[test]
fn a_rate_of_one_drops_all_and_gives_no_nan() {
    let pixels = pixels(2, 28);
    let model = open("dinov2", &[("drop_path_rate", json!(1.0))]);
    let inputs = Inputs::new(pixels.view()).with_hidden_states(true).with_train(&SeededDraws(1));
    let states = model.forward(&inputs).unwrap().hidden_states.unwrap();
    assert_eq!(states[0], states[2]);
    let model =
        open("dinov2", &[("attention_probs_dropout_prob", json!(1.0)), ("hidden_dropout_prob", json!(1.0))]);
    let outputs = model.forward(&inputs).unwrap();
    assert!(outputs.hidden_states.unwrap()[0].iter().all(|x| *x == 0.0));
    assert!(outputs.last_hidden_state.iter().all(|x| x.is_finite()));
}

#[test]
fn seeded_draws_do_not_depend_on_the_number_of_threads() {
    let pixels = pixels(3, 64);
    for name in ["dinov2", "dinov3-vit", "dinov3-convnext"] {
        let run = |threads| {
            let context = ContextOptions { isa: None, threads: Some(threads) };
            let options = LoadOptions { context, ..LoadOptions::default() }.with("drop_path_rate", 0.4);
            let model = Model::from_pretrained_with(crate::fixtures::fixture(name), &options).unwrap();
            forward(&model, &pixels, Some(&SeededDraws(9)))
        };
        assert_eq!(run(1), run(3), "{name}");
    }
}

#[test]
fn an_augmentation_that_torch_cannot_draw_is_an_error_in_train_mode_only() {
    for (key, value) in [("pos_embed_shift", -0.1), ("pos_embed_jitter", 0.0), ("pos_embed_rescale", 0.5)] {
        let model = open("dinov3-vit", &[(key, json!(value))]);
        let (pixels, draws) = (pixels(1, 32), SeededDraws(0));
        model.forward(&Inputs::new(pixels.view())).unwrap();
        let error = model.forward(&Inputs::new(pixels.view()).with_train(&draws)).unwrap_err();
        assert!(error.to_string().contains(key), "{error}");
    }
}
