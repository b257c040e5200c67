//! From sums to outputs, one tile at a time: `out = (act(sum + bias) · scale) [+ out]`.
//!
//! bias and scale are vectors [N] over the columns; the residual is what `out` held. In place of an absent
//! one a bias of 0 is added, a scale of 1 multiplied, neither of which changes a sum (sums are never −0).

use super::tile::panel_width;
use crate::Activation;
use crate::matrix::Blocks;
use crate::profile::OpEpilogue;
use crate::simd::Simd;
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

    /// Finishes the tile of `rows` × `cols` of `out`, whose sums are `sums` ([rows, W], W ≥ `cols.len()`).
    ///
    /// # Safety
    /// No element of the tile may be lent already.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) unsafe fn finish<S: Simd>(
        &self,
        simd: S,
        sums: &[f32],
        out: &Blocks<'_>,
        rows: Range<usize>,
        cols: Range<usize>,
    ) {
        let bias = load_pair(simd, self.bias.map(|bias| &bias[cols.clone()]), 0.0);
        let scale = load_pair(simd, self.scale.map(|scale| &scale[cols.clone()]), 1.0);
        for (r, sums) in rows.zip(sums.chunks_exact(panel_width::<S>())) {
            // SAFETY: by the caller, nobody else has the tile; its rows are lent one after the other.
            let out = unsafe { out.row(r, cols.clone()) };
            let halves = out.chunks_mut(S::LANES).zip(sums.chunks_exact(S::LANES));
            for ((out, sums), (bias, scale)) in halves.zip(bias.into_iter().zip(scale)) {
                let mut v = simd.add(simd.load(sums), bias);
                if let Some(activation) = self.activation {
                    v = activation.eval(simd, v);
                }
                v = simd.mul(v, scale);
                if out.len() == S::LANES {
                    let v = if self.accumulate { simd.add(simd.load(out), v) } else { v };
                    simd.store(v, out);
                } else {
                    let v = if self.accumulate { simd.add(simd.load_part(out, 0.0), v) } else { v };
                    simd.store_part(v, out);
                }
            }
        }
    }
}

/// The values of a panel's columns, `fill` where there are none.
#[inline(always)]
fn load_pair<S: Simd>(simd: S, values: Option<&[f32]>, fill: f32) -> [S::Vec; 2] {
    let (first, second) = values.map_or((&[][..], &[][..]), |v| v.split_at(v.len().min(S::LANES)));
    [simd.load_part(first, fill), simd.load_part(second, fill)]
}
