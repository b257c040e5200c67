//! A picture through a [`ProcessorSpec`]: resize, crop, rescale, normalise, pad, in the recipe's order.
//!
//! Resize and crop are one step: only the window that the crop keeps is computed. Bytes are resized in bytes, except in
//! [`Order::RescaleFirst`] with a rescale factor, where they become floats first.

use crate::array::{Data, Image, range};
use crate::crop::NAMEABLE_PIXELS;
use crate::filters::Filter;
use crate::limits::within;
use crate::normalize::{Affine, Kind, affines, planes};
use crate::plan::Plan;
use crate::resize_f32::{Floats, Sample};
use crate::resize_u8::Bytes;
use crate::{
    ImageError, Layout, Order, Picture, PixelArray, ProcessorSpec, Samples, nearest, resize_f32, resize_u8,
};

/// What a model takes: `[channels, height, width]`, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct PixelValues {
    /// `channels · height · width` values.
    pub data: Vec<f32>,
    /// Planes: 3, or what an array had that was neither converted nor normalised.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl PixelValues {
    /// Adds zeros at the bottom and right, as `do_pad` does for one size or the largest of a batch.
    ///
    /// # Errors
    /// [`ImageError::BadOption`] when the picture is larger on a side; [`ImageError::LimitExceeded`] when the
    /// result has more than `max_pixels` pixels.
    pub fn pad(self, height: usize, width: usize, max_pixels: u64) -> Result<Self, ImageError> {
        if height < self.height || width < self.width {
            let reason =
                format!("{height}x{width} is smaller than the picture, {}x{}", self.height, self.width);
            return Err(ImageError::BadOption { option: "pad_size", reason });
        }
        if (height, width) == (self.height, self.width) {
            return Ok(self);
        }
        within(
            "max_output_pixels",
            max_pixels.min(NAMEABLE_PIXELS),
            (height as u64).saturating_mul(width as u64),
        )?;
        let mut data = vec![0.0; self.channels * height * width];
        let planes = data.chunks_exact_mut(height * width);
        for (out, plane) in planes.zip(self.data.chunks_exact(self.height * self.width)) {
            for (out, row) in out.chunks_exact_mut(width).zip(plane.chunks_exact(self.width)) {
                out[..self.width].copy_from_slice(row);
            }
        }
        Ok(Self { data, channels: self.channels, height, width })
    }
}

/// Processes a decoded picture.
///
/// # Errors
/// [`ImageError::BadOption`] for an option that cannot be carried out, [`ImageError::LimitExceeded`] for one of the limits of
/// [`ProcessorSpec`], [`ImageError::BadShape`] for a picture whose buffer does not fit, [`ImageError::IsaNotAvailable`].
pub fn process(picture: &Picture, spec: &ProcessorSpec) -> Result<PixelValues, ImageError> {
    let pixels = &picture.pixels;
    let shape = [pixels.height, pixels.width, 3];
    let array = |data| PixelArray::new(Samples::U8(data), &shape, Some(Layout::ChannelsLast));
    let plain = array(&pixels.data)?;
    let plan = plan(&plain, spec)?;
    let key = picture.transparent_color.filter(|_| spec.do_convert_rgb);
    match key.and_then(|key| painted_white(&pixels.data, key)) {
        Some(painted) => run(&array(&painted)?, &plan, spec),
        None => run(&plain, &plan, spec),
    }
}

/// The picture with its colour key painted white; `None` where no pixel has that colour. The copy is counted in
/// [`Limits::max_bytes`](crate::Limits::max_bytes).
fn painted_white(data: &[u8], key: [u8; 3]) -> Option<Vec<u8>> {
    let is_key = |pixel: &[u8]| pixel == key;
    data.chunks_exact(3).any(is_key).then(|| {
        let mut painted = data.to_vec();
        painted.chunks_exact_mut(3).filter(|pixel| is_key(pixel)).for_each(|pixel| pixel.fill(255));
        painted
    })
}

/// Processes a picture that a program holds as an array.
///
/// # Errors
/// As [`process`], and [`ImageError::AlreadyRescaled`] for a float array that lies in 0..1 (zeros alone excepted) when
/// the processor rescales: Transformers would scale it a second time with no more than a warning.
pub fn process_array(array: &PixelArray<'_>, spec: &ProcessorSpec) -> Result<PixelValues, ImageError> {
    run(array, &plan(array, spec)?, spec)
}

