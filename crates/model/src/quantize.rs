//! Writes a checkpoint whose linear layers' weights are in another precision, weight by weight: memory holds one of them.
//!
//! Each is scanned once before anything is written, as the file's header says of every tensor what it is in: a weight that the
//! precision cannot hold stays in f32. Everything else is written in f32.

use crate::{
    ModelError, Precision, PrecisionNote,
    layers::packing::{beyond_f16, can_be_codes, slices},
};
use dinoxide_checkpoint::{
    Checkpoint, CheckpointError, Floats, QuantizedTensor, Quantizer, SaveOptions, Storage, TensorSpec,
    Tensors,
    config::{Quantization, TorchDtype},
};
use dinoxide_kernels::{Context, FloatSlice, Int4Weight, Int8Weight};
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
    fn fitting(&self, weight: &[FloatSlice<'_>], inputs: usize) -> (Precision, Option<PrecisionNote>) {
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

    /// Enters how close what was written is; of parts, one after the other.
    fn enter(&mut self, name: &str, sums: &[Sums]) {
        let Some(linear) = self.linears.iter_mut().find(|linear| linear.name == name) else { return };
        let sums = sums.iter().fold(Sums::default(), Sums::with);
        (linear.cosine, linear.max_abs) = (sums.cosine(), sums.max_abs);
        (self.done)(linear);
    }
}

impl Quantizer for Maker<'_> {
    fn storage(&mut self, tensors: &Tensors, spec: &TensorSpec) -> Result<Storage, CheckpointError> {
        let &[outputs, inputs] = &spec.shape[..] else { return Ok(Storage::Float(TorchDtype::Float32)) };
        if !spec.is_linear_weight() {
            return Ok(Storage::Float(TorchDtype::Float32));
        }
        let floats = tensors.floats(&spec.name, &spec.shape)?;
        let weight: Vec<_> = slices(&floats).collect();
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
        let round: fn(f32) -> f32 = match precision {
            Precision::F32 => |value| value,
            Precision::Bf16 => |value| bf16::from_f32(value).to_f32(),
            Precision::F16 => |value| f16::from_f32(value).to_f32(),
            Precision::Int8 | Precision::Int4 { .. } | Precision::Int4A8 { .. } => {
                return Ok(precision.storage());
            }
        };
        let rounded = |part: &FloatSlice<'_>| {
            Sums::of(self.ctx, *part, inputs, |row, written| {
                part.slice(row * inputs..(row + 1) * inputs).widen(written);
                written.iter_mut().for_each(|value| *value = round(*value));
            })
        };
        let sums: Vec<_> = weight.iter().map(rounded).collect();
        self.enter(&spec.name, &sums);
        Ok(precision.storage())
    }

    fn quantize(&mut self, spec: &TensorSpec, weight: &Floats<'_>, storage: Storage) -> Vec<QuantizedTensor> {
        let (ctx, &[outputs, k]) = (self.ctx, &spec.shape[..]) else { return Vec::new() };
        let quantize = |part: FloatSlice<'_>| {
            let n = part.len().checked_div(k).unwrap_or(outputs);
            match storage {
                Storage::Int4 { group_size } => {
                    let made = Int4Weight::quantize(ctx, part, (n, k), group_size);
                    let sums = Sums::of(ctx, part, k, |row, written| made.dequantize_row(row, written));
                    let (codes, scales, zeros) =
                        (made.codes().to_vec(), made.scales().to_vec(), made.zeros().to_vec());
                    (QuantizedTensor::Int4 { shape: [n, k], group_size, codes, scales, zeros }, sums)
                }
                Storage::Int8 | Storage::Float(_) => {
                    let made = Int8Weight::quantize(ctx, part, n, k);
                    let sums = Sums::of(ctx, part, k, |row, written| made.dequantize_row(row, written));
                    let (codes, scales) = (made.codes().to_vec(), made.scales().to_vec());
                    (QuantizedTensor::Int8 { shape: [n, k], codes, scales }, sums)
                }
            }
        };
        let (tensors, sums): (Vec<_>, Vec<_>) = slices(weight).map(quantize).unzip();
        self.enter(&spec.name, &sums);
        tensors
    }
}

