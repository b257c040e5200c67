//! Splitting work over threads: tasks 0..count, each done once, handed out in order to whichever thread is free.
//!
//! The tasks, not the threads, decide what is summed together, so results do not depend on the number of threads.
//! A thread that comes late, or whose core another process holds, takes fewer tasks; nobody waits for it to start.
//! Idle threads sleep. No memory is allocated for a split.

use crate::KernelError;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads, or none: with one thread all runs on the caller's.
#[derive(Debug)]
pub(crate) struct Pool {
    threads: Option<ThreadPool>,
}

impl Pool {
    /// Starts the threads.
    pub(crate) fn new(threads: usize) -> Result<Self, KernelError> {
        let build = || {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            builder.thread_name(|index| format!("dinoxide-{index}")).build()
        };
        let started = (threads > 1).then(build).transpose();
        let threads = started.map_err(|error| KernelError::Threads { threads, reason: error.to_string() })?;
        Ok(Self { threads })
    }

    /// How many threads work.
    pub(crate) fn threads(&self) -> usize {
        self.threads.as_ref().map_or(1, ThreadPool::current_num_threads)
    }

    /// Runs `f` on a thread of the pool; on the caller's when it is one, or when there is no pool.
    pub(crate) fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        match &self.threads {
            Some(pool) => pool.install(f),
            None => f(),
        }
    }

    /// Runs `task(0)`, …, `task(count - 1)`, each once.
    pub(crate) fn for_each(&self, count: usize, task: impl Fn(usize) + Sync) {
        let workers = self.threads().min(count);
        if workers <= 1 {
            (0..count).for_each(task);
            return;
        }
        let next = AtomicUsize::new(0);
        // Relaxed: the counter only hands out numbers; joining the workers orders the memory that tasks write.
        let work = || {
            while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&i| i < count) {
                task(index);
            }
        };
        self.install(|| fan_out(workers, &work));
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

/// Runs `work` on `workers` threads at once (fewer when they are busy elsewhere).
fn fan_out(workers: usize, work: &(impl Fn() + Sync)) {
    if workers == 1 {
        return work();
    }
    let half = workers / 2;
    rayon::join(|| fan_out(workers - half, work), || fan_out(half, work));
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
}
