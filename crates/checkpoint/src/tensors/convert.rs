//! Numbers of a file as f32: F32 as they are, F16 and BF16 widened, which is exact, F64 rounded.
//!
//! A file's data need not be aligned, so numbers are put together from bytes; compilers turn the f32 case into a copy.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use safetensors::Dtype;

use super::TensorView;
use crate::config::TorchDtype;
use crate::error::CheckpointError;

/// Rounds numbers to what `dtype` can hold: to the nearest, ties to even, as torch does.
pub(super) fn round(dtype: TorchDtype, values: &mut [f32]) {
    match dtype {
        TorchDtype::Float16 => round_through::<f16>(values),
        TorchDtype::BFloat16 => round_through::<bf16>(values),
        TorchDtype::Float32 | TorchDtype::Float64 => {}
    }
}

fn round_through<T: Copy + Default>(values: &mut [f32])
where
    [T]: HalfFloatSliceExt,
{
    let mut narrow = [T::default(); BLOCK];
    for block in values.chunks_mut(BLOCK) {
        let narrow = &mut narrow[..block.len()];
        narrow.convert_from_f32_slice(block);
        narrow.convert_to_f32_slice(block);
    }
}

/// The bytes of numbers in a format of files.
pub(super) fn bytes(dtype: TorchDtype, values: &[f32]) -> Vec<u8> {
    match dtype {
        TorchDtype::Float16 => values.iter().flat_map(|value| f16::from_f32(*value).to_le_bytes()).collect(),
        TorchDtype::BFloat16 => {
            values.iter().flat_map(|value| bf16::from_f32(*value).to_le_bytes()).collect()
        }
        TorchDtype::Float32 => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        TorchDtype::Float64 => values.iter().flat_map(|value| f64::from(*value).to_le_bytes()).collect(),
    }
}

/// Half-precision numbers converted at a time: enough for the vector conversion, small enough for the stack.
const BLOCK: usize = 512;

/// Bytes of one number.
pub(super) fn width(view: TensorView<'_>) -> Result<usize, CheckpointError> {
    match view.dtype {
        Dtype::F64 => Ok(8),
        Dtype::F32 => Ok(4),
        Dtype::F16 | Dtype::BF16 => Ok(2),
        other => Err(CheckpointError::UnsupportedDtype {
            path: view.file.into(),
            tensor: view.name_in_file.into(),
            dtype: other.to_string(),
        }),
    }
}

/// Appends the tensor's numbers.
pub(super) fn append_f32(view: TensorView<'_>, values: &mut Vec<f32>) -> Result<(), CheckpointError> {
    width(view)?;
    match view.dtype {
        Dtype::F16 => append_half(view.bytes, f16::from_le_bytes, values),
        Dtype::BF16 => append_half(view.bytes, bf16::from_le_bytes, values),
        Dtype::F64 => {
            let (numbers, _) = view.bytes.as_chunks::<8>();
            values.extend(numbers.iter().map(|number| f64::from_le_bytes(*number) as f32));
        }
        _ => {
            let (numbers, _) = view.bytes.as_chunks::<4>();
            values.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
        }
    }
    Ok(())
}

fn append_half<T: Copy + Default>(bytes: &[u8], number: impl Fn([u8; 2]) -> T, values: &mut Vec<f32>)
where
    [T]: HalfFloatSliceExt,
{
    let (numbers, _) = bytes.as_chunks::<2>();
    let (mut narrow, mut wide) = ([T::default(); BLOCK], [0.0f32; BLOCK]);
    for block in numbers.chunks(BLOCK) {
        for (slot, bytes) in narrow.iter_mut().zip(block) {
            *slot = number(*bytes);
        }
        narrow[..block.len()].convert_to_f32_slice(&mut wide[..block.len()]);
        values.extend_from_slice(&wide[..block.len()]);
    }
}
