//! Which part of the resized picture the centre crop keeps, and the zeros around it.
//!
//! Torchvision's rule, with n the size and c the crop on an axis: where c > n, (c − n) / 2 zeros before (rounded down) and
//! the rest after; then start = (n' − c) / 2 rounded down, n' = max(n, c). A source column is never computed outside `keep`.

use std::ops::Range;

use crate::{HeightWidth, ImageError, limits::within};

/// No limit lets more pixels through: four float channels of them would pass what a buffer can hold.
pub(crate) const NAMEABLE_PIXELS: u64 = (isize::MAX / 16) as u64;

/// One axis of a crop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CropAxis {
    /// Samples of the resized picture that stay.
    pub(crate) keep: Range<usize>,
    /// Zeros before them.
    pub(crate) before: usize,
    /// Samples in all.
    pub(crate) len: usize,
}

/// Both axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crop {
    pub(crate) rows: CropAxis,
    pub(crate) columns: CropAxis,
}

impl CropAxis {
    fn center(size: usize, crop: usize) -> Self {
        if crop > size {
            Self { keep: 0..size, before: (crop - size) / 2, len: crop }
        } else {
            let start = (size - crop) / 2;
            Self { keep: start..start + crop, before: 0, len: crop }
        }
    }
}

impl Crop {
    /// The crop of a `height × width` picture, or all of it; refused when the result has more than `max_pixels`.
    pub(crate) fn of(
        (height, width): (usize, usize),
        crop: Option<HeightWidth>,
        max_pixels: u64,
    ) -> Result<Self, ImageError> {
        let size = crop.unwrap_or(HeightWidth { height, width });
        if size.height == 0 || size.width == 0 {
            return Err(ImageError::BadOption { option: "crop_size", reason: "a side is 0".to_owned() });
        }
        let pixels = (size.height as u64).saturating_mul(size.width as u64);
        within("max_output_pixels", max_pixels.min(NAMEABLE_PIXELS), pixels)?;
        Ok(Self { rows: CropAxis::center(height, size.height), columns: CropAxis::center(width, size.width) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_margin_is_rounded_down() {
        assert_eq!(CropAxis::center(343, 224), CropAxis { keep: 59..283, before: 0, len: 224 });
        assert_eq!(CropAxis::center(224, 224), CropAxis { keep: 0..224, before: 0, len: 224 });
    }

    #[test]
    fn a_larger_crop_has_the_odd_zero_at_the_end() {
        assert_eq!(CropAxis::center(5, 8), CropAxis { keep: 0..5, before: 1, len: 8 });
    }

    #[test]
    fn a_result_above_the_limit_is_refused() {
        let error = Crop::of((100_000, 100_000), None, 1000).unwrap_err();
        assert!(matches!(
            error,
            ImageError::LimitExceeded { limit: "max_output_pixels", got: 10_000_000_000, .. }
        ));
        assert!(Crop::of((100_000, 100_000), Some(HeightWidth { height: 8, width: 8 }), 1000).is_ok());
    }
}
