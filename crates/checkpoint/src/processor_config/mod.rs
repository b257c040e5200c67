//! `preprocessor_config.json`: how a picture becomes `pixel_values`.
//!
//! A missing key takes the default of the processor's class; a `null` does not: a null flag is off, and a null value is an
//! error once a step needs it (`validate`). The type decides defaults and the order of steps; `Fast` and `Pil` at its end
//! name a backend, not a type. A `processor_config.json` with an `image_processor` entry shadows the file.
//! Source: `image_processing_base.py`, `image_processing_utils.py`, `auto/image_processing_auto.py` of Transformers 5.24.0.

use std::path::Path;

use serde_json::{Map, Value};

use crate::config::Family;
use crate::error::CheckpointError;
use crate::json::{self, Fields};
use crate::limits::MAX_PROCESSOR_CHANNELS;

mod file;
mod kind;
mod size;
mod write;

pub(crate) use file::{PREPROCESSOR_FILE, ProcessorFile};
pub use kind::{ProcessorKind, Resample};
pub use size::SizeSpec;

/// A class and the object of its file.
type TypedObject = (ProcessorKind, Map<String, Value>);

/// How a picture becomes `pixel_values`.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorConfig {
    /// Which processor, and so which order of steps.
    pub kind: ProcessorKind,
    /// Whether pictures of other modes are turned into RGB.
    pub do_convert_rgb: bool,
    /// Whether to resize.
    pub do_resize: bool,
    /// The size to resize to.
    pub size: Option<SizeSpec>,
    /// The filter to resize with.
    pub resample: Option<Resample>,
    /// What a single number as `size` meant: a square, or the shortest edge.
    pub default_to_square: bool,
    /// Whether to crop around the centre.
    pub do_center_crop: bool,
    /// The size to crop to.
    pub crop_size: Option<SizeSpec>,
    /// Whether to multiply by `rescale_factor`.
    pub do_rescale: bool,
    /// The factor, 1/255 by default.
    pub rescale_factor: Option<f64>,
    /// Whether to subtract the mean and divide by the standard deviation.
    pub do_normalize: bool,
    /// Mean of each channel; one entry serves all channels.
    pub image_mean: Option<Vec<f64>>,
    /// Standard deviation of each channel; one entry serves all channels.
    pub image_std: Option<Vec<f64>>,
    /// Whether to pad.
    pub do_pad: bool,
    /// The size to pad to; without it, that of the largest picture of the batch.
    pub pad_size: Option<SizeSpec>,
}

impl ProcessorConfig {
    /// The config of a processor class with nothing set: what Transformers' constructor gives.
    pub fn new(kind: ProcessorKind) -> Self {
        match kind {
            ProcessorKind::Bit => Self {
                kind,
                do_convert_rgb: true,
                do_resize: true,
                size: Some(SizeSpec::ShortestEdge { shortest_edge: 224 }),
                resample: Some(Resample::Bicubic),
                default_to_square: false,
                do_center_crop: true,
                crop_size: Some(SizeSpec::HeightWidth { height: 224, width: 224 }),
                do_rescale: true,
                rescale_factor: Some(1.0 / 255.0),
                do_normalize: true,
                // The statistics of CLIP's training set; DINOv2's files give ImageNet's.
                image_mean: Some(vec![0.48145466, 0.4578275, 0.40821073]),
                image_std: Some(vec![0.26862954, 0.26130258, 0.27577711]),
                do_pad: false,
                pad_size: None,
            },
            ProcessorKind::DINOv3ViT => Self {
                kind,
                do_convert_rgb: false,
                do_resize: true,
                size: Some(SizeSpec::HeightWidth { height: 224, width: 224 }),
                resample: Some(Resample::Bilinear),
                default_to_square: true,
                do_center_crop: false,
                crop_size: None,
                do_rescale: true,
                rescale_factor: Some(1.0 / 255.0),
                do_normalize: true,
                // The statistics of ImageNet.
                image_mean: Some(vec![0.485, 0.456, 0.406]),
                image_std: Some(vec![0.229, 0.224, 0.225]),
                do_pad: false,
                pad_size: None,
            },
        }
    }

    /// Reads the processor config of a folder; `None` when it has none. `family` serves files that name no type.
    ///
    /// # Errors
    /// No such folder, a damaged file, and whatever `from_json` refuses.
    pub fn open(dir: &Path, family: Option<Family>) -> Result<Option<Self>, CheckpointError> {
        match file::open_object(dir)? {
            Some((path, map)) => Self::read(&path, &map, family).map(Some),
            None => Ok(None),
        }
    }

