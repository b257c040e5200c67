//! The tile: R rows of `a` times one panel of V vectors, all R × V vectors of sums in registers.
//!
//! ```text
//! for k in block:  b = panel[k] (V vectors);  for r in 0..R:  x = splat a[r, k];  sums[r] += x·b
//! ```
//! R and V are constants, as sums must be registers. The largest R leaves room for b and x: 8 × 3 or 12 × 2 with 32 registers,
//! 4 × 3 or 6 × 2 with 16, 3 × 2 at the portable level of x86-64 (`simd/rows.rs`). Three vectors take fewer loads for as
//! many products, which is 1.5 % faster, but would be wasted on N that they do not divide. `a` is read in place. What `a`, the
//! panel and the sums hold are words, of as many numbers as the format has in 32 bits (`simd/products.rs`); K counts words.

use crate::simd::{Products, RowOperation, Simd, add_products, call_rows, load_row};
use std::marker::PhantomData;

/// Vectors of a panel of a weight with `n` outputs: three where they divide it, else two.
#[inline(always)]
pub(super) const fn panel_vectors<S: Simd>(n: usize) -> usize {
    if S::REGISTERS >= 16 && n > 0 && n.is_multiple_of(3 * S::LANES) { 3 } else { 2 }
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
    pub(super) fn multiply<S: Simd, P: Products, const V: usize>(
        self,
        simd: S,
        rows: usize,
        sums: &mut [f32],
        add: bool,
    ) {
        call_rows(simd, rows, Multiply::<P, V> { tile: self, sums, add, products: PhantomData });
    }
}

/// See [`Tile::multiply`].
struct Multiply<'a, P, const V: usize> {
    tile: Tile<'a>,
    sums: &'a mut [f32],
    add: bool,
    products: PhantomData<P>,
}

impl<P: Products, const V: usize> RowOperation for Multiply<'_, P, V> {
    const VECTORS: usize = V;

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd, const R: usize>(self, simd: S) {
        let Tile { a, a_stride, panel, depth, next, next_step } = self.tile;
        let width = V * S::LANES;
        // Saturating: a product that wrapped would pass.
        let fits = panel.len() >= depth.saturating_mul(width)
            && a.len() >= (R - 1).saturating_mul(a_stride).saturating_add(depth);
        assert!(fits || depth == 0, "tile out of bounds");
        assert!(self.sums.len() >= R * width, "sums of a tile");
        let (a, panel, sums) = (a.as_ptr(), panel.as_ptr(), self.sums.as_mut_ptr());
        let mut acc = [[simd.splat(0.0); V]; R];
        for k in 0..depth {
            simd.prefetch(next.wrapping_add(k * next_step));
            // SAFETY: k < depth and r < R, so both addresses are within the slices, by the assertion.
            #[allow(unsafe_code)]
            unsafe {
                let b = load_row(simd, panel.add(k * width));
                add_products::<S, P, R, V>(simd, a.add(k), a_stride, b, &mut acc);
            }
        }
        // Short loops of constant length, so that they are unrolled: indexed otherwise, the sums would live in memory.
        for r in 0..R {
            for v in 0..V {
                // SAFETY: r < R and v < V, so the address is within the sums, by the assertion.
                #[allow(unsafe_code)]
                unsafe {
                    let place = sums.add(r * width + v * S::LANES);
                    let before = if self.add { simd.load_ptr(place) } else { simd.splat(0.0) };
                    simd.store_ptr(P::join(simd, before, acc[r][v]), place);
                }
            }
        }
    }
}
