//! Numbers of a file as f32: F32 as they are, F16 and BF16 widened, which is exact.
//!
//! A file's data need not be aligned, so numbers are put together from bytes; compilers turn the f32 case into a copy.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use safetensors::Dtype;

use super::TensorView;
use crate::error::CheckpointError;

/// Half-precision numbers converted at a time: enough for the vector conversion, small enough for the stack.
const BLOCK: usize = 512;

/// Bytes of one number.
pub(super) fn width(view: TensorView<'_>) -> Result<usize, CheckpointError> {
    match view.dtype {
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
