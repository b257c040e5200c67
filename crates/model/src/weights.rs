//! A path cursor over a checkpoint's tensors: shapes are checked on the way out, errors name the full path.

use crate::{LinearPrecision, ModelError, Precision};
use dinoxide_checkpoint::{
    Checkpoint, Floats, Numbers, QuantizedTensor, Storage, Tensors, config::Quantization,
};
use dinoxide_kernels::Context;
use std::cell::RefCell;

/// A load of a model: what was asked, and what became of it.
pub(crate) struct Load<'a> {
    ctx: &'a Context,
    tensors: &'a Tensors,
    /// What linear layers are to be held in; nothing leaves them as the file has them.
    precision: Option<Precision>,
    /// Whether the checkpoint's 4-bit weights are for activations in bytes.
    int8_activations: bool,
    linears: RefCell<Vec<LinearPrecision>>,
}

impl<'a> Load<'a> {
    /// Begins a load; weights are packed for the context's instruction set.
    pub(crate) fn new(ctx: &'a Context, checkpoint: &'a Checkpoint, precision: Option<Precision>) -> Self {
        let quantization = checkpoint.config().common().quantization;
        let int8_activations =
            matches!(quantization, Some(Quantization::Int4 { int8_activations: true, .. }));
        Self { ctx, tensors: checkpoint.tensors(), precision, int8_activations, linears: RefCell::default() }
    }

    /// The top of the checkpoint.
    pub(crate) fn weights(&'a self) -> Weights<'a> {
        Weights { load: self, path: String::new() }
    }

    /// What became of the linear layers, in the order of the load.
    pub(crate) fn into_linears(self) -> Vec<LinearPrecision> {
        self.linears.into_inner()
    }
}

/// A place in a checkpoint, for example `encoder.layer.3`.
#[derive(Clone)]
pub(crate) struct Weights<'a> {
    load: &'a Load<'a>,
    path: String,
}

impl<'a> Weights<'a> {
    /// The context that weights are packed for.
    pub(crate) fn context(&self) -> &'a Context {
        self.load.ctx
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
        Ok(self.load.tensors.numbers(&self.name(name), shape)?)
    }

    /// As [`Self::numbers`], in the file's format where it is one of floats.
    pub(crate) fn floats(&self, name: &str, shape: &[usize]) -> Result<Floats<'a>, ModelError> {
        Ok(self.load.tensors.floats(&self.name(name), shape)?)
    }

    /// Whether the checkpoint has the tensor `name` below this place.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.load.tensors.contains(&self.name(name))
    }

    /// What linear layers are to be held in, if anything is asked; whether the file's 4-bit weights are for activations in bytes.
    pub(crate) fn precision(&self) -> (Option<Precision>, bool) {
        (self.load.precision, self.load.int8_activations)
    }

    /// What the file holds the tensor `name` below this place in.
    pub(crate) fn storage(&self, name: &str) -> Option<Storage> {
        self.load.tensors.storage(&self.name(name))
    }

    /// Its codes, where it has some.
    pub(crate) fn quantized(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<Option<Vec<QuantizedTensor>>, ModelError> {
        Ok(self.load.tensors.quantized(&self.name(name), shape)?)
    }

    /// Enters what became of a linear layer.
    pub(crate) fn report(&self, linear: LinearPrecision) {
        self.load.linears.borrow_mut().push(linear);
    }

    /// The canonical name of a tensor below this place.
    pub(crate) fn name(&self, name: impl std::fmt::Display) -> String {
        if self.path.is_empty() { name.to_string() } else { format!("{}.{name}", self.path) }
    }
}
