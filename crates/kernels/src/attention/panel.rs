//! A panel: W queries of a head (two vectors; the last panel may have fewer), one in each lane.
//!
//! The softmax runs over the rows of scores [keys, W], so all its steps are vertical. Scores hold q·k·scale·log₂e, so
//! 2^(score − max) is e^(…) of the plain ones. Streaming: after each block of keys, sums made so far are multiplied by
//! 2^(old max − new max), which gives what one pass over all keys would (Milakov and Gimelshein, "Online normalizer
//! calculation for softmax", 2018).

use super::head::Head;
use super::tile::{Scores, Values};
use crate::exp::exp2_of_nonpositive;
use crate::simd::{Operation, Simd};
use std::ops::Range;

/// Probabilities that are summed before the sum joins the total: rounding errors grow with either number, not the product.
const SUMMED: usize = 32;

/// Queries of a full panel.
#[inline(always)]
pub(super) const fn panel_width<S: Simd>() -> usize {
    2 * S::LANES
}

/// The memory of a panel.
pub(super) struct Panel<'a> {
    /// [d, W].
    pub(super) queries: &'a mut [f32],
    /// [W, d padded to vectors].
    pub(super) sums: &'a mut [f32],
    pub(super) running: Running<'a>,
}

impl<'a> Panel<'a> {
    /// Floats of a panel of queries of `d` floats.
    pub(super) const fn len<S: Simd>(d: usize) -> usize {
        panel_width::<S>() * (d + d.next_multiple_of(S::LANES) + 3)
    }

    /// Cuts `memory` of that length.
    pub(super) fn new<S: Simd>(memory: &'a mut [f32], d: usize) -> Self {
        let width = panel_width::<S>();
        let (queries, rest) = memory.split_at_mut(width * d);
        let (sums, running) = rest.split_at_mut(width * d.next_multiple_of(S::LANES));
        let (largest, rest) = running.split_at_mut(width);
        let (total, factors) = rest.split_at_mut(width);
        Self { queries, sums, running: Running { largest, total, factors } }
    }

    /// Takes the queries; no keys yet.
    #[inline(always)]
    pub(super) fn start<S: Simd>(&mut self, head: &Head<'_>, queries: Range<usize>) {
        pack_queries::<S>(head, queries, self.queries);
        self.sums.fill(0.0);
        // A number, so that differences are numbers too when all keys so far are masked (−∞).
        self.running.largest.fill(f32::MIN);
        self.running.total.fill(0.0);
    }

    /// The scores [keys, W] of a block of keys.
    #[inline(always)]
    pub(super) fn scores<S: Simd>(
        &self,
        simd: S,
        head: &Head<'_>,
        keys: Range<usize>,
        count: usize,
        scores: &mut [f32],
    ) {
        let of = |scores| Scores {
            keys: head.keys(keys.start),
            stride: head.row_stride,
            queries: self.queries,
            scores,
        };
        match vectors::<S>(count) {
            1 => of(scores).compute::<S, 1>(simd, keys.len()),
            _ => of(scores).compute::<S, 2>(simd, keys.len()),
        }
    }

    /// Adds the values of a block of keys, whose scores have become probabilities, to the sums of `count` queries.
    #[inline(always)]
    pub(super) fn values<S: Simd>(
        &mut self,
        simd: S,
        head: &Head<'_>,
        keys: Range<usize>,
        count: usize,
        p: &[f32],
    ) {
        let values = Values {
            p,
            values: head.values(keys.start),
            stride: head.row_stride,
            head_dim: head.head_dim,
            factors: self.running.factors,
            sums: self.sums,
        };
        values.accumulate(simd, keys.len(), count);
    }
}

/// Vectors that `count` queries fill.
#[inline(always)]
pub(super) const fn vectors<S: Simd>(count: usize) -> usize {
    count.div_ceil(S::LANES)
}

/// Queries times `factor`, a query in each lane: `out` is [d, W]; lanes past the end are 0.
#[inline(always)]
fn pack_queries<S: Simd>(head: &Head<'_>, queries: Range<usize>, out: &mut [f32]) {
    let (width, factor) = (panel_width::<S>(), head.factor());
    if queries.len() < width {
        out.fill(0.0);
    }
    for (lane, query) in queries.enumerate() {
        for (out, x) in out[lane..].iter_mut().step_by(width).zip(head.query(query)) {
            *out = x * factor;
        }
    }
}

/// Gives masked keys of a block [keys, W] the score `masked`.
pub(super) fn mask_keys(takes_part: &[bool], width: usize, masked: f32, scores: &mut [f32]) {
    for (row, _) in scores.chunks_exact_mut(width).zip(takes_part).filter(|(_, takes_part)| !**takes_part) {
        row.fill(masked);
    }
}

/// What a streaming softmax knows of the queries of a panel, each a slice [W].
pub(super) struct Running<'a> {
    /// The largest score so far.
    pub(super) largest: &'a mut [f32],
    /// Σ 2^(score − largest) over the keys so far.
    pub(super) total: &'a mut [f32],
    /// What sums made before the last block are multiplied by.
    pub(super) factors: &'a mut [f32],
}

impl Running<'_> {
    /// Replaces a block of scores [keys, W] by 2^(score − largest so far), in the first `vectors` vectors of queries.
    #[inline(always)]
    pub(super) fn update<S: Simd>(&mut self, simd: S, scores: &mut [f32], vectors: usize) {
        for v in 0..vectors {
            simd.call(Update { running: self, scores, lane: v * S::LANES });
        }
    }
}

/// [`Running::update`] of the vector of queries at `lane`.
struct Update<'u, 'a> {
    running: &'u mut Running<'a>,
    scores: &'u mut [f32],
    lane: usize,
}

impl Operation for Update<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { running, scores, lane } = self;
        let (width, keys) = (panel_width::<S>(), scores.len() / panel_width::<S>());
        assert!(lane + S::LANES <= width, "a vector of a panel");
        let scores = scores.as_mut_ptr();
        // SAFETY, here and below: key < keys and lane + lanes ≤ W, so the address is within the scores.
        let place = |key: usize| scores.wrapping_add(key * width + lane);
        let before = simd.load(&running.largest[lane..]);
        let mut largest = before;
        for key in 0..keys {
            // SAFETY: see `place`.
            #[allow(unsafe_code)]
            let score = unsafe { simd.load_ptr(place(key)) };
            largest = simd.max(largest, score);
        }
        let factor = exp2_of_nonpositive(simd, simd.sub(before, largest));
        let mut total = simd.mul(simd.load(&running.total[lane..]), factor);
        for chunk in (0..keys).step_by(SUMMED) {
            let mut sum = simd.splat(0.0);
            for key in chunk..keys.min(chunk + SUMMED) {
                // SAFETY: see `place`.
                #[allow(unsafe_code)]
                unsafe {
                    let p = exp2_of_nonpositive(simd, simd.sub(simd.load_ptr(place(key)), largest));
                    simd.store_ptr(p, place(key));
                    sum = simd.add(sum, p);
                }
            }
            total = simd.add(total, sum);
        }
        simd.store(largest, &mut running.largest[lane..]);
        simd.store(total, &mut running.total[lane..]);
        simd.store(factor, &mut running.factors[lane..]);
    }
}
