//! Pictures that a program holds as arrays: bytes or floats, channels first or last, 1, 3 or 4 channels.
//!
//! As Transformers: a 2-D array has one channel; of a 3-D one the first axis with 1, 3 or 4 entries, first or last, holds the
//! channels. With `do_convert_rgb` one channel is repeated and four are composited on white: bytes as
//! ⌊(rgb·a + 1 − a) · 255.999⌋ with rgb and a in 0..1, floats without rounding.
//! Arrays are never turned or held to `Limits`: they are the caller's own memory. The limits of a processor hold for them too.

use std::borrow::Cow;

use crate::ImageError;

/// The samples of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Samples<'a> {
    /// Bytes, 0..255.
    U8(&'a [u8]),
    /// Floats: 0..255 for a processor that rescales, 0..1 for one that does not.
    F32(&'a [f32]),
}

/// Which axis holds the channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[C, H, W]`.
    ChannelsFirst,
    /// `[H, W, C]`.
    ChannelsLast,
}

/// A picture as an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PixelArray<'a> {
    samples: Samples<'a>,
    layout: Layout,
    height: usize,
    width: usize,
    channels: usize,
}

impl<'a> PixelArray<'a> {
    /// An array of `shape` `[H, W]`, `[C, H, W]` or `[H, W, C]`, row-major; `layout` `None` infers the channel axis.
    ///
    /// # Errors
    /// [`ImageError::NoChannelAxis`] when no channel axis can be found or it has another length than 1, 3 or 4;
    /// [`ImageError::BadShape`] when a side is 0 or the shape does not fit the samples.
    pub fn new(samples: Samples<'a>, shape: &[usize], layout: Option<Layout>) -> Result<Self, ImageError> {
        let known = |n: usize| matches!(n, 1 | 3 | 4);
        let no_axis = || ImageError::NoChannelAxis { shape: shape.to_vec() };
        let (layout, height, width, channels) = match (shape, layout) {
            (&[h, w], _) => (Layout::ChannelsLast, h, w, 1),
            (&[c, h, w], Some(Layout::ChannelsFirst)) if known(c) => (Layout::ChannelsFirst, h, w, c),
            (&[h, w, c], Some(Layout::ChannelsLast)) if known(c) => (Layout::ChannelsLast, h, w, c),
            (&[c, h, w], None) if known(c) => (Layout::ChannelsFirst, h, w, c),
            (&[h, w, c], None) if known(c) => (Layout::ChannelsLast, h, w, c),
            _ => return Err(no_axis()),
        };
        let len = match samples {
            Samples::U8(data) => data.len(),
            Samples::F32(data) => data.len(),
        };
        let fits = height.checked_mul(width).and_then(|n| n.checked_mul(channels)) == Some(len);
        if !fits || len == 0 {
            return Err(ImageError::BadShape { height, width, channels, len });
        }
        Ok(Self { samples, layout, height, width, channels })
    }

    /// Height and width.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.height, self.width)
    }

    /// The picture with its channels last, made RGB if asked.
    pub(crate) fn image(&self, do_convert_rgb: bool) -> Result<Image<'a>, ImageError> {
        let (data, mut channels) = match self.samples {
            Samples::U8(samples) => (Data::U8(self.interleaved(samples)), self.channels),
            Samples::F32(samples) => {
                if samples.iter().any(|v| !v.is_finite()) {
                    return Err(ImageError::NotFinite);
                }
                (Data::F32(self.interleaved(samples)), self.channels)
            }
        };
        let data = match (do_convert_rgb, channels, data) {
            (true, 1, Data::U8(data)) => Data::U8(repeat(&data)),
            (true, 1, Data::F32(data)) => Data::F32(repeat(&data)),
            (true, 4, Data::U8(data)) => Data::U8(data.chunks_exact(4).flat_map(bytes_on_white).collect()),
            (true, 4, Data::F32(data)) => Data::F32(floats_on_white(&data)?.into()),
            (_, _, data) => data,
        };
        if do_convert_rgb {
            channels = 3;
        }
        Ok(Image { data, height: self.height, width: self.width, channels })
    }

    fn interleaved<T: Copy>(&self, samples: &'a [T]) -> Cow<'a, [T]> {
        if self.layout == Layout::ChannelsLast || self.channels == 1 {
            return Cow::Borrowed(samples);
        }
        let plane = self.height * self.width;
        (0..plane).flat_map(|i| (0..self.channels).map(move |c| samples[c * plane + i])).collect()
    }
}

