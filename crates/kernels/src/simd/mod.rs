//! A small vector layer: [`Simd`] is a token of an instruction set level with the few operations that the kernels
//! call; a kernel is an [`Operation`], written once over it, and [`Level::dispatch`] compiles it for each level.
//!
//! Holding a token is the proof that the processor has the features: it can only be made by `new() -> Option`.
//!
//! All of it must end up inside one function per level (`dispatch.rs`), as only there may the compiler use the
//! level's instructions. So every function between `Operation::eval` and the vector operations is
//! `#[inline(always)]`, closures included when they are more than a line; a call that stays spills every vector. Inner loops
//! are functions of their own ([`Simd::call`], [`call_rows`]), so that they do not depend on what the compiler makes of the rest.
//! A new level (NEON) is a token file beside `x86`, a variant of [`Level`] and of [`crate::Isa`], and nothing else.
//!
//! Threads come above: dispatch within a chunk, never split work within `eval`.

mod dispatch;
mod portable;
mod products;
mod rows;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_words;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use dispatch::{Level, Operation};
pub(crate) use products::{Bf16Pairs, Bytes, F16Pairs, FloatProducts, Floats, Products};
pub(crate) use rows::{RowOperation, add_products, call_rows, load_row, store_rows, tile_rows};
pub(crate) use vector::{Simd, map_in_place};
