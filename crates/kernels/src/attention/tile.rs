//! The inner products: R rows times one panel (one or two vectors wide), all sums in registers.
//!
//! Both products of attention have this form: scores = queries · keysᵀ over d, and sums += p · values over the keys. R and
//! the width are constants, as sums must be registers; 12 × 2 of them with room for 32 vectors, 6 × 2 for 16, 2 × 2 below. What
//! is left over at the end is padded to half a tile, and to one vector.

use crate::simd::Simd;
use std::array::from_fn;

/// The most rows of a tile at any level.
pub(super) const MAX_ROWS: usize = 12;

/// The most keys of a block: a tile's scores fill 24 KB, three quarters of a common L1 cache.
pub(super) const MAX_KEYS: usize = 512;

/// Rows of a full tile at this level.
#[inline(always)]
pub(super) const fn tile_rows<S: Simd>() -> usize {
    match S::REGISTERS {
        32.. => MAX_ROWS,
        16.. => MAX_ROWS / 2,
        _ => 2,
    }
}

/// Queries are padded to a multiple of this.
#[inline(always)]
pub(super) const fn row_granularity<S: Simd>() -> usize {
    tile_rows::<S>() / 2
}

/// Floats from one row of scores to the next: an odd number of cache lines, so that rows fall on different sets.
pub(super) const SCORES_STRIDE: usize = MAX_KEYS + 16;

/// Scores of a tile, a row per query.
pub(super) type Scores = [[f32; SCORES_STRIDE]; MAX_ROWS];

/// A matrix [depth, width] as panels of two vectors' columns (the last may be one), each [depth, columns].
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    pub(super) data: &'a [f32],
    pub(super) depth: usize,
    /// A multiple of a vector.
    pub(super) width: usize,
}

/// `sums[r] += Σ_k a(k, r) · panel[k]`, k ascending.
#[inline(always)]
fn accumulate<S: Simd, const R: usize, const V: usize>(
    simd: S,
    panel: &[f32],
    a: impl Fn(usize) -> [f32; R],
    sums: &mut [[S::Vec; V]; R],
) {
    for (k, b) in panel.chunks_exact(V * S::LANES).enumerate() {
        let mut vectors = [simd.splat(0.0); V];
        for (v, vector) in vectors.iter_mut().enumerate() {
            *vector = simd.load(&b[v * S::LANES..]);
        }
        for (row, x) in sums.iter_mut().zip(a(k)) {
            let x = simd.splat(x);
            for (sum, b) in row.iter_mut().zip(vectors) {
                *sum = simd.mul_add(x, b, *sum);
            }
        }
    }
}

/// `scores[r][key] = Σ_c queries[c][r] · keys[c][key]` for packed queries [d, rows]; `rows` is a full or half tile.
#[inline(always)]
pub(super) fn scores<S: Simd>(simd: S, rows: usize, queries: &[f32], keys: Panels<'_>, scores: &mut Scores) {
    match rows {
        12 if tile_rows::<S>() == 12 => scores_rows::<S, 12>(simd, queries, keys, scores),
        6 if tile_rows::<S>() >= 6 => scores_rows::<S, 6>(simd, queries, keys, scores),
        3 if tile_rows::<S>() == 6 => scores_rows::<S, 3>(simd, queries, keys, scores),
        2 if tile_rows::<S>() == 2 => scores_rows::<S, 2>(simd, queries, keys, scores),
        1 if tile_rows::<S>() == 2 => scores_rows::<S, 1>(simd, queries, keys, scores),
        _ => unreachable!("a tile of {rows} rows"),
    }
}

#[inline(always)]
fn scores_rows<S: Simd, const R: usize>(simd: S, queries: &[f32], keys: Panels<'_>, scores: &mut Scores) {
    let whole = keys.width - keys.width % (2 * S::LANES);
    for start in (0..whole).step_by(2 * S::LANES) {
        scores_panel::<S, R, 2>(simd, queries, keys, start, scores);
    }
    if whole < keys.width {
        scores_panel::<S, R, 1>(simd, queries, keys, whole, scores);
    }
}

