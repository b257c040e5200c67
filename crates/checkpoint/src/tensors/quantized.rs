//! Weights that a file holds in codes: what they stand for, and how they are read.
//!
//! ```text
//! int8  ŵ[n,k] = code[n,k] · scale[n]                          codes [N, K]
//! int4  ŵ[n,k] = code[n,k] · scale[k/g, n] + zero[k/g, n]      codes [N, ⌈K/2⌉], that of the even input in the low bits
//! ```
//! `X.weight` is three tensors: `X._weight_qdata`, `X._weight_scale`, `X._weight_zero_point` (see `join`). Shapes are checked when
//! a file is opened, values when a weight is read. Source: `Int8Tensor` and `Int4Tensor` of torchao 0.18.0.

use super::{Dtype, Source, Stored, TensorView, Tensors, convert};
use crate::config::TorchDtype;
use crate::error::{CheckpointError, QuantizedWeight};

mod join;

/// What the codes of a weight are called in files, after the module's name.
pub(crate) const CODES: &str = "qdata";
/// What its scales are called.
pub(crate) const SCALES: &str = "scale";
/// What its zeros are called; those of int8 are all 0.
pub(crate) const ZEROS: &str = "zero_point";

/// What a tensor is held in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Floating-point numbers.
    Float(TorchDtype),
    /// Signed bytes, one scale an output.
    Int8,
    /// 4 bits, a scale and a zero for each output and group of inputs; the last group may be shorter.
    Int4 {
        /// Inputs of a group.
        group_size: usize,
    },
}

impl Storage {
    /// Bytes of a weight of so many outputs and inputs, scales and zeros (f32) included; int8's zeros, which say nothing, are not.
    #[must_use]
    pub fn weight_bytes(self, shape: [usize; 2]) -> u64 {
        let [rows, columns] = shape.map(|side| side as u64);
        match self {
            Self::Float(dtype) => rows * columns * (super::file_dtype(dtype).bitsize() as u64 / 8),
            Self::Int8 => rows * (columns + 4),
            Self::Int4 { group_size } => {
                rows * (columns.div_ceil(2) + 8 * columns.div_ceil(group_size.max(1) as u64))
            }
        }
    }
}

/// A weight `[outputs, inputs]` in codes.
#[derive(Debug, Clone, PartialEq)]
pub enum QuantizedTensor {
    /// It stands for `codes[n, k] · scales[n]`.
    Int8 {
        /// Outputs and inputs.
        shape: [usize; 2],
        /// `[N, K]`.
        codes: Vec<i8>,
        /// `[N]`.
        scales: Vec<f32>,
    },
    /// It stands for `code(n, k) · scales[k / group_size, n] + zeros[k / group_size, n]`.
    Int4 {
        /// Outputs and inputs.
        shape: [usize; 2],
        /// Inputs of a group.
        group_size: usize,
        /// `[N, ⌈K/2⌉]` bytes of two codes in two's complement, that of the even input in the low bits.
        codes: Vec<u8>,
        /// `[⌈K/group_size⌉, N]`.
        scales: Vec<f32>,
        /// `[⌈K/group_size⌉, N]`.
        zeros: Vec<f32>,
    },
}

impl QuantizedTensor {
    /// One without elements.
    #[must_use]
    pub fn empty() -> Self {
        Self::Int8 { shape: [0, 0], codes: Vec::new(), scales: Vec::new() }
    }

    /// The floats it stands for, `[N, K]`.
    #[must_use]
    pub fn dequantize(&self) -> Vec<f32> {
        match self {
            Self::Int8 { shape: [_, columns], codes, scales } => {
                let rows = codes.chunks_exact((*columns).max(1)).zip(scales);
                rows.flat_map(|(row, scale)| row.iter().map(move |code| f32::from(*code) * scale)).collect()
            }
            Self::Int4 { shape: [rows, columns], group_size, codes, scales, zeros } => {
                let mut weight = Vec::with_capacity(rows * columns);
                for (n, row) in codes.chunks_exact(columns.div_ceil(2).max(1)).enumerate() {
                    for k in 0..*columns {
                        let nibble = if k % 2 == 0 { row[k / 2] << 4 } else { row[k / 2] };
                        let range = k / group_size * rows + n;
                        weight.push(f32::from(nibble.cast_signed() >> 4) * scales[range] + zeros[range]);
                    }
                }
                weight
            }
        }
    }
}

/// Where a file's tensor of codes has its scales and zeros.
#[derive(Debug)]
pub(crate) struct Ranges {
    pub(crate) storage: Storage,
    pub(crate) scales: Source,
    pub(crate) zeros: Option<Source>,
}

impl Ranges {
    /// Bytes in the files, the codes aside.
    pub(super) fn bytes(&self) -> usize {
        self.scales.range.len() + self.zeros.as_ref().map_or(0, |zeros| zeros.range.len())
    }
}

