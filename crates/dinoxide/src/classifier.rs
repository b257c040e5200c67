//! A model with a classifier on top.

use crate::{
    Error, Head, Inputs, Labels, LoadOptions, Model, Outputs, RunOptions, Runner, SaveOptions,
    pretrained::Pretrained, source,
};
use dinoxide_checkpoint::{
    Checkpoint,
    config::{ModelConfig, ProblemType},
};
use dinoxide_model::{Classifier, LinearPrecision};
use ndarray::{Array2, ArrayView1, ArrayView2, Axis, Slice};
use std::{ffi::OsStr, path::Path, sync::Arc};

/// A DINOv2 model (with or without registers) with a linear classifier over CLS and the mean of the patches. A clone shares everything.
#[derive(Debug, Clone)]
pub struct ImageClassifier {
    model: Model,
    classifier: Arc<Classifier>,
}

/// What a classifier gives.
#[derive(Debug, Clone)]
pub struct ImageClassifierOutputs {
    /// When there were labels.
    pub loss: Option<f32>,
    /// [B, labels], before any softmax.
    pub logits: Array2<f32>,
    /// What the bare model gave: hidden states and attentions are here, when asked for.
    pub base: Outputs,
}

impl ImageClassifierOutputs {
    /// The class of the highest logit of each item (`logits.argmax(-1)`), the first of equal ones.
    #[must_use]
    pub fn argmax(&self) -> Vec<usize> {
        let best = |row: ArrayView1<'_, f32>| {
            let higher = |best: usize, class: usize| if row[class] > row[best] { class } else { best };
            (0..row.len()).reduce(higher).unwrap_or(0)
        };
        self.logits.rows().into_iter().map(best).collect()
    }

    /// B.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.logits.nrows()
    }

    /// Item `item` of the batch, as a batch of one; the loss is that of the batch.
    ///
    /// # Panics
    /// When `item` is not in the batch.
    #[must_use]
    pub fn item(&self, item: usize) -> Self {
        let logits = self.logits.slice_axis(Axis(0), Slice::from(item..=item)).to_owned();
        Self { loss: self.loss, logits, base: self.base.item(item) }
    }
}

