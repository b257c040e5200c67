//! A tensor as bytes for a file: those of the files it came from where the format stays, else converted.

use std::borrow::Cow;

use super::{Dtype, Tensors, convert, leading_zeros};
use crate::config::TorchDtype;
use crate::error::CheckpointError;
use crate::names::Role;

/// The format in files that holds numbers of `dtype`.
pub(crate) fn file_dtype(dtype: TorchDtype) -> Dtype {
    match dtype {
        TorchDtype::Float32 => Dtype::F32,
        TorchDtype::Float16 => Dtype::F16,
        TorchDtype::BFloat16 => Dtype::BF16,
        TorchDtype::Float64 => Dtype::F64,
    }
}

/// torch's format for the one in a file, when it is a floating-point one that can be read.
pub(crate) fn torch_dtype(dtype: Dtype) -> Option<TorchDtype> {
    [TorchDtype::Float32, TorchDtype::Float16, TorchDtype::BFloat16, TorchDtype::Float64]
        .into_iter()
        .find(|torch| file_dtype(*torch) == dtype)
}

impl Tensors {
    /// The tensor's bytes in the format `dtype`, little-endian, row-major.
    pub(crate) fn encode(
        &self,
        name: &str,
        shape: &[usize],
        dtype: TorchDtype,
    ) -> Result<Cow<'_, [u8]>, CheckpointError> {
        let parts = self.require(name)?;
        for stored in parts {
            self.check_part(stored, shape)?;
        }
        if let [stored] = parts
            && stored.role != Role::AfterFirst
            && self.source(stored).quantized.is_none()
            && self.source(stored).dtype == file_dtype(dtype)
        {
            return Ok(Cow::Borrowed(self.view(stored).bytes));
        }
        if !self.all_are(parts, file_dtype(dtype)) {
            return Ok(Cow::Owned(convert::bytes(dtype, &self.exact_numbers(name, shape)?)));
        }
        // Zero is all zero bits in every format.
        let mut bytes = vec![0; leading_zeros(parts, shape) * file_dtype(dtype).bitsize() / 8];
        parts.iter().for_each(|stored| bytes.extend_from_slice(self.view(stored).bytes));
        Ok(Cow::Owned(bytes))
    }
}