impl Tensors {
    /// What the tensor is held in, or rounded to when it is read; nothing where there is none, or where its parts differ.
    pub fn storage(&self, name: &str) -> Option<Storage> {
        let parts = self.complete(name)?;
        let of = |stored: &Stored| match &self.source(stored).quantized {
            Some(ranges) => Some(ranges.storage),
            None => super::torch_dtype(self.source(stored).dtype).map(Storage::Float),
        };
        let first = of(parts.first()?)?;
        if parts.iter().any(|stored| of(stored) != Some(first)) {
            return None;
        }
        match (first, self.dtype) {
            (Storage::Float(_), Some(dtype)) if self.rounds(parts) => Some(Storage::Float(dtype)),
            _ => Some(first),
        }
    }

    /// The codes of a weight, one after the other those of its parts (the halves of a SwiGLU input); nothing where a part is held
    /// in floats. `shape` is the shape that the caller needs of the whole.
    ///
    /// # Errors
    /// No such tensor, another shape; scales that are negative or no numbers, zeros that are none.
    pub fn quantized(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<Option<Vec<QuantizedTensor>>, CheckpointError> {
        let parts = self.require(name)?;
        if parts.iter().any(|stored| self.source(stored).quantized.is_none()) {
            return Ok(None);
        }
        self.check_parts(parts, shape)?;
        let read = |stored| {
            let tensor = self.read_quantized(stored);
            self.release_part(stored);
            tensor
        };
        parts.iter().map(read).collect::<Result<_, _>>().map(Some)
    }

    /// The codes of a file's tensor, which must have some.
    pub(super) fn read_quantized(&self, stored: &Stored) -> Result<QuantizedTensor, CheckpointError> {
        let source = self.source(stored);
        let (Some(ranges), [rows, columns]) = (&source.quantized, &source.shape[..]) else {
            return Err(CheckpointError::UnsupportedDtype {
                path: self.file(stored).path.clone(),
                tensor: source.name.clone(),
                dtype: source.dtype.to_string(),
            });
        };
        let (shape, bytes) = ([*rows, *columns], self.view(stored).bytes);
        let scales = self.ranges(source, &ranges.scales, "scales", |scale| scale >= 0.0)?;
        match ranges.storage {
            Storage::Int4 { group_size } => {
                let zeros = ranges.zeros.as_ref().map(|zeros| self.ranges(source, zeros, "zeros", |_| true));
                let zeros = zeros.transpose()?.unwrap_or_default();
                Ok(QuantizedTensor::Int4 { shape, group_size, codes: bytes.to_vec(), scales, zeros })
            }
            _ => {
                self.check_symmetric(source, ranges)?;
                let codes = bytes.iter().map(|byte| byte.cast_signed()).collect();
                Ok(QuantizedTensor::Int8 { shape, codes, scales })
            }
        }
    }

    /// Scales or zeros, which must be finite and pass `fits`.
    fn ranges(
        &self,
        weight: &Source,
        piece: &Source,
        what: &'static str,
        fits: impl Fn(f32) -> bool,
    ) -> Result<Vec<f32>, CheckpointError> {
        let mut values = Vec::new();
        convert::append_f32(self.source_view(piece), &mut values)?;
        match values.iter().position(|value| !value.is_finite() || !fits(*value)) {
            None => Ok(values),
            Some(index) => Err(QuantizedWeight {
                path: self.files[piece.file].path.clone(),
                tensor: weight.name.clone(),
                what,
                expected: "finite numbers, scales not negative".into(),
                got: format!("{} at {index}", values[index]),
            }
            .into()),
        }
    }

    /// The zero points of int8 must be 0.
    fn check_symmetric(&self, weight: &Source, ranges: &Ranges) -> Result<(), CheckpointError> {
        let Some(zeros) = &ranges.zeros else { return Ok(()) };
        let bytes = self.source_view(zeros).bytes;
        match bytes.iter().position(|byte| *byte != 0) {
            None => Ok(()),
            Some(index) => Err(QuantizedWeight {
                path: self.files[zeros.file].path.clone(),
                tensor: weight.name.clone(),
                what: "zero points",
                expected: "0, as int8 is symmetric here".into(),
                got: format!("{} at {index}", bytes[index].cast_signed()),
            }
            .into()),
        }
    }

    /// A file's tensor by itself.
    pub(crate) fn source_view<'a>(&'a self, source: &'a Source) -> TensorView<'a> {
        let file = &self.files[source.file];
        TensorView {
            name_in_file: &source.name,
            file: &file.path,
            dtype: source.dtype,
            shape: &source.shape,
            bytes: &file.bytes[source.range.clone()],
        }
    }
}

/// Whether numbers of this format can be scales.
fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::BF16)
}
