//! Files of `torch.save`: `pytorch_model.bin`, `*.pth`, `*.pt`.
//!
//! `pytorch_reader` interprets the pickle with a fixed list of torch's own constructors, so nothing in a file is ever run, and
//! bounds nesting and copies; `pickle_size` bounds the rest. Its tensors are read when the file is opened, to memory: only
//! safetensors can be mapped. A tensor's name is its path through the file's dictionaries (`teacher.backbone.cls_token`).

use std::path::Path;

use pytorch_reader::{DType, PytorchReader, Tensor};

use super::{Dtype, Source, TensorFile, Tensors, pickle_size};
use crate::error::CheckpointError;
use crate::files::{self, Bytes};

/// Characters of the reader's message that an error repeats.
const SHOWN_CHARS: usize = 200;

impl Tensors {
    /// Adds the tensors of a file that `wanted` accepts by their names in it; `place_all` follows. False when there is no file.
    pub(super) fn add_pickle(
        &mut self,
        path: &Path,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<bool, CheckpointError> {
        // Mapped for its checks: a regular file, not empty, no pointer.
        let Some(bytes) = files::map(path)? else { return Ok(false) };
        let unreadable = |reason: String| CheckpointError::UnreadablePickle {
            path: path.into(),
            reason: reason.chars().take(SHOWN_CHARS).collect(),
        };
        pickle_size::check(&bytes).map_err(unreadable)?;
        let size = bytes.len();
        drop(bytes);
        let reader = PytorchReader::new(path).map_err(|error| unreadable(error.to_string()))?;
        let mut tensors: Vec<Tensor> = reader.into_tensors().into_values().collect();
        tensors.retain(|tensor| wanted(&tensor.name));
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        // Strides can make a few bytes into a tensor of any size.
        let total = tensors.iter().fold(0usize, |sum, tensor| sum.saturating_add(tensor.byte_len()));
        if total > size {
            return Err(unreadable(format!("its tensors take {total} bytes, but the file has {size}")));
        }
        for tensor in tensors {
            let bytes = tensor.read().map_err(|error| unreadable(error.to_string()))?;
            let bytes = little_endian(bytes, tensor.dtype().size());
            self.sources.push(Source {
                file: self.files.len(),
                dtype: dtype(tensor.dtype()),
                shape: tensor.shape().to_vec(),
                range: 0..bytes.len(),
                name: tensor.name,
                quantized: None,
            });
            self.files.push(TensorFile { path: path.into(), bytes: Bytes::Held(bytes.into()) });
        }
        Ok(true)
    }
}

/// The reader gives numbers in the machine's order.
fn little_endian(mut bytes: Vec<u8>, size: usize) -> Vec<u8> {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    bytes
}

fn dtype(dtype: DType) -> Dtype {
    match dtype {
        DType::F64 => Dtype::F64,
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::I64 => Dtype::I64,
        DType::I32 => Dtype::I32,
        DType::I16 => Dtype::I16,
        DType::I8 => Dtype::I8,
        DType::U64 => Dtype::U64,
        DType::U32 => Dtype::U32,
        DType::U16 => Dtype::U16,
        DType::U8 => Dtype::U8,
        DType::Bool => Dtype::BOOL,
    }
}
