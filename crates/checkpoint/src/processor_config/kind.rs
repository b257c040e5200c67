//! Which processor, and which resampling filter.
//!
//! The processor is named by `image_processor_type`, with or without a backend at its end; where it is not named, the family
//! decides. Filters are Pillow's numbers, 0 to 5; whether one can be carried out, the image crate decides.

use std::path::Path;

use serde_json::Value;

use crate::config::Family;
use crate::error::CheckpointError;
use crate::json::{self, Fields};

/// The type's key, and its spelling in old files.
const TYPE_KEYS: [&str; 2] = ["image_processor_type", "feature_extractor_type"];
/// What a type name may carry at its end to name a backend.
const BACKEND_SUFFIXES: [&str; 2] = ["Fast", "Pil"];

/// A processor class: its defaults and its order of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessorKind {
    /// Resize bytes, crop, then rescale and normalise in one: DINOv2.
    Bit,
    /// Rescale, resize floats, then normalise: DINOv3.
    DINOv3ViT,
}

impl ProcessorKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Bit, Self::DINOv3ViT];

    /// Transformers' class name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "BitImageProcessor",
            Self::DINOv3ViT => "DINOv3ViTImageProcessor",
        }
    }

    fn from_type(name: &str) -> Option<Self> {
        let bare = BACKEND_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        Self::ALL.into_iter().find(|kind| kind.name() == bare)
    }

    /// The type that Transformers takes for a family whose file names none.
    fn of_family(family: Option<Family>) -> Option<Self> {
        match family? {
            Family::Dinov2 => Some(Self::Bit),
            Family::DINOv3Vit => Some(Self::DINOv3ViT),
            Family::Dinov2WithRegisters | Family::DINOv3ConvNext => None,
        }
    }

    pub(super) fn read(fields: &Fields<'_>, family: Option<Family>) -> Result<Self, CheckpointError> {
        let known = Self::ALL.map(Self::name).to_vec();
        let path = fields.path();
        match TYPE_KEYS.into_iter().find_map(|key| fields.get(key).filter(|value| !value.is_null())) {
            Some(value) => parse_type(path, value, known),
            None => Self::of_family(family)
                .ok_or_else(|| CheckpointError::NoProcessorType { path: path.into(), known }),
        }
    }
}

fn parse_type(
    path: &Path,
    value: &Value,
    known: Vec<&'static str>,
) -> Result<ProcessorKind, CheckpointError> {
    let name = value.as_str().map(|name| name.replace("FeatureExtractor", "ImageProcessor"));
    name.and_then(|name| ProcessorKind::from_type(&name)).ok_or_else(|| {
        CheckpointError::UnknownProcessorType { path: path.into(), got: json::describe(value), known }
    })
}

/// A resampling filter, numbered as in Pillow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resample {
    /// 0.
    Nearest,
    /// 1.
    Lanczos,
    /// 2.
    Bilinear,
    /// 3.
    Bicubic,
    /// 4.
    Box,
    /// 5.
    Hamming,
}

impl Resample {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Nearest, Self::Lanczos, Self::Bilinear, Self::Bicubic, Self::Box, Self::Hamming];

    /// The number that the JSON holds.
    pub fn code(self) -> usize {
        self as usize
    }

    /// The filter of that number.
    pub fn from_code(code: usize) -> Option<Self> {
        Self::ALL.get(code).copied()
    }

    pub(super) fn read(fields: &Fields<'_>, default: Option<Self>) -> Result<Option<Self>, CheckpointError> {
        let range = 0..=Self::ALL.len() - 1;
        fields.nullable(
            "resample",
            default,
            || format!("an integer from {} to {}", range.start(), range.end()),
            |value| json::int(value, &range).and_then(Self::from_code),
        )
    }
}
