//! The weights of one or several linear layers over the same input, packed as one in the precision that was asked, or in that of the
//! file.
//!
//! Codes that the file holds are taken as they are, 4-bit ones in their own groups; others are made of its floats. What the
//! precision cannot hold (a weight beyond f16, one that is not finite in codes) leaves the layer in f32, and the report says so.

use crate::{
    LinearPrecision, ModelError, Precision, PrecisionNote, layers::linear::LinearShape, weights::Weights,
};
use dinoxide_checkpoint::{Numbers, QuantizedTensor, Storage};
use dinoxide_kernels::{Context, Int4Activations, Int4Weight, Int8Weight, PackedWeight};

/// From here on, a number rounds to f16's infinity: half a step beyond its largest, 65504.
const BEYOND_F16: f32 = 65520.0;

/// Reads and packs `weight` [outputs, inputs] of each place; all have as many inputs.
pub(crate) fn pack(places: &[Weights<'_>], shapes: &[LinearShape]) -> Result<PackedWeight, ModelError> {
    let stack = Stack { places, shapes };
    let (asked, note) = stack.asked()?;
    let packed = match asked {
        Precision::F32 => Err(note),
        Precision::Bf16 => Ok((stack.bf16()?, None)),
        Precision::F16 => stack.f16()?,
        Precision::Int8 => stack.int8()?,
        Precision::Int4 { group_size } => stack.int4(group_size, Int4Activations::Float)?,
        Precision::Int4A8 { group_size } => stack.int4(group_size, Int4Activations::Int8)?,
    };
    let (packed, used, note) = match packed {
        Ok((packed, note)) => (packed, asked, note),
        Err(note) => (stack.f32()?, Precision::F32, note),
    };
    stack.report(&packed, used, note);
    Ok(packed)
}

/// A packed weight and what is to be said of it; or why it has to be f32.
type Packed = Result<(PackedWeight, Option<PrecisionNote>), Option<PrecisionNote>>;

/// Weights that are packed together: their outputs lie side by side.
struct Stack<'a, 'w> {
    places: &'a [Weights<'w>],
    shapes: &'a [LinearShape],
}

impl<'w> Stack<'_, 'w> {
    /// What is asked of these weights; without a wish, what the file holds all of them in.
    fn asked(&self) -> Result<(Precision, Option<PrecisionNote>), ModelError> {
        let (asked, int8_activations) = self.places[0].precision();
        asked.map_or(Ok(()), Precision::check_group_size)?;
        Ok(match (asked, self.held()) {
            // Codes in other groups could only be worse.
            (Some(asked), Some(Storage::Int4 { group_size })) => (asked.with_group_size(group_size), None),
            (Some(asked), _) => (asked, None),
            (None, Some(held)) => (Precision::of(held, int8_activations), None),
            (None, None) => (Precision::F32, Some(PrecisionNote::MixedParts)),
        })
    }

    /// What the file holds these weights in, if it is one thing.
    fn held(&self) -> Option<Storage> {
        let held = |place: &Weights<'_>| place.storage("weight");
        held(&self.places[0]).filter(|first| self.places.iter().all(|place| held(place) == Some(*first)))
    }

    fn context(&self) -> &'w Context {
        self.places[0].context()
    }

    fn inputs(&self) -> usize {
        self.shapes[0].inputs
    }

    fn outputs(&self) -> usize {
        self.shapes.iter().map(|shape| shape.outputs).sum()
    }

    /// Each place with the shape of its weight.
    fn parts(&self) -> impl Iterator<Item = (&Weights<'w>, [usize; 2])> {
        self.places.iter().zip(self.shapes.iter().map(|shape| [shape.outputs, shape.inputs]))
    }

    fn numbers(&self) -> Result<Vec<Numbers<'w>>, ModelError> {
        self.parts().map(|(place, shape)| place.numbers("weight", &shape)).collect()
    }

    fn f32(&self) -> Result<PackedWeight, ModelError> {
        let numbers = self.numbers()?;
        let parts: Vec<&[f32]> = numbers.iter().map(|part| &**part).collect();
        Ok(PackedWeight::pack_stacked(self.context(), &parts, self.outputs(), self.inputs()))
    }

    fn bf16(&self) -> Result<PackedWeight, ModelError> {
        let numbers = self.numbers()?;
        let parts: Vec<&[f32]> = numbers.iter().map(|part| &**part).collect();
        Ok(PackedWeight::pack_bf16(self.context(), &parts, self.outputs(), self.inputs()))
    }

    fn f16(&self) -> Result<Packed, ModelError> {
        let numbers = self.numbers()?;
        let parts: Vec<&[f32]> = numbers.iter().map(|part| &**part).collect();
        match PackedWeight::pack_f16(self.context(), &parts, self.outputs(), self.inputs()) {
            Some(packed) => Ok(Ok((packed, None))),
            None => {
                let largest = parts.iter().map(|part| largest_finite(part)).fold(0.0, f32::max);
                Ok(Err(Some(PrecisionNote::BeyondF16 { largest })))
            }
        }
    }

    fn int8(&self) -> Result<Packed, ModelError> {
        let inputs = self.inputs();
        if inputs > Int8Weight::MAX_K {
            return Ok(Err(Some(PrecisionNote::TooManyInputs { inputs })));
        }
        let mut weights = Vec::new();
        for (place, shape) in self.parts() {
            match int8(place, shape)? {
                Some(parts) => weights.extend(parts),
                None => return Ok(Err(Some(PrecisionNote::NotFinite))),
            }
        }
        Ok(Ok((PackedWeight::pack_int8(self.context(), &weights), None)))
    }

    fn int4(&self, group_size: usize, activations: Int4Activations) -> Result<Packed, ModelError> {
        let mut weights = Vec::new();
        for (place, shape) in self.parts() {
            match int4(place, shape, group_size)? {
                Some(parts) => weights.extend(parts),
                None => return Ok(Err(Some(PrecisionNote::NotFinite))),
            }
        }
        let inputs = self.inputs() % group_size;
        let note = (inputs > 0).then_some(PrecisionNote::ShorterGroup { inputs });
        Ok(Ok((PackedWeight::pack_int4(self.context(), &weights, activations), note)))
    }

    /// Enters what became of each weight.
    fn report(&self, packed: &PackedWeight, precision: Precision, note: Option<PrecisionNote>) {
        let outputs = self.outputs().max(1) as u64;
        for (place, shape) in self.parts() {
            let [rows, columns] = shape.map(|side| side as u64);
            place.report(LinearPrecision {
                name: place.name("weight"),
                shape,
                precision,
                note,
                bytes_f32: 4 * rows * columns,
                bytes: packed.bytes() as u64 * rows / outputs,
            });
        }
    }
}

