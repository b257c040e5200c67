//! Floats aligned to a cache line, which is the widest vector: what weights are packed into, and scratch memory.
//!
//! They begin as zeros that the system gives page by page when they are first written, by whichever thread that is. Weights
//! ask for huge pages (2 MiB, Linux), whose first touch costs a fraction of that of as many small ones, and which spare the
//! processor's address cache.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Floats in a cache line.
const LINE: usize = 16;

/// From how many bytes on huge pages are asked for: the size of one.
const HUGE_PAGE: usize = 2 << 20;

/// Floats from a cache line's start on; as many as asked for, rounded up to whole lines.
#[derive(Debug, Default)]
pub(crate) struct AlignedFloats {
    memory: Memory,
    len: usize,
}

#[derive(Debug)]
enum Memory {
    /// The floats from `start` on.
    Heap { floats: Vec<f32>, start: usize },
    /// Pages of their own.
    Pages(MmapMut),
}

impl Default for Memory {
    fn default() -> Self {
        Self::Heap { floats: Vec::new(), start: 0 }
    }
}

impl AlignedFloats {
    /// At least `len` floats, all 0, on the heap.
    pub(crate) fn zeroed(len: usize) -> Self {
        let len = len.next_multiple_of(LINE);
        Self { memory: heap(len), len }
    }

    /// The same in huge pages, where there are enough to fill one: for what is read again and again.
    pub(crate) fn in_huge_pages(len: usize) -> Self {
        let len = len.next_multiple_of(LINE);
        let pages = len.checked_mul(size_of::<f32>()).filter(|&bytes| bytes >= HUGE_PAGE).and_then(pages);
        Self { memory: pages.map_or_else(|| heap(len), Memory::Pages), len }
    }
}

/// On the heap, with room to begin at a line's start.
fn heap(len: usize) -> Memory {
    let floats = vec![0.0_f32; len + LINE];
    let past = floats.as_ptr().addr() / size_of::<f32>() % LINE;
    Memory::Heap { floats, start: (LINE - past) % LINE }
}

/// Pages of so many bytes, huge ones where the system has them; nothing when it has none.
fn pages(bytes: usize) -> Option<MmapMut> {
    // Linux lays out only whole huge pages such that they can be huge. What is past the end is never touched, so it takes no
    // memory, as long as the last bytes are in small pages.
    let pages = MmapMut::map_anon(bytes.checked_next_multiple_of(HUGE_PAGE)?).ok()?;
    #[cfg(target_os = "linux")]
    {
        use memmap2::Advice;
        let whole = bytes - bytes % HUGE_PAGE;
        // Advice: where it is not taken, all pages are small.
        let _ = pages.advise_range(Advice::HugePage, 0, whole);
        let _ = pages.advise_range(Advice::NoHugePage, whole, pages.len() - whole);
    }
    Some(pages)
}

impl Deref for AlignedFloats {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        match &self.memory {
            Memory::Heap { floats, start } => &floats[*start..][..self.len],
            // SAFETY: the pages are `len` floats or more, initialised (zeros at first, then what was written), aligned to a
            // page, and borrowed as long as the result.
            #[allow(unsafe_code)]
            Memory::Pages(pages) => unsafe { std::slice::from_raw_parts(pages.as_ptr().cast(), self.len) },
        }
    }
}

impl DerefMut for AlignedFloats {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        match &mut self.memory {
            Memory::Heap { floats, start } => &mut floats[*start..][..self.len],
            // SAFETY: as in `deref`; the pages are borrowed mutably.
            #[allow(unsafe_code)]
            Memory::Pages(pages) => unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), self.len)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_zeros_in_whole_aligned_lines_whatever_their_number() {
        for len in [0, 1, 16, 17, 1000, HUGE_PAGE / 4 - 16, HUGE_PAGE / 4, HUGE_PAGE / 2 + 1] {
            for mut floats in [AlignedFloats::zeroed(len), AlignedFloats::in_huge_pages(len)] {
                assert_eq!(
                    (floats.len(), floats.as_ptr().addr() % 64),
                    (len.next_multiple_of(16), 0),
                    "{len}"
                );
                assert!(floats.iter().all(|&x| x == 0.0));
                floats.fill(1.0);
                assert!(floats.iter().all(|&x| x == 1.0));
            }
        }
    }

    #[test]
    fn moved_floats_stay_aligned() {
        let moved: Vec<AlignedFloats> = (1..50).map(|i| AlignedFloats::zeroed(i * 7)).collect();
        assert!(moved.iter().all(|floats| floats.as_ptr().addr().is_multiple_of(64)));
    }
}
