//! Drives the built command as a user would, over the fixtures and the photographs of the repository: one module a
//! command, and one each for errors, inputs, output files, the terminal and the documentation.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on may panic")]

mod bench_cpu;
mod docs;
mod embed;
mod errors;
mod features;
mod info;
mod inputs;
mod interrupt;
mod outputs;
mod preprocess;
mod support;
mod terminal;
mod verify;
