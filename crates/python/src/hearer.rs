//! Downloads, as Python's user sees them: bars on a terminal, warnings for the package's log, and Ctrl-C.

use crate::interrupt::Signals;
use dinoxide::{Interrupt, hub::Progress};
use dinoxide_cli::Downloads;
use pyo3::prelude::*;
use std::io::{IsTerminal, stderr};

/// Hears of what one call of Python opens.
#[derive(Debug)]
pub(crate) struct Hearer {
    downloads: Downloads,
    signals: Signals,
}

impl Hearer {
    /// For a call on this thread; bars are drawn where stderr is a terminal.
    pub(crate) fn new() -> Self {
        Self { downloads: Downloads::new(stderr().is_terminal()), signals: Signals::new() }
    }

    /// What was opened, with the warnings on the way; what a signal's handler raised comes first.
    pub(crate) fn finish<T>(&self, opened: PyResult<T>) -> PyResult<(T, Vec<String>)> {
        match self.signals.take_raised() {
            Some(raised) => Err(raised),
            None => Ok((opened?, self.downloads.take_warnings())),
        }
    }
}

impl Progress for Hearer {
    fn start(&self, file: &str, size: Option<u64>, done: u64) {
        self.downloads.start(file, size, done);
    }

    fn wait(&self, file: &str) {
        self.downloads.wait(file);
    }

    fn advance(&self, bytes: u64) {
        self.downloads.advance(bytes);
    }

    fn finish(&self) {
        self.downloads.finish();
    }

    fn is_stopped(&self) -> bool {
        self.signals.wanted()
    }

    fn warn(&self, message: &str) {
        self.downloads.warn(message);
    }
}