#[inline(always)]
fn scores_panel<S: Simd, const R: usize, const V: usize>(
    simd: S,
    queries: &[f32],
    keys: Panels<'_>,
    start: usize,
    scores: &mut Scores,
) {
    let panel = &keys.data[start * keys.depth..][..keys.depth * V * S::LANES];
    let queries = &queries.as_chunks::<R>().0[..keys.depth];
    let mut sums = [[simd.splat(0.0); V]; R];
    accumulate(
        simd,
        panel,
        #[inline(always)]
        |k| queries[k],
        &mut sums,
    );
    for (row, sums) in scores.iter_mut().zip(sums) {
        for (v, sum) in sums.into_iter().enumerate() {
            simd.store(sum, &mut row[start + v * S::LANES..]);
        }
    }
}

/// `sums[r] = sums[r] · factors[r] + Σ_key p[r][key] · values[key]`; `sums` is [rows, width], rows as in [`scores`].
#[inline(always)]
pub(super) fn values<S: Simd>(
    simd: S,
    rows: usize,
    p: &Scores,
    factors: &[f32; MAX_ROWS],
    values: Panels<'_>,
    sums: &mut [f32],
) {
    match rows {
        12 if tile_rows::<S>() == 12 => values_rows::<S, 12>(simd, p, factors, values, sums),
        6 if tile_rows::<S>() >= 6 => values_rows::<S, 6>(simd, p, factors, values, sums),
        3 if tile_rows::<S>() == 6 => values_rows::<S, 3>(simd, p, factors, values, sums),
        2 if tile_rows::<S>() == 2 => values_rows::<S, 2>(simd, p, factors, values, sums),
        1 if tile_rows::<S>() == 2 => values_rows::<S, 1>(simd, p, factors, values, sums),
        _ => unreachable!("a tile of {rows} rows"),
    }
}

#[inline(always)]
fn values_rows<S: Simd, const R: usize>(
    simd: S,
    p: &Scores,
    factors: &[f32; MAX_ROWS],
    values: Panels<'_>,
    sums: &mut [f32],
) {
    let whole = values.width - values.width % (2 * S::LANES);
    for start in (0..whole).step_by(2 * S::LANES) {
        values_panel::<S, R, 2>(simd, p, factors, values, start, sums);
    }
    if whole < values.width {
        values_panel::<S, R, 1>(simd, p, factors, values, whole, sums);
    }
}

#[inline(always)]
fn values_panel<S: Simd, const R: usize, const V: usize>(
    simd: S,
    p: &Scores,
    factors: &[f32; MAX_ROWS],
    values: Panels<'_>,
    start: usize,
    sums: &mut [f32],
) {
    assert!(values.depth <= MAX_KEYS, "a block of {} keys", values.depth);
    let panel = &values.data[start * values.depth..][..values.depth * V * S::LANES];
    let mut acc = [[simd.splat(0.0); V]; R];
    for (r, acc) in acc.iter_mut().enumerate() {
        let row = &sums[r * values.width + start..][..V * S::LANES];
        for (v, acc) in acc.iter_mut().enumerate() {
            *acc = simd.mul(simd.load(&row[v * S::LANES..]), simd.splat(factors[r]));
        }
    }
    accumulate(
        simd,
        panel,
        #[inline(always)]
        |key| {
            from_fn(
                #[inline(always)]
                |r| p[r][key],
            )
        },
        &mut acc,
    );
    for (r, acc) in acc.into_iter().enumerate() {
        let row = &mut sums[r * values.width + start..][..V * S::LANES];
        for (v, acc) in acc.into_iter().enumerate() {
            simd.store(acc, &mut row[v * S::LANES..]);
        }
    }
}
