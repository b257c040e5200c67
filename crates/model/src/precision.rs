//! What the weights of linear layers are held and multiplied in, and what became of that in a model that was loaded.
//!
//! Only weights of `nn.Linear` are meant, as in torchao: the projections of attention, the MLP, ConvNeXt's pointwise layers, the
//! classifier. Patch embedding, ConvNeXt's convolutions, norms, layer scale, tokens, tables and biases stay f32.

use crate::ModelError;
use dinoxide_checkpoint::{
    Checkpoint, Storage,
    config::{Quantization, TorchDtype},
    limits::MAX_GROUP_SIZE,
};
use std::{fmt, str::FromStr};

/// The format of the linear layers' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// 32-bit floats.
    F32,
    /// bfloat16, rounded to the nearest even. Where the processor multiplies bf16 at twice the rate (AMD from Zen 4 on), activations
    /// are rounded to it as well, those of the fused attention included, and sums are f32; elsewhere it is widened to f32 to be
    /// multiplied.
    Bf16,
    /// IEEE half precision, rounded to the nearest even. Where the processor multiplies f16 (AVX-512 FP16: Intel from Sapphire Rapids
    /// on), activations are rounded to it as well, a power of two a row keeping them in range, and sums are f16 for 64 products, then f32;
    /// elsewhere it is widened to f32 to be multiplied. Attention is f32. A weight beyond its range leaves its layer in f32.
    F16,
    /// Signed bytes, a scale an output; activations in bytes as well, a scale and a zero a row, found as they come, without a row's
    /// outliers, which are multiplied in f32. The fused attention is that of `Bf16`.
    Int8,
    /// 4 bits, a scale and a zero for each output and group of inputs (torchao's scheme); activations in f32.
    Int4 {
        /// Inputs of a group; where they are no multiple of it, the last group is shorter.
        group_size: usize,
    },
    /// As `Int4`, with activations in signed bytes, a scale a row, outliers and attention as in `Int8`. Groups that are no multiple of
    /// 8 have activations in f32.
    Int4A8 {
        /// Inputs of a group; where they are no multiple of it, the last group is shorter.
        group_size: usize,
    },
}

impl Precision {
    /// Inputs of a group of 4-bit weights when none are named, as in torchao.
    pub const DEFAULT_GROUP_SIZE: usize = 128;

    /// An error where a group can have no such size.
    pub(crate) fn check_group_size(self) -> Result<(), ModelError> {
        match self.group_size() {
            Some(got) if !(1..=MAX_GROUP_SIZE).contains(&got) => Err(ModelError::GroupSize { got }),
            _ => Ok(()),
        }
    }

