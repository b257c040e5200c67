//! f16 weights with rows of f16: products and short sums in f16, long sums in f32.
//!
//! ```text
//! row · 2ˢ, rounded to f16     s = the largest for which  max |row| · 2ˢ < most
//! out = 2⁻ˢ · Σ_chains  f32(Σ even k of a chain) + f32(Σ odd k of a chain)     Σ in f16, k ascending, each step rounded once
//! ```
//! A word holds two k, and so has two sums: a chain is [`CHAIN`] words long. `most` ([`rows_most`]) is such that no sum of a
//! chain can leave f16, whatever the signs; as powers of two are exact, any finite row fits, and rows of small numbers keep their
//! bits. A row that is not finite becomes NaN. Numbers of a row that are 2⁻¹⁶ times its largest or smaller may lose bits, as they do
//! in a sum with it.

use super::format::{Format, Place};
use super::rows::F16Rows;
use super::sums::Sums;
use super::tile::Tile;
use crate::simd::{F16Pairs, Simd};

/// Words of a chain. With twice as many, errors are some 1.4 times as large; with half as many, twice the time goes into the
/// conversions at their ends, a tenth of that of the products.
pub(super) const CHAIN: usize = 64;

/// The most that magnitudes of a chain's products may add up to: half of f16's range, as rounding 64 times makes it at most
/// (1 + 2⁻¹¹)⁶⁴ = 1.03 times that.
const MOST_SUM: f32 = 32768.0;

/// The largest weight of those that are multiplied in f16. Rows then go up to 2³: their largest number is at least 2², and 2⁻¹⁶ of
/// that is not subnormal. (Weights of trained models are of order 1.)
const MOST_WEIGHT: f32 = 64.0;

/// Up to what magnitude, a power of two, numbers of rows may be as f16, where weights go up to `largest`; nothing where these are
/// too large to be multiplied in f16.
pub(super) fn rows_most(largest: f32) -> Option<f32> {
    (largest <= MOST_WEIGHT).then(|| {
        // At least 2⁻⁶, as the rows must be within f16 too.
        let mut weight = 1.0 / 64.0;
        while weight < largest {
            weight *= 2.0;
        }
        MOST_SUM / (CHAIN as f32 * weight)
    })
}

/// f16 weights with rows of f16.
#[derive(Debug, Clone, Copy)]
pub(super) struct F16<'a> {
    pub(super) rows: F16Rows<'a>,
}

impl Format for F16<'_> {
    type Products = F16Pairs;

    type Sums = Self;

    fn sums(&self) -> Self {
        *self
    }

    /// A chain is not cut.
    const ALIGNED: usize = CHAIN;

    #[inline(always)]
    fn multiply<S: Simd, const V: usize>(&self, simd: S, tile: Tile<'_>, at: &Place<'_>, sums: &mut [f32]) {
        let width = V * S::LANES;
        // Without inputs, sums are 0 all the same.
        for start in (0..tile.depth.max(1)).step_by(CHAIN) {
            let chain = Tile {
                a: tile.a.get(start..).unwrap_or_default(),
                panel: &tile.panel[start * width..],
                depth: CHAIN.min(tile.depth - start),
                next: tile.next.wrapping_add(start * tile.next_step),
                ..tile
            };
            chain.multiply::<S, F16Pairs, V>(simd, at.rows.len(), sums, at.add || start > 0);
        }
    }
}

impl Sums for F16<'_> {
    type Columns<S: Simd, const V: usize> = ();

    /// 2⁻ˢ.
    type Row = f32;

    #[inline(always)]
    fn columns<S: Simd, const V: usize>(&self, _: S, _: &Place<'_>) {}

    #[inline(always)]
    fn row(&self, r: usize) -> f32 {
        self.rows.scale(r)
    }

    #[inline(always)]
    fn to_float<S: Simd, const V: usize>(
        &self,
        simd: S,
        _: &Place<'_>,
        scale: f32,
        (): &(),
        (_, sums, bias): (usize, S::Vec, S::Vec),
    ) -> S::Vec {
        simd.mul_add(sums, simd.splat(scale), bias)
    }
}
