//! The binary `dinoxide`: its arguments in, its exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    dinoxide_cli::run(std::env::args_os()).into()
}