    /// The names that [`FromStr`] reads.
    pub const NAMES: [&'static str; 6] = ["f32", "bf16", "f16", "int8", "int4", "int4-a8"];

    /// Its name, without the group size.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Int8 => "int8",
            Self::Int4 { .. } => "int4",
            Self::Int4A8 { .. } => "int4-a8",
        }
    }

    /// Inputs of a group, where there are groups.
    #[must_use]
    pub fn group_size(self) -> Option<usize> {
        match self {
            Self::Int4 { group_size } | Self::Int4A8 { group_size } => Some(group_size),
            Self::F32 | Self::Bf16 | Self::F16 | Self::Int8 => None,
        }
    }

    /// The same in groups of another size, where there are groups.
    #[must_use]
    pub fn with_group_size(self, group_size: usize) -> Self {
        match self {
            Self::Int4 { .. } => Self::Int4 { group_size },
            Self::Int4A8 { .. } => Self::Int4A8 { group_size },
            other => other,
        }
    }

    /// What a checkpoint holds such weights in.
    #[must_use]
    pub fn storage(self) -> Storage {
        match self {
            Self::F32 => Storage::Float(TorchDtype::Float32),
            Self::Bf16 => Storage::Float(TorchDtype::BFloat16),
            Self::F16 => Storage::Float(TorchDtype::Float16),
            Self::Int8 => Storage::Int8,
            Self::Int4 { group_size } | Self::Int4A8 { group_size } => Storage::Int4 { group_size },
        }
    }

    /// What the weight of this canonical name is held in when nothing is asked: as the file holds it; f32 where there is none, or
    /// where its parts differ.
    #[must_use]
    pub fn of_tensor(checkpoint: &Checkpoint, name: &str) -> Self {
        let quantization = checkpoint.config().common().quantization;
        let int8_activations =
            matches!(quantization, Some(Quantization::Int4 { int8_activations: true, .. }));
        checkpoint.tensors().storage(name).map_or(Self::F32, |storage| Self::of(storage, int8_activations))
    }

    /// The precision that holds a tensor of a file as it is there.
    pub(crate) fn of(storage: Storage, int8_activations: bool) -> Self {
        match storage {
            Storage::Float(TorchDtype::BFloat16) => Self::Bf16,
            Storage::Float(TorchDtype::Float16) => Self::F16,
            Storage::Float(TorchDtype::Float32 | TorchDtype::Float64) => Self::F32,
            Storage::Int8 => Self::Int8,
            Storage::Int4 { group_size } if int8_activations => Self::Int4A8 { group_size },
            Storage::Int4 { group_size } => Self::Int4 { group_size },
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Precision {
    type Err = ModelError;

    /// Reads a name; 4 bits come in groups of [`Self::DEFAULT_GROUP_SIZE`].
    fn from_str(text: &str) -> Result<Self, ModelError> {
        let group_size = Self::DEFAULT_GROUP_SIZE;
        match text {
            "f32" => Ok(Self::F32),
            "bf16" => Ok(Self::Bf16),
            "f16" => Ok(Self::F16),
            "int8" => Ok(Self::Int8),
            "int4" => Ok(Self::Int4 { group_size }),
            "int4-a8" => Ok(Self::Int4A8 { group_size }),
            _ => Err(ModelError::UnknownPrecision { got: text.to_owned() }),
        }
    }
}

/// What became of the weight of a linear layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearPrecision {
    /// The tensor's canonical name.
    pub name: String,
    /// Outputs and inputs.
    pub shape: [usize; 2],
    /// What it is held in.
    pub precision: Precision,
    /// What is to be said of it.
    pub note: Option<PrecisionNote>,
    /// Bytes in f32.
    pub bytes_f32: u64,
    /// Bytes as it is held, packed: scales, zeros and padding included. Of a layer that is packed with others, its share.
    pub bytes: u64,
}

/// Why a weight is not held as it was asked, or in which way it departs from the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum PrecisionNote {
    /// f32: a weight is beyond the range of f16.
    BeyondF16 {
        /// The largest magnitude.
        largest: f32,
    },
    /// Held in f16, widened to f32 to be multiplied, although the processor multiplies f16: a weight is too large for sums of f16 to
    /// be fine enough.
    MultipliedInF32 {
        /// The largest magnitude.
        largest: f32,
    },
    /// f32: a weight is infinite or no number, or the range of a group of 4-bit weights would be.
    NotFinite,
    /// f32: products of bytes may add up to more than 32 bits hold.
    TooManyInputs {
        /// Inputs of the layer.
        inputs: usize,
    },
    /// f32: the file holds the weights that are packed together in different formats.
    MixedParts,
    /// The last group of each output is shorter than the others.
    ShorterGroup {
        /// Its inputs.
        inputs: usize,
    },
}

impl fmt::Display for PrecisionNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondF16 { largest } => write!(f, "a weight of {largest:e} is beyond f16"),
            Self::MultipliedInF32 { largest } => {
                write!(f, "multiplied in f32, as a weight of {largest:e} is large for sums of f16")
            }
            Self::NotFinite => f.write_str("a weight, or the range of a group, is not finite"),
            Self::TooManyInputs { inputs } => write!(f, "{inputs} inputs are too many for sums of bytes"),
            Self::MixedParts => f.write_str("the file holds what is packed together in different formats"),
            Self::ShorterGroup { inputs } => write!(f, "the last group has {inputs} inputs"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Precision::NAMES {
            assert_eq!(name.parse::<Precision>().unwrap().to_string(), name);
        }
        assert_eq!("int4".parse::<Precision>().unwrap().group_size(), Some(128));
        assert_eq!(Precision::Int4 { group_size: 1 }.with_group_size(32).group_size(), Some(32));
        assert_eq!(Precision::Int8.with_group_size(32), Precision::Int8);
        for wrong in ["", "F32", "fp8", "int", "int4_a8"] {
            assert!(
                matches!(wrong.parse::<Precision>(), Err(ModelError::UnknownPrecision { .. })),
                "{wrong}"
            );
        }
    }
}
