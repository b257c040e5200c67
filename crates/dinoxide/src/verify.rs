//! Compares a model with a golden: a safetensors file that holds the inputs and what Transformers gave for them.
//!
//! Inputs: `pixel_values` [B, C, H, W], f32; where they would make the file large, the metadata key `pixel_values` says
//! `hash32:SEED:B,C,H,W` instead, and they are made by [`hash32`]. Where given `bool_masked_pos`, `attention_mask`, `labels`. All other
//! tensors are expected outputs under Transformers' names: `last_hidden_state`, `pooler_output`, `hidden_states.0` …,
//! `attentions.0` …, `logits`, `loss`, `feature_maps.0` …, `cls_tokens.0` ….

use crate::{
    Backbone, BackboneOutputs, Error, HiddenStates, ImageClassifier, Inputs, Model, Outputs, golden::Golden,
};
use ndarray::{Array4, ArrayD, ArrayViewD, arr0};
use std::collections::BTreeMap;

/// One compared tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name in the golden.
    pub name: String,
    /// Its shape in the golden.
    pub shape: Vec<usize>,
    /// The shape that the model gave, when it is another one; the numbers are then not comparable.
    pub got_shape: Option<Vec<usize>>,
    /// Largest absolute difference; infinite when the shapes differ or a value is not finite on one side only.
    pub max_abs: f32,
    /// Cosine over the whole tensor; 0 when the shapes differ.
    pub cosine: f64,
}

impl Row {
    /// Whether every element is within `atol`.
    #[must_use]
    pub fn passes(&self, atol: f32) -> bool {
        self.got_shape.is_none() && self.max_abs <= atol
    }
}

/// Runs the golden's inputs through the model and compares every tensor that the golden names, in its order of names. Feature maps
/// are those of the config's stages, and logits those of the checkpoint's classifier. A golden of a config that was changed says
/// so: see [`Golden::overrides`].
///
/// # Errors
/// A golden that cannot be read or holds no expected tensor; one that names a tensor which the model does not give;
/// inputs that the model cannot take.
pub fn verify(model: &Model, golden: &Golden) -> Result<Vec<Row>, Error> {
    let inputs = golden.inputs()?;
    let asks = |prefix: &str| golden.outputs().any(|(name, _)| name.starts_with(prefix));
    let given = if asks("feature_maps.") || asks("cls_tokens.") {
        backbone_tensors(Backbone::new(model.clone())?.forward(&inputs)?)
    } else if asks("logits") || asks("loss") {
        classifier_tensors(&ImageClassifier::new(model.clone())?, &inputs, golden)?
    } else {
        tensors(model.forward(&inputs)?)
    };
    let compare_named = |(name, want): (&str, ArrayViewD<'_, f32>)| {
        let got = given.get(name).ok_or_else(|| Error::GoldenTensor {
            path: golden.path().to_owned(),
            tensor: name.to_owned(),
            given: names(&given),
        })?;
        Ok(compare(name, &got.view(), &want))
    };
    golden.outputs().map(compare_named).collect()
}

/// What was given, by Transformers' names.
type Given = BTreeMap<String, ArrayD<f32>>;

fn tensors(outputs: Outputs) -> Given {
    let mut given = recorded(outputs.hidden_states, outputs.attentions);
    given.insert("last_hidden_state".to_owned(), outputs.last_hidden_state.into_dyn());
    given.insert("pooler_output".to_owned(), outputs.pooler_output.into_dyn());
    given
}

fn classifier_tensors(
    classifier: &ImageClassifier,
    inputs: &Inputs<'_>,
    golden: &Golden,
) -> Result<Given, Error> {
    let outputs = match golden.labels() {
        Some(labels) => {
            let problem_type = golden.problem_type().or(classifier.config().common().problem_type);
            classifier.forward_as(inputs, &labels, problem_type)?
        }
        None => classifier.forward(inputs)?,
    };
    let mut given = tensors(outputs.base);
    given.insert("logits".to_owned(), outputs.logits.into_dyn());
    given.extend(outputs.loss.map(|loss| ("loss".to_owned(), arr0(loss).into_dyn())));
    Ok(given)
}

fn backbone_tensors(outputs: BackboneOutputs) -> Given {
    let mut given = recorded(outputs.hidden_states, outputs.attentions);
    let maps = outputs.feature_maps.into_iter().enumerate();
    given.extend(maps.map(|(i, map)| (format!("feature_maps.{i}"), map)));
    let tokens = outputs.cls_tokens.into_iter().flatten().enumerate();
    given.extend(tokens.map(|(i, token)| (format!("cls_tokens.{i}"), token.into_dyn())));
    given
}

fn recorded(hidden_states: Option<HiddenStates>, attentions: Option<Vec<Array4<f32>>>) -> Given {
    let states = hidden_states.into_iter().flat_map(HiddenStates::into_states);
    let mut given: Given = states.map(|(i, state)| (format!("hidden_states.{i}"), state)).collect();
    let attentions = attentions.into_iter().flatten().enumerate();
    given.extend(attentions.map(|(i, attention)| (format!("attentions.{i}"), attention.into_dyn())));
    given
}

/// What was given, for messages: one name of each kind.
fn names(given: &Given) -> String {
    let mut kinds: Vec<String> = Vec::new();
    for name in given.keys() {
        let kind = name.split_once('.').map_or(name.clone(), |(kind, _)| format!("{kind}.…"));
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(", ")
}

fn compare(name: &str, got: &ArrayViewD<'_, f32>, want: &ArrayViewD<'_, f32>) -> Row {
    let shape = want.shape().to_vec();
    let mut row = Row { name: name.to_owned(), shape, got_shape: None, max_abs: f32::INFINITY, cosine: 0.0 };
    if got.shape() != want.shape() {
        row.got_shape = Some(got.shape().to_vec());
        return row;
    }
    let (mut max_abs, mut dot, mut got_square, mut want_square) = (0.0_f32, 0.0_f64, 0.0_f64, 0.0_f64);
    for (&g, &w) in got.iter().zip(want) {
        let same = g == w || (g.is_nan() && w.is_nan());
        let difference = if same { 0.0 } else { (g - w).abs() };
        max_abs = max_abs.max(if difference.is_nan() { f32::INFINITY } else { difference });
        let (g, w) = (f64::from(g), f64::from(w));
        dot += g * w;
        got_square += g * g;
        want_square += w * w;
    }
    let norm = (got_square * want_square).sqrt();
    row.max_abs = max_abs;
    row.cosine = if norm > 0.0 { dot / norm } else { f64::from(u8::from(got_square == want_square)) };
    row
}

/// Values in [−2, 2) made by hashing the index, exact in f32, the same on every machine and in Python
/// (`tools/golden/common.py`): h = (i + 1)·2654435761 + seed·40503 mod 2³²; `h ^= h >> 16`; `h *= 2246822519`;
/// `h ^= h >> 13`; (h >> 8) / 2²² − 2.
#[must_use]
pub fn hash32(seed: u32, len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| {
            let mut h = (i as u32).wrapping_add(1).wrapping_mul(2_654_435_761);
            h = h.wrapping_add(seed.wrapping_mul(40_503));
            h ^= h >> 16;
            h = h.wrapping_mul(2_246_822_519);
            h ^= h >> 13;
            (h >> 8) as f32 / 4_194_304.0 - 2.0
        })
        .collect()
}
