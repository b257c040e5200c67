//! The two inner products, a tile at a time, all sums in registers; keys and values are read in place.
//!
//! ```text
//! scores[key][query] = Σ_c keys[key][c] · queries[c][query]               rows: keys, lanes: queries
//! sums[query][c]     = sums[query][c] · factor[query] + Σ_key p[key][query] · values[key][c]    rows: queries, lanes: c
//! ```
//! So a key's score for many queries is one vector, and a softmax over keys needs no sum across lanes.

use super::panel::panel_width;
use crate::matrix::part;
use crate::simd::{Products, RowOperation, Simd, add_products, call_rows, load_row, store_rows, tile_rows};
use std::marker::PhantomData;

/// Keys of a block, times the queries of a panel.
pub(super) struct Scores<'a> {
    /// Rows of the words of d numbers, `stride` apart.
    pub(super) keys: &'a [f32],
    pub(super) stride: usize,
    /// [words, W].
    pub(super) queries: &'a [f32],
    /// [keys, W].
    pub(super) scores: &'a mut [f32],
    /// [W], the largest score so far.
    pub(super) largest: &'a mut [f32],
}

impl Scores<'_> {
    /// Computes the scores of `count` keys for the first V vectors of queries.
    #[inline(always)]
    pub(super) fn compute<S: Simd, P: Products, const V: usize>(self, simd: S, count: usize) {
        let width = panel_width::<S>();
        let tiles = count.div_ceil(tile_rows::<S>(2));
        for tile in 0..tiles {
            let rows = part(count, tiles, tile);
            let tile = ScoresTile::<P, V> {
                keys: &self.keys[rows.start * self.stride..],
                stride: self.stride,
                queries: self.queries,
                scores: &mut self.scores[rows.start * width..rows.end * width],
                largest: &mut *self.largest,
                products: PhantomData,
            };
            call_rows(simd, rows.len(), tile);
        }
    }
}

/// Some rows of [`Scores`].
struct ScoresTile<'a, P, const V: usize> {
    keys: &'a [f32],
    stride: usize,
    queries: &'a [f32],
    scores: &'a mut [f32],
    largest: &'a mut [f32],
    products: PhantomData<P>,
}

impl<P: Products, const V: usize> RowOperation for ScoresTile<'_, P, V> {
    const VECTORS: usize = 2;

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd, const R: usize>(self, simd: S) {
        let (width, stride, depth) =
            (panel_width::<S>(), self.stride, self.queries.len() / panel_width::<S>());
        assert!(V * S::LANES <= width && self.keys.len() >= (R - 1) * stride + depth, "keys of a tile");
        assert!(self.scores.len() >= R * width, "scores of a tile");
        let (keys, queries, scores) = (self.keys.as_ptr(), self.queries.as_ptr(), self.scores.as_mut_ptr());
        let mut acc = [[simd.splat(0.0); V]; R];
        // SAFETY: c < depth, r < R and v·lanes < W, so all addresses are within the slices, by the assertions.
        #[allow(unsafe_code)]
        unsafe {
            for c in 0..depth {
                let b = load_row(simd, queries.add(c * width));
                add_products::<S, P, R, V>(simd, keys.add(c), stride, b, &mut acc);
            }
            store_rows(simd, acc, scores, width);
        }
        for v in 0..V {
            let largest = &mut self.largest[v * S::LANES..];
            let mut of_column = simd.load(largest);
            for r in 0..R {
                of_column = simd.max(of_column, acc[r][v]);
            }
            simd.store(of_column, largest);
        }
    }
}

/// Probabilities of a block's keys, times their values.
pub(super) struct Values<'a> {
    /// [rows, W]: words, each of as many keys as a word has numbers.
    pub(super) p: &'a [f32],
    /// Rows of d words of as many keys, `stride` apart.
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
    /// d.
    pub(super) head_dim: usize,
    /// [queries], what sums made so far are multiplied by; absent when there are none.
    pub(super) factors: Option<&'a [f32]>,
    /// [queries, d padded to vectors].
    pub(super) sums: &'a mut [f32],
}

