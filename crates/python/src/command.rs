//! The command `dinoxide` in the wheel: the same code that the binary runs, in Python's process.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command line `args`, whose first is the name of the program, and gives its exit code.
///
/// It has the process to itself: the caller leaves signals to the system first (`dinoxide._cli` does), as nothing of Python
/// runs meanwhile.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| dinoxide_cli::run(args))
}
