//! Tests of the crate's public face, in one binary.
//!
//! One module a subject: folders, headers, shards, reading, mismatches, classifiers, spellings, hostile bytes, and what
//! Transformers wrote.

// Helpers of tests fail by panicking, as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod classifier;
mod config_json;
mod floats;
mod folder;
mod header;
mod hostile;
mod hostile_weights;
mod loading;
mod mismatch;
mod quantized;
mod read;
mod save;
mod shards;
mod spellings;
mod support;
mod transformers;
