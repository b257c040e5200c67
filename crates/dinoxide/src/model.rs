//! A model ready to run: weights packed, threads started.

use crate::{Error, Inputs, LoadOptions, Outputs, source};
use dinoxide_checkpoint::{Checkpoint, config::ModelConfig};
use dinoxide_kernels::{Context, ContextOptions};
use std::ffi::OsStr;

/// A DINOv2 or DINOv3 model.
#[derive(Debug)]
pub struct Model {
    engine: dinoxide_model::Model,
    config: ModelConfig,
    ctx: Context,
}

impl Model {
    /// Opens a checkpoint (see [`crate::open`]) and builds its model, with all defaults.
    ///
    /// # Errors
    /// As [`crate::open`] and [`Model::from_checkpoint`].
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        let checkpoint = source::open(model, &LoadOptions::default())?;
        Self::from_checkpoint(&checkpoint, ContextOptions::default())
    }

    /// Reads the weights, packs them for the instruction set, starts the threads.
    ///
    /// # Errors
    /// A tensor that cannot be read, an unknown activation, an instruction set that this processor lacks.
    pub fn from_checkpoint(checkpoint: &Checkpoint, options: ContextOptions) -> Result<Self, Error> {
        let ctx = Context::new(options)?;
        let engine = dinoxide_model::Model::load(&ctx, checkpoint)?;
        Ok(Self { engine, config: checkpoint.config().clone(), ctx })
    }

    /// The checkpoint's config.
    #[must_use]
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Instruction set, threads, scratch memory.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.ctx
    }

    /// Bytes of the packed weights.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        self.engine.weight_bytes()
    }

    /// Runs the model on `pixel_values` [B, C, H, W]: any batch, any size of at least one patch. The result of an item does
    /// not depend on the rest of the batch, nor on the number of threads.
    ///
    /// # Errors
    /// Pixels that the model cannot take; attentions asked of a ConvNeXt.
    pub fn forward(&self, inputs: &Inputs<'_>) -> Result<Outputs, Error> {
        Ok(self.engine.forward(&self.ctx, inputs)?)
    }
}
