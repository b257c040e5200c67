//! Splitting work over threads: indices 0..count, each done once, handed out to whichever thread is free.
//!
//! The tasks, not the threads, decide what is summed together, so results do not depend on the number of threads.
//! The calling thread takes part. A thread that comes late, or whose core another process holds, takes fewer tasks; nobody
//! waits for it to start. Idle threads sleep. No memory is allocated for a split.

mod crew;
mod job;

use crate::KernelError;
use crew::Crew;
use std::ops::Range;

/// Threads, or none: with one thread all runs on the caller's.
#[derive(Debug)]
pub(crate) struct Pool {
    crew: Option<Crew>,
}

impl Pool {
    /// Starts the threads: one fewer, as the caller is one.
    pub(crate) fn new(threads: usize) -> Result<Self, KernelError> {
        let crew = (threads > 1).then(|| Crew::new(threads - 1)).transpose();
        let crew = crew.map_err(|error| KernelError::Threads { threads, reason: error.to_string() })?;
        Ok(Self { crew })
    }

    /// How many threads work.
    pub(crate) fn threads(&self) -> usize {
        self.crew.as_ref().map_or(1, |crew| crew.len() + 1)
    }

    /// How many threads would work at a job now: the caller's, and those that are idle.
    pub(crate) fn hands(&self) -> usize {
        self.crew.as_ref().map_or(1, |crew| crew.idle() + 1)
    }

    /// Runs `task(0)`, …, `task(count - 1)`, each once: for tasks that each are worth handing over.
    pub(crate) fn for_each(&self, count: usize, task: impl Fn(usize) + Sync) {
        self.run(count, 1, &|range| range.for_each(&task));
    }

    /// Runs `task` over ranges that together are 0..count: for indices whose work is small.
    pub(crate) fn for_each_range(&self, count: usize, task: impl Fn(Range<usize>) + Sync) {
        self.run(count, u32::MAX, &task);
    }

    fn run(&self, count: usize, most: u32, task: &(dyn Fn(Range<usize>) + Sync)) {
        match &self.crew {
            Some(crew) if count > 1 => {
                // More indices than a job can count go in several.
                for start in (0..count).step_by(u32::MAX as usize) {
                    let len = (count - start).min(u32::MAX as usize);
                    crew.run(len as u32, most, &|range| task(start + range.start..start + range.end));
                }
            }
            _ if count > 0 => task(0..count),
            _ => {}
        }
    }

    /// Cuts `data` into chunks of `chunk_len` (the last may be shorter) and runs `task(index, chunk)` for each.
    pub(crate) fn for_each_chunk_mut<T: Send>(
        &self,
        data: &mut [T],
        chunk_len: usize,
        task: impl Fn(usize, &mut [T]) + Sync,
    ) {
        let chunks = Chunks::new(data, chunk_len);
        self.for_each(chunks.count(), |index| {
            // SAFETY: `for_each` passes each index once, so no chunk is lent twice.
            #[allow(unsafe_code)]
            let chunk = unsafe { chunks.get(index) };
            task(index, chunk);
        });
    }
}

/// A slice cut into chunks that different threads may write at once.
struct Chunks<'a, T> {
    start: *mut T,
    len: usize,
    chunk_len: usize,
    _lent: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: the chunks are disjoint, and `get` demands that each be lent once; so threads share no element, and an
// element moves to another thread only when `T: Send`.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Chunks<'_, T> {}

impl<'a, T> Chunks<'a, T> {
    fn new(data: &'a mut [T], chunk_len: usize) -> Self {
        assert!(chunk_len > 0 || data.is_empty(), "chunks of length 0");
        Self { start: data.as_mut_ptr(), len: data.len(), chunk_len, _lent: std::marker::PhantomData }
    }

    fn count(&self) -> usize {
        if self.len == 0 { 0 } else { self.len.div_ceil(self.chunk_len) }
    }

