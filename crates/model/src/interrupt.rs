//! Stopping a forward before its end, when whoever waits for it no longer wants it.

use crate::ModelError;
use std::{
    fmt::Debug,
    sync::atomic::{AtomicBool, Ordering},
};

/// Who may want a forward to stop; asked before every layer, on whichever of the context's threads is at it. The calling thread is one
/// of them, and asks too.
pub trait Interrupt: Debug + Sync {
    /// Whether to stop. May be asked again after it said so.
    fn wanted(&self) -> bool;
}

impl Interrupt for AtomicBool {
    fn wanted(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// What became of it in one forward: once wanted on one thread, all stop.
#[derive(Debug)]
pub(crate) struct Stop<'a> {
    interrupt: Option<&'a dyn Interrupt>,
    stopped: AtomicBool,
}

impl<'a> Stop<'a> {
    /// By this interrupt, or never.
    pub(crate) fn new(interrupt: Option<&'a dyn Interrupt>) -> Self {
        Self { interrupt, stopped: AtomicBool::new(false) }
    }

    /// Whether to stop here.
    pub(crate) fn now(&self) -> bool {
        let Some(interrupt) = self.interrupt else { return false };
        if !self.stopped() && interrupt.wanted() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.stopped()
    }

    /// Whether it was stopped, on any thread; nobody is asked.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// An error when the forward was stopped.
    pub(crate) fn result(&self) -> Result<(), ModelError> {
        if self.stopped() { Err(ModelError::Interrupted) } else { Ok(()) }
    }
}