/// Checks the options and limits, before any copy is made.
fn plan(array: &PixelArray<'_>, spec: &ProcessorSpec) -> Result<Plan, ImageError> {
    check_rescale(spec)?;
    let (height, width) = array.size();
    Plan::new(height, width, spec)
}

fn run(array: &PixelArray<'_>, plan: &Plan, spec: &ProcessorSpec) -> Result<PixelValues, ImageError> {
    let image = array.image(spec.do_convert_rgb)?;
    if let (Data::F32(data), Some(_)) = (&image.data, spec.rescale) {
        let (min, max) = range(data);
        if min >= 0.0 && max <= 1.0 && max > 0.0 {
            return Err(ImageError::AlreadyRescaled);
        }
    }
    let values = resized(&image, plan, spec)?;
    match spec.pad {
        Some(size) if spec.order == Order::ResizeFirst => {
            if size.height == 0 || size.width == 0 {
                return Err(ImageError::BadOption { option: "pad_size", reason: "a side is 0".to_owned() });
            }
            values.pad(size.height, size.width, spec.max_output_pixels)
        }
        _ => Ok(values),
    }
}

fn check_rescale(spec: &ProcessorSpec) -> Result<(), ImageError> {
    let Some(factor) = spec.rescale else { return Ok(()) };
    let fused = spec.order == Order::ResizeFirst && spec.normalize.is_some();
    if !factor.is_finite() || (fused && factor == 0.0) {
        let reason = format!("{factor} is no factor to rescale by");
        return Err(ImageError::BadOption { option: "rescale_factor", reason });
    }
    Ok(())
}

fn resized(image: &Image<'_>, plan: &Plan, spec: &ProcessorSpec) -> Result<PixelValues, ImageError> {
    let window = Window { image, plan };
    let (channels, crop) = (image.channels, &plan.crop);
    let rescale_first = spec.order == Order::RescaleFirst;
    let factor = if rescale_first { spec.rescale.map(|factor| factor as f32) } else { None };
    let steps = |bytes| -> Result<Vec<Affine>, ImageError> {
        affines(spec, Kind { channels, bytes, rescaled: factor.is_some() })
    };
    match (&image.data, factor) {
        (Data::U8(_), None) if rescale_first && spec.normalize.is_some() => {
            let reason = "bytes cannot be normalised without do_rescale".to_owned();
            Err(ImageError::BadOption { option: "do_normalize", reason })
        }
        (Data::U8(data), None) => {
            let steps = steps(true)?;
            Ok(planes(&window.bytes(data), channels, crop, &steps))
        }
        (Data::U8(data), Some(factor)) => {
            let steps = steps(true)?;
            Ok(planes(&window.floats(data, factor), channels, crop, &steps))
        }
        (Data::F32(data), factor) => {
            let steps = steps(false)?;
            Ok(planes(&window.floats(data, factor.unwrap_or(1.0)), channels, crop, &steps))
        }
    }
}

/// The part of the resized picture that the crop keeps.
struct Window<'a> {
    image: &'a Image<'a>,
    plan: &'a Plan,
}

impl Window<'_> {
    /// Resized as bytes.
    fn bytes(&self, data: &[u8]) -> Vec<u8> {
        let &Image { height, width, channels, .. } = self.image;
        let Plan { target, resample, arch, .. } = self.plan;
        let Some(filter) = Filter::of(*resample) else {
            return nearest::resize(data, (height, width, channels), target);
        };
        match channels {
            1 => resize_u8::resize(*arch, Bytes::<1> { data, height, width }, target, filter),
            4 => resize_u8::resize(*arch, Bytes::<4> { data, height, width }, target, filter),
            _ => resize_u8::resize(*arch, Bytes::<3> { data, height, width }, target, filter),
        }
    }

    /// Multiplied by `factor` and resized as floats.
    fn floats<T: Sample>(&self, data: &[T], factor: f32) -> Vec<f32> {
        let &Image { height, width, channels, .. } = self.image;
        let Plan { target, resample, arch, .. } = self.plan;
        match Filter::of(*resample) {
            Some(filter) => {
                resize_f32::resize(*arch, Floats { data, height, width, channels, factor }, target, filter)
            }
            None => {
                let picked = nearest::resize(data, (height, width, channels), target);
                picked.into_iter().map(|v| factor * v.to_f32()).collect()
            }
        }
    }
}
