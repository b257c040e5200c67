//! The bare model, ready to run: weights packed, threads started.

use crate::{
    Error, Head, Inputs, LoadOptions, Outputs, RunOptions, Runner, SaveOptions, pretrained::Pretrained,
    source,
};
use dinoxide_checkpoint::{Checkpoint, config::ModelConfig};
use dinoxide_kernels::{Context, ContextOptions};
use dinoxide_model::{LinearPrecision, Precision};
use std::{ffi::OsStr, path::Path, sync::Arc};

/// A DINOv2 or DINOv3 model without anything on top. A clone shares the weights and the threads.
#[derive(Debug, Clone)]
pub struct Model {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    engine: Arc<dinoxide_model::Model>,
    checkpoint: Checkpoint,
    ctx: Context,
    precision: Option<Precision>,
}

impl Model {
    /// Opens a checkpoint (see [`crate::open`]) and builds its model, with all defaults.
    ///
    /// # Errors
    /// As [`crate::open`] and [`Model::from_checkpoint`].
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// Opens a checkpoint with options and builds its model.
    ///
    /// # Errors
    /// As [`crate::open`] and [`Model::from_checkpoint`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        Self::from_checkpoint(&source::open_as(Some(Head::Bare), model, options)?, options.run())
    }

    /// A model with fresh random weights, as Transformers makes one of a config alone; the seed decides them.
    ///
    /// # Errors
    /// A config that could not be read from a file, with the field's name; sizes that do not fit in memory.
    pub fn from_config(config: impl Into<ModelConfig>, seed: u64) -> Result<Self, Error> {
        source::fresh(config.into(), seed)
    }

    /// Reads the weights, packs them for the instruction set in the precision that is asked, starts the threads.
    ///
    /// # Errors
    /// A tensor that cannot be read, an unknown activation, an instruction set that this processor lacks.
    pub fn from_checkpoint(checkpoint: &Checkpoint, options: impl Into<RunOptions>) -> Result<Self, Error> {
        let RunOptions { context, precision } = options.into();
        let ctx = Context::new(context)?;
        let engine = Arc::new(dinoxide_model::Model::load(&ctx, checkpoint, precision)?);
        Ok(Self { parts: Arc::new(Parts { engine, checkpoint: checkpoint.clone(), ctx, precision }) })
    }

    /// The same model, its weights shared, with threads and working memory of its own: as many as it has, or `threads`.
    ///
    /// A process that was forked needs one, as it has none of its parent's threads: forwards of the old model would wait for them.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub fn with_own_threads(&self, threads: Option<usize>) -> Result<Self, Error> {
        let Parts { engine, checkpoint, ctx, precision } = &*self.parts;
        let threads = Some(threads.unwrap_or(ctx.threads()));
        let ctx = Context::new(ContextOptions { isa: Some(ctx.isa()), threads })?;
        let (engine, checkpoint) = (Arc::clone(engine), checkpoint.clone());
        Ok(Self { parts: Arc::new(Parts { engine, checkpoint, ctx, precision: *precision }) })
    }

    /// Writes config, weights and, where there is one, the processor's config, in the form that Transformers reads and writes. The
    /// weights are those of the checkpoint, to the bit; for others see [`crate::quantize`].
    ///
    /// # Errors
    /// A place that cannot be written to.
    pub fn save_pretrained(&self, dir: impl AsRef<Path>, options: &SaveOptions) -> Result<(), Error> {
        Ok(self.parts.checkpoint.save_pretrained(dir.as_ref(), options)?)
    }

    /// What the model was made of.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.parts.checkpoint
    }

    /// The checkpoint's config.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        self.parts.checkpoint.config()
    }

    /// Instruction set, threads, scratch memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.parts.ctx
    }

    /// The model below this crate.
    pub(crate) fn engine(&self) -> &dinoxide_model::Model {
        &self.parts.engine
    }

    /// What the linear layers were to be held in; nothing where that is the file's own.
    #[must_use]
    pub fn precision(&self) -> Option<Precision> {
        self.parts.precision
    }

    /// What the weight of each linear layer is held in, and why, where it is not what was asked; in the order of the forward.
    ///
    /// ```
    /// # use dinoxide::{LoadOptions, Model, Precision};
    /// # fn main() -> Result<(), dinoxide::Error> {
    /// let options = LoadOptions { precision: Some(Precision::Int8), ..LoadOptions::default() };
    /// let model = Model::from_pretrained_with("builtin:tiny", &options)?;
    /// assert!(model.linears().iter().all(|linear| linear.precision == Precision::Int8));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn linears(&self) -> &[LinearPrecision] {
        self.parts.engine.linears()
    }

    /// Bytes of the packed weights.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.parts.engine.weight_bytes()
    }

    /// Runs the model on `pixel_values` [B, C, H, W]: any batch, any size of at least one patch. The result of an item does
    /// not depend on the rest of the batch, nor on the number of threads.
    ///
    /// # Errors
    /// Pixels or masks that the model cannot take; inputs or outputs that its family does not have.
    pub fn forward(&self, inputs: &Inputs<'_>) -> Result<Outputs, Error> {
        Ok(self.parts.engine.forward(&self.parts.ctx, inputs)?)
    }

    /// [`Self::forward`] into the outputs of an earlier forward, or into `Outputs::default()`: arrays that have the right shape
    /// are written over. So forwards of one shape, repeated, soon allocate nothing, hidden states, attentions and masks
    /// included. What still allocates: train mode, for its draws; hidden states of a model with more than 63 layers; arrays
    /// that are not in row-major order, for a copy.
    ///
    /// ```
    /// # use dinoxide::{Inputs, Model, Outputs, ndarray::Array4};
    /// # fn main() -> Result<(), dinoxide::Error> {
    /// # let model = Model::from_pretrained("builtin:tiny")?;
    /// let mut outputs = Outputs::default();
    /// for brightness in [0.0, 1.0] {
    ///     let pixel_values = Array4::from_elem((1, 3, 56, 56), brightness);
    ///     model.forward_into(&Inputs::new(pixel_values.view()), &mut outputs)?;
    ///     println!("{}", outputs.pooler_output);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Self::forward`]; the outputs then hold nothing of use.
    pub fn forward_into(&self, inputs: &Inputs<'_>, outputs: &mut Outputs) -> Result<(), Error> {
        Ok(self.parts.engine.forward_into(&self.parts.ctx, inputs, outputs)?)
    }
}

impl Pretrained for Model {
    const HEAD: Head = Head::Bare;

    fn from_checkpoint(checkpoint: &Checkpoint, options: RunOptions) -> Result<Self, Error> {
        Self::from_checkpoint(checkpoint, options)
    }
}

impl Runner for Model {
    type Outputs = Outputs;

    fn base(&self) -> &Model {
        self
    }

    fn run(&self, inputs: &Inputs<'_>) -> Result<Outputs, Error> {
        self.forward(inputs)
    }

    fn into_items(outputs: Outputs) -> Vec<Outputs> {
        outputs.into_items()
    }
}
