//! The bytes of what is written, one tensor at a time.
//!
//! Codes come from the checkpoint as they are, or from the quantiser that was given; those of one weight are kept until the
//! next, so that its three tensors cost one reading.

use std::borrow::Cow;

use super::items::{Item, Kind, Piece};
use crate::error::CheckpointError;
use crate::layout::TensorSpec;
use crate::tensors::{Floats, QuantizedTensor, Storage, Tensors};

/// Decides what weights are written in, and makes their codes.
pub trait Quantizer {
    /// What the tensor is to be written in. It may be read for that; it is read again when it is written.
    ///
    /// # Errors
    /// A tensor that cannot be read.
    fn storage(&mut self, tensors: &Tensors, spec: &TensorSpec) -> Result<Storage, CheckpointError>;

    /// The codes of a weight [N, K] in `storage`, which has some: one tensor, or one after the other those of the parts of `weight`.
    fn quantize(&mut self, spec: &TensorSpec, weight: &Floats<'_>, storage: Storage) -> Vec<QuantizedTensor>;
}

/// Where the bytes come from.
pub(super) struct Content<'a> {
    tensors: &'a Tensors,
    quantizer: Option<&'a mut dyn Quantizer>,
    /// The codes of the weight of this name, in row order.
    kept: Option<(String, Vec<QuantizedTensor>)>,
}

impl<'a> Content<'a> {
    pub(super) fn new(tensors: &'a Tensors, quantizer: Option<&'a mut dyn Quantizer>) -> Self {
        Self { tensors, quantizer, kept: None }
    }

    /// The bytes of a piece, as many as its dtype and shape say.
    pub(super) fn bytes(&mut self, item: &Item, piece: &Piece) -> Result<Cow<'a, [u8]>, CheckpointError> {
        if let Storage::Float(dtype) = item.storage {
            return self.tensors.encode(&item.spec.name, &item.spec.shape, dtype);
        }
        let (index, count) = item.part;
        let (rows, columns) = (item.spec.shape[0] / count.max(1), item.spec.shape[1]);
        let part = Rows { first: index * rows, rows, columns };
        let mut bytes = Vec::new();
        let mut first = 0;
        for tensor in self.codes(item)? {
            let held = rows_of(tensor);
            if part.first < first + held && first < part.first + rows {
                part.append(tensor, first, piece.kind, &mut bytes);
            }
            first += held;
        }
        Ok(Cow::Owned(bytes))
    }

    /// Gives back the file's pages of an item that was written: whoever reads them again gets them again.
    pub(super) fn release(&self, item: &Item) {
        self.tensors.release(&item.spec.name);
    }

    fn codes(&mut self, item: &Item) -> Result<&[QuantizedTensor], CheckpointError> {
        let spec = &item.spec;
        let kept = match self.kept.take().filter(|(name, _)| *name == spec.name) {
            Some(kept) => kept,
            None => {
                let codes = match &mut self.quantizer {
                    Some(quantizer) => {
                        let weight = self.tensors.floats(&spec.name, &spec.shape)?;
                        quantizer.quantize(spec, &weight, item.storage)
                    }
                    None => self.tensors.quantized(&spec.name, &spec.shape)?.unwrap_or_default(),
                };
                (spec.name.clone(), codes)
            }
        };
        Ok(&self.kept.insert(kept).1)
    }
}

fn rows_of(tensor: &QuantizedTensor) -> usize {
    match tensor {
        QuantizedTensor::Int8 { shape, .. } | QuantizedTensor::Int4 { shape, .. } => shape[0],
    }
}

/// Rows of a weight that go into one item.
struct Rows {
    first: usize,
    rows: usize,
    columns: usize,
}

impl Rows {
    /// Appends what of these rows lies in `tensor`, whose first row is `start` of the whole weight. A tensor of which only some rows
    /// are taken is the only one: parts are cut where Transformers' modules are.
    fn append(&self, tensor: &QuantizedTensor, start: usize, kind: Kind, bytes: &mut Vec<u8>) {
        let from = self.first.saturating_sub(start);
        let to = (self.first + self.rows - start).min(rows_of(tensor));
        let cut = |width: usize| from * width..to * width;
        match (tensor, kind) {
            (QuantizedTensor::Int8 { codes, .. }, Kind::Codes) => {
                bytes.extend(codes[cut(self.columns)].iter().map(|code| code.cast_unsigned()));
            }
            (QuantizedTensor::Int8 { scales, .. }, Kind::Scales) => floats(&scales[cut(1)], bytes),
            (QuantizedTensor::Int8 { .. }, _) => bytes.resize(bytes.len() + to - from, 0),
            (QuantizedTensor::Int4 { codes, .. }, Kind::Codes) => {
                bytes.extend_from_slice(&codes[cut(self.columns.div_ceil(2))]);
            }
            (QuantizedTensor::Int4 { shape, scales, zeros, .. }, kind) => {
                let values = if kind == Kind::Scales { scales } else { zeros };
                values.chunks_exact(shape[0].max(1)).for_each(|group| floats(&group[cut(1)], bytes));
            }
        }
    }
}

fn floats(values: &[f32], bytes: &mut Vec<u8>) {
    values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
}
