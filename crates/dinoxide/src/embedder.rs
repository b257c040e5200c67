//! Pictures in, one vector a picture out.

use crate::{Error, FileOptions, ImageProcessor, Model, Outputs, Pooling, files, pooling};
use ndarray::Array1;
use std::{ops::ControlFlow, path::Path};

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
    /// Length of an embedding.
    #[must_use]
    pub fn dim(&self) -> usize {
        let width = self.model.config().hidden_size();
        if self.options.pool == Pooling::ClsMean { 2 * width } else { width }
    }

    /// Embeds picture files. `sink` gets, in the order of `paths`, the index of each file and its embedding [`Self::dim`]
    /// or its error; it may stop the work.
    pub fn embed_files<P: AsRef<Path> + Sync>(
        &self,
        paths: &[P],
        sink: &mut dyn FnMut(usize, Result<Array1<f32>, Error>) -> ControlFlow<()>,
    ) {
        let EmbedOptions { batch, eager_attention, .. } = self.options;
        let options = FileOptions { batch, eager_attention, ..FileOptions::default() };
        let pool = |outputs: Outputs| (0..outputs.batch()).map(|item| self.pool(&outputs, item)).collect();
        files::for_each_file_mapped(&self.model, &self.processor, options, paths, &pool, sink);
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
