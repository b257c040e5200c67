//! Inner loops over a constant number of rows, as sums can be registers only if their number is constant.
//!
//! They are written with plain loops over indices and loads by address: iterators and closures that are not inlined, which is
//! the compiler's choice, would keep every sum in memory.

use super::{Operation, Products, Simd};

/// The most rows of a tile at any level.
const MAX_TILE_ROWS: usize = 12;

/// The most rows of a tile of sums that is so many vectors wide, beside a row of vectors and a broadcast value: 24 sums where there are
/// 32 registers, as more gain nothing.
#[inline(always)]
pub(crate) const fn tile_rows<S: Simd>(vectors: usize) -> usize {
    let (rows, most) = ((S::REGISTERS - 1 - vectors) / vectors, 2 * MAX_TILE_ROWS / vectors);
    if rows < most { rows } else { most }
}

/// A computation over a constant number of rows.
pub(crate) trait RowOperation {
    /// Vectors of sums a row.
    const VECTORS: usize;

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

/// Runs an operation of so many rows (1..=[`tile_rows`], 12 at most), as a function of its own.
#[inline(always)]
pub(crate) fn call_rows<S: Simd, O: RowOperation>(simd: S, rows: usize, operation: O) {
    match rows {
        1 => simd.call(OfRows::<O, 1>(operation)),
        2 => simd.call(OfRows::<O, 2>(operation)),
        3 => simd.call(OfRows::<O, 3>(operation)),
        4 => simd.call(OfRows::<O, 4>(operation)),
        // What a level never reaches is not compiled for it.
        _ if tile_rows::<S>(O::VECTORS) < 5 => unreachable!("a tile of {rows} rows"),
        5 => simd.call(OfRows::<O, 5>(operation)),
        6 => simd.call(OfRows::<O, 6>(operation)),
        _ if tile_rows::<S>(O::VECTORS) < 7 => unreachable!("a tile of {rows} rows"),
        7 => simd.call(OfRows::<O, 7>(operation)),
        8 => simd.call(OfRows::<O, 8>(operation)),
        _ if tile_rows::<S>(O::VECTORS) < 9 => unreachable!("a tile of {rows} rows"),
        9 => simd.call(OfRows::<O, 9>(operation)),
        10 => simd.call(OfRows::<O, 10>(operation)),
        11 => simd.call(OfRows::<O, 11>(operation)),
        12 => simd.call(OfRows::<O, 12>(operation)),
        _ => unreachable!("a tile of {rows} rows"),
    }
}

/// V vectors at an address.
///
/// # Safety
/// The address must be valid for reading V · `LANES` floats.
#[inline(always)]
#[allow(unsafe_code, clippy::needless_range_loop)]
pub(crate) unsafe fn load_row<S: Simd, const V: usize>(simd: S, from: *const f32) -> [S::Vec; V] {
    let mut row = [simd.splat(0.0); V];
    for v in 0..V {
        // SAFETY: by the caller.
        row[v] = unsafe { simd.load_ptr(from.add(v * S::LANES)) };
    }
    row
}

/// `sums[r] += a[r · stride] · b` for each of R rows of words.
///
/// # Safety
/// The R addresses must be valid for reading.
#[inline(always)]
#[allow(unsafe_code, clippy::needless_range_loop)]
pub(crate) unsafe fn add_products<S: Simd, P: Products, const R: usize, const V: usize>(
    simd: S,
    a: *const f32,
    stride: usize,
    b: [S::Vec; V],
    sums: &mut [[S::Vec; V]; R],
) {
    for r in 0..R {
        // SAFETY: by the caller.
        let x = simd.splat(unsafe { *a.add(r * stride) });
        for v in 0..V {
            sums[r][v] = P::add(simd, x, b[v], sums[r][v]);
        }
    }
}

/// Stores R rows of V vectors, `stride` floats apart.
///
/// # Safety
/// Each row's address must be valid for writing V · `LANES` floats.
#[inline(always)]
#[allow(unsafe_code, clippy::needless_range_loop)]
pub(crate) unsafe fn store_rows<S: Simd, const R: usize, const V: usize>(
    simd: S,
    sums: [[S::Vec; V]; R],
    to: *mut f32,
    stride: usize,
) {
    for r in 0..R {
        for v in 0..V {
            // SAFETY: by the caller.
            unsafe { simd.store_ptr(sums[r][v], to.add(r * stride + v * S::LANES)) };
        }
    }
}
