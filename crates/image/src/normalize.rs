//! The last step: samples → `[C, H, W]` floats, rescaled and normalised, zeros of the crop included.
//!
//! Fused (`BitImageProcessor`): out = (x − mean·(1/factor)) / (std·(1/factor)), all in f32, which differs from
//! (x·factor − mean) / std by a few units in the last place. Unfused: x·factor, then (x − mean) / std.
//! Bytes go through a table of their 256 values.

use crate::crop::Crop;
use crate::{ImageError, Normalize, Order, PixelValues, ProcessorSpec};

/// What happens to a sample of one output channel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Affine {
    factor: Option<f32>,
    /// Mean and standard deviation.
    normalize: Option<(f32, f32)>,
}

impl Affine {
    #[inline(always)]
    fn apply(self, x: f32) -> f32 {
        let x = self.factor.map_or(x, |factor| x * factor);
        self.normalize.map_or(x, |(mean, std)| (x - mean) / std)
    }
}

/// What a resized picture is when it comes here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) channels: usize,
    /// The samples are bytes; normalising them needs a rescale or the fused path.
    pub(crate) bytes: bool,
    /// The rescale factor has been applied already.
    pub(crate) rescaled: bool,
}

/// The step for each output channel: as many as the picture has, or three where a grey one meets three means.
pub(crate) fn affines(spec: &ProcessorSpec, kind: Kind) -> Result<Vec<Affine>, ImageError> {
    let factor = if kind.rescaled { None } else { spec.rescale.map(|factor| factor as f32) };
    let Some(normalize) = &spec.normalize else {
        return Ok(vec![Affine { factor, normalize: None }; kind.channels]);
    };
    let channels = normalized_channels(normalize, spec.order, kind)?;
    let value = |values: &[f64], c: usize| values[if values.len() == 1 { 0 } else { c }] as f32;
    let fused = spec.order == Order::ResizeFirst && spec.rescale.is_some();
    // torch multiplies its f32 tensor by the f64 number 1/factor, rounded to f32.
    let inverse = if fused { spec.rescale.map_or(1.0, |factor| (1.0 / factor) as f32) } else { 1.0 };
    let channel = |c| {
        let (mean, std) = (value(&normalize.mean, c), value(&normalize.std, c));
        let factor = if fused { None } else { factor };
        Affine { factor, normalize: Some((mean * inverse, std * inverse)) }
    };
    Ok((0..channels).map(channel).collect())
}

fn normalized_channels(normalize: &Normalize, order: Order, kind: Kind) -> Result<usize, ImageError> {
    let bad = |option, reason: String| Err(ImageError::BadOption { option, reason });
    let mut channels = kind.channels;
    for (option, values) in [("image_mean", &normalize.mean), ("image_std", &normalize.std)] {
        // torch broadcasts one grey plane to three, but not in place, and bytes are normalised in place.
        let broadcasts = channels == 1 && !(order == Order::ResizeFirst && kind.bytes);
        match values.len() {
            1 => {}
            n if n == channels => {}
            3 if broadcasts => channels = 3,
            n => return bad(option, format!("{n} values for a picture of {channels} channels")),
        }
        if values.iter().any(|v| !v.is_finite()) {
            return bad(option, "a value is not a number".to_owned());
        }
    }
    if normalize.std.contains(&0.0) {
        return bad("image_std", "a value is 0".to_owned());
    }
    Ok(channels)
}

/// A sample that the last step reads.
pub(crate) trait Source: Copy {
    /// Writes `affine(sample)` of every `step`-th sample from `offset` of each row into its place.
    fn write(samples: &[Self], channel: Channel, affine: Affine, out: Plane<'_>);
}

/// Which samples of interleaved rows belong to a channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Channel {
    index: usize,
    channels: usize,
}

/// Where the rows of one channel go.
pub(crate) struct Plane<'a> {
    out: &'a mut [f32],
    crop: &'a Crop,
}

impl Plane<'_> {
    /// Rows of the kept part, each with the samples it comes from.
    fn fill<T: Copy>(self, samples: &[T], channel: Channel, map: impl Fn(T) -> f32) {
        let Crop { rows, columns } = self.crop;
        let kept = columns.keep.len();
        let out_rows = self.out.chunks_exact_mut(columns.len).skip(rows.before);
        for (out, row) in out_rows.zip(samples.chunks_exact(kept * channel.channels)) {
            let out = &mut out[columns.before..][..kept];
            for (value, pixel) in out.iter_mut().zip(row.chunks_exact(channel.channels)) {
                *value = map(pixel[channel.index]);
            }
        }
    }
}

