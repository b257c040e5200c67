//! What a download tells while it runs, for whoever draws a bar.
//!
//! Bytes are counted when they are written. A file that starts over is started again, so that the count never exceeds the size.
//! Nothing is drawn or printed here.

use std::time::Duration;
use std::{fmt, thread};

/// How often whoever waits asks whether to stop.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Hears how downloads go. Files come one after the other; all methods are called from the thread that downloads.
pub trait Progress: fmt::Debug + Send + Sync {
    /// A file begins, or begins anew: `done` of its `size` bytes are there already.
    fn start(&self, file: &str, size: Option<u64>, done: u64);

    /// Another process has the file's lock, and is waited for.
    fn wait(&self, file: &str) {
        let _ = file;
    }

    /// So many more bytes are on disk.
    fn advance(&self, bytes: u64);

    /// The file that began is complete, or failed.
    fn finish(&self);

    /// Whether to stop here; asked between the chunks of a file and, ten times a second, while another process or the next try is
    /// waited for. What came so far is kept, and gone on with the next time.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Something that the user should know, though the model was found: see [`super::Located::warnings`]. [`super::fetch`] itself
    /// does not call this; who opens a model for the user passes the warnings on.
    fn warn(&self, message: &str) {
        let _ = message;
    }
}

/// Waits so long, unless it is to stop before: whether it is.
pub(super) fn pause(progress: &dyn Progress, mut left: Duration) -> bool {
    loop {
        if progress.is_stopped() {
            return true;
        }
        if left.is_zero() {
            return false;
        }
        let part = left.min(POLL);
        thread::sleep(part);
        left -= part;
    }
}

/// Says nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Silent;

impl Progress for Silent {
    fn start(&self, _: &str, _: Option<u64>, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
}