/// The codes of a weight: the file's own, else made of its floats; nothing where one of these has none.
fn int8(place: &Weights<'_>, shape: [usize; 2]) -> Result<Option<Vec<Int8Weight>>, ModelError> {
    let [n, k] = shape;
    if let Some(tensors) = place.quantized("weight", &shape)? {
        let weight = |tensor| match tensor {
            QuantizedTensor::Int8 { codes, scales, .. } => Some(Int8Weight::new(codes, scales, k)),
            QuantizedTensor::Int4 { .. } => None,
        };
        if let Some(weights) = tensors.into_iter().map(weight).collect() {
            return Ok(Some(weights));
        }
    }
    let weight = place.numbers("weight", &shape)?;
    Ok(can_be_codes(&weight, Precision::Int8)
        .then(|| vec![Int8Weight::quantize(place.context(), &weight, n, k)]))
}

/// As [`int8`], in groups of `group`; the file's own codes serve where they are in such groups.
fn int4(place: &Weights<'_>, shape: [usize; 2], group: usize) -> Result<Option<Vec<Int4Weight>>, ModelError> {
    let [n, k] = shape;
    if let Some(tensors) = place.quantized("weight", &shape)? {
        let weight = |tensor| match tensor {
            QuantizedTensor::Int4 { shape: [n, k], group_size, codes, scales, zeros }
                if group_size == group =>
            {
                Some(Int4Weight::new(codes, (scales, zeros), (n, k), group))
            }
            _ => None,
        };
        if let Some(weights) = tensors.into_iter().map(weight).collect() {
            return Ok(Some(weights));
        }
    }
    let weight = place.numbers("weight", &shape)?;
    let quantize = || vec![Int4Weight::quantize(place.context(), &weight, (n, k), group)];
    Ok(can_be_codes(&weight, Precision::Int4 { group_size: group }).then(quantize))
}

/// Bits of a float but its sign: as numbers in the order of magnitudes.
fn magnitude(value: f32) -> u32 {
    value.abs().to_bits()
}

/// Whether codes can be made of a weight: all of it is finite, and so is the difference of any two where 4-bit codes want their range.
pub(crate) fn can_be_codes(weight: &[f32], precision: Precision) -> bool {
    let most = if precision.group_size().is_some() { f32::MAX / 2.0 } else { f32::MAX };
    weight.iter().fold(0, |most, value| magnitude(*value).max(most)) <= most.to_bits()
}

/// The largest magnitude of a number that is not infinite.
fn largest_finite(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |most: f32, value| if value.is_finite() { most.max(value.abs()) } else { most })
}

/// The largest magnitude, where f16 cannot hold it.
pub(crate) fn beyond_f16(values: &[f32]) -> Option<f32> {
    Some(largest_finite(values)).filter(|largest| *largest >= BEYOND_F16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_and_what_f16_cannot_hold_is_found() {
        let (int8, int4) = (Precision::Int8, Precision::Int4 { group_size: 1 });
        assert!(can_be_codes(&[0.0, -1.0, f32::MAX], int8) && can_be_codes(&[], int8));
        assert!(!can_be_codes(&[0.0, f32::NEG_INFINITY], int8) && !can_be_codes(&[-f32::NAN, 1.0], int4));
        // A difference of two floats may be infinite.
        assert!(!can_be_codes(&[3e38, -3e38], int4) && can_be_codes(&[1.7e38, -1.7e38], int4));
        assert_eq!(beyond_f16(&[65519.0, -1.0, f32::INFINITY, f32::NAN]), None);
        assert_eq!(beyond_f16(&[-65520.0, 1.0]), Some(65520.0));
        assert!(half::f16::from_f32(65519.0).is_finite() && half::f16::from_f32(65520.0).is_infinite());
    }
}
