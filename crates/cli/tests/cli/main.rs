//! Drives the built command as a user would, over the fixtures and the photographs of the repository.
//!
//! One module a command, and one each for errors, the hub, inputs, pictures, output files, the terminal, interrupts and the
//! documentation.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on may panic"
)]

mod backbones;
mod bench_cpu;
mod classify;
mod docs;
mod embed;
mod errors;
mod features;
mod fed;
mod goldens;
mod hub;
mod info;
mod inputs;
mod interrupt;
mod outputs;
mod pictures;
mod precision;
mod preprocess;
mod quantize;
mod support;
mod terminal;
mod verify;
