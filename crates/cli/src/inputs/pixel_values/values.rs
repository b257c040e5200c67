//! The bytes of tensors as numbers: little-endian, by the format's dtypes.

use dinoxide::Dtype;

/// f32.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b))
}

/// I64 or I32; nothing for other dtypes.
pub(super) fn integers(dtype: Dtype, bytes: &[u8]) -> Option<Vec<i64>> {
    match dtype {
        Dtype::I64 => Some(bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect()),
        Dtype::I32 => Some(bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b).into()).collect()),
        _ => None,
    }
}

/// BOOL, integers, F32 or F64 as numbers, for masks; large integers are rounded. Nothing for other dtypes.
pub(super) fn numbers(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f64>> {
    Some(match dtype {
        Dtype::BOOL | Dtype::U8 => bytes.iter().map(|&b| b.into()).collect(),
        Dtype::I8 => bytes.iter().map(|&b| f64::from(i8::from_le_bytes([b]))).collect(),
        Dtype::I16 => bytes.as_chunks().0.iter().map(|b| i16::from_le_bytes(*b).into()).collect(),
        Dtype::U16 => bytes.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b).into()).collect(),
        Dtype::U32 => bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b).into()).collect(),
        Dtype::U64 => bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b) as f64).collect(),
        Dtype::I32 | Dtype::I64 => integers(dtype, bytes)?.into_iter().map(|n| n as f64).collect(),
        Dtype::F32 => floats(bytes).map(f64::from).collect(),
        Dtype::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        _ => return None,
    })
}

/// A dtype for messages.
pub(super) fn dtype_name(dtype: Option<Dtype>) -> String {
    dtype.map_or_else(String::new, |dtype| format!("{dtype:?}"))
}
