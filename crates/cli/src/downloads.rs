//! What the user sees of a model's download: a bar a file, on stderr, and warnings at its end.
//!
//! A download is heard from inside the library, where the printer is not: this keeps what it hears until the printer asks.

use crate::text;
use dinoxide::hub::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file whose size is known.
const SIZED: &str = "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
/// A file whose size is not.
const UNSIZED: &str = "{msg} {spinner} {bytes}, {bytes_per_sec}";

/// Hears how downloads go.
#[derive(Debug)]
pub struct Downloads {
    draws: bool,
    heard: Mutex<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    bar: Option<ProgressBar>,
    warnings: Vec<String>,
}

impl Downloads {
    /// Draws bars only if `draws`.
    #[must_use]
    pub fn new(draws: bool) -> Self {
        Self { draws, heard: Mutex::default() }
    }

    /// The warnings that came since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.heard().warnings)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        // Bars and texts stay what they are when a thread panics.
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, size: Option<u64>, done: u64, message: String) {
        let mut heard = self.heard();
        if let Some(bar) = heard.bar.take() {
            bar.finish_and_clear();
        }
        if self.draws {
            let template = if size.is_some() { SIZED } else { UNSIZED };
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr()).with_style(style);
            bar.set_message(message);
            bar.set_position(done);
            // The rate is that of what comes now, not of what was there.
            bar.reset_eta();
            heard.bar = Some(bar);
        }
    }
}

impl Progress for Downloads {
    fn start(&self, file: &str, size: Option<u64>, done: u64) {
        self.show(size, done, text::shown(file).into_owned());
    }

    fn wait(&self, file: &str) {
        self.show(None, 0, format!("waiting for another process that downloads {}", text::shown(file)));
    }

    fn advance(&self, bytes: u64) {
        if let Some(bar) = &self.heard().bar {
            bar.inc(bytes);
        }
    }

    fn finish(&self) {
        if let Some(bar) = self.heard().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn warn(&self, message: &str) {
        self.heard().warnings.push(message.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_drawn_only_where_it_may_be() {
        for draws in [true, false] {
            let downloads = Downloads::new(draws);
            downloads.start("model.safetensors", Some(100), 40);
            downloads.advance(10);
            let position = downloads.heard().bar.as_ref().map(ProgressBar::position);
            assert_eq!(position, draws.then_some(50));
            downloads.finish();
            assert!(downloads.heard().bar.is_none());
        }
    }

    #[test]
    fn warnings_are_kept_until_they_are_asked_for() {
        let downloads = Downloads::new(false);
        downloads.warn("from the cache");
        assert_eq!(downloads.take_warnings(), ["from the cache"]);
        assert!(downloads.take_warnings().is_empty());
    }
}
