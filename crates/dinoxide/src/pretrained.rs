//! The classes of Transformers' pages by their names: a model, backbone or classifier of one family.
//!
//! ```
//! use dinoxide::{Dinov2Config, Dinov2Model};
//! # fn main() -> Result<(), dinoxide::Error> {
//! let config = Dinov2Config { hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 2, ..Dinov2Config::default() };
//! let model = Dinov2Model::from_config(config, 0)?; // random weights
//! assert_eq!(model.config().hidden_size, 32);
//! # Ok(())
//! # }
//! ```

use crate::{Backbone, Error, Head, ImageClassifier, Inputs, LoadOptions, Model, RunOptions, Runner, source};
use dinoxide_checkpoint::{
    Checkpoint,
    config::{
        DINOv3ConvNextConfig, DINOv3ViTConfig, Dinov2Config, Dinov2WithRegistersConfig, Family, ModelConfig,
    },
};
use std::{ffi::OsStr, marker::PhantomData, ops::Deref};

/// What is built of a checkpoint, and can be run.
pub trait Pretrained: Runner + Sized {
    /// What stands on the model's body.
    const HEAD: Head;

    /// Builds it.
    ///
    /// # Errors
    /// A checkpoint that it cannot be made of.
    fn from_checkpoint(checkpoint: &Checkpoint, options: RunOptions) -> Result<Self, Error>;
}

/// The config of one family.
pub trait FamilyConfig: Into<ModelConfig> {
    /// The family.
    const FAMILY: Family;

    /// The config, when it is of this family.
    fn of(config: &ModelConfig) -> Option<&Self>;
}

impl FamilyConfig for Dinov2Config {
    const FAMILY: Family = Family::Dinov2;

    fn of(config: &ModelConfig) -> Option<&Self> {
        if let ModelConfig::Dinov2(config) = config { Some(config) } else { None }
    }
}

impl FamilyConfig for Dinov2WithRegistersConfig {
    const FAMILY: Family = Family::Dinov2WithRegisters;

    fn of(config: &ModelConfig) -> Option<&Self> {
        if let ModelConfig::Dinov2WithRegisters(config) = config { Some(config) } else { None }
    }
}

impl FamilyConfig for DINOv3ViTConfig {
    const FAMILY: Family = Family::DINOv3Vit;

    fn of(config: &ModelConfig) -> Option<&Self> {
        if let ModelConfig::DINOv3Vit(config) = config { Some(config) } else { None }
    }
}

impl FamilyConfig for DINOv3ConvNextConfig {
    const FAMILY: Family = Family::DINOv3ConvNext;

    fn of(config: &ModelConfig) -> Option<&Self> {
        if let ModelConfig::DINOv3ConvNext(config) = config { Some(config) } else { None }
    }
}

/// A model, backbone or classifier whose family is known: it has that family's config, and other checkpoints are refused. It can do all
/// that `T` can.
#[derive(Debug, Clone)]
pub struct Typed<C, T> {
    inner: T,
    config: PhantomData<C>,
}

impl<C: FamilyConfig, T: Pretrained> Typed<C, T> {
    /// Opens a checkpoint (see [`crate::open`]) of this family.
    ///
    /// # Errors
    /// As [`crate::open`]; a checkpoint of another family; one that `T` cannot be made of.
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// Opens a checkpoint of this family with options.
    ///
    /// # Errors
    /// As [`Self::from_pretrained`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        let checkpoint = source::open_as(Some(T::HEAD), model, options)?;
        Self::new(T::from_checkpoint(&checkpoint, options.run())?)
    }

    /// Fresh random weights, as Transformers makes them of a config alone; the seed decides them.
    ///
    /// # Errors
    /// A config that could not be read from a file, with the field's name; a class that the family does not have; sizes that do not
    /// fit in memory.
    pub fn from_config(config: C, seed: u64) -> Result<Self, Error> {
        Self::new(source::fresh(config.into(), seed)?)
    }

    /// What is already there, if it is of this family.
    ///
    /// # Errors
    /// It is of another.
    pub fn new(inner: T) -> Result<Self, Error> {
        let got = inner.base().config().family();
        if got != C::FAMILY {
            let (expected, got) = (C::FAMILY.model_type(), got.model_type());
            return Err(Error::WrongFamily { expected, got });
        }
        Ok(Self { inner, config: PhantomData })
    }

    /// The family's config.
    #[must_use]
    pub fn config(&self) -> &C {
        #[allow(clippy::unreachable)] // `new` has made sure of the family
        C::of(self.inner.base().config()).unwrap_or_else(|| unreachable!("a config of this family"))
    }

    /// Without the family.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<C, T> Deref for Typed<C, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<C: Sync, T: Runner> Runner for Typed<C, T> {
    type Outputs = T::Outputs;

    fn base(&self) -> &Model {
        self.inner.base()
    }

    fn run(&self, inputs: &Inputs<'_>) -> Result<T::Outputs, Error> {
        self.inner.run(inputs)
    }

    fn into_items(outputs: T::Outputs) -> Vec<T::Outputs> {
        T::into_items(outputs)
    }
}

/// DINOv2.
pub type Dinov2Model = Typed<Dinov2Config, Model>;
/// DINOv2 as a backbone.
pub type Dinov2Backbone = Typed<Dinov2Config, Backbone>;
/// DINOv2 with a classifier.
pub type Dinov2ForImageClassification = Typed<Dinov2Config, ImageClassifier>;
/// DINOv2 with registers.
pub type Dinov2WithRegistersModel = Typed<Dinov2WithRegistersConfig, Model>;
/// DINOv2 with registers as a backbone.
pub type Dinov2WithRegistersBackbone = Typed<Dinov2WithRegistersConfig, Backbone>;
/// DINOv2 with registers and a classifier.
pub type Dinov2WithRegistersForImageClassification = Typed<Dinov2WithRegistersConfig, ImageClassifier>;
/// DINOv3 ViT.
pub type DINOv3ViTModel = Typed<DINOv3ViTConfig, Model>;
/// DINOv3 ViT as a backbone.
pub type DINOv3ViTBackbone = Typed<DINOv3ViTConfig, Backbone>;
/// DINOv3 ConvNeXt.
pub type DINOv3ConvNextModel = Typed<DINOv3ConvNextConfig, Model>;
/// DINOv3 ConvNeXt as a backbone.
pub type DINOv3ConvNextBackbone = Typed<DINOv3ConvNextConfig, Backbone>;
/// Transformers' name for [`ModelConfig`]: of any family.
pub type AutoConfig = ModelConfig;
/// Transformers' name for [`Model`]: of any family.
pub type AutoModel = Model;
/// Transformers' name for [`Backbone`]: of any family.
pub type AutoBackbone = Backbone;
/// Transformers' name for [`ImageClassifier`]: of either DINOv2 family.
pub type AutoModelForImageClassification = ImageClassifier;
