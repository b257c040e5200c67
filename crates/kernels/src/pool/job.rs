//! A job: indices 0..count, handed out in ranges to the threads that work at it.
//!
//! Each thread has a home, an equal part of the indices, and takes from its front; so a thread tends to meet, operation
//! after operation, the rows that are in its caches. When its home is empty it takes from the back of another's. A range
//! is an eighth of what is left of a home: large at first, small at the end, so that threads end together.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most homes; threads beyond share them.
const MAX_HOMES: usize = 16;

/// A range is what is left of a home, divided by this.
const SHARE: u32 = 8;

/// What is left of a home: start and end in the upper and the lower half. On a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Home(AtomicU64);

impl Home {
    fn new(range: Range<u32>) -> Self {
        Self(AtomicU64::new(pack(range)))
    }

    /// Takes a range from the front, or from the back; at most `most` indices.
    fn take(&self, front: bool, most: u32) -> Option<Range<u32>> {
        // Relaxed: the numbers are all that is handed over; joining orders the memory that tasks write.
        let mut left = self.0.load(Ordering::Relaxed);
        loop {
            let (start, end) = ((left >> 32) as u32, left as u32);
            if start >= end {
                return None;
            }
            let len = ((end - start) / SHARE).clamp(1, most);
            let (taken, rest) = if front {
                (start..start + len, start + len..end)
            } else {
                (end - len..end, start..end - len)
            };
            match self.0.compare_exchange_weak(left, pack(rest), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(taken),
                Err(now) => left = now,
            }
        }
    }
}

fn pack(range: Range<u32>) -> u64 {
    u64::from(range.start) << 32 | u64::from(range.end)
}

/// Indices to work through, and who is at it.
pub(super) struct Job<'a> {
    task: &'a (dyn Fn(Range<usize>) + Sync),
    homes: [Home; MAX_HOMES],
    used: usize,
    /// The most indices of a range.
    most: u32,
    /// Indices that nobody has taken.
    unclaimed: AtomicUsize,
    /// Jobs that have such indices: the crew counts this one in, the last claim counts it out.
    open_jobs: &'a AtomicUsize,
    /// Threads other than the owner's that are at work. Changed by the crew.
    pub(super) helpers: AtomicUsize,
    /// The first panic of a task.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'a> Job<'a> {
    /// `count` indices for `threads` threads, in ranges of at most `most`.
    pub(super) fn new(
        count: u32,
        threads: usize,
        most: u32,
        open_jobs: &'a AtomicUsize,
        task: &'a (dyn Fn(Range<usize>) + Sync),
    ) -> Self {
        let used = threads.clamp(1, MAX_HOMES);
        let edge = |i: usize| (u64::from(count) * i.min(used) as u64 / used as u64) as u32;
        Self {
            task,
            homes: std::array::from_fn(|i| Home::new(edge(i)..edge(i + 1))),
            used,
            most,
            unclaimed: AtomicUsize::new(count as usize),
            open_jobs,
            helpers: AtomicUsize::new(0),
            panic: Mutex::new(None),
        }
    }

    /// Whether there is something left to take.
    pub(super) fn is_open(&self) -> bool {
        self.unclaimed.load(Ordering::Relaxed) > 0
    }

    /// Works at it until nothing is left to take. After a panic of a task what is left is taken without being done.
    pub(super) fn run(&self, home: usize) {
        let work = || {
            while let Some(range) = self.claim(home) {
                (self.task)(range);
            }
        };
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            match &*first {
                None => *first = Some(payload),
                // Leaked: to drop what somebody else panicked with could panic in turn, and unwind out of the pool.
                Some(_) => std::mem::forget(payload),
            }
            drop(first);
            while self.claim(home).is_some() {}
        }
    }

    /// The next range for a thread of this home.
    fn claim(&self, home: usize) -> Option<Range<usize>> {
        let range =
            (0..self.used).find_map(|i| self.homes[(home + i) % self.used].take(i == 0, self.most))?;
        if self.unclaimed.fetch_sub(range.len(), Ordering::Relaxed) == range.len() {
            self.open_jobs.fetch_sub(1, Ordering::Relaxed);
        }
        Some(range.start as usize..range.end as usize)
    }

    /// The panic of a task, if one did.
    pub(super) fn into_panic(self) -> Option<Box<dyn Any + Send>> {
        self.panic.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
