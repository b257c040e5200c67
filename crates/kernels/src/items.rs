//! Buffers with a part for each item (picture) of a batch, given out to threads a group of items at a time.

use crate::Context;
use std::marker::PhantomData;
use std::ops::Range;
use std::slice::from_raw_parts_mut;

/// A buffer [B, n].
#[derive(Debug)]
pub struct Items<'a> {
    start: *mut f32,
    batch: usize,
    item_len: usize,
    _lent: PhantomData<&'a mut [f32]>,
}

// SAFETY: the pointer is used by `Group` alone, and groups that exist at the same time have different items.
#[allow(unsafe_code)]
unsafe impl Sync for Items<'_> {}

impl<'a> Items<'a> {
    /// The floats of `batch` items, each as many.
    ///
    /// # Panics
    /// When they cannot be dealt evenly.
    #[must_use]
    pub fn new(data: &'a mut [f32], batch: usize) -> Self {
        let item_len = data.len() / batch.max(1);
        assert_eq!(data.len(), item_len * batch, "floats of {batch} items");
        Self { start: data.as_mut_ptr(), batch, item_len, _lent: PhantomData }
    }

    /// The floats of some items.
    ///
    /// # Safety
    /// No item may be lent already.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    unsafe fn part(&self, items: &Range<usize>) -> &mut [f32] {
        assert!(items.start <= items.end && items.end <= self.batch, "items {items:?} of {}", self.batch);
        // SAFETY: the items are within the slice that `'a` borrows; by the caller nobody else has them.
        unsafe {
            from_raw_parts_mut(self.start.add(items.start * self.item_len), items.len() * self.item_len)
        }
    }
}

/// Some items of every buffer.
#[derive(Debug)]
pub struct Group<'a> {
    items: Range<usize>,
    buffers: &'a [Items<'a>],
}

impl Group<'_> {
    /// Which items.
    #[must_use]
    pub fn items(&self) -> Range<usize> {
        self.items.clone()
    }

    /// Their floats in a buffer.
    ///
    /// # Panics
    /// When there is no such buffer.
    #[must_use]
    pub fn part(&mut self, buffer: usize) -> &mut [f32] {
        // SAFETY: only this group has its items, and it is borrowed mutably.
        #[allow(unsafe_code)]
        unsafe {
            self.buffers[buffer].part(&self.items)
        }
    }

    /// Copies their floats from one buffer to another.
    ///
    /// # Panics
    /// When there is no such buffer, or the two are the same or of different lengths.
    pub fn copy(&mut self, from: usize, to: usize) {
        assert_ne!(from, to, "a buffer copied onto itself");
        // SAFETY: only this group has its items, it is borrowed mutably, and the buffers are two.
        #[allow(unsafe_code)]
        let (from, to) =
            unsafe { (self.buffers[from].part(&self.items), self.buffers[to].part(&self.items)) };
        to.copy_from_slice(from);
    }
}

impl Context {
    /// Calls `task` for groups of at most `per_group` items (at least 1) of the buffers, on the context's threads. Operations
    /// called within may be split further: threads without a group of their own help those that have one.
    ///
    /// # Panics
    /// When a buffer has fewer than `batch` items.
    pub fn for_each_group(
        &self,
        batch: usize,
        per_group: usize,
        buffers: &mut [Items<'_>],
        task: impl Fn(&mut Group<'_>) + Sync,
    ) {
        assert!(buffers.iter().all(|buffer| buffer.batch >= batch), "buffers of {batch} items");
        let (buffers, per_group) = (&*buffers, per_group.max(1));
        self.for_each(batch.div_ceil(per_group), |index| {
            let start = index * per_group;
            task(&mut Group { items: start..batch.min(start + per_group), buffers });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextOptions;

    #[test]
    fn every_item_of_every_buffer_is_met_once() {
        for (threads, per_group) in [(1, 1), (2, 1), (3, 4), (2, 100)] {
            let ctx = Context::new(ContextOptions { threads: Some(threads), isa: None }).unwrap();
            let (mut a, mut b) = (vec![0.0; 7 * 3], vec![0.0; 7 * 2]);
            let mut buffers = [Items::new(&mut a, 7), Items::new(&mut b, 7)];
            ctx.for_each_group(7, per_group, &mut buffers, |group| {
                let first = group.items().start;
                group.part(0).iter_mut().enumerate().for_each(|(i, v)| *v += (first * 3 + i) as f32);
                group.part(1).iter_mut().for_each(|v| *v += 1.0);
            });
            assert!(a.iter().enumerate().all(|(i, &v)| v == i as f32));
            assert!(b.iter().all(|&v| v == 1.0));
        }
    }

    #[test]
    fn a_group_is_copied_from_buffer_to_buffer() {
        let ctx = Context::new(ContextOptions { threads: Some(2), isa: None }).unwrap();
        let (mut a, mut b) = ([1.0, 2.0, 3.0, 4.0], [0.0; 4]);
        ctx.for_each_group(2, 1, &mut [Items::new(&mut a, 2), Items::new(&mut b, 2)], |group| {
            group.copy(0, 1);
        });
        assert_eq!(b, a);
    }

    #[test]
    fn a_batch_of_nothing_has_no_group() {
        let ctx = Context::new(ContextOptions::default()).unwrap();
        ctx.for_each_group(0, 1, &mut [Items::new(&mut [], 0)], |_| panic!("a group"));
    }
}
