//! The packed weight: panels of W columns of the output, W = 2 or 3 vectors of the instruction set (`tile.rs`).
//!
//! ```text
//! weight[n, k]  →  data[p][k][c],  n = p·W + c;  columns past N are 0
//! ```
//! so that a tile reads one panel front to back, W floats for each k, 64-byte aligned. Weights of fewer bits have words in place
//! of floats, each of several k of a column (`weight/compact.rs`).

mod compact;

pub use compact::Int4Activations;
pub(super) use compact::{Int4Groups, Int8Columns};

use super::tile::panel_vectors;
use crate::aligned::AlignedFloats;
use crate::simd::{Operation, Simd};
use crate::{Context, Isa};
use std::ops::Range;

/// A weight [N, K] laid out for a kernel.
#[derive(Debug)]
pub struct PackedWeight {
    n: usize,
    k: usize,
    isa: Isa,
    width: usize,
    /// Words of a column of a panel.
    depth: usize,
    data: AlignedFloats,
    format: PackedFormat,
}

/// What the words of a packed weight hold, and what else it takes to know the numbers.
#[derive(Debug)]
pub(super) enum PackedFormat {
    /// A float.
    F32,
    /// Two bf16, that of the even k in the low half.
    Bf16,
    /// Two f16, that of the even k in the low half.
    F16 {
        /// Up to what magnitude rows are f16, where they are (`f16.rs`); elsewhere the weight is widened.
        rows_most: Option<f32>,
    },
    /// Four signed bytes, in order.
    Int8(Int8Columns),
    /// Eight 4-bit codes.
    Int4(Int4Groups),
}

impl PackedWeight {
    /// Packs `weight` ([N, K] row-major, `Linear.weight`) for the context's instruction set.
    ///
    /// # Panics
    /// When `weight.len() != n * k`.
    #[must_use]
    pub fn pack(ctx: &Context, weight: &[f32], n: usize, k: usize) -> Self {
        Self::pack_stacked(ctx, &[weight], n, k)
    }

    /// Packs several weights [Nᵢ, K] as one [N, K], N = ΣNᵢ: their outputs lie side by side.
    ///
    /// # Panics
    /// When a length is no multiple of `k`, or all together are not `n * k`.
    #[must_use]
    pub fn pack_stacked(ctx: &Context, weights: &[&[f32]], n: usize, k: usize) -> Self {
        assert_stacked(weights.iter().map(|weight| weight.len()), (n, k));
        let width = ctx.dispatch(PanelWidth { n });
        let panel_len = width * k;
        let mut data = AlignedFloats::in_huge_pages(n.div_ceil(width) * panel_len);
        if panel_len > 0 {
            let panels = &mut data[..n.div_ceil(width) * panel_len];
            ctx.for_each_chunk_mut(panels, panel_len, |p, panel| {
                ctx.dispatch(PackPanel { weights, k, width, first: p * width, panel });
            });
        }
        Self { n, k, isa: ctx.isa(), width, depth: k, data, format: PackedFormat::F32 }
    }

    /// Output features.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// The instruction set level it was packed for.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val::<[f32]>(&self.data) + self.format.bytes()
    }

    /// Whether it may be multiplied with rounded rows: what is made of its outputs need not be more exact.
    #[must_use]
    pub fn allows_rounded_rows(&self) -> bool {
        match &self.format {
            PackedFormat::F32 | PackedFormat::F16 { .. } => false,
            PackedFormat::Bf16 | PackedFormat::Int8(_) => true,
            PackedFormat::Int4(groups) => groups.multiplies_bytes(),
        }
    }

    /// Whether it is multiplied in f16: it holds f16, was packed where that is done ([`Context::multiplies_f16`]), and has no weight
    /// beyond 64, with which sums of f16 would be coarse.
    #[must_use]
    pub fn multiplies_f16(&self) -> bool {
        matches!(self.format, PackedFormat::F16 { rows_most: Some(_) })
    }

    /// What its words hold.
    pub(super) fn format(&self) -> &PackedFormat {
        &self.format
    }

    /// Words of a column of a panel.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Columns of a panel.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Panels.
    pub(super) fn panels(&self) -> usize {
        self.n.div_ceil(self.width)
    }

    /// Panel `p`: [depth, W].
    #[inline(always)]
    pub(super) fn panel(&self, p: usize) -> &[f32] {
        &self.data[p * self.width * self.depth..][..self.width * self.depth]
    }
}

