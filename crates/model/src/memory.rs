//! What a forward may take, in memory and work, is settled before it begins, so that pictures which are too large are an error and not
//! the end of the process, or of the user's day.

use crate::ModelError;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Asks for memory before it is needed, once for each amount.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// The most bytes that were had.
    had: AtomicUsize,
}

impl Probe {
    /// Refuses what the allocator would refuse: the buffers of these sizes are asked for together and given back at once.
    pub(crate) fn check(
        &self,
        what: &'static str,
        shape: &[usize],
        buffers: &[usize],
    ) -> Result<(), ModelError> {
        let total = buffers.iter().try_fold(0_usize, |sum, &bytes| sum.checked_add(bytes));
        let total = total.ok_or_else(|| too_large(what, shape))?;
        // Asked for once: the working memory of a forward is kept, so a repeated one needs nothing new.
        if total > self.had.load(Ordering::Relaxed) {
            Vec::<u8>::new().try_reserve_exact(total).map_err(|_| too_large(what, shape))?;
            self.had.fetch_max(total, Ordering::Relaxed);
        }
        Ok(())
    }
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
            Probe::default().check("x", &[1], &[usize::MAX / 4, usize::MAX / 2]),
            Err(ModelError::TooLarge { .. })
        ));
    }

    #[test]
    fn more_than_was_once_had_is_asked_for_again() {
        let probe = Probe::default();
        assert!(probe.check("x", &[1], &[1024]).is_ok());
        assert!(probe.check("x", &[1], &[1024]).is_ok());
        assert!(probe.check("x", &[1], &[1024, isize::MAX as usize]).is_err());
    }
}
