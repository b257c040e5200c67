//! Writes a checkpoint whose linear layers' weights are in another precision, weight by weight: memory holds one of them.
//!
//! Each is scanned once before anything is written, as the file's header says of every tensor what it is in: a weight that the
//! precision cannot hold stays in f32. Everything else is written in f32.

use crate::{
    ModelError, Precision, PrecisionNote,
    layers::packing::{beyond_f16, can_be_codes},
};
use dinoxide_checkpoint::{
    Checkpoint, CheckpointError, QuantizedTensor, Quantizer, SaveOptions, Storage, TensorSpec, Tensors,
    config::{Quantization, TorchDtype},
};
use dinoxide_kernels::{Context, Int4Weight, Int8Weight};
use half::{bf16, f16};
use std::path::Path;

/// The weight of a linear layer that was written, against what it was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantizedLinear {
    /// The tensor's canonical name.
    pub name: String,
    /// Outputs and inputs.
    pub shape: [usize; 2],
    /// What it was written in.
    pub precision: Precision,
    /// What is to be said of it.
    pub note: Option<PrecisionNote>,
    /// Bytes in the checkpoint that it was made of.
    pub bytes_before: u64,
    /// Bytes as it was written, scales and zeros included.
    pub bytes_after: u64,
    /// Cosine between what was written and what it was made of, over the whole weight.
    pub cosine: f64,
    /// Largest absolute difference of an element.
    pub max_abs: f32,
}

impl Precision {
    /// What a config says of a checkpoint in this precision.
    fn quantization(self) -> Option<Quantization> {
        let int8_activations = matches!(self, Self::Int4A8 { .. });
        match self {
            Self::F32 | Self::Bf16 | Self::F16 => None,
            Self::Int8 => Some(Quantization::Int8),
            Self::Int4 { group_size } | Self::Int4A8 { group_size } => {
                Some(Quantization::Int4 { group_size, int8_activations })
            }
        }
    }
}

/// Writes `checkpoint` to a folder with its linear layers in `precision`; `done` hears of each as it is written, or, where its format
/// is floats, as it is scanned.
///
/// # Errors
/// Groups of a size that there cannot be, a tensor that cannot be read, a place that cannot be written.
pub fn quantize(
    ctx: &Context,
    checkpoint: &Checkpoint,
    precision: Precision,
    (dir, options): (&Path, &SaveOptions),
    done: &mut dyn FnMut(&QuantizedLinear),
) -> Result<Vec<QuantizedLinear>, ModelError> {
    precision.check_group_size()?;
    let mut maker = Maker { ctx, precision, linears: Vec::new(), done };
    checkpoint.save_quantized(dir, options, precision.quantization(), &mut maker)?;
    Ok(maker.linears)
}

/// Makes codes, and enters how close they are.
struct Maker<'a> {
    ctx: &'a Context,
    precision: Precision,
    linears: Vec<QuantizedLinear>,
    done: &'a mut dyn FnMut(&QuantizedLinear),
}

impl Maker<'_> {
    /// What a weight can be written in, and what is to be said of it.
    fn fitting(&self, weight: &[f32], inputs: usize) -> (Precision, Option<PrecisionNote>) {
        match self.precision {
            Precision::F16 => match beyond_f16(weight) {
                Some(largest) => (Precision::F32, Some(PrecisionNote::BeyondF16 { largest })),
                None => (Precision::F16, None),
            },
            Precision::F32 | Precision::Bf16 => (self.precision, None),
            Precision::Int8 if inputs > Int8Weight::MAX_K => {
                (Precision::F32, Some(PrecisionNote::TooManyInputs { inputs }))
            }
            codes if !can_be_codes(weight, codes) => (Precision::F32, Some(PrecisionNote::NotFinite)),
            codes => {
                let last = codes.group_size().map_or(0, |group_size| inputs % group_size);
                (codes, (last > 0).then_some(PrecisionNote::ShorterGroup { inputs: last }))
            }
        }
    }

    /// Enters how close what was written is.
    fn enter(&mut self, name: &str, weight: &[f32], written: impl Iterator<Item = f32>) {
        let Some(linear) = self.linears.iter_mut().find(|linear| linear.name == name) else { return };
        (linear.cosine, linear.max_abs) = similarity(weight, written);
        (self.done)(linear);
    }
}

