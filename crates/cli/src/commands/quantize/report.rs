//! What is reported of a checkpoint in lower precision: a row a weight, then how close the model is.

use crate::{output::Table, text};
use dinoxide::{Comparison, Precision, QuantizedLinear, Similarity};
use serde::Serialize;
use std::fmt;

/// The report, as it is written in JSON.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    model: String,
    precision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_size: Option<usize>,
    /// Of all tensors, in the files.
    pub(super) bytes_before: u64,
    pub(super) bytes_after: u64,
    weights: Vec<Weight>,
    /// The pictures that the models were compared on.
    pictures: Vec<String>,
    comparison: Option<Comparison>,
    /// Why there is no comparison.
    pub(super) not_compared: Option<String>,
}

/// A weight against what it was made of.
#[derive(Debug, Serialize)]
struct Weight {
    name: String,
    shape: [usize; 2],
    precision: &'static str,
    note: Option<String>,
    bytes_before: u64,
    bytes_after: u64,
    cosine: f64,
    max_abs: f32,
}

/// What became of the comparison.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) pictures: Vec<String>,
    pub(super) comparison: Option<Comparison>,
    pub(super) not_compared: Option<String>,
    /// Pictures that could not be read; each has been reported.
    pub(super) failed: usize,
}

impl Report {
    pub(super) fn new(
        model: String,
        precision: Precision,
        [bytes_before, bytes_after]: [u64; 2],
        weights: Vec<QuantizedLinear>,
    ) -> Self {
        let weight = |weight: QuantizedLinear| Weight {
            name: weight.name,
            shape: weight.shape,
            precision: weight.precision.name(),
            note: weight.note.map(|note| note.to_string()),
            bytes_before: weight.bytes_before,
            bytes_after: weight.bytes_after,
            cosine: weight.cosine,
            max_abs: weight.max_abs,
        };
        Self {
            model,
            precision: precision.name(),
            group_size: precision.group_size(),
            bytes_before,
            bytes_after,
            weights: weights.into_iter().map(weight).collect(),
            pictures: Vec::new(),
            comparison: None,
            not_compared: None,
        }
    }

    /// Enters the comparison; how many pictures failed.
    pub(super) fn enter(&mut self, compared: Compared) -> usize {
        let Compared { pictures, comparison, not_compared, failed } = compared;
        (self.pictures, self.comparison, self.not_compared) = (pictures, comparison, not_compared);
        failed
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table =
            Table::new(&["weight", "shape", "precision", "before", "after", "cosine", "max error", "note"]);
        for weight in &self.weights {
            table.row(vec![
                text::shown(&weight.name).into_owned(),
                format!("{}x{}", weight.shape[0], weight.shape[1]),
                weight.precision.to_owned(),
                text::bytes(weight.bytes_before),
                text::bytes(weight.bytes_after),
                cosine(weight.cosine),
                format!("{:.2e}", weight.max_abs),
                weight.note.clone().unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        write!(f, "{table}")?;
        let Some(comparison) = &self.comparison else { return Ok(()) };
        let mut table = Table::new(&["against f32", "median cosine", "least cosine", "max error"]);
        let mut row = |name: String, similarity: &Similarity| {
            let Similarity { median, least, max_abs } = *similarity;
            table.row(vec![name, cosine(median), cosine(least), format!("{max_abs:.2e}")]);
        };
        for (i, layer) in comparison.layers.iter().enumerate() {
            row(format!("layer {}", i + 1), layer);
        }
        row("CLS".to_owned(), &comparison.cls);
        row("patches".to_owned(), &comparison.patches);
        write!(f, "\n{table}")
    }
}

/// Rounded down, so that only equal directions have a cosine of 1.
fn cosine(value: f64) -> String {
    format!("{:.6}", (value * 1e6).floor() / 1e6)
}
