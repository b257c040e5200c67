//! `out = epilogue(a · weightᵀ)`: the linear layer. `a` is [M, K] row-major, the weight [N, K] as PyTorch's `Linear`
//! stores it, packed once for the instruction set found at run time; `out` is [M, N].
//!
//! The plan, from the outside in (sizes: `blocking.rs`):
//! ```text
//! make words of the rows of a, where the weight's format wants  bf16, f16 or bytes (`rows.rs`)
//! for each task = rows × panels of the output                   on any thread
//!   for each block of K                                         the rows of a, and a panel, fit the L2 cache
//!     for each panel (2 or 3 vectors wide) of the packed weight made floats first, if held in fewer bits than multiplied (`format.rs`)
//!       for each tile (≤ 12 rows × 1 panel)                     all sums in registers (`tile.rs`)
//!         sums[tile] += a[rows, block] · panel[block, columns]
//!         after the last block: out[tile] = epilogue(sums)      while in the L1 cache (`epilogue.rs`)
//! ```
//! Weights and rows are words of 32 bits: a float, two halves or four bytes. What differs between formats is in `format.rs`.
//! An output element is summed the same way whatever is computed with it: k ascending within a block, block sums added
//! in order, and blocks depend on K alone. So a row's results are equal to the bit in any batch, at any place in a
//! tile, on any number of threads.

mod blocking;
mod driver;
mod epilogue;
mod f16;
mod format;
mod int4;
mod rows;
mod sums;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_compact;
#[cfg(test)]
mod tests_f16;
mod tile;
mod weight;

pub use driver::gemm;
pub use epilogue::Epilogue;
pub use weight::{Int4Activations, PackedWeight};
