//! A tensor's numbers as f32: where the file holds them so, the file's own; else converted ones.
//!
//! A mapped file's pages count as memory of the process once they were read. They are given back when the numbers are
//! dropped, so that a checkpoint which is read tensor by tensor, each packed and dropped, is never in memory twice.

use std::ops::Deref;

use super::{Stored, TensorFile, Tensors, convert, leading_zeros};
use crate::error::CheckpointError;
use crate::names::Role;

/// The numbers of a tensor, row-major: `[f32]`.
#[derive(Debug)]
pub struct Numbers<'a> {
    numbers: Form<'a>,
    tensors: &'a Tensors,
    /// What of the files was read.
    parts: &'a [Stored],
}

#[derive(Debug)]
enum Form<'a> {
    InFile(&'a [f32]),
    Converted(Vec<f32>),
}

impl Deref for Numbers<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &self.numbers {
            Form::InFile(numbers) => numbers,
            Form::Converted(numbers) => numbers,
        }
    }
}

impl Numbers<'_> {
    /// As a vector of their own.
    #[must_use]
    pub fn into_vec(mut self) -> Vec<f32> {
        match &mut self.numbers {
            Form::InFile(numbers) => numbers.to_vec(),
            Form::Converted(numbers) => std::mem::take(numbers),
        }
    }
}

impl Drop for Numbers<'_> {
    fn drop(&mut self) {
        for stored in self.parts {
            self.tensors.file(stored).bytes.release(stored.range.clone());
        }
    }
}

impl Tensors {
    /// The tensor's numbers as f32, row-major, rounded to the checkpoint's dtype; `shape` is the shape that the caller needs.
    /// Nothing is copied where the file holds them as they are wanted. Of a weight in codes, the floats it stands for.
    ///
    /// # Errors
    /// No such tensor, another shape, a dtype other than F64, F32, F16 and BF16.
    pub fn numbers(&self, name: &str, shape: &[usize]) -> Result<Numbers<'_>, CheckpointError> {
        let parts = self.require(name)?;
        let elements = self.check_parts(parts, shape)?;
        let numbers = match self.in_file(parts) {
            Some(numbers) => Form::InFile(numbers),
            None => Form::Converted(self.rounded(parts, elements, shape)?),
        };
        Ok(Numbers { numbers, tensors: self, parts })
    }

    /// As the files have them, not rounded to the checkpoint's dtype.
    pub(super) fn exact_numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, CheckpointError> {
        let parts = self.require(name)?;
        self.converted(parts, self.check_parts(parts, shape)?, shape)
    }

    /// How many numbers there are, when all parts fit `shape` and can be read: checked before memory is taken.
    pub(super) fn check_parts(&self, parts: &[Stored], shape: &[usize]) -> Result<usize, CheckpointError> {
        let mut elements = leading_zeros(parts, shape);
        for stored in parts {
            // This cannot overflow, as every part lies in a mapped file.
            elements += self.check_part(stored, shape)?;
        }
        Ok(elements)
    }

    /// The file's own numbers, when they are f32 in one piece, aligned, and need no rounding.
    fn in_file<'a>(&'a self, parts: &'a [Stored]) -> Option<&'a [f32]> {
        let [stored] = parts else { return None };
        let as_they_are = stored.role != Role::AfterFirst && !self.rounds(parts);
        let view = self.view(stored);
        let native = cfg!(target_endian = "little") && view.dtype == super::Dtype::F32;
        (as_they_are && native).then(|| bytemuck::try_cast_slice(view.bytes).ok()).flatten()
    }

    /// So many numbers, put together from the parts, rounded to the checkpoint's dtype.
    fn rounded(
        &self,
        parts: &[Stored],
        elements: usize,
        shape: &[usize],
    ) -> Result<Vec<f32>, CheckpointError> {
        let mut values = self.converted(parts, elements, shape)?;
        if let Some(dtype) = self.dtype.filter(|_| self.rounds(parts)) {
            convert::round(dtype, &mut values);
        }
        Ok(values)
    }

    /// As [`Self::rounded`], not rounded.
    fn converted(
        &self,
        parts: &[Stored],
        elements: usize,
        shape: &[usize],
    ) -> Result<Vec<f32>, CheckpointError> {
        let mut values = Vec::with_capacity(elements);
        values.resize(leading_zeros(parts, shape), 0.0);
        for stored in parts {
            match self.source(stored).quantized {
                Some(_) => values.extend(self.read_quantized(stored)?.dequantize()),
                None => convert::append_f32(self.view(stored), &mut values)?,
            }
        }
        Ok(values)
    }

    pub(super) fn file(&self, stored: &Stored) -> &TensorFile {
        &self.files[self.source(stored).file]
    }
}
