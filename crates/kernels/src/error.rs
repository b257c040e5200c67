//! What can go wrong here by the fault of the user or the machine: a name that is unknown, a level that the processor
//! lacks, threads or memory that the system refuses.
//!
//! The operations themselves check shapes by assertion: a wrong shape there is a mistake inside dinoxide, never the
//! user's.

use crate::Isa;

/// Errors of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A name that is no instruction set level.
    #[error("unknown ISA level `{got}`, expected one of {expected}")]
    UnknownIsa {
        /// What was asked for.
        got: String,
        /// The known names.
        expected: String,
    },
    /// The processor lacks the level.
    #[error("this processor has no `{isa}`, it has {available}")]
    IsaNotAvailable {
        /// What was asked for.
        isa: Isa,
        /// The levels that are there.
        available: String,
    },
    /// A name that is no activation, or one with parameters of its own.
    #[error("unknown activation `{got}`, expected one of {known}")]
    UnknownActivation {
        /// What was asked for.
        got: String,
        /// The known names.
        known: String,
    },
    /// The operating system refused memory.
    #[error("cannot allocate {bytes} bytes")]
    Memory {
        /// How many were asked for.
        bytes: usize,
    },
    /// The operating system refused to start threads.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}
