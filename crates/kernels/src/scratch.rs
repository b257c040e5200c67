//! Scratch memory: 64-byte aligned buffers that are taken from a [`crate::Context`] and go back when dropped, so that
//! a computation repeated at the same sizes allocates nothing and touches no fresh page.
//!
//! Contents are whatever the last user left, always initialised. Buffers are kept until the context is dropped; of any length,
//! give or take a factor of [`MOST_TIMES`], there are never more than were once in use together.

use crate::aligned::AlignedFloats;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

/// How many times as long as asked for a buffer may be. Were any long one given for a short one, those who need long ones would
/// make more, until every buffer is as long as the longest.
const MOST_TIMES: usize = 4;

/// Floats of a buffer that is given whatever the length asked for: 1 MiB, too little to be worth keeping apart.
const SMALL: usize = 1 << 18;

/// The buffers that are not in use.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    free: Mutex<Vec<AlignedFloats>>,
}

impl Scratch {
    /// A buffer of `len` floats of any (initialised) contents: the shortest free one that fits. When none does, a new one
    /// takes the place of the longest free one that is too short.
    pub(crate) fn take(&self, len: usize) -> Buffer<'_> {
        let longest = len.saturating_mul(MOST_TIMES).max(SMALL);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let lengths = || free.iter().map(|floats| floats.len()).enumerate();
        let fits = lengths().filter(|(_, got)| (len..=longest).contains(got)).min_by_key(|(_, got)| *got);
        let found = fits.or_else(|| lengths().filter(|(_, got)| *got < len).max_by_key(|(_, got)| *got));
        let taken = found.map(|(i, _)| free.swap_remove(i));
        drop(free);
        let floats = taken.filter(|floats| floats.len() >= len).unwrap_or_else(|| AlignedFloats::zeroed(len));
        Buffer { home: self, floats, len }
    }

    /// Bytes of the buffers that are not in use.
    pub(crate) fn free_bytes(&self) -> usize {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.iter().map(|floats| size_of_val::<[f32]>(floats)).sum()
    }
}

/// Scratch floats, 64-byte aligned; they go back to their context when dropped.
#[derive(Debug)]
pub struct Buffer<'ctx> {
    home: &'ctx Scratch,
    floats: AlignedFloats,
    len: usize,
}

impl Deref for Buffer<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.floats[..self.len]
    }
}

impl DerefMut for Buffer<'_> {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.floats[..self.len]
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let floats = std::mem::take(&mut self.floats);
        self.home.free.lock().unwrap_or_else(PoisonError::into_inner).push(floats);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_of_the_length_asked_for() {
        let scratch = Scratch::default();
        for len in [0, 1, 16, 17, 1000] {
            let buffer = scratch.take(len);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % 64), (len, 0));
        }
    }

    #[test]
    fn a_repeated_computation_allocates_nothing() {
        let scratch = Scratch::default();
        let addresses = || {
            let (a, b) = (scratch.take(1000), scratch.take(50));
            let c = scratch.take(2000);
            [a.as_ptr(), b.as_ptr(), c.as_ptr()]
        };
        let first = addresses();
        let bytes = scratch.free_bytes();
        assert_eq!(addresses(), first);
        assert_eq!(scratch.free_bytes(), bytes);
    }

    #[test]
    fn a_longer_buffer_takes_the_place_of_a_free_one() {
        let scratch = Scratch::default();
        for len in [16, 32, 48] {
            drop(scratch.take(len));
        }
        assert_eq!(scratch.free_bytes(), 48 * 4);
    }

    #[test]
    fn short_requests_leave_the_long_buffers_to_long_ones() {
        let (scratch, long) = (Scratch::default(), 2 * SMALL);
        for _ in 0..3 {
            drop(scratch.take(long));
            drop((scratch.take(16), scratch.take(long)));
            assert_eq!(scratch.free_bytes(), (16 + long) * 4);
        }
        // A third of it is not short.
        drop(scratch.take(long / 3));
        assert_eq!(scratch.free_bytes(), (16 + long) * 4);
    }
}
