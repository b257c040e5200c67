//! What a forward may take, in memory and work, is settled before it begins, so that pictures which are too large are an error and not
//! the end of the process, or of the user's day.

use crate::ModelError;

/// Most bytes that the attentions of one forward may take, all layers together: B·A·S²·L floats. A picture of 518×518
/// through dinov2-large is 2.9 GB.
pub const MAX_ATTENTION_BYTES: usize = 8 << 30;

/// Most patches of a picture: 4096×4096 pixels at patch 16. The work of attention is quadratic in them, so a picture far above this would
/// run for hours, which nobody who feeds a folder of pictures wants to happen unasked.
pub const MAX_PATCHES: usize = 1 << 16;

/// The bytes of so many f32 of a shape, unless the number has no place in an address.
pub(crate) fn bytes(what: &'static str, shape: &[usize]) -> Result<usize, ModelError> {
    let floats = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
    let bytes = floats.and_then(|floats| floats.checked_mul(size_of::<f32>()));
    bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or_else(|| too_large(what, shape))
}

/// Refuses what the allocator would refuse: the buffers of these sizes are asked for together and given back at once.
pub(crate) fn probe(what: &'static str, shape: &[usize], buffers: &[usize]) -> Result<(), ModelError> {
    let total = buffers.iter().try_fold(0_usize, |sum, &bytes| sum.checked_add(bytes));
    let had = total.is_some_and(|total| Vec::<u8>::new().try_reserve_exact(total).is_ok());
    if had { Ok(()) } else { Err(too_large(what, shape)) }
}

fn too_large(what: &'static str, shape: &[usize]) -> ModelError {
    ModelError::TooLarge { what, shape: shape.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_overflow_or_that_no_machine_has_are_errors() {
        assert_eq!(bytes("x", &[2, 3]).unwrap(), 24);
        assert!(matches!(bytes("x", &[usize::MAX, 2]), Err(ModelError::TooLarge { .. })));
        assert!(bytes("x", &[usize::MAX / 16]).is_ok());
        assert!(matches!(
            probe("x", &[1], &[usize::MAX / 4, usize::MAX / 2]),
            Err(ModelError::TooLarge { .. })
        ));
        assert!(probe("x", &[1], &[1024]).is_ok());
    }
}