/// Numbers that are summed side by side.
const LANES: usize = 8;

/// Rows that one task compares.
const ROWS_A_TASK: usize = 16;

/// What tells how close numbers are to others: Σ w·ŵ, Σ w², Σ ŵ², max |w − ŵ|.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    dot: f64,
    want_square: f64,
    got_square: f64,
    max_abs: f32,
}

impl Sums {
    /// Of a weight with `inputs` inputs, against rows that `written` fills.
    fn of(
        ctx: &Context,
        weight: FloatSlice<'_>,
        inputs: usize,
        written: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Self {
        let mut sums = vec![Self::default(); weight.len().checked_div(inputs).unwrap_or(0)];
        ctx.for_each_chunk_mut(&mut sums, ROWS_A_TASK, |task, sums| {
            let (mut want, mut got) = (vec![0.0; inputs], vec![0.0; inputs]);
            for (sums, row) in sums.iter_mut().zip(task * ROWS_A_TASK..) {
                weight.slice(row * inputs..(row + 1) * inputs).widen(&mut want);
                written(row, &mut got);
                *sums = Self::of_row(&want, &got);
            }
        });
        sums.iter().fold(Self::default(), Self::with)
    }

    fn of_row(want: &[f32], got: &[f32]) -> Self {
        let mut lanes = [Self::default(); LANES];
        for (want, got) in want.chunks(LANES).zip(got.chunks(LANES)) {
            for ((lane, &want), &got) in lanes.iter_mut().zip(want).zip(got) {
                lane.max_abs = lane.max_abs.max((want - got).abs());
                let (want, got) = (f64::from(want), f64::from(got));
                lane.dot += want * got;
                lane.want_square += want * want;
                lane.got_square += got * got;
            }
        }
        lanes.iter().fold(Self::default(), Self::with)
    }

    fn with(self, other: &Self) -> Self {
        Self {
            dot: self.dot + other.dot,
            want_square: self.want_square + other.want_square,
            got_square: self.got_square + other.got_square,
            max_abs: self.max_abs.max(other.max_abs),
        }
    }

    /// That of two vectors of zeros is 1.
    fn cosine(&self) -> f64 {
        let norm = (self.want_square * self.got_square).sqrt();
        match norm > 0.0 {
            true => self.dot / norm,
            false => f64::from(u8::from(self.want_square == self.got_square)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_of_direction_and_of_the_farthest_element() {
        let similarity = |want: &[f32], got: &[f32]| {
            let sums = Sums::of_row(want, got);
            (sums.cosine(), sums.max_abs)
        };
        assert_eq!(similarity(&[3.0, 4.0], &[6.0, 8.0]), (1.0, 4.0));
        assert_eq!(similarity(&[1.0, 0.0], &[0.0, 1.0]), (0.0, 1.0));
        assert_eq!(similarity(&[0.0], &[0.0]), (1.0, 0.0));
        let (mut want, mut got) = ([1.0; 20], [1.0; 20]);
        (want[19], got[19]) = (2.0, -1.0);
        assert_eq!(similarity(&want, &got), (17.0 / (23.0_f64 * 20.0).sqrt(), 3.0));
    }

    #[test]
    fn rows_are_compared_with_what_was_written_of_them() {
        let ctx = Context::new(dinoxide_kernels::ContextOptions { isa: None, threads: Some(2) }).unwrap();
        let weight: Vec<f32> = (0..40 * 3).map(|i| i as f32).collect();
        let sums = Sums::of(&ctx, (&weight).into(), 3, |row, written| {
            written.copy_from_slice(&weight[row * 3..][..3]);
            if row == 33 {
                written[1] = 0.0;
            }
        });
        assert_eq!((sums.want_square - sums.got_square, sums.max_abs), (100.0 * 100.0, 100.0));
        assert_eq!(sums.dot, sums.got_square);
    }
}
