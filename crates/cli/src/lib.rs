//! The command `dinoxide`: parse, run, exit.
//!
//! `args` is what is typed, `options` what is meant, `commands` what is done with it; `inputs` reads, `output` writes files,
//! and only `printer` writes to the terminal. The library `dinoxide` does the work. Exit codes and panics are in `exit`.
//!
//! A library, so that the Python package can start the same command; `main.rs` is the binary.

mod args;
mod cleanup;
mod commands;
mod cost;
mod downloads;
mod env;
mod error;
mod exit;
mod inputs;
mod licence;
mod names;
mod options;
mod output;
mod printer;
mod session;
mod text;

pub use downloads::Downloads;

use args::{Cli, GlobalArgs, Parsed};
use env::Env;
use error::CliError;
use exit::Exit;
use printer::{Printer, Verbosity};
use session::Session;
use std::ffi::OsString;

/// Runs the command line `args`, whose first is the name of the program, and gives its exit code: 0 done, 1 the input is at fault, 2 a
/// fault of dinoxide.
///
/// It has the process to itself: it reads the environment, writes to stdout and stderr, and a command that writes files removes
/// the unfinished ones and ends the process on SIGINT, SIGTERM and SIGHUP. A second run in one process keeps the handler of the
/// first, so that its own unfinished files stay when it is interrupted.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let env = Env::read();
    exit::guarded(env.colour, || start(args, env)).code()
}

fn start(args: impl IntoIterator<Item = OsString>, env: Env) -> Exit {
    let parsed = args::parse(args);
    let mut printer = printer(&parsed, &env);
    let result = match parsed {
        Ok(Parsed::Text { plain, coloured }) => {
            let text = if printer.stdout_is_terminal() && env.colour { coloured } else { plain };
            printer.data(text.as_bytes()).map(|()| Exit::Done)
        }
        Ok(Parsed::Cli(cli)) => return run_command(&cli, printer, env),
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| told(&printer, &error))
}

fn run_command(cli: &Cli, printer: Printer, env: Env) -> Exit {
    let context = match options::context(&cli.global, &env) {
        Ok(context) => context,
        Err(error) => return told(&printer, &error),
    };
    let mut session = Session { printer, context, env };
    let result = commands::run(&cli.command, &mut session);
    session.printer.end_progress();
    result.unwrap_or_else(|error| told(&session.printer, &error))
}

/// Tells an error, and whose fault it is.
fn told(printer: &Printer, error: &CliError) -> Exit {
    if !error.is_broken_pipe() {
        printer.error(error);
    }
    error.exit()
}

fn printer(parsed: &Result<Parsed, CliError>, env: &Env) -> Printer {
    match parsed {
        Ok(Parsed::Cli(cli)) => {
            let GlobalArgs { quiet, verbose, no_progress, .. } = cli.global;
            let verbosity = match (quiet, verbose) {
                (true, _) => Verbosity::Quiet,
                (false, true) => Verbosity::Verbose,
                (false, false) => Verbosity::Normal,
            };
            Printer::new(verbosity, !no_progress, env)
        }
        _ => Printer::new(Verbosity::Normal, false, env),
    }
}
