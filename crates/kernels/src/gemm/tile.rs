//! The tile: R rows of `a` times one panel, all R × 2 vectors of sums in registers.
//!
//! ```text
//! for k in block:  b0, b1 = panel[k];  for r in 0..R:  x = splat a[r, k];  sums[r] += x·b0, x·b1
//! ```
//! R is a constant, as sums must be registers. The largest R leaves room for b0, b1 and x: 12 with 32 registers (24
//! sums; more would gain nothing), 6 with 16, 3 at the portable level of
//! x86-64 (`simd/rows.rs`). `a` is read in place.

use crate::simd::{RowOperation, Simd, call_rows};

/// Columns of a panel: two vectors.
#[inline(always)]
pub(super) const fn panel_width<S: Simd>() -> usize {
    2 * S::LANES
}

/// What a tile multiplies.
#[derive(Clone, Copy)]
pub(super) struct Tile<'a> {
    /// Element (r, k) is `a[r * a_stride + k]`.
    pub(super) a: &'a [f32],
    /// Floats from one row to the next.
    pub(super) a_stride: usize,
    /// [depth, W].
    pub(super) panel: &'a [f32],
    /// Length of the sums.
    pub(super) depth: usize,
    /// What is read after this panel, of no matter what length: brought into the cache meanwhile, `next_step` floats
    /// for each k, so that the tiles of a panel together fetch the next, and the first there need not wait for memory.
    pub(super) next: *const f32,
    /// See `next`.
    pub(super) next_step: usize,
}

impl Tile<'_> {
    /// `sums[..rows * W]` = the products of `rows` rows (1..=`tile_rows`), or added to it.
    #[inline(always)]
    pub(super) fn multiply<S: Simd>(self, simd: S, rows: usize, sums: &mut [f32], add: bool) {
        call_rows(simd, rows, Multiply { tile: self, sums, add });
    }
}

/// See [`Tile::multiply`].
struct Multiply<'a> {
    tile: Tile<'a>,
    sums: &'a mut [f32],
    add: bool,
}

impl RowOperation for Multiply<'_> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd, const R: usize>(self, simd: S) {
        let Tile { a, a_stride, panel, depth, next, next_step } = self.tile;
        let width = panel_width::<S>();
        // Saturating: a product that wrapped would pass.
        let fits = panel.len() >= depth.saturating_mul(width)
            && a.len() >= (R - 1).saturating_mul(a_stride).saturating_add(depth);
        assert!(fits || depth == 0, "tile out of bounds");
        assert!(self.sums.len() >= R * width, "sums of a tile");
        let (a, panel, sums) = (a.as_ptr(), panel.as_ptr(), self.sums.as_mut_ptr());
        let mut acc = [[simd.splat(0.0); 2]; R];
        for k in 0..depth {
            simd.prefetch(next.wrapping_add(k * next_step));
            // SAFETY: k < depth and r < R, so both addresses are within the slices, by the assertion.
            #[allow(unsafe_code)]
            unsafe {
                let b0 = simd.load_ptr(panel.add(k * width));
                let b1 = simd.load_ptr(panel.add(k * width + S::LANES));
                for r in 0..R {
                    let x = simd.splat(*a.add(r * a_stride + k));
                    acc[r][0] = simd.mul_add(x, b0, acc[r][0]);
                    acc[r][1] = simd.mul_add(x, b1, acc[r][1]);
                }
            }
        }
        // Short loops of constant length, so that they are unrolled: indexed otherwise, the sums would live in memory.
        for r in 0..R {
            for v in 0..2 {
                // SAFETY: r < R and v < 2, so the address is within the sums, by the assertion.
                #[allow(unsafe_code)]
                unsafe {
                    let place = sums.add(r * width + v * S::LANES);
                    let before = if self.add { simd.load_ptr(place) } else { simd.splat(0.0) };
                    simd.store_ptr(simd.add(before, acc[r][v]), place);
                }
            }
        }
    }
}
