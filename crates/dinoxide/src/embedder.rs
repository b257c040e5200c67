//! Pictures in, one vector a picture out.

use crate::{
    Error, FileOptions, Head, ImageProcessor, LoadOptions, Model, Outputs, Pooling, files, pooling, source,
};
use ndarray::{Array1, Axis};
use std::{ffi::OsStr, path::Path};

/// How pictures become embeddings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbedOptions {
    /// Which tokens make the embedding.
    pub pool: Pooling,
    /// Scale embeddings to length 1.
    pub normalize: bool,
    /// Pictures a forward; 0 chooses.
    pub batch: usize,
    /// Run the eager attention.
    pub eager_attention: bool,
}

/// A model with its processor: embeds pictures of any sizes, in order, with memory that does not grow with their number.
#[derive(Debug)]
pub struct Embedder {
    /// The model.
    pub model: Model,
    /// Its processor.
    pub processor: ImageProcessor,
    /// How tokens become a vector.
    pub options: EmbedOptions,
}

impl Embedder {
    /// Opens a checkpoint (see [`crate::open`]) and builds its model and its processor, with all defaults.
    ///
    /// # Errors
    /// As [`crate::open`], [`Model::from_checkpoint`] and [`ImageProcessor::from_checkpoint`].
    pub fn from_pretrained(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::from_pretrained_with(model, &LoadOptions::default())
    }

    /// Opens a checkpoint with options and builds its model and its processor.
    ///
    /// # Errors
    /// As [`Self::from_pretrained`].
    pub fn from_pretrained_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        let checkpoint = source::open_as(Some(Head::Bare), model, options)?;
        Ok(Self {
            model: Model::from_checkpoint(&checkpoint, options.run())?,
            processor: ImageProcessor::from_checkpoint(&checkpoint)?,
            options: EmbedOptions::default(),
        })
    }

    /// Embeds one picture file: [`Self::dim`] values.
    ///
    /// # Errors
    /// A file that is no whole picture within the limits, or one that the model cannot take.
    pub fn embed_file(&self, path: impl AsRef<Path>) -> Result<Array1<f32>, Error> {
        let pixels = self.processor.open(path)?.insert_axis(Axis(0));
        let inputs = self.file_options().inputs(pixels.view());
        Ok(self.pool(&self.model.forward(&inputs)?, 0))
    }

    fn file_options(&self) -> FileOptions {
        let EmbedOptions { batch, eager_attention, .. } = self.options;
        FileOptions { batch, eager_attention, ..FileOptions::plain() }
    }

    /// Length of an embedding.
    #[must_use]
    pub fn dim(&self) -> usize {
        let width = self.model.config().hidden_size();
        if self.options.pool == Pooling::ClsMean { 2 * width } else { width }
    }

    /// Embeds picture files, as the iterator is asked: each file, in order, with its embedding of [`Self::dim`] values or its error.
    /// Files of any sizes and any number: what is decoded ahead is bounded, those of one size go through the model together, and
    /// one bad picture is one error.
    ///
    /// ```
    /// # fn main() -> Result<(), dinoxide::Error> {
    /// # let paths = ["chelsea.png", "rocket.jpg"].map(|name| format!("{}/../../pictures/{name}", env!("CARGO_MANIFEST_DIR")));
    /// let embedder = dinoxide::Embedder::from_pretrained("builtin:tiny")?;
    /// for (path, embedding) in embedder.embed(paths) {
    ///     println!("{path}: {}", embedding?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn embed<I>(&self, paths: I) -> impl Iterator<Item = (I::Item, Result<Array1<f32>, Error>)>
    where
        I: IntoIterator<Item: AsRef<Path> + Sync>,
    {
        let pool = |outputs: Outputs| (0..outputs.batch()).map(|item| self.pool(&outputs, item)).collect();
        files::run_files_mapped(&self.model, &self.processor, self.file_options(), paths, pool)
    }

    /// The embedding of item `item` of a forward's outputs.
    ///
    /// # Panics
    /// When `item` is not in the batch.
    #[must_use]
    pub fn pool(&self, outputs: &Outputs, item: usize) -> Array1<f32> {
        let mut embedding = self.options.pool.pool(outputs, item);
        if self.options.normalize {
            pooling::normalize(&mut embedding);
        }
        embedding
    }
}
