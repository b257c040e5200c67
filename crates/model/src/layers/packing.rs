//! The weights of one or several linear layers over the same input, packed as one in the precision that was asked, or in that of the
//! file.
//!
//! Codes that the file holds are taken as they are, 4-bit ones in their own groups; others are made of its floats. What the
//! precision cannot hold (a weight beyond f16, one that is not finite in codes) leaves the layer in f32, and the report says so.

use crate::{
    LinearPrecision, ModelError, Precision, PrecisionNote, layers::linear::LinearShape, weights::Weights,
};
use dinoxide_checkpoint::{FloatPart, Floats, Numbers, QuantizedTensor, Storage};
use dinoxide_kernels::{Context, FloatSlice, Int4Activations, Int4Weight, Int8Weight, PackedWeight};

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

    fn floats(&self) -> Result<Vec<Floats<'w>>, ModelError> {
        self.parts().map(|(place, shape)| place.floats("weight", &shape)).collect()
    }

    fn f32(&self) -> Result<PackedWeight, ModelError> {
        let numbers = self.numbers()?;
        let parts: Vec<&[f32]> = numbers.iter().map(|part| &**part).collect();
        Ok(PackedWeight::pack_stacked(self.context(), &parts, self.outputs(), self.inputs()))
    }

    fn bf16(&self) -> Result<PackedWeight, ModelError> {
        let floats = self.floats()?;
        let parts: Vec<_> = floats.iter().flat_map(slices).collect();
        Ok(PackedWeight::pack_bf16(self.context(), &parts, self.outputs(), self.inputs()))
    }

    fn f16(&self) -> Result<Packed, ModelError> {
        let floats = self.floats()?;
        let parts: Vec<_> = floats.iter().flat_map(slices).collect();
        match PackedWeight::pack_f16(self.context(), &parts, self.outputs(), self.inputs()) {
            Some(packed) => {
                let widened = self.context().multiplies_f16() && !packed.multiplies_f16();
                let note = || PrecisionNote::MultipliedInF32 { largest: largest_finite(&parts) };
                Ok(Ok((packed, widened.then(note))))
            }
            None => Ok(Err(beyond_f16(&parts).map(|largest| PrecisionNote::BeyondF16 { largest }))),
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

/// The int8 codes of a weight, see [`codes`].
fn int8(place: &Weights<'_>, shape: [usize; 2]) -> Result<Option<Vec<Int8Weight>>, ModelError> {
    let [_, k] = shape;
    let own = |tensor| match tensor {
        QuantizedTensor::Int8 { codes, scales, .. } => Some(Int8Weight::new(codes, scales, k)),
        QuantizedTensor::Int4 { .. } => None,
    };
    let quantize = |part: FloatSlice<'_>, n| Int8Weight::quantize(place.context(), part, n, k);
    codes(place, shape, Precision::Int8, own, quantize)
}

/// The int4 codes of a weight, see [`codes`]; the file's own serve where they are in groups of `group`.
fn int4(place: &Weights<'_>, shape: [usize; 2], group: usize) -> Result<Option<Vec<Int4Weight>>, ModelError> {
    let [_, k] = shape;
    let own = |tensor| match tensor {
        QuantizedTensor::Int4 { shape: [n, k], group_size, codes, scales, zeros } if group_size == group => {
            Some(Int4Weight::new(codes, (scales, zeros), (n, k), group))
        }
        _ => None,
    };
    let quantize = |part: FloatSlice<'_>, n| Int4Weight::quantize(place.context(), part, (n, k), group);
    codes(place, shape, Precision::Int4 { group_size: group }, own, quantize)
}

/// The codes of a weight, one part after the other: the file's own where `own` takes all of them, else what `quantize` makes of its
/// floats and their rows; nothing where one of these has no code.
fn codes<T>(
    place: &Weights<'_>,
    shape: [usize; 2],
    precision: Precision,
    own: impl Fn(QuantizedTensor) -> Option<T>,
    quantize: impl Fn(FloatSlice<'_>, usize) -> T,
) -> Result<Option<Vec<T>>, ModelError> {
    let [n, k] = shape;
    let tensors = place.quantized("weight", &shape)?;
    if let Some(weights) = tensors.and_then(|tensors| tensors.into_iter().map(own).collect()) {
        return Ok(Some(weights));
    }
    let floats = place.floats("weight", &shape)?;
    let parts: Vec<_> = slices(&floats).collect();
    if !can_be_codes(&parts, precision) {
        return Ok(None);
    }
    let quantize = |part: &FloatSlice<'_>| quantize(*part, part.len().checked_div(k).unwrap_or(n));
    Ok(Some(parts.iter().map(quantize).collect()))
}

/// Whether codes can be made of a weight: all of it is finite, and so is the difference of any two where 4-bit codes want their range.
pub(crate) fn can_be_codes(weight: &[FloatSlice<'_>], precision: Precision) -> bool {
    let most = if precision.group_size().is_some() { f32::MAX / 2.0 } else { f32::MAX };
    weight.iter().all(|part| part.all_within(most))
}

/// The numbers of the parts of a weight.
pub(crate) fn slices<'a>(floats: &'a Floats<'_>) -> impl Iterator<Item = FloatSlice<'a>> {
    floats.parts().iter().map(|part| match part {
        FloatPart::F32(values) => FloatSlice::F32(values),
        FloatPart::Bf16(values) => FloatSlice::Bf16(values),
        FloatPart::F16(values) => FloatSlice::F16(values),
        FloatPart::Converted(values) => FloatSlice::F32(values),
    })
}

/// The largest magnitude, where f16 cannot hold it.
pub(crate) fn beyond_f16(parts: &[FloatSlice<'_>]) -> Option<f32> {
    Some(largest_finite(parts)).filter(|largest| *largest >= BEYOND_F16)
}

/// The largest magnitude of a number that is not infinite.
fn largest_finite(parts: &[FloatSlice<'_>]) -> f32 {
    parts.iter().map(|part| part.largest_finite()).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_and_what_f16_cannot_hold_is_found() {
        let codes = |values: &[f32], precision| can_be_codes(&[values.into(), (&[1.0]).into()], precision);
        let (int8, int4) = (Precision::Int8, Precision::Int4 { group_size: 1 });
        assert!(codes(&[0.0, -1.0, f32::MAX], int8) && codes(&[], int8));
        assert!(!codes(&[0.0, f32::NEG_INFINITY], int8) && !codes(&[-f32::NAN, 1.0], int4));
        // A difference of two floats may be infinite.
        assert!(!codes(&[3e38, -3e38], int4) && codes(&[1.7e38, -1.7e38], int4));
        let beyond = |values: &[f32]| beyond_f16(&[values.into(), (&[1.0]).into()]);
        assert_eq!(beyond(&[65519.0, -1.0, f32::INFINITY, f32::NAN]), None);
        assert_eq!(beyond(&[-65520.0, 1.0]), Some(65520.0));
        assert!(half::f16::from_f32(65519.0).is_finite() && half::f16::from_f32(65520.0).is_infinite());
    }
}
