//! Compares a model with a golden: a safetensors file that holds the inputs and what Transformers gave for them.
//!
//! Inputs: `pixel_values` [B, C, H, W], f32; where they would make the file large, the metadata key `pixel_values` says
//! `hash32:SEED:B,C,H,W` instead, and they are made by [`hash32`]. All other tensors are expected outputs under
//! Transformers' names: `last_hidden_state`, `pooler_output`, `hidden_states.0` …, `attentions.0` ….

use crate::{Error, HiddenStates, Inputs, Model, Outputs, golden::Golden};
use ndarray::ArrayViewD;

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

/// Runs the golden's inputs through the model and compares every tensor that the golden names, in its order of names.
///
/// # Errors
/// A golden that cannot be read or holds no expected tensor; one that names a tensor which the model does not give;
/// inputs that the model cannot take.
pub fn verify(model: &Model, golden: &Golden) -> Result<Vec<Row>, Error> {
    let asks = |prefix: &str| golden.outputs().any(|(name, _)| name.starts_with(prefix));
    let inputs = Inputs {
        output_hidden_states: asks("hidden_states.").into(),
        output_attentions: asks("attentions."),
        ..Inputs::new(golden.pixel_values())
    };
    let outputs = model.forward(&inputs)?;
    let compare_named = |(name, want): (&str, ArrayViewD<'_, f32>)| {
        let got = named(&outputs, name).ok_or_else(|| Error::GoldenTensor {
            path: golden.path().to_owned(),
            tensor: name.to_owned(),
            given: names(&outputs),
        })?;
        Ok(compare(name, &got, &want))
    };
    golden.outputs().map(compare_named).collect()
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

/// An output by Transformers' name.
fn named<'a>(outputs: &'a Outputs, name: &str) -> Option<ArrayViewD<'a, f32>> {
    let index = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
    match name {
        "last_hidden_state" => Some(outputs.last_hidden_state.view().into_dyn()),
        "pooler_output" => Some(outputs.pooler_output.view().into_dyn()),
        _ if name.starts_with("hidden_states.") => {
            Some(outputs.hidden_states.as_ref()?.get(index("hidden_states.")?)?.view())
        }
        _ => Some(outputs.attentions.as_ref()?.get(index("attentions.")?)?.view().into_dyn()),
    }
}

/// What a forward gave, for messages.
fn names(outputs: &Outputs) -> String {
    let count =
        |what: &str, n: usize| if n == 0 { String::new() } else { format!(", {what}.0 to {what}.{}", n - 1) };
    let hidden = count("hidden_states", outputs.hidden_states.as_ref().map_or(0, HiddenStates::len));
    let attentions = count("attentions", outputs.attentions.as_ref().map_or(0, Vec::len));
    format!("last_hidden_state, pooler_output{hidden}{attentions}")
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