impl Quantizer for Maker<'_> {
    fn storage(&mut self, tensors: &Tensors, spec: &TensorSpec) -> Result<Storage, CheckpointError> {
        let &[outputs, inputs] = &spec.shape[..] else { return Ok(Storage::Float(TorchDtype::Float32)) };
        if !spec.is_linear_weight() {
            return Ok(Storage::Float(TorchDtype::Float32));
        }
        let weight = tensors.numbers(&spec.name, &spec.shape)?;
        let (precision, note) = self.fitting(&weight, inputs);
        let shape = [outputs, inputs];
        let before = tensors.storage(&spec.name).unwrap_or(Storage::Float(TorchDtype::Float32));
        self.linears.push(QuantizedLinear {
            name: spec.name.clone(),
            shape,
            precision,
            note,
            bytes_before: before.weight_bytes(shape),
            bytes_after: precision.storage().weight_bytes(shape),
            cosine: 1.0,
            max_abs: 0.0,
        });
        match precision {
            Precision::F32 => self.enter(&spec.name, &weight, weight.iter().copied()),
            Precision::Bf16 => {
                let rounded = weight.iter().map(|value| bf16::from_f32(*value).to_f32());
                self.enter(&spec.name, &weight, rounded);
            }
            Precision::F16 => {
                let rounded = weight.iter().map(|value| f16::from_f32(*value).to_f32());
                self.enter(&spec.name, &weight, rounded);
            }
            Precision::Int8 | Precision::Int4 { .. } | Precision::Int4A8 { .. } => {}
        }
        Ok(precision.storage())
    }

    fn quantize(&mut self, spec: &TensorSpec, weight: &[f32], storage: Storage) -> QuantizedTensor {
        let &[n, k] = &spec.shape[..] else { return QuantizedTensor::empty() };
        let shape = [n, k];
        let tensor = match storage {
            Storage::Int4 { group_size } => {
                let made = Int4Weight::quantize(self.ctx, weight, (n, k), group_size);
                let (codes, scales, zeros) =
                    (made.codes().to_vec(), made.scales().to_vec(), made.zeros().to_vec());
                QuantizedTensor::Int4 { shape, group_size, codes, scales, zeros }
            }
            Storage::Int8 | Storage::Float(_) => {
                let made = Int8Weight::quantize(self.ctx, weight, n, k);
                QuantizedTensor::Int8 { shape, codes: made.codes().to_vec(), scales: made.scales().to_vec() }
            }
        };
        self.enter(&spec.name, weight, tensor.dequantize().into_iter());
        tensor
    }
}

/// Cosine and largest absolute difference. Two vectors of zeros have a cosine of 1.
fn similarity(want: &[f32], got: impl Iterator<Item = f32>) -> (f64, f32) {
    let (mut dot, mut want_square, mut got_square, mut max_abs) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f32);
    for (&want, got) in want.iter().zip(got) {
        max_abs = max_abs.max((want - got).abs());
        let (want, got) = (f64::from(want), f64::from(got));
        dot += want * got;
        want_square += want * want;
        got_square += got * got;
    }
    let norm = (want_square * got_square).sqrt();
    (if norm > 0.0 { dot / norm } else { f64::from(u8::from(want_square == got_square)) }, max_abs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_of_direction_and_of_the_farthest_element() {
        assert_eq!(similarity(&[3.0, 4.0], [6.0, 8.0].into_iter()), (1.0, 4.0));
        assert_eq!(similarity(&[1.0, 0.0], [0.0, 1.0].into_iter()), (0.0, 1.0));
        assert_eq!(similarity(&[0.0], [0.0].into_iter()), (1.0, 0.0));
    }
}
