//! Softmax of rows of scores, in powers of two: the scores hold q·k·scale·log₂e, so 2^(score − max) is e^(…) of the
//! plain ones.
//!
//! Streaming: after each block of keys, sums made so far are multiplied by 2^(old max − new max), which gives what one
//! pass over all keys would (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).

use crate::exp::exp2_of_nonpositive;
use crate::simd::Simd;

/// What a streaming softmax knows of a row: `total` = Σ 2^(score − largest) over the keys so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    pub(super) largest: f32,
    pub(super) total: f32,
}

impl Running {
    /// No keys yet.
    pub(super) const START: Self = Self { largest: f32::NEG_INFINITY, total: 0.0 };

    /// Replaces a block of scores by 2^(score − largest so far). Gives the factor for sums made with the former largest.
    #[inline(always)]
    pub(super) fn update<S: Simd>(&mut self, simd: S, scores: &mut [f32]) -> f32 {
        let largest = self.largest.max(largest(simd, scores));
        let sum = exponentials(simd, scores, largest);
        let factor = one_exponential(simd, self.largest - largest);
        *self = Self { largest, total: self.total * factor + sum };
        factor
    }
}

/// A masked key's score is the most negative number, not −∞: when all keys are masked they take part alike, as
/// in Transformers' eager attention.
#[inline(always)]
pub(super) fn mask(scores: &mut [f32], takes_part: &[bool]) {
    for (score, &takes_part) in scores.iter_mut().zip(takes_part) {
        *score = if takes_part { *score } else { f32::MIN };
    }
}

/// The softmax of a whole row, in place.
#[inline(always)]
pub(super) fn softmax<S: Simd>(simd: S, scores: &mut [f32]) {
    let largest = largest(simd, scores);
    let total = exponentials(simd, scores, largest);
    let inverse = simd.splat(1.0 / total);
    crate::simd::map_in_place(
        simd,
        scores,
        #[inline(always)]
        |p| simd.mul(p, inverse),
    );
}

/// The largest score; any number when one is NaN.
#[inline(always)]
fn largest<S: Simd>(simd: S, scores: &[f32]) -> f32 {
    let lowest = simd.splat(f32::NEG_INFINITY);
    // Two, to hide latency.
    let mut largest = [lowest; 2];
    let mut pairs = scores.chunks_exact(2 * S::LANES);
    for pair in &mut pairs {
        largest[0] = simd.max(largest[0], simd.load(pair));
        largest[1] = simd.max(largest[1], simd.load(&pair[S::LANES..]));
    }
    for rest in pairs.remainder().chunks(S::LANES) {
        largest[0] = simd.max(largest[0], simd.load_part(rest, f32::NEG_INFINITY));
    }
    simd.reduce_max(simd.max(largest[0], largest[1]))
}

/// Replaces scores by 2^(score − largest) and gives their sum.
#[inline(always)]
fn exponentials<S: Simd>(simd: S, scores: &mut [f32], largest: f32) -> f32 {
    let largest = simd.splat(largest);
    let mut sums = [simd.splat(0.0); 2];
    let mut pairs = scores.chunks_exact_mut(2 * S::LANES);
    for pair in &mut pairs {
        for (v, sum) in sums.iter_mut().enumerate() {
            let lanes = &mut pair[v * S::LANES..];
            let p = exp2_of_nonpositive(simd, simd.sub(simd.load(lanes), largest));
            simd.store(p, lanes);
            *sum = simd.add(*sum, p);
        }
    }
    for rest in pairs.into_remainder().chunks_mut(S::LANES) {
        // Lanes past the end become 2^−∞ = 0.
        let p = exp2_of_nonpositive(simd, simd.sub(simd.load_part(rest, f32::NEG_INFINITY), largest));
        simd.store_part(p, rest);
        sums[0] = simd.add(sums[0], p);
    }
    simd.reduce_sum(simd.add(sums[0], sums[1]))
}

#[inline(always)]
fn one_exponential<S: Simd>(simd: S, x: f32) -> f32 {
    let mut lane = [0.0];
    simd.store_part(exp2_of_nonpositive(simd, simd.splat(x)), &mut lane);
    lane[0]
}
