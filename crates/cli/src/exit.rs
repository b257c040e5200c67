//! Exit codes, and what stands between a mistake of ours and the user's terminal.
//!
//! A panic that reaches `run` becomes one error line and exit code 2. One that is caught on its way says nothing: decoding
//! catches the panics of decoders, which are others' code, and reports the picture. So the panic hook only keeps where
//! the last panic was; the line is printed where a panic arrives.

use crate::printer::Printer;
use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex, PoisonError},
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

impl Exit {
    /// The exit code of the process.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Input => 1,
            Self::Internal => 2,
        }
    }
}

/// Runs `run`; a panic out of it becomes an error line and [`Exit::Internal`], never a backtrace.
pub(crate) fn guarded(colour: bool, run: impl FnOnce() -> Exit) -> Exit {
    caught(run).unwrap_or_else(|message| {
        Printer::internal_error(colour, &message);
        Exit::Internal
    })
}

/// The message and the place of a panic.
type Panic = (String, String);

/// Runs `run`; the message of a panic out of it, on whichever thread it began. The process's panic hook is as before afterwards.
fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    let last: Arc<Mutex<Option<Panic>>> = Arc::default();
    let kept = Arc::clone(&last);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((text(info.payload()), place));
    }));
    let outcome = panic::catch_unwind(AssertUnwindSafe(run));
    panic::set_hook(before);
    outcome.map_err(|payload| {
        let message = text(payload.as_ref());
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last panic may be another one, which was caught while this one was on its way.
        let place = last.filter(|(of, _)| *of == message).map(|(_, place)| place).unwrap_or_default();
        format!("a mistake inside dinoxide: {message}{place}")
    })
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    let borrowed = payload.downcast_ref::<&str>().map(ToString::to_string);
    borrowed.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, as the hook is the process's.
    #[test]
    fn a_panic_is_told_when_it_arrives_and_not_when_it_is_caught_on_its_way() {
        let line = line!() + 1;
        let told = caught(|| panic!("provoked by a {}", "test")).unwrap_err();
        assert_eq!(told, format!("a mistake inside dinoxide: provoked by a test ({}:{line})", file!()));
        let told = caught(|| {
            let _ = panic::catch_unwind(|| panic!("caught"));
            panic::resume_unwind(Box::new("of a worker"));
        });
        assert_eq!(told, Err("a mistake inside dinoxide: of a worker".to_owned()));
        assert_eq!(caught(|| panic::catch_unwind(|| panic!("caught")).is_err()), Ok(true));
        assert_eq!(guarded(false, || panic!("provoked by a test")), Exit::Internal);
        assert_eq!(guarded(false, || Exit::Input), Exit::Input);
    }
}
