//! Parity with Transformers over the fixtures: models, processors, from file to embedding; and what must not change a bit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod classes;
mod classifiers;
mod coverage;
mod drift;
mod end_to_end;
mod f16;
mod fixtures;
mod half;
mod invariance;
mod masks;
mod models;
mod pipelines;
mod positions;
mod precision;
mod processors;
mod quantized;
mod saving;
mod stages;
mod train;
