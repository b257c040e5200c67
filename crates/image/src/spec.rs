//! What a processor does, as plain data: the steps, each present or absent, and their order.
//!
//! `BitImageProcessor` (DINOv2): convert_rgb → resize → center_crop → rescale and normalise (fused) → pad.
//! `DINOv3ViTImageProcessor`: rescale → resize in float → center_crop → normalise. Both as in Transformers 5.24.0 with
//! the torchvision backend. An absent step is a flag that is off; defaults of a config are the caller's business.

use dinoxide_kernels::Isa;

use crate::{ImageError, Size};

/// Default of [`ProcessorSpec::max_output_pixels`]: 64 Mi pixels, 768 MiB as three f32 planes.
pub const DEFAULT_MAX_OUTPUT_PIXELS: u64 = 1 << 26;

/// The steps of a processor.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorSpec {
    /// Which recipe.
    pub order: Order,
    /// `do_convert_rgb`: paint a colour key white; make three channels of an array with one or four.
    pub do_convert_rgb: bool,
    /// `do_resize` with its `size` and `resample`.
    pub resize: Option<Resize>,
    /// `do_center_crop` with its `crop_size`.
    pub center_crop: Option<HeightWidth>,
    /// `do_rescale` with its `rescale_factor`.
    pub rescale: Option<f64>,
    /// `do_normalize` with its `image_mean` and `image_std`.
    pub normalize: Option<Normalize>,
    /// `do_pad` with its `pad_size`; zeros at the bottom and right, after normalising. Padding to the largest of a
    /// batch is [`PixelValues::pad`](crate::PixelValues::pad). Without effect in [`Order::RescaleFirst`], as in the reference.
    pub pad: Option<HeightWidth>,
    /// Most pixels that the result of resize and crop, or of pad, may have.
    pub max_output_pixels: u64,
    /// Most rows or columns that a resize may make, before the crop. Default 2³⁰.
    pub max_resized_side: u64,
    /// Most bytes that the weights of a resize may take; beside them a resize keeps at most 64 MiB between its passes (a single
    /// row or column, where that is larger). Default 1 GiB.
    pub max_resize_bytes: u64,
    /// Most multiply-adds of a resize for each channel, the crop taken into account. Default 2³³: a reduction of 250 million
    /// pixels takes a sixth of it.
    pub max_resize_work: u64,
    /// The instruction set level that the resize runs with; `None` is the best of the processor. Every level gives the same
    /// bits.
    pub isa: Option<Isa>,
}

impl Default for ProcessorSpec {
    /// No step at all: the picture's bytes as floats.
    fn default() -> Self {
        Self {
            order: Order::ResizeFirst,
            do_convert_rgb: false,
            resize: None,
            center_crop: None,
            rescale: None,
            normalize: None,
            pad: None,
            max_output_pixels: DEFAULT_MAX_OUTPUT_PIXELS,
            max_resized_side: 1 << 30,
            max_resize_bytes: 1 << 30,
            max_resize_work: 1 << 33,
            isa: None,
        }
    }
}

/// The order of resize and rescale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Resize the samples as they are (bytes stay bytes), then rescale and normalise in one step: `BitImageProcessor`.
    ResizeFirst,
    /// Rescale to float, resize in float without rounding, then normalise: `DINOv3ViTImageProcessor`.
    RescaleFirst,
}

/// `do_resize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resize {
    /// `size`.
    pub size: Size,
    /// `resample`.
    pub resample: Resample,
}

/// A height and a width: `crop_size`, `pad_size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeightWidth {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

/// `do_normalize`: `(x − mean) / std`, a value for each channel or one for all.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalize {
    /// `image_mean`, in units of rescaled samples; 1 or 3 values.
    pub mean: Vec<f64>,
    /// `image_std`; 1 or 3 values, none of them 0.
    pub std: Vec<f64>,
}

/// The resize filters that the reference's backend has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resample {
    /// Code 0, torch's nearest-exact.
    Nearest,
    /// Code 1, Lanczos with three lobes, antialiased.
    Lanczos,
    /// Code 2, antialiased.
    Bilinear,
    /// Code 3, antialiased, a = −0.5.
    Bicubic,
}

impl Resample {
    /// The filter of a config's `resample` code (Pillow's numbers).
    ///
    /// # Errors
    /// [`ImageError::UnsupportedResample`] for 4 (box) and 5 (hamming), which torch cannot resize tensors with,
    /// and for any other number.
    pub fn from_code(code: i64) -> Result<Self, ImageError> {
        let name = match code {
            0 => return Ok(Self::Nearest),
            1 => return Ok(Self::Lanczos),
            2 => return Ok(Self::Bilinear),
            3 => return Ok(Self::Bicubic),
            4 => "box",
            5 => "hamming",
            _ => "unknown",
        };
        Err(ImageError::UnsupportedResample { code, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resample_codes_are_pillows() {
        assert_eq!(Resample::from_code(3).unwrap(), Resample::Bicubic);
        assert_eq!(Resample::from_code(2).unwrap(), Resample::Bilinear);
        assert_eq!(Resample::from_code(1).unwrap(), Resample::Lanczos);
        assert_eq!(Resample::from_code(0).unwrap(), Resample::Nearest);
        for code in [4, 5, 6, -1] {
            assert!(
                matches!(Resample::from_code(code), Err(ImageError::UnsupportedResample { .. })),
                "{code}"
            );
        }
    }
}
