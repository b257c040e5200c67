//! Inner loops over a constant number of rows, as sums can be registers only if their number is constant.
//!
//! They are written with plain loops over indices and loads by address: iterators and closures that are not inlined, which is
//! the compiler's choice, would keep every sum in memory.

use super::{Operation, Simd};

/// The most rows of a tile at any level.
const MAX_TILE_ROWS: usize = 12;

/// The most rows of a tile of sums that is two vectors wide, beside two vectors and a broadcast value.
#[inline(always)]
pub(crate) const fn tile_rows<S: Simd>() -> usize {
    let rows = (S::REGISTERS - 3) / 2;
    if rows < MAX_TILE_ROWS { rows } else { MAX_TILE_ROWS }
}

/// A computation over a constant number of rows.
pub(crate) trait RowOperation {
    /// Does it. Must be `#[inline(always)]`.
    fn eval<S: Simd, const R: usize>(self, simd: S);
}

/// A [`RowOperation`] of R rows.
struct OfRows<O, const R: usize>(O);

impl<O: RowOperation, const R: usize> Operation for OfRows<O, R> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        self.0.eval::<S, R>(simd);
    }
}

/// Runs an operation of so many rows (1..=[`tile_rows`]), as a function of its own.
#[inline(always)]
pub(crate) fn call_rows<S: Simd, O: RowOperation>(simd: S, rows: usize, operation: O) {
    match rows {
        1 => simd.call(OfRows::<O, 1>(operation)),
        2 => simd.call(OfRows::<O, 2>(operation)),
        3 => simd.call(OfRows::<O, 3>(operation)),
        4 => simd.call(OfRows::<O, 4>(operation)),
        // What a level never reaches is not compiled for it.
        _ if tile_rows::<S>() < 5 => unreachable!("a tile of {rows} rows"),
        5 => simd.call(OfRows::<O, 5>(operation)),
        6 => simd.call(OfRows::<O, 6>(operation)),
        _ if tile_rows::<S>() < 7 => unreachable!("a tile of {rows} rows"),
        7 => simd.call(OfRows::<O, 7>(operation)),
        8 => simd.call(OfRows::<O, 8>(operation)),
        9 => simd.call(OfRows::<O, 9>(operation)),
        10 => simd.call(OfRows::<O, 10>(operation)),
        11 => simd.call(OfRows::<O, 11>(operation)),
        12 => simd.call(OfRows::<O, 12>(operation)),
        _ => unreachable!("a tile of {rows} rows"),
    }
}
