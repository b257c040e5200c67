//! Ctrl-C while the engine computes: Python's handler of signals only notes that one came; whoever computes has to ask.

use dinoxide::Interrupt;
use pyo3::prelude::*;
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

/// How long a forward computes before it takes the interpreter again to ask: short to a person, long to a layer.
const PAUSE: Duration = Duration::from_millis(50);

/// Asks Python's signals, on the thread that called; other threads of the pool go by what that one found.
#[derive(Debug)]
pub(crate) struct Signals {
    caller: ThreadId,
    asked: Mutex<Instant>,
    raised: Mutex<Option<PyErr>>,
    stop: AtomicBool,
}

impl Signals {
    /// For a computation that starts now on this thread.
    pub(crate) fn new() -> Self {
        Self {
            caller: thread::current().id(),
            asked: Mutex::new(Instant::now()),
            raised: Mutex::new(None),
            stop: AtomicBool::new(false),
        }
    }

    /// What a signal's handler raised, `KeyboardInterrupt` for Ctrl-C.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().ok().and_then(|mut raised| raised.take())
    }

    /// Asks, if it is time.
    fn ask(&self) {
        let Ok(mut asked) = self.asked.lock() else { return };
        if asked.elapsed() < PAUSE {
            return;
        }
        // On other threads than Python's main one this does nothing.
        #[allow(clippy::redundant_closure_for_method_calls)]
        // the method alone is not general enough in its lifetime
        let checked = Python::attach(|py| py.check_signals());
        if let Err(error) = checked {
            self.stop.store(true, Ordering::Relaxed);
            if let Ok(mut raised) = self.raised.lock() {
                *raised = Some(error);
            }
        }
        *asked = Instant::now();
    }
}

impl Interrupt for Signals {
    fn wanted(&self) -> bool {
        if thread::current().id() == self.caller && !self.stop.load(Ordering::Relaxed) {
            self.ask();
        }
        self.stop.load(Ordering::Relaxed)
    }
}