impl ImageClassifier {
    /// Opens a checkpoint with a classifier (see [`crate::open`]).
    ///
    /// # Errors
    /// As [`crate::open`] and [`ImageClassifier::from_checkpoint`].
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// Opens a checkpoint with options; [`LoadOptions::fresh_classifier`] starts a classifier where there is none.
    ///
    /// # Errors
    /// As [`crate::open`] and [`ImageClassifier::from_checkpoint`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        Self::from_checkpoint(&source::open_as(Some(Head::Classifier), model, options)?, options.run())
    }

    /// Builds model and classifier of a checkpoint.
    ///
    /// # Errors
    /// As [`Model::from_checkpoint`]; no classifier, or one of another number of labels than the config has.
    pub fn from_checkpoint(checkpoint: &Checkpoint, options: impl Into<RunOptions>) -> Result<Self, Error> {
        checkpoint.check_classifier()?;
        Self::new(Model::from_checkpoint(checkpoint, options)?)
    }

    /// The classifier of the checkpoint that a model was made of.
    ///
    /// # Errors
    /// No classifier, or one of another number of labels than the config has.
    pub fn new(model: Model) -> Result<Self, Error> {
        let classifier = Arc::new(Classifier::load(model.context(), model.checkpoint(), model.precision())?);
        Ok(Self { model, classifier })
    }

    /// The same with threads of its own: see [`Model::with_own_threads`].
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn with_own_threads(&self, threads: Option<usize>) -> Result<Self, Error> {
        let model = self.model.with_own_threads(threads)?;
        Ok(Self { model, classifier: Arc::clone(&self.classifier) })
    }

    /// The bare model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What the classifier's own weight is held in; nothing where there are no labels. For the others see [`Model::linears`].
    #[must_use]
    pub fn linear(&self) -> Option<&LinearPrecision> {
        self.classifier.linear()
    }

    /// The checkpoint's config; its labels are `config().common().id2label`.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    /// The name of a class, if the config has one for it (`config.id2label[class]`).
    #[must_use]
    pub fn label(&self, class: usize) -> Option<&str> {
        self.config().common().label(class)
    }

    /// Logits of `pixel_values` [B, C, H, W].
    ///
    /// # Errors
    /// As [`Model::forward`].
    pub fn forward(&self, inputs: &Inputs<'_>) -> Result<ImageClassifierOutputs, Error> {
        let base = self.model.forward(inputs)?;
        let logits = self.classifier.logits(self.model.context(), &base);
        Ok(ImageClassifierOutputs { loss: None, logits, base })
    }

    /// Logits, and the loss against labels: by the config's `problem_type`, or where it has none, by the kind of the labels (see
    /// [`Labels::problem_type`]). The config is not changed by it.
    ///
    /// # Errors
    /// As [`Model::forward`]; labels that do not fit.
    pub fn forward_with_labels<'a>(
        &self,
        inputs: &Inputs<'_>,
        labels: impl Into<Labels<'a>>,
    ) -> Result<ImageClassifierOutputs, Error> {
        self.forward_as(inputs, &labels.into(), self.config().common().problem_type)
    }

    /// As [`Self::forward_with_labels`], with a problem type.
    pub(crate) fn forward_as(
        &self,
        inputs: &Inputs<'_>,
        labels: &Labels<'_>,
        problem_type: Option<ProblemType>,
    ) -> Result<ImageClassifierOutputs, Error> {
        let mut outputs = self.forward(inputs)?;
        outputs.loss = Some(self.loss_as(&outputs.logits.view(), labels, problem_type, None)?);
        Ok(outputs)
    }

    /// The loss of logits [B, labels] against labels, as [`Self::forward_with_labels`] gives it: for logits of several forwards put
    /// together, whose losses cannot be.
    ///
    /// # Errors
    /// Labels that do not fit.
    pub fn loss<'a>(
        &self,
        logits: &ArrayView2<'_, f32>,
        labels: impl Into<Labels<'a>>,
    ) -> Result<f32, Error> {
        self.loss_as(logits, &labels.into(), self.config().common().problem_type, None)
    }

    /// The same with a cross entropy divided by `num_items_in_batch`, as Transformers' keyword does.
    ///
    /// # Errors
    /// As [`Self::loss`].
    pub fn loss_over<'a>(
        &self,
        logits: &ArrayView2<'_, f32>,
        labels: impl Into<Labels<'a>>,
        num_items_in_batch: usize,
    ) -> Result<f32, Error> {
        let problem_type = self.config().common().problem_type;
        self.loss_as(logits, &labels.into(), problem_type, Some(num_items_in_batch))
    }

    /// The same by a problem type of the caller's instead of the config's; without one, by the kind of the labels. Without
    /// `num_items_in_batch` it is over the labels that count.
    ///
    /// # Errors
    /// As [`Self::loss`].
    pub fn loss_as(
        &self,
        logits: &ArrayView2<'_, f32>,
        labels: &Labels<'_>,
        problem_type: Option<ProblemType>,
        num_items_in_batch: Option<usize>,
    ) -> Result<f32, Error> {
        let num_labels = self.config().common().num_labels();
        let problem_type = problem_type.unwrap_or_else(|| labels.problem_type(num_labels));
        Ok(dinoxide_model::loss_over(problem_type, logits, labels, num_items_in_batch)?)
    }

    /// Writes config, weights and, where there is one, the processor's config, in the form that Transformers reads and writes. The
    /// weights are those of the checkpoint, to the bit.
    ///
    /// # Errors
    /// A place that cannot be written to.
    pub fn save_pretrained(&self, dir: impl AsRef<Path>, options: &SaveOptions) -> Result<(), Error> {
        self.model.save_pretrained(dir, options)
    }
}

impl Pretrained for ImageClassifier {
    const HEAD: Head = Head::Classifier;

    fn from_checkpoint(checkpoint: &Checkpoint, options: RunOptions) -> Result<Self, Error> {
        Self::from_checkpoint(checkpoint, options)
    }
}

impl Runner for ImageClassifier {
    type Outputs = ImageClassifierOutputs;

    fn base(&self) -> &Model {
        &self.model
    }

    fn run(&self, inputs: &Inputs<'_>) -> Result<ImageClassifierOutputs, Error> {
        self.forward(inputs)
    }

    fn into_items(outputs: ImageClassifierOutputs) -> Vec<ImageClassifierOutputs> {
        (0..outputs.batch()).map(|item| outputs.item(item)).collect()
    }
}
