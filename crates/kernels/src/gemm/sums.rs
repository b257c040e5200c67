//! How the sums of a tile become floats: what is loaded once for its columns, once for a row, and what is done with each vector.

use super::format::Place;
use crate::simd::Simd;

/// How sums become floats.
pub(super) trait Sums: Copy {
    /// What is loaded for the columns of a panel.
    type Columns<S: Simd, const V: usize>: Copy;

    /// What is loaded for a row.
    type Row: Copy;

    /// See [`Self::Columns`].
    fn columns<S: Simd, const V: usize>(&self, simd: S, at: &Place<'_>) -> Self::Columns<S, V>;

    /// See [`Self::Row`].
    fn row(&self, r: usize) -> Self::Row;

    /// The floats of the sums of a row and the bias, given the place of their vector among those of the columns, both.
    fn to_float<S: Simd, const V: usize>(
        &self,
        simd: S,
        at: &Place<'_>,
        row: Self::Row,
        columns: &Self::Columns<S, V>,
        sums_and_bias: (usize, S::Vec, S::Vec),
    ) -> S::Vec;
}

/// Sums that are floats.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatSums;

impl Sums for FloatSums {
    type Columns<S: Simd, const V: usize> = ();
    type Row = ();

    #[inline(always)]
    fn columns<S: Simd, const V: usize>(&self, _: S, _: &Place<'_>) {}

    #[inline(always)]
    fn row(&self, _: usize) {}

    #[inline(always)]
    fn to_float<S: Simd, const V: usize>(
        &self,
        simd: S,
        _: &Place<'_>,
        (): (),
        (): &(),
        (_, sums, bias): (usize, S::Vec, S::Vec),
    ) -> S::Vec {
        simd.add(sums, bias)
    }
}
