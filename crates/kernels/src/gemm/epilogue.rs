//! From sums to outputs, one tile at a time: `out = (act(sum + bias) · scale) [+ out]`.
//!
//! bias and scale are vectors [N] over the columns; the residual is what `out` held. In place of an absent
//! one a bias of 0 is added, a scale of 1 multiplied, neither of which changes a sum (sums are never −0).

use crate::Activation;
use crate::matrix::Blocks;
use crate::profile::OpEpilogue;
use crate::simd::{Operation, Simd};
use std::ops::Range;

/// What happens to a sum before it is stored, in this order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epilogue<'a> {
    /// Added: `[N]`.
    pub bias: Option<&'a [f32]>,
    /// Applied after the bias.
    pub activation: Option<Activation>,
    /// Multiplied (layer scale): `[N]`.
    pub scale: Option<&'a [f32]>,
    /// Added to what `out` holds (residual) in place of overwriting it.
    pub accumulate: bool,
}

impl Epilogue<'_> {
    /// What it does, for a profile.
    pub(super) fn kind(&self) -> OpEpilogue {
        let Self { bias, activation, scale, accumulate } = *self;
        OpEpilogue { bias: bias.is_some(), activation, scale: scale.is_some(), accumulate }
    }

    /// Finishes the tile of `rows` × `cols` of `out`, whose sums are `sums` ([rows, W], W ≥ `cols.len()`), which are changed.
    ///
    /// # Safety
    /// No element of the tile may be lent already.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) unsafe fn finish<S: Simd, const V: usize>(
        &self,
        simd: S,
        sums: &mut [f32],
        out: &Blocks<'_>,
        rows: Range<usize>,
        cols: Range<usize>,
    ) {
        let sums = &mut sums[..rows.len() * V * S::LANES];
        let bias = self.bias.map(|bias| &bias[cols.clone()]);
        if let Some(activation) = self.activation {
            simd.call(Activated::<V> { activation, bias, sums: &mut *sums });
        }
        let bias = bias.filter(|_| self.activation.is_none());
        let scale = self.scale.map(|scale| &scale[cols.clone()]);
        simd.call(Finish::<V> { sums, bias, scale, accumulate: self.accumulate, out, rows, cols });
    }
}

/// `sums = act(sums + bias)`.
struct Activated<'a, const V: usize> {
    activation: Activation,
    bias: Option<&'a [f32]>,
    /// [rows, W].
    sums: &'a mut [f32],
}

impl<const V: usize> Operation for Activated<'_, V> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd>(self, simd: S) {
        let bias = load_columns::<S, V>(simd, self.bias, 0.0);
        for row in self.sums.chunks_exact_mut(V * S::LANES) {
            for v in 0..V {
                let sums = &mut row[v * S::LANES..];
                simd.store(simd.add(simd.load(sums), bias[v]), sums);
            }
        }
        self.activation.apply(simd, self.sums);
    }
}

/// `out = (sums + bias) · scale [+ out]`.
struct Finish<'a, const V: usize> {
    /// [rows, W].
    sums: &'a [f32],
    bias: Option<&'a [f32]>,
    scale: Option<&'a [f32]>,
    accumulate: bool,
    out: &'a Blocks<'a>,
    rows: Range<usize>,
    cols: Range<usize>,
}

impl<const V: usize> Operation for Finish<'_, V> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn eval<S: Simd>(self, simd: S) {
        let (bias, scale) =
            (load_columns::<S, V>(simd, self.bias, 0.0), load_columns::<S, V>(simd, self.scale, 1.0));
        let whole = self.cols.len() == V * S::LANES;
        for (r, sums) in self.rows.zip(self.sums.chunks_exact(V * S::LANES)) {
            // SAFETY: by the caller of `finish` nobody else has the tile; its rows are lent one after the other.
            #[allow(unsafe_code)]
            let out = unsafe { self.out.row(r, self.cols.clone()) };
            for v in 0..V {
                let sum = simd.mul(simd.add(simd.load(&sums[v * S::LANES..]), bias[v]), scale[v]);
                if whole {
                    let out = &mut out[v * S::LANES..];
                    simd.store(if self.accumulate { simd.add(simd.load(out), sum) } else { sum }, out);
                } else if let Some(out) = out.chunks_mut(S::LANES).nth(v) {
                    let before = if self.accumulate { simd.load_part(out, 0.0) } else { simd.splat(0.0) };
                    simd.store_part(simd.add(before, sum), out);
                }
            }
        }
    }
}

/// The values of a panel's columns, `fill` where there are none.
#[inline(always)]
fn load_columns<S: Simd, const V: usize>(simd: S, values: Option<&[f32]>, fill: f32) -> [S::Vec; V] {
    let mut columns = [simd.splat(fill); V];
    for (column, values) in columns.iter_mut().zip(values.unwrap_or_default().chunks(S::LANES)) {
        *column = simd.load_part(values, fill);
    }
    columns
}
