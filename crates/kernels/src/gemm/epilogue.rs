//! From sums to outputs, one tile at a time: `out = (act(sum + bias) · scale) [+ out]`.
//!
//! bias and scale are vectors [N] over the columns; the residual is what `out` held. In place of an absent
//! one a bias of 0 is added, a scale of 1 multiplied or none, which changes no sum (sums are never −0).

use super::format::Place;
use super::sums::Sums;
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

impl<'a> Epilogue<'a> {
    /// What it does, for a profile.
    pub(super) fn kind(&self) -> OpEpilogue {
        let Self { bias, activation, scale, accumulate } = *self;
        OpEpilogue { bias: bias.is_some(), activation, scale: scale.is_some(), accumulate }
    }

    /// Finishes the tile `at` of `out`, with the columns `cols`; `sums` [rows, W] are its sums, as the format has them.
    ///
    /// # Safety
    /// No element of the tile may be lent already.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) unsafe fn finish<S: Simd, F: Sums, const V: usize>(
        &self,
        simd: S,
        (format, at): (&F, &Place<'_>),
        sums: &[f32],
        out: &Blocks<'_>,
        cols: Range<usize>,
    ) {
        let sums = &sums[..at.rows.len() * V * S::LANES];
        let of = |values: Option<&'a [f32]>| values.map(|values| &values[cols.clone()]);
        let (bias, scale) = (of(self.bias), of(self.scale));
        let epilogue = Epilogue { bias, scale, ..*self };
        simd.call(Finish::<F, V> { epilogue, format, at, sums, out, cols });
    }
}

/// See [`Epilogue::finish`].
struct Finish<'a, F, const V: usize> {
    /// With the bias and the scale of the tile's columns.
    epilogue: Epilogue<'a>,
    format: &'a F,
    at: &'a Place<'a>,
    /// [rows, W].
    sums: &'a [f32],
    out: &'a Blocks<'a>,
    cols: Range<usize>,
}

impl<F: Sums, const V: usize> Operation for Finish<'_, F, V> {
    type Output = ();

    /// Each activation that matters has a loop of its own, without a choice for each vector.
    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        match self.epilogue.activation {
            None if self.epilogue.scale.is_none() => self.each(
                simd,
                #[inline(always)]
                |x, _| x,
            ),
            None => self.each(
                simd,
                #[inline(always)]
                |x, scale| simd.mul(x, scale),
            ),
            Some(Activation::Gelu) => self.each(
                simd,
                #[inline(always)]
                |x, scale| simd.mul(Activation::Gelu.eval(simd, x), scale),
            ),
            Some(other) => self.each(
                simd,
                #[inline(always)]
                |x, scale| simd.mul(other.eval(simd, x), scale),
            ),
        }
    }
}

impl<F: Sums, const V: usize> Finish<'_, F, V> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // see `simd/rows.rs`
    fn each<S: Simd>(self, simd: S, activation: impl Fn(S::Vec, S::Vec) -> S::Vec) {
        let Self { epilogue: Epilogue { bias, scale, accumulate, .. }, format, at, sums, out, cols } = self;
        let columns = format.columns::<S, V>(simd, at);
        let (bias, scale) = (load_columns::<S, V>(simd, bias, 0.0), load_columns::<S, V>(simd, scale, 1.0));
        let whole = cols.len() == V * S::LANES;
        for (r, sums) in at.rows.clone().zip(sums.chunks_exact(V * S::LANES)) {
            let row = format.row(r);
            // SAFETY: by the caller of `finish` nobody else has the tile; its rows are lent one after the other.
            #[allow(unsafe_code)]
            let out = unsafe { out.row(r, cols.clone()) };
            for v in 0..V {
                let sum = simd.load(&sums[v * S::LANES..]);
                let sum = format.to_float::<S, V>(simd, at, row, &columns, (v, sum, bias[v]));
                let sum = activation(sum, scale[v]);
                if whole {
                    let out = &mut out[v * S::LANES..];
                    simd.store(if accumulate { simd.add(simd.load(out), sum) } else { sum }, out);
                } else if let Some(out) = out.chunks_mut(S::LANES).nth(v) {
                    let before = if accumulate { simd.load_part(out, 0.0) } else { simd.splat(0.0) };
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
