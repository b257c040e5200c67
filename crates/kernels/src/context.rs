//! The one thing passed down to every operation: instruction set, threads, scratch memory.
//!
//! There are no globals: two contexts share nothing, and one may be used from several threads at once. It also says
//! how work is cut into tasks ([`Context::items_per_task`]), so that every kernel splits alike.

use crate::pool::Pool;
use crate::profile::{Op, Profile, Recorder, Span};
use crate::scratch::{Buffer, Scratch};
use crate::simd::{Level, Operation, Products};
use crate::{Isa, KernelError};
use std::ops::Range;

/// How to make a [`Context`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextOptions {
    /// Instruction set level; the processor's best when absent.
    pub isa: Option<Isa>,
    /// Threads; the cores that this process may use when absent. 0 counts as absent.
    pub threads: Option<usize>,
}

/// Instruction set, thread pool and scratch memory of a computation. Its threads sleep when there is nothing to do.
#[derive(Debug)]
pub struct Context {
    level: Level,
    multiplies_f16: bool,
    pool: Pool,
    scratch: Scratch,
    recorder: Recorder,
}

/// Tasks per thread that a split aims at: enough to even out threads of unequal speed.
const TASKS_PER_THREAD: usize = 4;

impl Context {
    /// Checks the level against the processor and starts the threads.
    ///
    /// # Errors
    /// [`KernelError::IsaNotAvailable`] when the processor lacks the level; [`KernelError::Threads`] when threads
    /// cannot be started.
    pub fn new(options: ContextOptions) -> Result<Self, KernelError> {
        let isa = options.isa.unwrap_or_else(Isa::best);
        let level = Level::new(isa).ok_or_else(|| {
            let available = Isa::available().into_iter().map(Isa::name).collect::<Vec<_>>().join(", ");
            KernelError::IsaNotAvailable { isa, available }
        })?;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.filter(|&n| n > 0).unwrap_or_else(cores);
        Ok(Self {
            level,
            multiplies_f16: level.multiplies_f16(),
            pool: Pool::new(threads)?,
            scratch: Scratch::default(),
            recorder: Recorder::default(),
        })
    }

    /// The same, with weights of f16 multiplied in f16 or widened to f32, whatever the processor would do faster. Without
    /// instructions for f16 it takes some hundred times as long, and gives the same numbers, to the bit: to see elsewhere what
    /// processors that have them compute. Weights remember it from when they are packed.
    #[must_use]
    pub fn multiplying_f16(self, multiplies_f16: bool) -> Self {
        Self { multiplies_f16, ..self }
    }

    /// Whether weights of f16 are multiplied in f16: where the processor has instructions for it (AVX-512 FP16).
    #[must_use]
    pub fn multiplies_f16(&self) -> bool {
        self.multiplies_f16
    }

    /// The instruction set level in use.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.level.isa()
    }

    /// The number of threads in use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// How many threads would take part in an operation that starts now: fewer than [`Self::threads`] within a task, when the
    /// others are at tasks of their own. How work is cut may follow it, as results do not depend on that.
    #[must_use]
    pub fn hands(&self) -> usize {
        self.pool.hands()
    }

    /// Runs `task(0)`, …, `task(count - 1)`, each once, in no particular order on the context's threads, of which the calling
    /// one is one. May be called within a task.
    pub fn for_each(&self, count: usize, task: impl Fn(usize) + Sync) {
        self.pool.for_each(count, task);
    }

    /// Runs `task` over ranges that together are 0..count, on the context's threads: long ranges first, single indices at
    /// the end, those of one thread side by side. For indices whose work is small.
    pub fn for_each_range(&self, count: usize, task: impl Fn(Range<usize>) + Sync) {
        self.pool.for_each_range(count, task);
    }

    /// Cuts `data` into chunks of `chunk_len` (the last may be shorter) and runs `task(index, chunk)` for each on the
    /// context's threads.
    ///
    /// # Panics
    /// When `chunk_len` is 0 and `data` is not empty.
    pub fn for_each_chunk_mut<T: Send>(
        &self,
        data: &mut [T],
        chunk_len: usize,
        task: impl Fn(usize, &mut [T]) + Sync,
    ) {
        self.pool.for_each_chunk_mut(data, chunk_len, task);
    }

    /// How many of `items` (at least 1) to give to one task: about four tasks a free thread, but none of fewer than
    /// `least` items, the number below which a task is not worth handing over (some 10 µs of work).
    #[must_use]
    pub fn items_per_task(&self, items: usize, least: usize) -> usize {
        items.div_ceil(self.hands() * TASKS_PER_THREAD).max(least).max(1)
    }

    /// A scratch buffer of `len` floats, 64-byte aligned. Its contents are whatever it was last used for.
    #[must_use]
    pub fn scratch(&self, len: usize) -> Buffer<'_> {
        self.scratch.take(len)
    }

    /// Bytes of scratch memory kept for reuse.
    #[must_use]
    pub fn scratch_bytes(&self) -> usize {
        self.scratch.free_bytes()
    }

    /// Begins to keep account of where time goes; what was kept before is forgotten. Clones of a model share a context,
    /// and so its profile.
    pub fn start_profile(&self) {
        self.recorder.start();
    }

    /// Ends the profile that [`Self::start_profile`] began; empty when there was none.
    #[must_use]
    pub fn finish_profile(&self) -> Profile {
        self.recorder.finish()
    }

    /// Opens an operation in the profile, if one is kept, until the result is dropped.
    #[inline]
    pub(crate) fn span(&self, op: impl FnOnce() -> Op) -> Option<Span<'_>> {
        self.recorder.open(op)
    }

    /// Runs an operation, compiled for the context's level, on the calling thread.
    #[inline]
    pub(crate) fn dispatch<O: Operation>(&self, operation: O) -> O::Output {
        self.level.dispatch(operation)
    }

    /// As [`Self::dispatch`], compiled with the instructions for such products where the processor has them.
    #[inline]
    pub(crate) fn dispatch_products<P: Products, O: Operation>(&self, operation: O) -> O::Output {
        P::dispatch(self.level, operation)
    }

    /// Whether products of bf16 are faster than those of floats.
    #[inline]
    pub(crate) fn multiplies_bf16(&self) -> bool {
        self.level.multiplies_bf16()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_has_the_level_and_the_threads_asked_for() {
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(3) }).unwrap();
            assert_eq!((ctx.isa(), ctx.threads()), (isa, 3));
        }
    }

    #[test]
    fn no_threads_means_as_many_as_there_are_cores() {
        let counted = Context::new(ContextOptions { isa: None, threads: Some(0) }).unwrap();
        let default = Context::new(ContextOptions::default()).unwrap();
        assert_eq!(counted.threads(), default.threads());
        assert!(default.threads() >= 1);
        assert_eq!(default.isa(), Isa::best());
    }

    #[test]
    fn small_work_is_one_task() {
        let ctx = Context::new(ContextOptions { isa: None, threads: Some(2) }).unwrap();
        assert_eq!(ctx.items_per_task(10, 16), 16);
        assert_eq!(ctx.items_per_task(800, 16), 100);
        assert_eq!(ctx.items_per_task(0, 0), 1);
    }
}
