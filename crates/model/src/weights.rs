//! A path cursor over a checkpoint's tensors: shapes are checked on the way out, errors name the full path.

use crate::ModelError;
use dinoxide_checkpoint::{Numbers, Tensors};
use dinoxide_kernels::Context;

/// A place in a checkpoint, for example `encoder.layer.3`.
#[derive(Clone)]
pub(crate) struct Weights<'a> {
    ctx: &'a Context,
    tensors: &'a Tensors,
    path: String,
}

impl<'a> Weights<'a> {
    /// The top of the checkpoint; weights are packed for the context's instruction set.
    pub(crate) fn new(ctx: &'a Context, tensors: &'a Tensors) -> Self {
        Self { ctx, tensors, path: String::new() }
    }

    /// The context that weights are packed for.
    pub(crate) fn context(&self) -> &'a Context {
        self.ctx
    }

    /// A place below this one.
    pub(crate) fn at(&self, name: impl std::fmt::Display) -> Self {
        Self { path: self.name(name), ..self.clone() }
    }

    /// The tensor `name` below this place, as f32; its shape must be `shape`.
    pub(crate) fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        Ok(self.numbers(name, shape)?.into_vec())
    }

    /// As [`Self::read`], without a copy where the file has them as f32. To be dropped as soon as they are packed: their pages
    /// of the file are then no longer in memory.
    pub(crate) fn numbers(&self, name: &str, shape: &[usize]) -> Result<Numbers<'a>, ModelError> {
        Ok(self.tensors.numbers(&self.name(name), shape)?)
    }

    /// Whether the checkpoint has the tensor `name` below this place.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.tensors.contains(&self.name(name))
    }

    fn name(&self, name: impl std::fmt::Display) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }
}
