//! The tile: R rows of `a` times one panel, all R × 2 vectors of sums in registers.
//!
//! ```text
//! for k in block:  b0, b1 = panel[k];  for r in 0..R:  x = splat a[r, k];  sums[r] += x·b0, x·b1
//! ```
//! R is a constant, as sums must be registers. The largest R leaves room for b0, b1 and x: 12 with 32 registers (24
//! sums; more would gain nothing), 6 with 16, 3 at the portable level of
//! x86-64. `a` is read in place.

use crate::simd::Simd;

/// The most rows of a tile at any level.
pub(super) const MAX_ROWS: usize = 12;

/// Columns of a panel: two vectors.
#[inline(always)]
pub(super) const fn panel_width<S: Simd>() -> usize {
    2 * S::LANES
}

/// The most rows of a tile at this level: two sums a row, beside b0, b1 and x.
#[inline(always)]
pub(super) const fn tile_rows<S: Simd>() -> usize {
    let rows = (S::REGISTERS - 3) / 2;
    if rows < MAX_ROWS { rows } else { MAX_ROWS }
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
        match rows {
            1 => self.rows::<S, 1>(simd, sums, add),
            2 => self.rows::<S, 2>(simd, sums, add),
            3 => self.rows::<S, 3>(simd, sums, add),
            4 => self.rows::<S, 4>(simd, sums, add),
            // What a level never reaches is not compiled for it.
            _ if tile_rows::<S>() < 5 => unreachable!("a tile of {rows} rows"),
            5 => self.rows::<S, 5>(simd, sums, add),
            6 => self.rows::<S, 6>(simd, sums, add),
            _ if tile_rows::<S>() < 7 => unreachable!("a tile of {rows} rows"),
            7 => self.rows::<S, 7>(simd, sums, add),
            8 => self.rows::<S, 8>(simd, sums, add),
            9 => self.rows::<S, 9>(simd, sums, add),
            10 => self.rows::<S, 10>(simd, sums, add),
            11 => self.rows::<S, 11>(simd, sums, add),
            12 => self.rows::<S, 12>(simd, sums, add),
            _ => unreachable!("a tile of {rows} rows"),
        }
    }

    #[inline(always)]
    fn rows<S: Simd, const R: usize>(self, simd: S, sums: &mut [f32], add: bool) {
        let Self { a, a_stride, panel, depth, next, next_step } = self;
        let width = panel_width::<S>();
        // Saturating: a product that wrapped would pass.
        let fits = panel.len() >= depth.saturating_mul(width)
            && a.len() >= (R - 1).saturating_mul(a_stride).saturating_add(depth);
        assert!(fits || depth == 0, "tile out of bounds");
        let (a, panel) = (a.as_ptr(), panel.as_ptr());
        let mut acc = [[simd.splat(0.0); 2]; R];
        for k in 0..depth {
            simd.prefetch(next.wrapping_add(k * next_step));
            // SAFETY: k < depth and r < R, so both addresses are within the slices, by the assertion.
            #[allow(unsafe_code)]
            unsafe {
                let b0 = simd.load_ptr(panel.add(k * width));
                let b1 = simd.load_ptr(panel.add(k * width + S::LANES));
                for (r, acc) in acc.iter_mut().enumerate() {
                    let x = simd.splat(*a.add(r * a_stride + k));
                    acc[0] = simd.mul_add(x, b0, acc[0]);
                    acc[1] = simd.mul_add(x, b1, acc[1]);
                }
            }
        }
        // Loops of constant length, so that the compiler unrolls them: indexed otherwise, the sums would live in memory.
        for (r, acc) in acc.iter().enumerate() {
            for (v, &acc) in acc.iter().enumerate() {
                let sums = &mut sums[r * width + v * S::LANES..][..S::LANES];
                let before = if add { simd.load(sums) } else { simd.splat(0.0) };
                simd.store(simd.add(before, acc), sums);
            }
        }
    }
}
