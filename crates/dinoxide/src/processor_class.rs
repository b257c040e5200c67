//! The processor classes of Transformers' pages by their names.

use crate::{Error, ImageProcessor, LoadOptions};
use dinoxide_checkpoint::{ProcessorConfig, processor_config::ProcessorKind};
use std::{ffi::OsStr, marker::PhantomData, ops::Deref};

/// A class of processors.
pub trait ProcessorClass {
    /// Which.
    const KIND: ProcessorKind;
}

/// The class of [`BitImageProcessor`].
#[derive(Debug, Clone, Copy)]
pub struct Bit;

/// The class of [`DINOv3ViTImageProcessor`].
#[derive(Debug, Clone, Copy)]
pub struct DINOv3ViT;

impl ProcessorClass for Bit {
    const KIND: ProcessorKind = ProcessorKind::Bit;
}

impl ProcessorClass for DINOv3ViT {
    const KIND: ProcessorKind = ProcessorKind::DINOv3ViT;
}

/// A processor whose class is known; checkpoints of the other are refused. It can do all that an [`ImageProcessor`] can.
///
/// ```
/// use dinoxide::{BitImageProcessor, ProcessorConfig, processor_config::ProcessorKind};
/// # fn main() -> Result<(), dinoxide::Error> {
/// let processor = BitImageProcessor::from_pretrained("builtin:tiny")?;
/// let defaults = ProcessorConfig::new(ProcessorKind::Bit); // what `BitImageProcessor()` has
/// let whole = ProcessorConfig { do_center_crop: false, ..defaults };
/// let processor = BitImageProcessor::from_config(&whole)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TypedProcessor<K> {
    inner: ImageProcessor,
    class: PhantomData<K>,
}

impl<K: ProcessorClass> TypedProcessor<K> {
    /// The processor of a checkpoint (see [`crate::open`]), which must be of this class.
    ///
    /// # Errors
    /// As [`ImageProcessor::from_pretrained`]; a processor of another class.
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::new(ImageProcessor::from_pretrained(model)?)
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`Self::from_pretrained`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        Self::new(ImageProcessor::from_pretrained_with(model, options)?)
    }

    /// The processor of a config.
    ///
    /// # Errors
    /// As [`ImageProcessor::from_config`]; a config of another class.
    pub fn from_config(config: &ProcessorConfig) -> Result<Self, Error> {
        Self::new(ImageProcessor::from_config(config)?)
    }

    /// What is already there, if it is of this class.
    ///
    /// # Errors
    /// It is of another.
    pub fn new(inner: ImageProcessor) -> Result<Self, Error> {
        let (expected, got) = (K::KIND, inner.kind());
        if got != expected {
            return Err(Error::WrongProcessor { expected: expected.name(), got: got.name() });
        }
        Ok(Self { inner, class: PhantomData })
    }

    /// Without the class.
    #[must_use]
    pub fn into_inner(self) -> ImageProcessor {
        self.inner
    }
}

impl<K> Deref for TypedProcessor<K> {
    type Target = ImageProcessor;

    fn deref(&self) -> &ImageProcessor {
        &self.inner
    }
}

/// DINOv2's: resizes bytes, crops, then rescales and normalises.
pub type BitImageProcessor = TypedProcessor<Bit>;
/// DINOv3's: rescales, resizes floats, then normalises.
pub type DINOv3ViTImageProcessor = TypedProcessor<DINOv3ViT>;
/// Transformers' name for [`ImageProcessor`]: of either class.
pub type AutoImageProcessor = ImageProcessor;
