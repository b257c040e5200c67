//! A buffer whose rows several threads write at once.
//!
//! The rows of heads lie interleaved in `out` [B, S, A·d], so it cannot be cut into chunks: ranges of it are lent instead,
//! checked against its length; that they are disjoint is the caller's word, given in `unsafe`.

use std::marker::PhantomData;

/// A slice lent out in disjoint ranges.
pub(super) struct SharedRows<'a> {
    start: *mut f32,
    len: usize,
    _lent: PhantomData<&'a mut [f32]>,
}

// SAFETY: the pointer is used by `row` alone, whose callers vouch that ranges are disjoint while they are lent.
#[allow(unsafe_code)]
unsafe impl Sync for SharedRows<'_> {}

impl<'a> SharedRows<'a> {
    pub(super) fn new(data: &'a mut [f32]) -> Self {
        Self { start: data.as_mut_ptr(), len: data.len(), _lent: PhantomData }
    }

    /// `len` floats from `start` on.
    ///
    /// # Safety
    /// No other range that is lent at the same time may overlap this one.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub(super) unsafe fn row(&self, start: usize, len: usize) -> &mut [f32] {
        assert!(start <= self.len && len <= self.len - start, "row {start}+{len} of {}", self.len);
        // SAFETY: the range is within the slice that `'a` borrows, and by the caller nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }
}
