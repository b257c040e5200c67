//! Hostile processor configs against ordinary and odd pictures: refused by a named limit before anything is computed.
//!
//! Sizes are height × width. The plan takes no memory and no time of its own, so every bound can be tried at its real size.
//! What passes here is what `tests/process.rs` then computes.

use super::*;
use crate::{HeightWidth, Resize, Size};

fn spec(size: Size, crop: Option<(usize, usize)>) -> ProcessorSpec {
    ProcessorSpec {
        resize: Some(Resize { size, resample: Resample::Bicubic }),
        center_crop: crop.map(|(height, width)| HeightWidth { height, width }),
        ..ProcessorSpec::default()
    }
}

/// The limit that refuses the picture.
fn broken(picture: (usize, usize), spec: &ProcessorSpec) -> Option<&'static str> {
    match Plan::new(picture.0, picture.1, spec) {
        Ok(_) => None,
        Err(ImageError::LimitExceeded { limit, .. }) => Some(limit),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn ordinary_and_thin_pictures_pass() {
    let dinov2 = spec(Size::ShortestEdge(256), Some((224, 224)));
    let large = spec(Size::ShortestEdge(592), Some((518, 518)));
    for picture in
        [(1, 1), (480, 640), (12240, 16320), (65535, 1), (1, 65535), (131_072, 1907), (15811, 15811)]
    {
        assert_eq!(broken(picture, &dinov2), None, "{picture:?}");
        assert_eq!(broken(picture, &large), None, "{picture:?}");
    }
    let whole = spec(Size::Exact { height: 8192, width: 8192 }, None);
    assert_eq!(broken((15811, 15811), &whole), None);
    assert_eq!(broken((8192, 8192), &ProcessorSpec { resize: None, ..whole }), None);
}

#[test]
fn hostile_sizes_are_refused_by_the_limit_that_they_break() {
    let exact = |height, width| Size::Exact { height, width };
    let max = usize::MAX;
    for (picture, size, crop, limit) in [
        // A side that no crop makes harmless.
        ((1, 1), exact(max, max), Some((1, 1)), "max_resized_side"),
        ((2, 2), Size::ShortestEdge(max), Some((8, 8)), "max_resized_side"),
        ((1, 131_072), Size::ShortestEdge(1 << 20), Some((8, 8)), "max_resized_side"),
        // A result that is too large.
        ((8, 8), exact(1 << 30, 1 << 30), None, "max_output_pixels"),
        ((65535, 1), Size::ShortestEdge(256), None, "max_output_pixels"),
        // Weights of a very long side.
        ((1, 2), exact(1, 1 << 26), None, "max_resize_bytes"),
        ((2, 1), exact(1 << 26, 1), None, "max_resize_bytes"),
        // Little comes out, but every row needs a long first pass.
        ((131_072, 1900), exact(1, 1 << 22), None, "max_resize_work"),
        ((131_072, 1900), exact(256, 1 << 18), None, "max_resize_work"),
    ] {
        assert_eq!(broken(picture, &spec(size, crop)), Some(limit), "{picture:?} to {size:?}, crop {crop:?}");
    }
}

#[test]
fn a_limit_is_inclusive_and_can_be_raised_and_lowered() {
    let base = spec(Size::ShortestEdge(256), Some((224, 224)));
    // 65535 x 1 becomes 16776960 x 256.
    let side = |max_resized_side| ProcessorSpec { max_resized_side, ..base.clone() };
    assert_eq!(broken((65535, 1), &side(16_776_960)), None);
    assert_eq!(broken((65535, 1), &side(16_776_959)), Some("max_resized_side"));
    // Bicubic, 512 x 512 to 256 x 256: 2 * 4 + 1 inputs of each output, 224 outputs, rounded up to 16 weights.
    let bytes = 2 * 224 * (16 * 12 + 32);
    let memory = |max_resize_bytes| ProcessorSpec { max_resize_bytes, ..base.clone() };
    assert_eq!(broken((512, 512), &memory(bytes)), None);
    assert_eq!(broken((512, 512), &memory(bytes - 1)), Some("max_resize_bytes"));
    // 448 + 9 rows for 224 columns, then 224 rows, and the weights of both axes.
    let steps = (448 + 9) * 224 * 9 + 224 * 224 * 9 + 2 * 256 * 9;
    let work = |max_resize_work| ProcessorSpec { max_resize_work, ..base.clone() };
    assert_eq!(broken((512, 512), &work(steps)), None);
    assert_eq!(broken((512, 512), &work(steps - 1)), Some("max_resize_work"));
}
