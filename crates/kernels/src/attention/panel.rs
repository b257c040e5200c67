//! A panel: W queries of a head (two vectors; the last panel may have fewer), one in each lane.
//!
//! The softmax runs over the rows of scores [keys, W], so all its steps are vertical: queries are multiplied by
//! scale·log₂e when they are packed, so that e^(scale·q·k) is 2^score. Streaming: after each block of keys, sums made
//! so far are multiplied by 2^(old max − new max), which gives what one pass over all keys would (Milakov and Gimelshein, "Online normalizer
//! calculation for softmax", 2018).

use super::head::{Head, KeyValues};
use super::tile::{Scores, Values};
use crate::exp::exp2_of_nonpositive;
use crate::matrix::Blocks;
use crate::simd::{FloatProducts, Operation, Simd};
use std::marker::PhantomData;
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
    /// [d, W], of which words of several numbers take the first rows.
    pub(super) queries: &'a mut [f32],
    /// [W, d padded to vectors].
    pub(super) sums: &'a mut [f32],
    pub(super) running: Running<'a>,
}

impl<'a> Panel<'a> {
    /// Floats of a panel of queries of `d` floats.
    pub(super) const fn len<S: Simd>(d: usize) -> usize {
        panel_width::<S>() * (d + d.next_multiple_of(S::LANES) + 4)
    }

    /// Cuts `memory` of that length.
    pub(super) fn new<S: Simd>(memory: &'a mut [f32], d: usize) -> Self {
        let width = panel_width::<S>();
        let (queries, rest) = memory.split_at_mut(width * d);
        let (sums, running) = rest.split_at_mut(width * d.next_multiple_of(S::LANES));
        let (largest, rest) = running.split_at_mut(width);
        let (of_block, rest) = rest.split_at_mut(width);
        let (total, factors) = rest.split_at_mut(width);
        Self { queries, sums, running: Running { largest, of_block, total, factors } }
    }

    /// Takes the queries; no keys yet.
    #[inline(always)]
    pub(super) fn start<S: Simd, P: FloatProducts>(
        &mut self,
        simd: S,
        head: &Head<'_>,
        queries: Range<usize>,
    ) {
        simd.call(PackQueries { head, queries, out: &mut *self.queries });
        if P::NUMBERS > 1 {
            simd.call(JoinRows::<P> { rows: &mut *self.queries, products: PhantomData });
        }
        self.running.largest.fill(f32::MIN);
        self.running.total.fill(0.0);
    }

    /// The scores [keys, W] of a block of keys, those of masked keys `masked`.
    #[inline(always)]
    pub(super) fn scores<S: Simd, P: FloatProducts>(
        &mut self,
        simd: S,
        head: &Head<'_>,
        keys: Range<usize>,
        count: usize,
        masked: f32,
        scores: &mut [f32],
    ) {
        let largest = &mut *self.running.of_block;
        // A number, so that differences are numbers too when all keys so far are masked (−∞).
        largest.fill(f32::MIN);
        let KeyValues { keys: rows, key_stride: stride, .. } = head.key_values();
        let of = Scores {
            keys: &rows[keys.start * stride..],
            stride,
            queries: &self.queries[..head.head_dim.div_ceil(P::NUMBERS) * panel_width::<S>()],
            scores: &mut *scores,
            largest: &mut *largest,
        };
        match vectors::<S>(count) {
            1 => of.compute::<S, P, 1>(simd, keys.len()),
            _ => of.compute::<S, P, 2>(simd, keys.len()),
        }
        if let Some(mask) = head.key_mask() {
            mask_keys(&mask[keys], masked, scores, largest);
        }
    }

