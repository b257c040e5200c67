//! Sizes that are not a multiple of the patch. The models themselves ignore the rest at the right and bottom, as Transformers does; who
//! does not crop to a fixed size may want something else.

use crate::Error;
use ndarray::{Array3, s};

/// What happens to pixels beyond the last whole patch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PatchFit {
    /// They are left to the model, which ignores them: what Transformers does.
    #[default]
    Ignore,
    /// The picture is resized to the nearest multiple of the patch on each side, at least one patch.
    Round,
    /// The picture is cropped to a multiple, around its centre.
    Crop,
    /// Zeros are added after normalising, at the right and bottom, up to a multiple.
    Pad,
    /// A picture that does not fit is an error.
    Error,
}

/// A fit and the patch it is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) fit: PatchFit,
    /// (height, width), at least 1 each.
    pub(crate) patch: (usize, usize),
}

impl Fit {
    /// The size that a picture is to be resized to, when it would become `height` × `width`.
    pub(crate) fn resized(self, height: usize, width: usize) -> (usize, usize) {
        let round = |n: usize, patch: usize| ((n + patch / 2) / patch).max(1) * patch;
        match self.fit {
            PatchFit::Round => (round(height, self.patch.0), round(width, self.patch.1)),
            _ => (height, width),
        }
    }

    /// Makes pixel values [3, H, W] fit.
    pub(crate) fn apply(self, pixels: Array3<f32>) -> Result<Array3<f32>, Error> {
        let (channels, height, width) = pixels.dim();
        let (rest_y, rest_x) = (height % self.patch.0, width % self.patch.1);
        if (rest_y, rest_x) == (0, 0) {
            return Ok(pixels);
        }
        match self.fit {
            PatchFit::Ignore | PatchFit::Round => Ok(pixels),
            PatchFit::Crop => {
                let (top, left) = (rest_y / 2, rest_x / 2);
                let kept = s![.., top..top + height - rest_y, left..left + width - rest_x];
                Ok(pixels.slice(kept).as_standard_layout().into_owned())
            }
            PatchFit::Pad => {
                let up = |n: usize, patch: usize| n.div_ceil(patch) * patch;
                let mut padded = Array3::zeros((channels, up(height, self.patch.0), up(width, self.patch.1)));
                padded.slice_mut(s![.., ..height, ..width]).assign(&pixels);
                Ok(padded)
            }
            PatchFit::Error => Err(Error::PatchFit { height, width, patch: self.patch }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(fit: PatchFit) -> Fit {
        Fit { fit, patch: (4, 4) }
    }

    fn ramp() -> Array3<f32> {
        Array3::from_shape_fn((3, 30, 33), |(c, y, x)| (c * 10_000 + y * 100 + x) as f32)
    }

    #[test]
    fn a_crop_keeps_the_middle() {
        let cropped = fit(PatchFit::Crop).apply(ramp()).unwrap();
        assert_eq!(cropped.dim(), (3, 28, 32));
        assert_eq!((cropped[[0, 0, 0]], cropped[[2, 27, 31]]), (100.0, 22_831.0));
    }

    #[test]
    fn a_pad_adds_zeros_at_the_right_and_bottom() {
        let padded = fit(PatchFit::Pad).apply(ramp()).unwrap();
        assert_eq!(padded.dim(), (3, 32, 36));
        assert_eq!((padded[[1, 29, 32]], padded[[1, 30, 0]], padded[[1, 0, 33]]), (12_932.0, 0.0, 0.0));
    }

    #[test]
    fn rounding_goes_to_the_nearest_multiple_and_never_to_nothing() {
        assert_eq!(fit(PatchFit::Round).resized(30, 33), (32, 32));
        assert_eq!(fit(PatchFit::Round).resized(1, 29), (4, 28));
        assert_eq!(fit(PatchFit::Ignore).resized(30, 33), (30, 33));
    }

    #[test]
    fn what_does_not_fit_is_an_error_where_that_is_wanted() {
        assert!(matches!(
            fit(PatchFit::Error).apply(ramp()),
            Err(Error::PatchFit { height: 30, width: 33, .. })
        ));
        assert!(fit(PatchFit::Error).apply(Array3::zeros((3, 8, 4))).is_ok());
        assert_eq!(fit(PatchFit::Ignore).apply(ramp()).unwrap(), ramp());
    }
}
