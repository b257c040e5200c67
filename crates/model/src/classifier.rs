//! The classifier of the DINOv2 families: `logits = W·[CLS ‖ mean of the patches] + b`, both after the final norm, registers left out.
//! A mask does not change the mean. Without labels the logits are the features themselves.
//!
//! Source: `…ForImageClassification` of Transformers 5.24.

use crate::{
    LinearPrecision, ModelError, Outputs, Precision,
    layers::linear::{Linear, LinearShape},
    weights::Load,
};
use dinoxide_checkpoint::Checkpoint;
use dinoxide_kernels::{Context, Epilogue, MatMut, MatRef};
use ndarray::{Array2, Axis, s};

/// A classifier on top of a bare model.
#[derive(Debug)]
pub struct Classifier {
    /// Absent where the config has no labels.
    linear: Option<Linear>,
    precision: Option<LinearPrecision>,
}

impl Classifier {
    /// Reads `classifier.weight` [labels, 2·D], to be held in `precision` or as the file does, and `classifier.bias`.
    ///
    /// # Errors
    /// A checkpoint without classifier, or with another number of labels than its config.
    pub fn load(
        ctx: &Context,
        checkpoint: &Checkpoint,
        precision: Option<Precision>,
    ) -> Result<Self, ModelError> {
        checkpoint.check_classifier()?;
        let (config, load) = (checkpoint.config(), Load::new(ctx, checkpoint, precision));
        let (inputs, outputs) = (2 * config.hidden_size(), config.common().num_labels());
        let shape = LinearShape { inputs, outputs, bias: true };
        let linear =
            (outputs > 0).then(|| Linear::load(&load.weights().at("classifier"), shape)).transpose()?;
        Ok(Self { linear, precision: load.into_linears().pop() })
    }

    /// What its weight is held in; nothing where there are no labels.
    #[must_use]
    pub fn linear(&self) -> Option<&LinearPrecision> {
        self.precision.as_ref()
    }

    /// Bytes of the packed weight.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.linear.as_ref().map_or(0, Linear::bytes)
    }

    /// Logits [B, labels]; [B, 2·D] where there are no labels.
    #[must_use]
    pub fn logits(&self, ctx: &Context, outputs: &Outputs) -> Array2<f32> {
        let features = features(outputs);
        let Some(linear) = &self.linear else { return features };
        let (rows, cols) = features.dim();
        let mut logits = Array2::zeros((rows, linear.outputs()));
        if let (Some(x), Some(out)) = (features.as_slice(), logits.as_slice_mut()) {
            let mut out = MatMut::new(out, rows, linear.outputs());
            linear.forward(ctx, MatRef::new(x, rows, cols), &mut out, Epilogue::default());
        }
        logits
    }
}

/// [B, 2·D]: CLS, then the mean of the patches, summed in f64.
fn features(outputs: &Outputs) -> Array2<f32> {
    let tokens = &outputs.last_hidden_state;
    let (batch, _, width) = tokens.dim();
    let mut features = Array2::zeros((batch, 2 * width));
    for (mut row, tokens) in features.rows_mut().into_iter().zip(tokens.axis_iter(Axis(0))) {
        let patches = tokens.slice(s![outputs.prefix.., ..]);
        row.slice_mut(s![..width]).assign(&tokens.row(0));
        for (mean, column) in row.iter_mut().skip(width).zip(patches.axis_iter(Axis(1))) {
            let sum: f64 = column.iter().map(|&value| f64::from(value)).sum();
            *mean = (sum / patches.nrows() as f64) as f32;
        }
    }
    features
}