impl Values<'_> {
    /// Adds the values of `keys` rows of words to the sums of `queries` queries.
    #[inline(always)]
    pub(super) fn accumulate<S: Simd, P: Products>(mut self, simd: S, keys: usize, queries: usize) {
        let padded = self.head_dim.next_multiple_of(S::LANES);
        let pairs = self.head_dim - self.head_dim % (2 * S::LANES);
        let whole = self.head_dim - self.head_dim % S::LANES;
        let tiles = queries.div_ceil(tile_rows::<S>(2));
        for tile in 0..tiles {
            let rows = part(queries, tiles, tile);
            let (at, rows) = (Place { query: rows.start, column: 0, keys, padded }, rows.len());
            for column in (0..pairs).step_by(2 * S::LANES) {
                call_rows(simd, rows, ValuesTile::<P, 2, false>::new(Place { column, ..at }, &mut self));
            }
            if pairs < whole {
                let at = Place { column: pairs, ..at };
                call_rows(simd, rows, ValuesTile::<P, 1, false>::new(at, &mut self));
            }
            if whole < padded {
                let at = Place { column: whole, ..at };
                call_rows(simd, rows, ValuesTile::<P, 1, true>::new(at, &mut self));
            }
        }
    }
}

/// Where a tile of [`Values`] is.
#[derive(Clone, Copy)]
struct Place {
    query: usize,
    column: usize,
    /// Rows of words.
    keys: usize,
    /// d padded.
    padded: usize,
}

/// R queries, V vectors of columns; with PART the vector is the last, of fewer columns than lanes.
struct ValuesTile<'t, 'a, P, const V: usize, const PART: bool> {
    at: Place,
    of: &'t mut Values<'a>,
    products: PhantomData<P>,
}

impl<'t, 'a, P, const V: usize, const PART: bool> ValuesTile<'t, 'a, P, V, PART> {
    #[inline(always)]
    fn new(at: Place, of: &'t mut Values<'a>) -> Self {
        Self { at, of, products: PhantomData }
    }
}

impl<P: Products, const V: usize, const PART: bool> RowOperation for ValuesTile<'_, '_, P, V, PART> {
    const VECTORS: usize = 2;

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd, const R: usize>(self, simd: S) {
        let Place { query, column, keys, padded } = self.at;
        let (width, stride) = (panel_width::<S>(), self.of.stride);
        let columns = if PART { self.of.head_dim - column } else { V * S::LANES };
        let (p, values) = (&self.of.p[query..], &self.of.values[column.min(self.of.values.len())..]);
        let factors = self.of.factors.map(|factors| &factors[query..][..R]);
        let sums = &mut self.of.sums[query * padded + column..];
        assert!(keys > 0 && p.len() >= (keys - 1) * width + R, "probabilities of a tile");
        assert!(values.len() >= (keys - 1) * stride + columns, "values of a tile");
        assert!(sums.len() >= (R - 1) * padded + V * S::LANES, "sums of a tile");
        let (p, rows, sums) = (p.as_ptr(), values.as_ptr(), sums.as_mut_ptr());
        let mut acc = [[simd.splat(0.0); V]; R];
        if let Some(factors) = factors {
            for r in 0..R {
                for v in 0..V {
                    // SAFETY: r < R and v < V, so the address is within the sums, by the assertion.
                    #[allow(unsafe_code)]
                    let sum = unsafe { simd.load_ptr(sums.add(r * padded + v * S::LANES)) };
                    acc[r][v] = simd.mul(sum, simd.splat(factors[r]));
                }
            }
        }
        // SAFETY: key < keys, r < R and v < V, so all addresses are within the slices, by the assertions.
        #[allow(unsafe_code)]
        unsafe {
            for key in 0..keys {
                let b = match PART {
                    true => [simd.load_part(&values[key * stride..][..columns], 0.0); V],
                    false => load_row(simd, rows.add(key * stride)),
                };
                add_products::<S, P, R, V>(simd, p.add(key * width), 1, b, &mut acc);
            }
            store_rows(simd, acc, sums, padded);
        }
    }
}
