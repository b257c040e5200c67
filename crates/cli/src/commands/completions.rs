//! `completions`: a script for a shell.
//!
//! Made from the definitions of the options, so it knows all of them. It is data on stdout: where a shell looks for it is the
//! user's choice.

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
