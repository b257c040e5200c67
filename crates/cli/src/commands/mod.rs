//! One file a command: what it does, with the options checked and the library below.
//!
//! `forward` is what `embed`, `classify` and `features` share. A command gives its exit, or the error that ended it; only `main` tells that
//! error and turns it into a code.

mod bench;
mod classify;
mod completions;
mod cpu;
mod embed;
mod features;
mod forward;
mod info;
mod measured;
mod preprocess;
mod quantize;
mod verify;

use crate::{args::Command, error::CliError, exit::Exit, session::Session};

/// Runs a command.
///
/// # Errors
/// What ended it; what befell single pictures has been reported.
pub(crate) fn run(command: &Command, session: &mut Session) -> Result<Exit, CliError> {
    match command {
        Command::Embed(args) => embed::run(args, session),
        Command::Classify(args) => classify::run(args, session),
        Command::Features(args) => features::run(args, session),
        Command::Preprocess(args) => preprocess::run(args, session),
        Command::Info(args) => info::run(args, session),
        Command::Verify(args) => verify::run(args, session),
        Command::Quantize(args) => quantize::run(args, session),
        Command::Bench(args) => bench::run(args, session),
        Command::Cpu(args) => cpu::run(args, session),
        Command::Completions(args) => completions::run(args, session),
    }
}
