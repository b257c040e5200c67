//! The one place that writes to stdout and stderr.
//!
//! stdout is data only; errors, warnings, notes and the progress bar go to stderr, each message a line. What cannot be
//! written to stderr is dropped: there is nobody left to tell. A reader of stdout who leaves is no error.

use crate::{env::Env, error::CliError, text};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    error::Error,
    io::{self, BufWriter, IsTerminal, Stdout, Write},
};

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Errors only.
    Quiet,
    /// Also warnings, notes and the progress bar.
    Normal,
    /// Also details: what was chosen, and how long it took.
    Verbose,
}

/// Writes to the terminal, or to what stands in for it.
#[derive(Debug)]
pub(crate) struct Printer {
    verbosity: Verbosity,
    /// stderr takes colours.
    colour: bool,
    /// A progress bar may be drawn.
    progress: bool,
    stdout: BufWriter<Stdout>,
    stdout_is_terminal: bool,
    bar: Option<ProgressBar>,
    /// In place of stderr, so that tests can read it.
    #[cfg(test)]
    told: std::sync::Mutex<String>,
}

#[derive(Debug, Clone, Copy)]
enum Prefix {
    Error,
    Warning,
    Hint,
}

impl Printer {
    /// A printer for this process's stdout and stderr; `progress` is whether the user lets a bar be drawn.
    pub(crate) fn new(verbosity: Verbosity, progress: bool, env: &Env) -> Self {
        let stderr_is_terminal = io::stderr().is_terminal();
        Self {
            verbosity,
            colour: env.colour && stderr_is_terminal,
            progress: progress && stderr_is_terminal && verbosity > Verbosity::Quiet,
            stdout: BufWriter::new(io::stdout()),
            stdout_is_terminal: io::stdout().is_terminal(),
            bar: None,
            #[cfg(test)]
            told: std::sync::Mutex::default(),
        }
    }

    /// Whether a person reads stdout.
    pub(crate) fn stdout_is_terminal(&self) -> bool {
        self.stdout_is_terminal
    }

    /// Whether progress may be drawn: on a terminal, unless the user does not want it.
    pub(crate) fn draws_progress(&self) -> bool {
        self.progress
    }

    /// Writes data to stdout and hands it on at once, so that a reader sees each line as it comes.
    ///
    /// # Errors
    /// [`CliError::Stdout`]; a closed pipe too, which ends the command as a success.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        let stdout = &mut self.stdout;
        let mut write = || stdout.write_all(bytes).and_then(|()| stdout.flush());
        match &self.bar {
            Some(bar) if self.stdout_is_terminal => bar.suspend(write),
            _ => write(),
        }
        .map_err(CliError::Stdout)
    }

    /// An error: one line with its causes, then its hint.
    pub(crate) fn error(&self, error: &CliError) {
        self.message(Prefix::Error, &chain(error));
        if let Some(hint) = error.hint() {
            self.message(Prefix::Hint, &hint);
        }
    }

    /// Something that the user should know, though the work goes on.
    pub(crate) fn warning(&self, message: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.message(Prefix::Warning, message);
        }
    }

    /// What was done: a summary.
    pub(crate) fn note(&self, message: &str) {
        if self.verbosity >= Verbosity::Normal {
            self.stderr_line(&text::shown(message));
        }
    }

    /// A detail, for `-v`.
    pub(crate) fn detail(&self, message: impl FnOnce() -> String) {
        if self.verbosity >= Verbosity::Verbose {
            self.stderr_line(&text::shown(&message()));
        }
    }

    /// Starts the progress bar of `total` things, such as `pictures`, when one is wanted.
    pub(crate) fn start_progress(&mut self, total: usize, things: &str) {
        if !self.progress {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
        let template = format!("{{wide_bar}} {{pos}}/{{len}} {things}, {{per_sec}}, {{eta}} left");
        let style = ProgressStyle::with_template(&template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar = Some(bar);
    }

    /// One more is done.
    pub(crate) fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Takes the progress bar away.
    pub(crate) fn end_progress(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// An error of our own making, said while nothing else can be relied on.
    pub(crate) fn internal_error(colour: bool, message: &str) {
        let printer = Self::new(Verbosity::Quiet, false, &Env { colour, ..Env::default() });
        printer.message(Prefix::Error, message);
        printer.message(
            Prefix::Hint,
            "please report this, with the command line and the picture that caused it",
        );
    }

    fn message(&self, prefix: Prefix, message: &str) {
        self.stderr_line(&line(prefix, message, self.colour));
    }

    fn stderr_line(&self, line: &str) {
        let write = || self.write_stderr(line);
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "a test's printer keeps the lines")]
    fn write_stderr(&self, line: &str) {
        let _ = writeln!(io::stderr(), "{line}");
    }

    #[cfg(test)]
    fn write_stderr(&self, line: &str) {
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        told.push_str(line);
        told.push('\n');
    }

    /// The lines that would have gone to stderr.
    #[cfg(test)]
    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

/// The message and its causes on one line. A cause that the message already spells out is not said twice.
fn chain(error: &CliError) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !line.ends_with(&cause_text) {
            line = format!("{line}: {cause_text}");
        }
        source = cause.source();
    }
    line
}

/// A line of stderr.
fn line(prefix: Prefix, message: &str, colour: bool) -> String {
    let (word, start) = match prefix {
        Prefix::Error => ("error:", "\x1b[1;31m"),
        Prefix::Warning => ("warning:", "\x1b[1;33m"),
        Prefix::Hint => ("hint:", "\x1b[1;36m"),
    };
    let message = text::shown(message);
    if colour { format!("{start}{word}\x1b[0m {message}") } else { format!("{word} {message}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_and_its_causes_are_one_line() {
        let cause = io::Error::new(io::ErrorKind::NotFound, "gone\nfor good");
        let error = CliError::Read { path: "a.jpg".into(), source: cause };
        let told = line(Prefix::Error, &chain(&error), false);
        assert_eq!(told, "error: a.jpg: cannot be read: gone\\nfor good");
    }

    #[test]
    fn only_the_prefix_is_coloured() {
        assert_eq!(line(Prefix::Hint, "do this", true), "\x1b[1;36mhint:\x1b[0m do this");
        assert_eq!(line(Prefix::Warning, "x\x1b[2J", false), "warning: x\\u{1b}[2J");
    }

    #[test]
    fn quiet_draws_no_bar() {
        let mut printer = Printer::new(Verbosity::Quiet, true, &Env::default());
        printer.start_progress(10, "pictures");
        assert!(printer.bar.is_none());
    }
}
