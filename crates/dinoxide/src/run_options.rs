//! How a model is built of a checkpoint that is open.

use dinoxide_kernels::ContextOptions;
use dinoxide_model::Precision;

/// Instruction set, threads and precision of a model. [`ContextOptions`] alone will do: the precision is then the file's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Instruction set level and threads; the best and all when absent.
    pub context: ContextOptions,
    /// What the weights of linear layers are held and multiplied in; when absent as the file holds them.
    pub precision: Option<Precision>,
}

impl From<ContextOptions> for RunOptions {
    fn from(context: ContextOptions) -> Self {
        Self { context, precision: None }
    }
}
