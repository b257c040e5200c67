//! Copies of queries, keys and values in the order in which the tiles read them, padded with zeros to whole vectors.
//!
//! ```text
//! queries [rows, d] → tiles [d, R]      keys [keys, d] → panels [d, W]      values [keys, d] → panels [keys, W]
//! ```
//! R rows of a tile, W = two vectors; the last tile or panel may be half as wide.

use super::job::Head;
use super::tile::{Panels, row_granularity, tile_rows};
use crate::simd::Simd;
use std::ops::Range;

/// Queries in tiles of `tile_rows` (the last may be half), each [d, rows], times `factor`; rows past the end are 0.
#[inline(always)]
pub(super) fn queries<S: Simd>(head: &Head<'_>, rows: Range<usize>, factor: f32, out: &mut [f32]) {
    let d = head.head_dim;
    let padded = rows.len().next_multiple_of(row_granularity::<S>());
    for first in (0..padded).step_by(tile_rows::<S>()) {
        let width = tile_rows::<S>().min(padded - first);
        let tile = &mut out[first * d..][..width * d];
        for r in 0..width {
            let row = rows.start + first + r;
            let column = tile[r..].iter_mut().step_by(width);
            if row < rows.end {
                column.zip(head.query(row)).for_each(|(out, &x)| *out = x * factor);
            } else {
                column.for_each(|out| *out = 0.0);
            }
        }
    }
}

/// Keys transposed: panels of [d, keys], padded with 0 to whole vectors.
#[inline(always)]
pub(super) fn keys<'a, S: Simd>(head: &Head<'_>, keys: Range<usize>, out: &'a mut [f32]) -> Panels<'a> {
    let d = head.head_dim;
    let padded = keys.len().next_multiple_of(S::LANES);
    for first in (0..padded).step_by(2 * S::LANES) {
        let width = (2 * S::LANES).min(padded - first);
        let panel = &mut out[first * d..][..width * d];
        for i in 0..width {
            let key = keys.start + first + i;
            let column = panel[i..].iter_mut().step_by(width);
            if key < keys.end {
                column.zip(head.key(key)).for_each(|(out, &x)| *out = x);
            } else {
                column.for_each(|out| *out = 0.0);
            }
        }
    }
    Panels { data: &out[..padded * d], depth: d, width: padded }
}

/// Values: panels of [keys, columns], columns padded with 0 to whole vectors.
#[inline(always)]
pub(super) fn values<'a, S: Simd>(head: &Head<'_>, keys: Range<usize>, out: &'a mut [f32]) -> Panels<'a> {
    let (d, depth) = (head.head_dim, keys.len());
    let padded = d.next_multiple_of(S::LANES);
    for first in (0..padded).step_by(2 * S::LANES) {
        let width = (2 * S::LANES).min(padded - first);
        let columns = first..(first + width).min(d);
        let panel = &mut out[first * depth..][..width * depth];
        for (out, key) in panel.chunks_exact_mut(width).zip(keys.clone()) {
            let (filled, padding) = out.split_at_mut(columns.len());
            filled.copy_from_slice(&head.value(key)[columns.clone()]);
            padding.fill(0.0);
        }
    }
    Panels { data: &out[..padded * depth], depth, width: padded }
}