    /// Adds the values of a block of keys, whose scores have become probabilities, to the sums of `count` queries; those of the
    /// first block are the sums.
    #[inline(always)]
    pub(super) fn values<S: Simd, P: FloatProducts>(
        &mut self,
        simd: S,
        head: &Head<'_>,
        keys: Range<usize>,
        count: usize,
        p: &[f32],
    ) {
        let KeyValues { values: rows, value_stride: stride, .. } = head.key_values();
        let values = Values {
            p,
            values: &rows[keys.start / P::NUMBERS * stride..],
            stride,
            head_dim: head.head_dim,
            factors: (keys.start > 0).then_some(&*self.running.factors),
            sums: self.sums,
        };
        values.accumulate::<S, P>(simd, keys.len().div_ceil(P::NUMBERS), count);
    }
}

/// Vectors that `count` queries fill.
#[inline(always)]
pub(super) const fn vectors<S: Simd>(count: usize) -> usize {
    count.div_ceil(S::LANES)
}

/// Queries times the head's factor, one in each lane: `out` is [d, W]; lanes past the end are 0.
struct PackQueries<'a> {
    head: &'a Head<'a>,
    queries: Range<usize>,
    out: &'a mut [f32],
}

impl Operation for PackQueries<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { head, queries, out } = self;
        let (width, lanes, d) = (panel_width::<S>(), S::LANES, head.head_dim);
        if queries.len() < width {
            out.fill(0.0);
        }
        // Whole blocks of lanes × lanes, then what is left at either edge.
        let (rows, columns) = (queries.len() - queries.len() % lanes, d - d % lanes);
        for row in (0..rows).step_by(lanes) {
            for column in (0..columns).step_by(lanes) {
                let (from, to) = (head.queries(queries.start + row), &mut out[column * width + row..]);
                assert!(from.len() >= (lanes - 1) * head.row_stride + d, "queries of a panel");
                assert!(to.len() >= (lanes - 1) * width + lanes, "room for queries");
                // SAFETY: both blocks are within the slices, by the assertions.
                #[allow(unsafe_code)]
                unsafe {
                    let from = from.as_ptr().add(column);
                    simd.transpose_ptr(head.factor(), from, head.row_stride, to.as_mut_ptr(), width);
                }
            }
        }
        for lane in 0..queries.len() {
            let query = head.queries(queries.start + lane);
            for c in if lane < rows { columns } else { 0 }..d {
                out[c * width + lane] = head.factor() * query[c];
            }
        }
    }
}

/// Joins rows [rows, W] of numbers to rows of words of two of them, in place.
struct JoinRows<'a, P> {
    rows: &'a mut [f32],
    products: PhantomData<P>,
}

impl<P: FloatProducts> Operation for JoinRows<'_, P> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let width = panel_width::<S>();
        let rows = self.rows.len() / width;
        for (word, first) in (0..rows).step_by(P::NUMBERS).enumerate() {
            for lane in (0..width).step_by(S::LANES) {
                let mut numbers = [simd.splat(0.0); 2];
                for (row, numbers) in (first..rows).zip(&mut numbers) {
                    *numbers = simd.load(&self.rows[row * width + lane..]);
                }
                let words = P::words(simd, numbers[0], numbers[1]);
                simd.store(words, &mut self.rows[word * width + lane..]);
            }
        }
    }
}

/// Gives masked keys of a block [keys, W] the score `masked`, and finds the largest scores [W] again.
fn mask_keys(takes_part: &[bool], masked: f32, scores: &mut [f32], largest: &mut [f32]) {
    largest.fill(f32::MIN);
    for (row, takes_part) in scores.chunks_exact_mut(largest.len()).zip(takes_part) {
        if !takes_part {
            row.fill(masked);
        }
        for (largest, &score) in largest.iter_mut().zip(&*row) {
            *largest = largest.max(score);
        }
    }
}

/// What a streaming softmax knows of the queries of a panel, each a slice [W].
pub(super) struct Running<'a> {
    /// The largest score before the last block.
    pub(super) largest: &'a mut [f32],
    /// The largest score of the last block.
    of_block: &'a mut [f32],
    /// Σ 2^(score − largest) over the keys so far.
    pub(super) total: &'a mut [f32],
    /// What sums made before the last block are multiplied by.
    pub(super) factors: &'a mut [f32],
}

