//! Configs by themselves: read from a checkpoint without its weights, and saved.

use crate::{Error, FamilyConfig, LoadOptions, source};
use dinoxide_checkpoint::config::ModelConfig;
use std::{ffi::OsStr, path::Path};

/// What every config can do; Transformers' base class of that name.
///
/// ```
/// use dinoxide::{AutoConfig, Dinov2WithRegistersConfig, PreTrainedConfig};
/// # fn main() -> Result<(), dinoxide::Error> {
/// let config = AutoConfig::from_pretrained("builtin:tiny")?; // of any family
/// let same = Dinov2WithRegistersConfig::from_pretrained("builtin:tiny")?; // other families are refused
/// assert_eq!(same.base.hidden_size, config.hidden_size());
/// # Ok(())
/// # }
/// ```
pub trait PreTrainedConfig: Sized {
    /// Reads the config of a checkpoint (see [`crate::open`]). Weights are not downloaded.
    ///
    /// # Errors
    /// No such checkpoint, no config, a damaged one, or one of another family.
    fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// The same with options, of which those count that say where to look, and [`LoadOptions::overrides`].
    ///
    /// # Errors
    /// As [`Self::from_pretrained`]; an override of a key that the family does not have, or of a wrong type.
    fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error>;

    /// Writes `config.json` to a folder, which is made where there is none.
    ///
    /// # Errors
    /// A place that cannot be written to.
    fn save_pretrained(&self, dir: impl AsRef<Path>) -> Result<(), Error>;
}

impl PreTrainedConfig for ModelConfig {
    fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        source::config(model.as_ref(), options)
    }

    fn save_pretrained(&self, dir: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.save_pretrained(dir.as_ref())?)
    }
}

impl<C: FamilyConfig + Clone> PreTrainedConfig for C {
    fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        let config = source::config(model.as_ref(), options)?;
        let (expected, got) = (C::FAMILY.model_type(), config.model_type());
        C::of(&config).cloned().ok_or(Error::WrongFamily { expected, got })
    }

    fn save_pretrained(&self, dir: impl AsRef<Path>) -> Result<(), Error> {
        Ok(self.clone().into().save_pretrained(dir.as_ref())?)
    }
}
