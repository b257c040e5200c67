//! A model as a backbone of another: feature maps of chosen stages.

use crate::{
    BackboneOptions, BackboneOutputs, Error, Head, Inputs, LoadOptions, Model, RunOptions, Runner,
    SaveOptions, pretrained::Pretrained, source,
};
use dinoxide_checkpoint::{
    Checkpoint,
    config::{ModelConfig, Stage, backbone::resolve_stages},
};
use std::{ffi::OsStr, path::Path};

/// A model that gives feature maps of chosen stages: [`stage_names`](Self::stage_names) are `stem`, `stage1`, …. Any checkpoint of the four
/// families can be one, whatever it was saved as.
#[derive(Debug, Clone)]
pub struct Backbone {
    model: Model,
    /// Which stages, and in which form.
    pub options: BackboneOptions,
}

impl Backbone {
    /// Opens a checkpoint (see [`crate::open`]); stages and form are those of its config.
    ///
    /// # Errors
    /// As [`crate::open`] and [`Backbone::from_checkpoint`].
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// Opens a checkpoint with options, such as other stages in [`LoadOptions::overrides`].
    ///
    /// # Errors
    /// As [`crate::open`] and [`Backbone::from_checkpoint`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        Self::from_checkpoint(&source::open_as(Some(Head::Backbone), model, options)?, options.run())
    }

    /// Builds the model of a checkpoint.
    ///
    /// # Errors
    /// As [`Model::from_checkpoint`].
    pub fn from_checkpoint(checkpoint: &Checkpoint, options: impl Into<RunOptions>) -> Result<Self, Error> {
        Self::new(Model::from_checkpoint(checkpoint, options)?)
    }

    /// A backbone of a model that is there.
    ///
    /// # Errors
    /// The config's choice of stages does not fit its stages.
    pub fn new(model: Model) -> Result<Self, Error> {
        let options = BackboneOptions::from_config(model.config())?;
        Ok(Self { model, options })
    }

    /// The same with other stages, by name, by index (negative ones from the end), or by both, which must then agree; they are
    /// in ascending order.
    ///
    /// # Errors
    /// Stages that there are not, named twice, out of order, or that disagree.
    pub fn with_stages(
        mut self,
        out_features: Option<&[String]>,
        out_indices: Option<&[i64]>,
    ) -> Result<Self, Error> {
        let stages = resolve_stages(&self.stage_names(), out_features, out_indices)?;
        self.options.stages = stages.into_iter().map(|stage| stage.index).collect();
        Ok(self)
    }

    /// The same with the stages of these names, in ascending order (`out_features`).
    ///
    /// ```
    /// # fn main() -> Result<(), dinoxide::Error> {
    /// let backbone = dinoxide::Backbone::from_pretrained("builtin:tiny")?.with_out_features(&["stem", "stage2"])?;
    /// assert_eq!(backbone.stages().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Self::with_stages`].
    pub fn with_out_features(self, names: &[impl AsRef<str>]) -> Result<Self, Error> {
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        self.with_stages(Some(&names), None)
    }

    /// The same with the stages of these indices, negative ones from the end, in ascending order (`out_indices`).
    ///
    /// # Errors
    /// As [`Self::with_stages`].
    pub fn with_out_indices(self, indices: &[i64]) -> Result<Self, Error> {
        self.with_stages(None, Some(indices))
    }

    /// The same with threads of its own: see [`Model::with_own_threads`].
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn with_own_threads(&self, threads: Option<usize>) -> Result<Self, Error> {
        Ok(Self { model: self.model.with_own_threads(threads)?, options: self.options.clone() })
    }

    /// The bare model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The checkpoint's config.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    /// The names of all stages, `stem` first.
    #[must_use]
    pub fn stage_names(&self) -> Vec<String> {
        self.config().stage_names()
    }

    /// The chosen stages.
    #[must_use]
    pub fn stages(&self) -> Vec<Stage> {
        let names = self.stage_names();
        let stage = |&index: &usize| Some(Stage { index, name: names.get(index)?.clone() });
        self.options.stages.iter().filter_map(stage).collect()
    }

    /// The channels of every stage, `stem` first (`num_features`).
    #[must_use]
    pub fn num_features(&self) -> Vec<usize> {
        self.config().num_features()
    }

    /// The channels of the chosen stages.
    #[must_use]
    pub fn channels(&self) -> Vec<usize> {
        let all = self.num_features();
        self.options.stages.iter().filter_map(|&stage| all.get(stage).copied()).collect()
    }

    /// Runs the model on `pixel_values` [B, C, H, W]; the maps have H and W over the patch (ConvNeXt: over the stage's strides), rounded down.
    ///
    /// # Errors
    /// As [`Model::forward`]; `bool_masked_pos`, which no backbone takes.
    pub fn forward(&self, inputs: &Inputs<'_>) -> Result<BackboneOutputs, Error> {
        Ok(self.model.engine().forward_backbone(self.model.context(), inputs, &self.options)?)
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

impl Pretrained for Backbone {
    const HEAD: Head = Head::Backbone;

    fn from_checkpoint(checkpoint: &Checkpoint, options: RunOptions) -> Result<Self, Error> {
        Self::from_checkpoint(checkpoint, options)
    }
}

impl Runner for Backbone {
    type Outputs = BackboneOutputs;

    fn base(&self) -> &Model {
        &self.model
    }

    fn run(&self, inputs: &Inputs<'_>) -> Result<BackboneOutputs, Error> {
        self.forward(inputs)
    }

    fn into_items(outputs: BackboneOutputs) -> Vec<BackboneOutputs> {
        (0..outputs.batch()).map(|item| outputs.item(item)).collect()
    }
}