impl Source for u8 {
    fn write(samples: &[Self], channel: Channel, affine: Affine, out: Plane<'_>) {
        let table: [f32; 256] = std::array::from_fn(|v| affine.apply(v as f32));
        out.fill(samples, channel, |v| table[usize::from(v)]);
    }
}

impl Source for f32 {
    fn write(samples: &[Self], channel: Channel, affine: Affine, out: Plane<'_>) {
        out.fill(samples, channel, |v| affine.apply(v));
    }
}

/// Interleaved samples of the kept part → planes with the crop's zeros, which are normalised like samples.
pub(crate) fn planes<T: Source>(
    samples: &[T],
    channels: usize,
    crop: &Crop,
    affines: &[Affine],
) -> PixelValues {
    let (height, width) = (crop.rows.len, crop.columns.len);
    let padded = crop.rows.keep.len() < height || crop.columns.keep.len() < width;
    let mut data = vec![0.0; affines.len() * height * width];
    for (c, (out, &affine)) in data.chunks_exact_mut(height * width).zip(affines).enumerate() {
        if padded {
            out.fill(affine.apply(0.0));
        }
        T::write(samples, Channel { index: c % channels, channels }, affine, Plane { out, crop });
    }
    PixelValues { data, channels: affines.len(), height, width }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: Kind = Kind { channels: 3, bytes: true, rescaled: false };

    fn spec(order: Order, rescale: Option<f64>, normalize: bool) -> ProcessorSpec {
        let normalize =
            normalize.then(|| Normalize { mean: vec![0.485, 0.456, 0.406], std: vec![0.229, 0.224, 0.225] });
        ProcessorSpec { order, rescale, normalize, ..ProcessorSpec::default() }
    }

    #[test]
    fn the_fused_step_has_torchs_bits() {
        // (torch.tensor([0., 1., 100., 255.]) - torch.tensor([.485]) * 255.0) / (torch.tensor([.229]) * 255.0)
        let affine = affines(&spec(Order::ResizeFirst, Some(1.0 / 255.0), true), BYTES).unwrap()[0];
        let got = [0.0, 1.0, 100.0, 255.0].map(|x| affine.apply(x).to_bits());
        assert_eq!(got, [0xc007_8bbd, 0xc006_732b, 0xbecf_9456, 0x400f_ee1d]);
    }

    #[test]
    fn the_unfused_steps_have_torchs_bits() {
        // (torch.tensor([1, 100, 255], dtype=torch.uint8) * (1 / 255) - .485) / .229, mean and std as f32 tensors
        let affine = affines(&spec(Order::RescaleFirst, Some(1.0 / 255.0), true), BYTES).unwrap()[0];
        let got = [1.0, 100.0, 255.0].map(|x| affine.apply(x).to_bits());
        assert_eq!(got, [0xc006_732b, 0xbecf_9451, 0x400f_ee1d]);
    }

    #[test]
    fn a_grey_float_picture_meets_three_means_and_grey_bytes_do_not() {
        let grey = Kind { channels: 1, bytes: false, rescaled: true };
        assert_eq!(affines(&spec(Order::RescaleFirst, Some(0.5), true), grey).unwrap().len(), 3);
        let bytes = Kind { channels: 1, ..BYTES };
        let error = affines(&spec(Order::ResizeFirst, Some(0.5), true), bytes).unwrap_err();
        assert!(matches!(error, ImageError::BadOption { option: "image_mean", .. }));
        assert_eq!(affines(&spec(Order::ResizeFirst, Some(0.5), false), bytes).unwrap().len(), 1);
    }

    #[test]
    fn a_zero_in_std_is_refused() {
        let mut spec = spec(Order::ResizeFirst, None, true);
        spec.normalize = Some(Normalize { mean: vec![0.5], std: vec![1.0, 0.0, 1.0] });
        assert!(matches!(affines(&spec, BYTES), Err(ImageError::BadOption { option: "image_std", .. })));
    }
}
