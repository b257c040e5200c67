//! A tensor's numbers as f32: where the file holds them so, the file's own; else converted ones. For who can read halves too,
//! [`Floats`] are the file's own of either kind.
//!
//! A mapped file's pages count as memory of the process once they were read. They are given back when the numbers are
//! dropped, so that a checkpoint which is read tensor by tensor, each packed and dropped, is never in memory twice.

use std::ops::Deref;

use half::slice::HalfBitsSliceExt;
use half::{bf16, f16};

use super::{Dtype, Stored, TensorFile, Tensors, convert, leading_zeros};
use crate::error::CheckpointError;
use crate::names::Role;

/// The numbers of a tensor, row-major: `[f32]`.
#[derive(Debug)]
pub struct Numbers<'a> {
    numbers: Form<'a>,
    /// Given back with the numbers.
    _pages: Pages<'a>,
}

#[derive(Debug)]
enum Form<'a> {
    InFile(&'a [f32]),
    Converted(Vec<f32>),
}

/// The numbers of a tensor in the format that the file holds them in: one slice a part of it, in row order.
#[derive(Debug)]
pub struct Floats<'a> {
    parts: Vec<FloatPart<'a>>,
    /// Given back with the numbers.
    _pages: Pages<'a>,
}

/// Numbers of a part of a tensor.
#[derive(Debug)]
pub enum FloatPart<'a> {
    /// The file's own f32.
    F32(&'a [f32]),
    /// The file's own bf16.
    Bf16(&'a [bf16]),
    /// The file's own f16.
    F16(&'a [f16]),
    /// Made of what the file holds.
    Converted(Vec<f32>),
}

impl<'a> Floats<'a> {
    /// One part after the other.
    #[must_use]
    pub fn parts(&self) -> &[FloatPart<'a>] {
        &self.parts
    }
}

/// What of the files was read.
#[derive(Debug)]
struct Pages<'a> {
    tensors: &'a Tensors,
    parts: &'a [Stored],
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

impl Drop for Pages<'_> {
    fn drop(&mut self) {
        for stored in self.parts {
            self.tensors.release_part(stored);
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
        Ok(Numbers { numbers, _pages: Pages { tensors: self, parts } })
    }

    /// As [`Self::numbers`], but nothing is converted where the file holds f32, bf16 or f16 that need no rounding.
    ///
    /// # Errors
    /// As [`Self::numbers`].
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Floats<'_>, CheckpointError> {
        let parts = self.require(name)?;
        let elements = self.check_parts(parts, shape)?;
        let own = || parts.iter().map(|stored| self.own(stored)).collect();
        let floats = match (!self.rounds(parts)).then(own).flatten() {
            Some(floats) => floats,
            None => vec![FloatPart::Converted(self.rounded(parts, elements, shape)?)],
        };
        Ok(Floats { parts: floats, _pages: Pages { tensors: self, parts } })
    }

    /// The file's own numbers of a part, when they are aligned floats.
    fn own<'a>(&'a self, stored: &'a Stored) -> Option<FloatPart<'a>> {
        let view = self.view(stored);
        if stored.role == Role::AfterFirst || cfg!(target_endian = "big") {
            return None;
        }
        let halves = || bytemuck::try_cast_slice::<u8, u16>(view.bytes).ok();
        match view.dtype {
            Dtype::F32 => bytemuck::try_cast_slice(view.bytes).ok().map(FloatPart::F32),
            Dtype::BF16 => halves().map(|halves| FloatPart::Bf16(halves.reinterpret_cast())),
            Dtype::F16 => halves().map(|halves| FloatPart::F16(halves.reinterpret_cast())),
            _ => None,
        }
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
        match self.own(stored).filter(|_| !self.rounds(parts)) {
            Some(FloatPart::F32(numbers)) => Some(numbers),
            _ => None,
        }
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

    /// Gives back the pages of a tensor's numbers.
    pub(crate) fn release(&self, name: &str) {
        self.entry(name).unwrap_or_default().iter().for_each(|stored| self.release_part(stored));
    }

    /// Gives back the pages of what was read; of codes, those of scales and zeros too.
    pub(super) fn release_part(&self, stored: &Stored) {
        self.file(stored).bytes.release(stored.range.clone());
        if let Some(ranges) = &self.source(stored).quantized {
            for piece in [Some(&ranges.scales), ranges.zeros.as_ref()].into_iter().flatten() {
                self.files[piece.file].bytes.release(piece.range.clone());
            }
        }
    }

    pub(super) fn file(&self, stored: &Stored) -> &TensorFile {
        &self.files[self.source(stored).file]
    }
}