/// Checks that parts of such lengths are whole rows [Nᵢ, K] that make one [N, K].
fn assert_stacked(mut lens: impl Iterator<Item = usize> + Clone, (n, k): (usize, usize)) {
    assert_eq!(Some(lens.clone().sum()), n.checked_mul(k), "weight of {n}x{k}");
    assert!(lens.all(|len| k == 0 || len.is_multiple_of(k)), "weights of {k} columns");
}

/// Asks a level for the width of its panels of a weight.
struct PanelWidth {
    n: usize,
}

impl Operation for PanelWidth {
    type Output = usize;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> usize {
        panel_vectors::<S>(self.n) * S::LANES
    }
}

/// Floats of a row that are transposed at a time: a cache line, so that a line of each row is read once, and what is
/// written meanwhile (16 lines of the panel) stays in L1. Longer runs are slower.
const RUN: usize = 16;

/// Transposes the rows from `first` on of the stacked weights into `panel` ([K, W]).
struct PackPanel<'a> {
    weights: &'a [&'a [f32]],
    k: usize,
    width: usize,
    first: usize,
    panel: &'a mut [f32],
}

impl Operation for PackPanel<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { weights, k, width, mut first, panel } = self;
        let mut column = 0;
        for weight in weights {
            let rows = weight.len() / k;
            let taken = rows.saturating_sub(first).min(width - column);
            if taken > 0 {
                transpose(simd, &weight[first * k..][..taken * k], k, panel, column..width);
                column += taken;
            }
            first = first.saturating_sub(rows);
        }
    }
}

/// Transposes `rows` ([≤ W, K]) into the columns of `panel` ([K, W]) from `columns.start` on; W is `columns.end`.
#[inline(always)]
fn transpose<S: Simd>(simd: S, rows: &[f32], k: usize, panel: &mut [f32], columns: Range<usize>) {
    let width = columns.end;
    for (start, lines) in (0..k).step_by(RUN).zip(panel.chunks_mut(RUN * width)) {
        for (c, row) in columns.clone().zip(rows.chunks_exact(k)) {
            let run = &row[start..];
            // As many rows as a panel has columns are too many streams for the processor to see by itself.
            simd.prefetch(run.as_ptr().wrapping_add(RUN));
            for (line, &value) in lines.chunks_exact_mut(width).zip(run) {
                line[c] = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ContextOptions;
    use dinoxide_testkit::data::hash32;

    #[test]
    fn stacked_weights_are_packed_like_one() {
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(2) }).unwrap();
            for k in [1, 15, 16, 17, 33, 100] {
                let rows = [5, 0, 40, 1, 70];
                let n = rows.iter().sum();
                let weight = hash32(1, n * k);
                let mut rest = &weight[..];
                let parts = rows.map(|rows| rest.split_off(..rows * k).unwrap());
                let (one, stacked) =
                    (PackedWeight::pack(&ctx, &weight, n, k), PackedWeight::pack_stacked(&ctx, &parts, n, k));
                assert_eq!(one.data[..], stacked.data[..], "{isa} {k}");
                let width = one.width();
                for (i, value) in weight.iter().enumerate() {
                    let (row, at) = (i / k, i % k);
                    assert_eq!(one.panel(row / width)[at * width + row % width], *value, "{isa} {row} {at}");
                }
            }
        }
    }
}