    /// Chunk `index`.
    ///
    /// # Safety
    /// No index may be passed twice.
    #[allow(unsafe_code)]
    unsafe fn get(&self, index: usize) -> &'a mut [T] {
        // Saturating: a product that wrapped would give a range of another chunk.
        let from = index.saturating_mul(self.chunk_len).min(self.len);
        let to = from.saturating_add(self.chunk_len).min(self.len);
        // SAFETY: the range lies in the slice that `'a` borrows, and by the caller no other chunk that is lent covers it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), to - from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_task_runs_once_on_any_number_of_threads() {
        for threads in 1..=4 {
            let pool = Pool::new(threads).unwrap();
            assert_eq!(pool.threads(), threads);
            for count in [0, 1, 2, 3, 17, 1000] {
                let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                pool.for_each(count, |i| {
                    runs[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(
                    runs.iter().all(|n| n.load(Ordering::Relaxed) == 1),
                    "{threads} threads, {count} tasks"
                );
            }
        }
    }

    #[test]
    fn chunks_cover_a_slice_with_a_shorter_last_one() {
        let pool = Pool::new(3).unwrap();
        for (len, chunk_len) in [(0, 4), (1, 4), (4, 4), (5, 4), (1003, 10)] {
            let mut data = vec![usize::MAX; len];
            pool.for_each_chunk_mut(&mut data, chunk_len, |index, chunk| {
                for (i, v) in chunk.iter_mut().enumerate() {
                    *v = index * chunk_len + i;
                }
            });
            assert!(data.iter().enumerate().all(|(i, &v)| i == v), "{len} in chunks of {chunk_len}");
        }
    }

    #[test]
    fn a_task_may_split_again() {
        let pool = Pool::new(2).unwrap();
        let sum = AtomicUsize::new(0);
        pool.for_each(5, |i| {
            pool.for_each(7, |j| {
                sum.fetch_add(i * j, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 10 * 21);
    }

    #[test]
    fn ranges_cover_every_index_once() {
        for threads in [1, 2, 5, 20] {
            let pool = Pool::new(threads).unwrap();
            for count in [0, 1, 2, 19, 1000, 100_003] {
                let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                pool.for_each_range(count, |range| {
                    assert!(!range.is_empty());
                    for run in &runs[range] {
                        run.fetch_add(1, Ordering::Relaxed);
                    }
                });
                assert!(runs.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} threads, {count}");
            }
        }
    }

    #[test]
    fn several_callers_share_the_threads() {
        let pool = Pool::new(3).unwrap();
        std::thread::scope(|scope| {
            for caller in 1..=4 {
                let pool = &pool;
                scope.spawn(move || {
                    for round in 0..200 {
                        let sum = AtomicUsize::new(0);
                        pool.for_each(50, |i| {
                            sum.fetch_add(i * caller + round, Ordering::Relaxed);
                        });
                        assert_eq!(sum.into_inner(), 49 * 25 * caller + 50 * round);
                    }
                });
            }
        });
    }

    #[test]
    fn what_tasks_wrote_is_there_when_they_are_done() {
        let pool = Pool::new(4).unwrap();
        let mut data = vec![0_u64; 4096];
        for round in 1..300 {
            pool.for_each_chunk_mut(&mut data, 16, |_, chunk| chunk.iter_mut().for_each(|v| *v += 1));
            assert!(data.iter().all(|&v| v == round));
            if round % 50 == 0 {
                // Long enough for all threads to fall asleep.
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }

    /// Panics when it is dropped.
    struct Grenade;

    impl Drop for Grenade {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn panics_whose_payloads_panic_again_do_not_break_the_pool() {
        let pool = Pool::new(3).unwrap();
        for _ in 0..20 {
            let caught =
                catch_unwind(AssertUnwindSafe(|| pool.for_each(100, |_| std::panic::panic_any(Grenade))));
            std::mem::forget(caught.unwrap_err());
            let runs = AtomicUsize::new(0);
            pool.for_each(100, |_| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(runs.into_inner(), 100);
        }
    }

    #[test]
    fn a_panic_of_a_task_reaches_the_caller_and_the_threads_go_on() {
        let pool = Pool::new(3).unwrap();
        for bad in [0, 1, 57, 99] {
            let done = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                pool.for_each(100, |i| {
                    assert!(i != bad, "task {i}");
                    done.fetch_add(1, Ordering::Relaxed);
                });
            }));
            assert_eq!(*caught.unwrap_err().downcast::<String>().unwrap(), format!("task {bad}"));
            assert!(done.into_inner() < 100);
            let runs = AtomicUsize::new(0);
            pool.for_each(100, |_| {
                runs.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(runs.into_inner(), 100);
        }
    }
}
