//! int4 weights with rows of signed bytes: products of bytes, summed over a group as integers.
//!
//! ```text
//! ŵ = code · scale + zero = (code + 8) · scale + (zero − 8 · scale)
//! out = scale[row] · Σ_groups  scale[g] · Σ (code + 8) · byte + (zero[g] − 8 · scale[g]) · Σ byte
//! ```
//! code + 8 takes four bits, unsigned: both halves of the bytes of a word are multiplied as they are. Sums of a group, and the
//! totals, are registers; so a tile has half as many rows as others.

use super::format::{Format, Place, int4_code};
use super::rows::ByteRows;
use super::sums::FloatSums;
use super::tile::Tile;
use super::weight::Int4Groups;
use crate::simd::{Bytes, Operation, RowOperation, Simd, call_rows, load_row, tile_rows};
use std::ops::Range;

/// Codes of a word.
const WORD: usize = 8;

/// int4 weights with rows of signed bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Int4<'a> {
    pub(super) groups: &'a Int4Groups,
    pub(super) rows: ByteRows<'a>,
}

impl Format for Int4<'_> {
    type Products = Bytes;

    type Sums = FloatSums;

    fn sums(&self) -> FloatSums {
        FloatSums
    }

    /// One, as a group is not cut.
    fn blocks(_: usize) -> usize {
        1
    }

    #[inline(always)]
    fn multiply<S: Simd, const V: usize>(&self, simd: S, tile: Tile<'_>, at: &Place<'_>, sums: &mut [f32]) {
        let (most, width) = (tile_rows::<S>(2 * V), V * S::LANES);
        for (start, sums) in at.rows.clone().step_by(most).zip(sums.chunks_mut(most * width)) {
            let rows = start..at.rows.end.min(start + most);
            let (first, ranges) = (rows.start - at.rows.start, self.ranges(at, width));
            let a = tile.a.get(first * tile.a_stride..).unwrap_or_default();
            let count = rows.len();
            let tile = Tile { a, ..tile };
            call_rows(simd, count, Multiply::<V> { format: self, tile, rows, ranges, sums });
        }
        if at.rows.clone().any(|r| self.rows.row(r).outliers().next().is_some()) {
            simd.call(AddOutliers::<V> { format: self, at, sums });
        }
    }
}

impl Int4<'_> {
    /// Scales and zeros of a panel, [group, W] each.
    #[inline(always)]
    fn ranges(&self, at: &Place<'_>, width: usize) -> (&[f32], &[f32]) {
        let len = at.weight.k().div_ceil(self.groups.group) * width;
        (&self.groups.scales[at.p * len..][..len], &self.groups.zeros[at.p * len..][..len])
    }
}

/// Products of R rows.
struct Multiply<'a, const V: usize> {
    format: &'a Int4<'a>,
    tile: Tile<'a>,
    rows: Range<usize>,
    ranges: (&'a [f32], &'a [f32]),
    sums: &'a mut [f32],
}

impl<const V: usize> RowOperation for Multiply<'_, V> {
    /// Sums of a group, and totals.
    const VECTORS: usize = 2 * V;

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd, const R: usize>(self, simd: S) {
        let Self { format, tile, rows, ranges: (scales, zeros), sums } = self;
        let Tile { a, a_stride, panel, depth, next, next_step } = tile;
        let (width, group_words) = (V * S::LANES, format.groups.group / WORD);
        // Saturating: a product that wrapped would pass.
        let of_a = (R - 1).saturating_mul(a_stride).saturating_add(depth.saturating_mul(2));
        let fits = panel.len() >= depth.saturating_mul(width) && a.len() >= of_a;
        assert!(fits || depth == 0, "tile out of bounds");
        let of_rows: [_; R] = std::array::from_fn(
            #[inline(always)]
            |r| format.rows.row(rows.start + r),
        );
        let mut totals = [[simd.splat(0.0); V]; R];
        for (g, start) in (0..depth).step_by(group_words).enumerate() {
            let mut acc = [[simd.splat(0.0); V]; R];
            for j in start..depth.min(start + group_words) {
                simd.prefetch(next.wrapping_add(j * next_step));
                // SAFETY: j < depth and r < R, so all addresses are within the slices, by the assertion.
                #[allow(unsafe_code)]
                unsafe {
                    let words: [S::Vec; V] = load_row(simd, panel.as_ptr().add(j * width));
                    for high in 0..2 {
                        let mut codes = words;
                        for v in 0..V {
                            codes[v] = simd.nibbles(words[v], high == 1);
                        }
                        for r in 0..R {
                            let x = simd.splat(*a.as_ptr().add(r * a_stride + 2 * j + high));
                            for v in 0..V {
                                acc[r][v] = simd.dot_bytes(codes[v], x, acc[r][v]);
                            }
                        }
                    }
                }
            }
            for v in 0..V {
                let place = g * width + v * S::LANES;
                let (scale, zero) = (simd.load(&scales[place..]), simd.load(&zeros[place..]));
                let least = simd.mul_add(scale, simd.splat(-8.0), zero);
                for r in 0..R {
                    let sum = simd.integer_to_float(acc[r][v]);
                    let total = simd.mul_add(sum, scale, totals[r][v]);
                    totals[r][v] = simd.mul_add(simd.splat(of_rows[r].group_sums[g]), least, total);
                }
            }
        }
        for r in 0..R {
            let scale = simd.splat(of_rows[r].scale);
            for v in 0..V {
                simd.store(simd.mul(totals[r][v], scale), &mut sums[r * width + v * S::LANES..]);
            }
        }
    }
}

/// Adds what was taken out of the rows, times its weights.
struct AddOutliers<'a, const V: usize> {
    format: &'a Int4<'a>,
    at: &'a Place<'a>,
    /// [rows, W].
    sums: &'a mut [f32],
}

impl<const V: usize> Operation for AddOutliers<'_, V> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { format, at, sums } = self;
        let (width, panel) = (V * S::LANES, at.weight.panel(at.p));
        let (scales, zeros) = format.ranges(at, width);
        for (r, sums) in at.rows.clone().zip(sums.chunks_exact_mut(width)) {
            for (k, x) in format.rows.row(r).outliers() {
                for v in 0..V {
                    let (column, group) = (v * S::LANES, k / format.groups.group * width);
                    let word = simd.load(&panel[k / WORD * width + column..]);
                    let code = int4_code(simd, word, k);
                    let (scale, zero) =
                        (simd.load(&scales[group + column..]), simd.load(&zeros[group + column..]));
                    let weight = simd.mul_add(code, scale, zero);
                    let sum = simd.load(&sums[column..]);
                    simd.store(simd.mul_add(weight, simd.splat(x), sum), &mut sums[column..]);
                }
            }
        }
    }
}
