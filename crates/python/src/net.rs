//! What a [`crate::network::Network`] runs: one of the engine's three classes.

use crate::{asked::AskedLoss, outputs::IntoDict};
use dinoxide::{
    Backbone, Checkpoint, ContextOptions, Error, Head, ImageClassifier, Inputs, LoadOptions, Model,
    QuantizeOptions, SaveOptions, quantize,
};
use pyo3::{prelude::*, types::PyDict};
use std::{ffi::OsStr, path::Path};

/// What is run. A clone shares all.
#[derive(Debug, Clone)]
pub(crate) enum Net {
    Bare(Model),
    Backbone(Backbone),
    Classifier(ImageClassifier),
}

impl Net {
    /// Opens a checkpoint as a class.
    pub(crate) fn from_pretrained(source: &OsStr, head: Head, options: &LoadOptions) -> Result<Self, Error> {
        Ok(match head {
            Head::Bare => Self::Bare(Model::from_pretrained_with(source, options)?),
            Head::Backbone => Self::Backbone(Backbone::from_pretrained_with(source, options)?),
            Head::Classifier => Self::Classifier(ImageClassifier::from_pretrained_with(source, options)?),
        })
    }

    /// Of a checkpoint, as the class that it is of.
    pub(crate) fn from_checkpoint(checkpoint: &Checkpoint, options: ContextOptions) -> Result<Self, Error> {
        Ok(match checkpoint.head() {
            Head::Bare => Self::Bare(Model::from_checkpoint(checkpoint, options)?),
            Head::Backbone => Self::Backbone(Backbone::from_checkpoint(checkpoint, options)?),
            Head::Classifier => Self::Classifier(ImageClassifier::from_checkpoint(checkpoint, options)?),
        })
    }

    /// The bare model.
    pub(crate) fn model(&self) -> &Model {
        match self {
            Self::Bare(model) => model,
            Self::Backbone(backbone) => backbone.model(),
            Self::Classifier(classifier) => classifier.model(),
        }
    }

    /// The same with threads of its own.
    pub(crate) fn with_own_threads(&self, threads: Option<usize>) -> Result<Self, Error> {
        Ok(match self {
            Self::Bare(model) => Self::Bare(model.with_own_threads(threads)?),
            Self::Backbone(backbone) => Self::Backbone(backbone.with_own_threads(threads)?),
            Self::Classifier(classifier) => Self::Classifier(classifier.with_own_threads(threads)?),
        })
    }

    /// Writes the checkpoint, in codes where it was opened so.
    pub(crate) fn save(&self, dir: &Path, save: SaveOptions) -> Result<(), Error> {
        let model = self.model();
        let checkpoint = model.checkpoint();
        match model.precision() {
            Some(precision) if checkpoint.config().common().quantization.is_none() => {
                let options = QuantizeOptions { save, ..QuantizeOptions::new(precision) };
                quantize(checkpoint, dir, &options, &mut |_| {}).map(|_| ())
            }
            _ => model.save_pretrained(dir, &save),
        }
    }

    /// Runs, without the interpreter.
    pub(crate) fn run(&self, inputs: &Inputs<'_>, labels: Option<&AskedLoss<'_>>) -> Result<Outcome, Error> {
        Ok(match self {
            Self::Bare(model) => Outcome::Bare(model.forward(inputs)?),
            Self::Backbone(backbone) => Outcome::Backbone(backbone.forward(inputs)?),
            Self::Classifier(classifier) => {
                let mut outputs = classifier.forward(inputs)?;
                if let Some(AskedLoss { labels, problem_type, num_items_in_batch }) = labels {
                    let logits = outputs.logits.view();
                    outputs.loss =
                        Some(classifier.loss_as(&logits, labels, *problem_type, *num_items_in_batch)?);
                }
                Outcome::Classifier(outputs)
            }
        })
    }
}

/// What a run gave, on its way to Python.
pub(crate) enum Outcome {
    Bare(dinoxide::Outputs),
    Backbone(dinoxide::BackboneOutputs),
    Classifier(dinoxide::ImageClassifierOutputs),
}

impl IntoDict for Outcome {
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        match self {
            Self::Bare(outputs) => outputs.into_dict(py),
            Self::Backbone(outputs) => outputs.into_dict(py),
            Self::Classifier(outputs) => outputs.into_dict(py),
        }
    }
}
