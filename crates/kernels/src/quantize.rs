//! Weights of fewer bits, before they are packed: what they stand for, and how they are made from floats.
//!
//! ```text
//! int8   ŵ[n, k] = code · scale[n]                         code in −127..=127 when made here, symmetric per output
//! int4   ŵ[n, k] = code · scale[g, n] + zero[g, n]         code in −8..=7, g = k / group, asymmetric per output and group
//! ```
//! int4 is torchao's `Int4WeightOnlyConfig` (0.18, `choose_qparams_affine` with a float zero), to the bit. A last group of an
//! input that the group size does not divide is shorter. Rounding is to nearest, ties to even.

mod int4;
mod int8;

pub use int4::Int4Weight;
pub use int8::Int8Weight;

/// Rows that one task quantises.
const ROWS_A_TASK: usize = 16;

/// Values that are compared side by side: the sequence of one would wait for each comparison.
const LANES: usize = 64;

/// Folds values lane by lane, then the lanes: for what gives the same in any order.
#[inline(always)]
fn fold(values: &[f32], start: f32, add: impl Fn(f32, f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = add(*lane, *value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane = add(*lane, *value);
    }
    lanes.into_iter().fold(start, join)
}