impl Running<'_> {
    /// Replaces a block of scores [keys, W] by the words of 2^(score − largest so far), in the first `vectors` vectors of queries.
    #[inline(always)]
    pub(super) fn update<S: Simd, P: FloatProducts>(&mut self, simd: S, scores: &mut [f32], vectors: usize) {
        for v in 0..vectors {
            let lane = v * S::LANES;
            simd.call(Update::<P> { running: self, scores, lane, products: PhantomData });
        }
    }
}

/// [`Running::update`] of the vector of queries at `lane`.
struct Update<'u, 'a, P> {
    running: &'u mut Running<'a>,
    scores: &'u mut [f32],
    lane: usize,
    products: PhantomData<P>,
}

impl<P: FloatProducts> Operation for Update<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { running, scores, lane, .. } = self;
        let (width, keys) = (panel_width::<S>(), scores.len() / panel_width::<S>());
        assert!(lane + S::LANES <= width, "a vector of a panel");
        let scores = scores.as_mut_ptr();
        // Valid for key < keys, as lane + lanes ≤ W.
        let place = |key: usize| scores.wrapping_add(key * width + lane);
        let before = simd.load(&running.largest[lane..]);
        let largest = simd.max(before, simd.load(&running.of_block[lane..]));
        let shrunk = exp2_of_nonpositive(simd, simd.sub(before, largest));
        let mut total = simd.mul(simd.load(&running.total[lane..]), shrunk);
        for chunk in (0..keys).step_by(SUMMED) {
            let mut sum = simd.splat(0.0);
            for first in (chunk..keys.min(chunk + SUMMED)).step_by(P::NUMBERS) {
                let mut p = [simd.splat(0.0); 2];
                for (i, p) in p.iter_mut().enumerate().take(P::NUMBERS.min(keys - first)) {
                    // SAFETY: first + i < keys, and lane + lanes ≤ W, so the address is within the scores.
                    #[allow(unsafe_code)]
                    let score = unsafe { simd.load_ptr(place(first + i)) };
                    *p = exp2_of_nonpositive(simd, simd.sub(score, largest));
                    sum = simd.add(sum, *p);
                }
                // SAFETY: as above; a row of words is not past the scores that it is made of.
                #[allow(unsafe_code)]
                unsafe {
                    simd.store_ptr(P::words(simd, p[0], p[1]), place(first / P::NUMBERS));
                }
            }
            total = simd.add(total, sum);
        }
        simd.store(largest, &mut running.largest[lane..]);
        simd.store(total, &mut running.total[lane..]);
        simd.store(shrunk, &mut running.factors[lane..]);
    }
}

/// Writes the sums of the queries of a panel, each times `factor(total)`, to their places.
pub(super) struct StoreSums<'a> {
    pub(super) head: &'a Head<'a>,
    pub(super) queries: Range<usize>,
    /// [queries, d padded].
    pub(super) sums: &'a [f32],
    /// [queries], what each row is multiplied by.
    pub(super) factors: &'a [f32],
    pub(super) out: &'a Blocks<'a>,
}

impl Operation for StoreSums<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { head, queries, sums, factors, out } = self;
        let (d, padded) = (head.head_dim, head.head_dim.next_multiple_of(S::LANES));
        let whole = d - d % S::LANES;
        for (lane, query) in queries.enumerate() {
            let place = head.out_place(query);
            // SAFETY: this is the row of one query of one head; each is given to one task, which stores it once.
            #[allow(unsafe_code)]
            let row = unsafe { out.row(place.0, place.1) };
            let (sums, factor) = (&sums[lane * padded..][..padded], simd.splat(factors[lane]));
            for c in (0..whole).step_by(S::LANES) {
                simd.store(simd.mul(simd.load(&sums[c..]), factor), &mut row[c..]);
            }
            simd.store_part(simd.mul(simd.load_part(&sums[whole..d], 0.0), factor), &mut row[whole..]);
        }
    }
}
