//! `pixel_values` as one run of floats in row-major order, whatever the caller's memory order is.

use ndarray::{ArrayView4, CowArray, Ix4};

/// The pixels in row-major order; copied only when they are not.
pub(crate) fn standard<'a>(pixels: &'a ArrayView4<'_, f32>) -> CowArray<'a, f32, Ix4> {
    pixels.as_standard_layout()
}

/// The floats of an array in row-major order.
pub(crate) fn slice<'a>(pixels: &'a CowArray<'_, f32, Ix4>) -> &'a [f32] {
    #[allow(clippy::expect_used)] // `standard` has made it so
    pixels.as_slice().expect("an array in row-major order")
}
