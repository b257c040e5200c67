//! The one thing passed down to every operation: instruction set, threads.

use crate::{Isa, KernelError};

/// How to make a [`Context`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextOptions {
    /// Instruction set level; the processor's best when absent.
    pub isa: Option<Isa>,
    /// Threads; the cores that this process may use when absent. 0 counts as absent.
    pub threads: Option<usize>,
}

/// Instruction set, thread pool and scratch memory of a computation.
#[derive(Debug)]
pub struct Context {
    isa: Isa,
    threads: usize,
}

impl Context {
    /// Checks the level against the processor and starts the threads.
    ///
    /// # Errors
    /// [`KernelError::IsaNotAvailable`] when the processor lacks the level; [`KernelError::Threads`] when threads
    /// cannot be started.
    pub fn new(options: ContextOptions) -> Result<Self, KernelError> {
        let isa = options.isa.unwrap_or_else(Isa::best);
        if !isa.is_available() {
            let available = Isa::available().into_iter().map(Isa::name).collect::<Vec<_>>().join(", ");
            return Err(KernelError::IsaNotAvailable { isa, available });
        }
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { isa, threads: options.threads.filter(|&n| n > 0).unwrap_or_else(cores) })
    }

    /// The instruction set level in use.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The number of threads in use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }
}
