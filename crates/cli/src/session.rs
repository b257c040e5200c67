//! What every command is given, and the account of a work over many pictures.
//!
//! The account counts what succeeded and what failed, reports each failure as it comes, stops where that is wanted, and decides
//! at the end whether there is a file to complete and which exit it is.

use crate::{env::Env, error::CliError, exit::Exit, printer::Printer, text};
use dinoxide::{ContextOptions, LinearPrecision, Model, Precision, RunOptions};
use std::{ops::ControlFlow, path::Path, time::Instant};

/// What every command is given.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) printer: Printer,
    pub(crate) context: ContextOptions,
    pub(crate) env: Env,
}

impl Session {
    /// How a model is built.
    pub(crate) fn run_options(&self, precision: Option<Precision>) -> RunOptions {
        RunOptions { context: self.context, precision }
    }

    /// Tells what was loaded, for `-v`: where not all is f32, what each linear layer is held in. A layer that could not be held
    /// as it was asked is also a warning.
    pub(crate) fn model_detail(&self, model: &Model) {
        self.printer.detail(|| {
            let (context, weights) = (model.context(), text::bytes(model.weight_bytes() as u64));
            let threads = text::count(context.threads(), "thread");
            format!("{}: {weights} of weights, {}, {threads}", model.config().model_type(), context.isa())
        });
        for linear in model.linears() {
            let LinearPrecision { name, precision, note, bytes, bytes_f32, .. } = linear;
            let note = note.map(|note| format!(", {note}")).unwrap_or_default();
            if *precision != Precision::F32 || !note.is_empty() {
                let (before, after) = (text::bytes(*bytes_f32), text::bytes(*bytes));
                self.printer.detail(|| format!("{name}: {precision}, {before} in f32, {after} here{note}"));
            }
        }
        let asked = model.precision().is_some_and(|asked| asked != Precision::F32);
        let left = model.linears().iter().filter(|linear| asked && linear.precision == Precision::F32);
        let count = left.count();
        if count > 0 {
            let layers = text::count(count, "layer");
            self.printer
                .warning(&format!("{layers} could not be held as was asked and are f32: -v tells which"));
        }
    }
}

/// Counts what succeeded and what failed, tells the user, and knows when to stop.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    printer: &'a mut Printer,
    start: Instant,
    total: usize,
    done: usize,
    failed: usize,
    fail_fast: bool,
    /// What ended the work before its end, other than a picture.
    fatal: Option<CliError>,
}

impl<'a> Tally<'a> {
    /// Starts the account, and the progress bar. `lost` places have failed and been reported already.
    pub(crate) fn start(printer: &'a mut Printer, pictures: usize, lost: usize, fail_fast: bool) -> Self {
        printer.start_progress(pictures, "pictures");
        Self {
            printer,
            start: Instant::now(),
            total: pictures + lost,
            done: 0,
            failed: lost,
            fail_fast,
            fatal: None,
        }
    }

    /// Enters one picture: its result goes to `take`, its error to stderr.
    pub(crate) fn enter<T>(
        &mut self,
        result: Result<T, CliError>,
        take: impl FnOnce(T, &mut Printer) -> Result<(), CliError>,
    ) -> ControlFlow<()> {
        match result {
            Ok(value) => {
                if let Err(error) = take(value, self.printer) {
                    self.fatal = Some(error);
                    return ControlFlow::Break(());
                }
                self.done += 1;
            }
            Err(error) => {
                self.printer.error(&error);
                self.failed += 1;
                if self.fail_fast {
                    return ControlFlow::Break(());
                }
            }
        }
        self.printer.advance();
        ControlFlow::Continue(())
    }

    /// Ends the account: `finish` completes the output named `output`, unless nothing may be written. Says how many failed.
    ///
    /// # Errors
    /// What ended the work early; what `finish` says.
    pub(crate) fn end(
        self,
        output: Option<&Path>,
        finish: impl FnOnce() -> Result<(), CliError>,
    ) -> Result<Exit, CliError> {
        self.printer.end_progress();
        if let Some(error) = self.fatal {
            return Err(error);
        }
        self.printer.detail(|| {
            let (pictures, seconds) = (text::count(self.done, "picture"), self.start.elapsed().as_secs_f64());
            format!("{pictures} in {seconds:.1} s, {:.1} a second", self.done as f64 / seconds)
        });
        let failed = format!("{} of {} failed", self.failed, text::count(self.total, "picture"));
        if self.failed > 0 && self.fail_fast {
            let written = if output.is_some() { "nothing was written" } else { "the rest was left" };
            self.printer.note(&format!("stopped at the first picture that failed, {written}"));
            return Ok(Exit::Input);
        }
        match output {
            Some(path) if self.done == 0 => {
                self.printer.note(&format!("{failed}; nothing is left to write to {}", path.display()));
                return Ok(Exit::Input);
            }
            Some(path) => {
                finish()?;
                let pictures = text::count(self.done, "picture");
                self.printer.note(&format!("wrote {pictures} to {}", path.display()));
            }
            None => finish()?,
        }
        if self.failed == 0 {
            return Ok(Exit::Done);
        }
        self.printer.note(&failed);
        Ok(Exit::Input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printer::Verbosity;
    use std::io;

    fn failure() -> CliError {
        CliError::Read { path: "x".into(), source: io::ErrorKind::NotFound.into() }
    }

    fn run(
        results: Vec<Result<(), CliError>>,
        fail_fast: bool,
        output: Option<&Path>,
    ) -> (usize, bool, Exit) {
        let failures = results.iter().filter(|result| result.is_err()).count();
        let mut printer = Printer::new(Verbosity::Quiet, false, &Env::default());
        let mut tally = Tally::start(&mut printer, results.len(), 0, fail_fast);
        let mut entered = 0;
        for result in results {
            entered += 1;
            if tally.enter(result, |(), _| Ok(())).is_break() {
                break;
            }
        }
        let mut finished = false;
        let exit = tally.end(output, || (finished = true, Ok(())).1).unwrap();
        assert_eq!(printer.told(), "error: x: cannot be read: entity not found\n".repeat(failures));
        (entered, finished, exit)
    }

    #[test]
    fn one_failure_loses_only_itself() {
        let out = Some(Path::new("out"));
        assert_eq!(run(vec![Ok(()), Err(failure()), Ok(())], false, out), (3, true, Exit::Input));
        assert_eq!(run(vec![Ok(()), Ok(())], false, out), (2, true, Exit::Done));
    }

    #[test]
    fn nothing_is_written_of_a_work_that_stopped_or_that_failed_whole() {
        let out = Some(Path::new("out"));
        assert_eq!(run(vec![Ok(()), Err(failure()), Ok(())], true, out), (2, false, Exit::Input));
        assert_eq!(run(vec![Err(failure())], false, out), (1, false, Exit::Input));
    }

    #[test]
    fn an_output_that_fails_ends_the_work() {
        let mut printer = Printer::new(Verbosity::Quiet, false, &Env::default());
        let mut tally = Tally::start(&mut printer, 2, 0, false);
        assert!(tally.enter(Ok(()), |(), _| Err(failure())).is_break());
        assert!(matches!(tally.end(None, || Ok(())), Err(CliError::Read { .. })));
    }
}
