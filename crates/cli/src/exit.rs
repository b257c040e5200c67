//! Exit codes, and what stands between a mistake of ours and the user's terminal.

use crate::printer::Printer;
use std::{
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Done,
    /// The user's input is at fault, or some of several inputs failed.
    Input,
    /// Our fault.
    Internal,
}

/// The code of a command that was interrupted: 128 + SIGINT, as shells have it.
pub(crate) const INTERRUPTED: i32 = 130;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Input => 1,
            Exit::Internal => 2,
        })
    }
}

/// Runs `run`; a panic in it becomes an error line and [`Exit::Internal`], never a backtrace.
pub(crate) fn guarded(colour: bool, run: impl FnOnce() -> Exit) -> Exit {
    panic::set_hook(Box::new(move |info| {
        let message = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        Printer::internal_error(colour, &format!("a mistake inside dinoxide: {message}{place}"));
    }));
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or(Exit::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_our_fault_and_no_more_than_an_error_line() {
        assert_eq!(guarded(false, || panic!("provoked by a test")), Exit::Internal);
        assert_eq!(guarded(false, || Exit::Input), Exit::Input);
        let _ = panic::take_hook();
    }
}