    /// The class of a folder's processor and the object of its file, with whatever keys that has; `None` when it has none.
    /// `family` serves files that name no type. Values are not looked at.
    ///
    /// # Errors
    /// No such folder, a file that is no JSON object, a type that cannot be run or none at all.
    pub fn open_object(dir: &Path, family: Option<Family>) -> Result<Option<TypedObject>, CheckpointError> {
        let Some((path, map)) = file::open_object(dir)? else { return Ok(None) };
        Ok(Some((ProcessorKind::read(&Fields::new(&path, &map), family)?, map)))
    }

    /// Reads the bytes of a `preprocessor_config.json`, or of a `processor_config.json` with an entry for images; `path`
    /// serves error messages only, `family` files that name no type.
    ///
    /// # Errors
    /// Not JSON, a type that cannot be run or none at all, a field of a wrong type or out of range.
    pub fn from_json(path: &Path, bytes: &[u8], family: Option<Family>) -> Result<Self, CheckpointError> {
        let map = json::object(path, bytes)?;
        Self::read(path, file::nested(path, &map)?.unwrap_or(&map), family)
    }

    fn read(path: &Path, map: &Map<String, Value>, family: Option<Family>) -> Result<Self, CheckpointError> {
        let fields = Fields::new(path, map);
        let default = Self::new(ProcessorKind::read(&fields, family)?);
        let default_to_square = fields.flag_or_off("default_to_square", default.default_to_square)?;
        Ok(Self {
            kind: default.kind,
            do_convert_rgb: fields.flag_or_off("do_convert_rgb", default.do_convert_rgb)?,
            do_resize: fields.flag_or_off("do_resize", default.do_resize)?,
            size: SizeSpec::read(&fields, "size", default.size, default_to_square)?,
            resample: Resample::read(&fields, default.resample)?,
            default_to_square,
            do_center_crop: fields.flag_or_off("do_center_crop", default.do_center_crop)?,
            crop_size: SizeSpec::read(&fields, "crop_size", default.crop_size, true)?,
            do_rescale: fields.flag_or_off("do_rescale", default.do_rescale)?,
            rescale_factor: fields.nullable_float(
                "rescale_factor",
                default.rescale_factor,
                f64::MIN..=f64::MAX,
            )?,
            do_normalize: fields.flag_or_off("do_normalize", default.do_normalize)?,
            image_mean: channel_values(&fields, "image_mean", default.image_mean)?,
            image_std: channel_values(&fields, "image_std", default.image_std)?,
            do_pad: fields.flag_or_off("do_pad", default.do_pad)?,
            pad_size: SizeSpec::read(&fields, "pad_size", default.pad_size, true)?,
        })
    }

    /// Checks that every step that is on has what it needs; to be called after a caller's own settings are in.
    ///
    /// # Errors
    /// A step is on whose value is `null`.
    pub fn validate(&self) -> Result<(), CheckpointError> {
        let needs = [
            (self.do_rescale, "do_rescale", "rescale_factor", self.rescale_factor.is_some()),
            (self.do_normalize, "do_normalize", "image_mean", self.image_mean.is_some()),
            (self.do_normalize, "do_normalize", "image_std", self.image_std.is_some()),
            (self.do_center_crop, "do_center_crop", "crop_size", self.crop_size.is_some()),
            (self.do_resize, "do_resize", "size", self.size.is_some()),
            (self.do_resize, "do_resize", "resample", self.resample.is_some()),
        ];
        match needs.into_iter().find(|(on, _, _, set)| *on && !*set) {
            Some((_, step, missing, _)) => Err(CheckpointError::ProcessorNeeds { step, missing }),
            None => Ok(()),
        }
    }
}

/// One number for all channels, or one for each.
fn channel_values(
    fields: &Fields<'_>,
    key: &str,
    default: Option<Vec<f64>>,
) -> Result<Option<Vec<f64>>, CheckpointError> {
    let range = f64::MIN..=f64::MAX;
    fields.nullable(
        key,
        default,
        || format!("a number, or a list of 1 to {MAX_PROCESSOR_CHANNELS} numbers"),
        |value| match json::float(value, &range) {
            Some(number) => Some(vec![number]),
            None => json::list(value, |item| json::float(item, &range))
                .filter(|list| (1..=MAX_PROCESSOR_CHANNELS).contains(&list.len())),
        },
    )
}

#[cfg(test)]
mod tests;
