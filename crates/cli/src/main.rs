//! The command `dinoxide`: parse, run, exit.
//!
//! `args` is what is typed, `options` what is meant, `commands` what is done with it; `inputs` reads, `output` writes files,
//! and only `printer` writes to the terminal. The library `dinoxide` does the work. Exit codes and panics are in `exit`.

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

use args::{Cli, GlobalArgs, Parsed};
use env::Env;
use error::CliError;
use exit::Exit;
use printer::{Printer, Verbosity};
use session::Session;
use std::process::ExitCode;

fn main() -> ExitCode {
    let env = Env::read();
    exit::guarded(env.colour, || start(env)).into()
}

fn start(env: Env) -> Exit {
    let parsed = args::parse(std::env::args_os());
    let mut printer = printer(&parsed, &env);
    let result = match parsed {
        Ok(Parsed::Text { plain, coloured }) => {
            let text = if printer.stdout_is_terminal() && env.colour { coloured } else { plain };
            printer.data(text.as_bytes()).map(|()| Exit::Done)
        }
        Ok(Parsed::Cli(cli)) => return run(&cli, printer, env),
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| told(&printer, &error))
}

fn run(cli: &Cli, printer: Printer, env: Env) -> Exit {
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
