//! What can be run over many pictures: the bare model, a backbone, a classifier.

use crate::{Error, Inputs, Model};

/// Something that makes outputs of `pixel_values`; see [`crate::run_files`].
pub trait Runner: Sync {
    /// What a forward gives, on whichever thread it runs.
    type Outputs: Send;

    /// The bare model, whose config and threads are used.
    fn base(&self) -> &Model;

    /// Runs a batch.
    ///
    /// # Errors
    /// Inputs that the model cannot take.
    fn run(&self, inputs: &Inputs<'_>) -> Result<Self::Outputs, Error>;

    /// The items of a batch, each as a batch of one.
    fn into_items(outputs: Self::Outputs) -> Vec<Self::Outputs>;
}
