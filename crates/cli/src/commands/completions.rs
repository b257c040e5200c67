//! `completions`: a script for a shell.

use crate::{
    args::{Cli, CompletionsArgs},
    error::CliError,
    exit::Exit,
    session::Session,
};
use clap::CommandFactory;

pub(super) fn run(args: &CompletionsArgs, session: &mut Session) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dinoxide", &mut script);
    session.printer.data(&script)?;
    Ok(Exit::Done)
}