/// Samples of either type, channels last.
#[derive(Debug, Clone)]
pub(crate) enum Data<'a> {
    U8(Cow<'a, [u8]>),
    F32(Cow<'a, [f32]>),
}

/// A picture on its way through a processor.
#[derive(Debug, Clone)]
pub(crate) struct Image<'a> {
    pub(crate) data: Data<'a>,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
}

fn repeat<T: Copy>(grey: &[T]) -> Cow<'static, [T]> {
    grey.iter().flat_map(|&v| [v; 3]).collect()
}

fn bytes_on_white(rgba: &[u8]) -> [u8; 3] {
    const TO_UNIT: f32 = 1.0 / 255.0;
    let alpha = f32::from(rgba[3]) * TO_UNIT;
    let one = |c: usize| {
        let over = f32::from(rgba[c]) * TO_UNIT * alpha + (1.0 - alpha);
        (over * (255.0 + 1.0 - 1e-3)) as u8
    };
    [one(0), one(1), one(2)]
}

fn floats_on_white(rgba: &[f32]) -> Result<Vec<f32>, ImageError> {
    let (min, max) = range(rgba);
    if min < 0.0 || max > 1.0 {
        return Err(ImageError::AlphaRange { min, max });
    }
    let over = |p: &[f32]| [p[0], p[1], p[2]].map(|c| c * p[3] + (1.0 - p[3]));
    Ok(rgba.chunks_exact(4).flat_map(over).collect())
}

/// Smallest and largest value.
pub(crate) fn range(values: &[f32]) -> (f32, f32) {
    values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &v| (min.min(v), max.max(v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_axis_wins_when_both_could_hold_channels() {
        let data = [0_u8; 36];
        let of = |shape: &[usize]| PixelArray::new(Samples::U8(&data[..shape.iter().product()]), shape, None);
        assert_eq!(of(&[3, 4, 3]).unwrap().layout, Layout::ChannelsFirst);
        assert_eq!(of(&[2, 4, 3]).unwrap().layout, Layout::ChannelsLast);
        assert_eq!(of(&[2, 3]).unwrap().channels, 1);
        assert!(matches!(of(&[2, 4, 2]), Err(ImageError::NoChannelAxis { .. })));
        assert!(matches!(of(&[2, 2, 3, 3]), Err(ImageError::NoChannelAxis { .. })));
        assert!(matches!(of(&[3, 0, 4]), Err(ImageError::BadShape { .. })));
        let wrong = PixelArray::new(Samples::U8(&data), &[3, 4, 4], None);
        assert!(matches!(wrong, Err(ImageError::BadShape { len: 36, .. })));
    }

    #[test]
    fn channels_first_becomes_channels_last() {
        let data: Vec<u8> = (0..12).collect();
        let array = PixelArray::new(Samples::U8(&data), &[3, 2, 2], None).unwrap();
        let Data::U8(out) = array.image(true).unwrap().data else { panic!("bytes stay bytes") };
        assert_eq!(*out, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    }

    #[test]
    fn alpha_is_composited_on_white_with_torchvisions_rounding() {
        // TorchvisionBackend.convert_to_rgb of Transformers 5.24.0.
        for (rgba, want) in [
            ([10, 20, 30, 0], [255, 255, 255]),
            ([10, 20, 30, 255], [10, 20, 30]),
            ([10, 20, 30, 128], [132, 137, 142]),
            ([255, 0, 77, 200], [255, 55, 115]),
            ([1, 254, 3, 77], [179, 255, 179]),
        ] {
            assert_eq!(bytes_on_white(&rgba), want, "{rgba:?}");
        }
        assert_eq!(floats_on_white(&[0.5, 0.0, 1.0, 0.5]).unwrap(), [0.75, 0.5, 1.0]);
        assert!(matches!(floats_on_white(&[0.5, 0.0, 2.0, 0.5]), Err(ImageError::AlphaRange { .. })));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let data = [0.0, f32::NAN, 1.0];
        let array = PixelArray::new(Samples::F32(&data), &[1, 1, 3], Some(Layout::ChannelsLast)).unwrap();
        assert!(matches!(array.image(true), Err(ImageError::NotFinite)));
    }
}
