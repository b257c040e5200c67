//! Packed weights of fewer bits: a word of a panel holds several k of a column,
//!
//! ```text
//! bf16, f16   k = 2j, 2j + 1            16 bits each, the first in the low half
//! int8        k = 4j, …, 4j + 3         a signed byte each, in order
//! int4        k = 8j, …, 8j + 7         code + 8: byte i has k = 8j + i in its low half, k = 8j + 4 + i in its high half
//! ```
//! so that both halves of the bytes of an int4 word are as an int8 word is. What is past K is 0.

mod words;

use self::words::{Half, HalfRows, PackWords, Words};
use super::{PackedFormat, PackedWeight, PanelWidth};
use crate::aligned::AlignedFloats;
use crate::gemm::f16::rows_most;
use crate::simd::{Operation, Simd};
use crate::{Context, FloatSlice, Int4Weight, Int8Weight};
use half::f16;

/// The longest group whose products of bytes, 15 · 127 at most each, are summed in 32 bits; a round number below.
const MAX_BYTES_GROUP: usize = 1 << 20;

/// What an int4 weight is multiplied with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Int4Activations {
    /// Floats: what torchao's scheme computes.
    Float,
    /// Bytes, one scale a row: faster. Groups that are no multiple of 8, or longer than 2²⁰, are multiplied with floats all the
    /// same.
    Int8,
}

/// The columns of an int8 weight, padded to whole panels.
#[derive(Debug)]
pub(in crate::gemm) struct Int8Columns {
    /// [N].
    pub(in crate::gemm) scales: AlignedFloats,
    /// [N]: the sums over k of what the codes stand for.
    pub(in crate::gemm) sums: AlignedFloats,
}

/// The groups of an int4 weight.
#[derive(Debug)]
pub(in crate::gemm) struct Int4Groups {
    /// Inputs of a group.
    pub(in crate::gemm) group: usize,
    /// [panel, group, W].
    pub(in crate::gemm) scales: AlignedFloats,
    /// [panel, group, W].
    pub(in crate::gemm) zeros: AlignedFloats,
    /// What it is multiplied with.
    pub(in crate::gemm) activations: Int4Activations,
}

impl Int4Groups {
    /// Whether products are of bytes: asked for, and groups are of whole words, and not too long.
    pub(in crate::gemm) fn multiplies_bytes(&self) -> bool {
        let fits = self.group.is_multiple_of(8) && self.group <= MAX_BYTES_GROUP;
        self.activations == Int4Activations::Int8 && fits
    }
}

impl PackedFormat {
    /// Bytes held beside the words.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::F32 | Self::Bf16 | Self::F16 { .. } => 0,
            Self::Int8(columns) => {
                size_of_val::<[f32]>(&columns.scales) + size_of_val::<[f32]>(&columns.sums)
            }
            Self::Int4(groups) => size_of_val::<[f32]>(&groups.scales) + size_of_val::<[f32]>(&groups.zeros),
        }
    }
}

impl PackedWeight {
    /// Packs several weights [Nᵢ, K] as one [N, K] of bf16, rounded to nearest, ties to even.
    ///
    /// # Panics
    /// When a length is no multiple of `k`, or all together are not `n * k`.
    #[must_use]
    pub fn pack_bf16(ctx: &Context, weights: &[FloatSlice<'_>], n: usize, k: usize) -> Self {
        let parts = HalfRows::of(weights, (n, k), Half::Bf16);
        Self::pack_words(ctx, &parts, (n, k), k.div_ceil(2), PackedFormat::Bf16)
    }

    /// Packs several weights [Nᵢ, K] as one [N, K] of f16, rounded to nearest, ties to even; nothing when a finite weight is too
    /// large for f16 (beyond 65504).
    ///
    /// # Panics
    /// When a length is no multiple of `k`, or all together are not `n * k`.
    #[must_use]
    pub fn pack_f16(ctx: &Context, weights: &[FloatSlice<'_>], n: usize, k: usize) -> Option<Self> {
        let largest = weights.iter().fold(0.0, |most: f32, weight| most.max(weight.largest_finite()));
        // Rounding keeps the order.
        if f16::from_f32(largest).is_infinite() {
            return None;
        }
        let parts = HalfRows::of(weights, (n, k), Half::F16);
        let format = PackedFormat::F16 { rows_most: rows_most(largest).filter(|_| ctx.multiplies_f16()) };
        Some(Self::pack_words(ctx, &parts, (n, k), k.div_ceil(2), format))
    }

    /// Packs several weights [Nᵢ, K] as one.
    ///
    /// # Panics
    /// When there are none, their K differ, or it is more than [`Int8Weight::MAX_K`].
    #[must_use]
    pub fn pack_int8(ctx: &Context, weights: &[Int8Weight]) -> Self {
        let k = common_k(weights.iter().map(Int8Weight::k));
        assert!(k <= Int8Weight::MAX_K, "an int8 weight of {k} inputs");
        let n: usize = weights.iter().map(Int8Weight::n).sum();
        let padded = n.next_multiple_of(ctx.dispatch(PanelWidth { n }));
        let (mut scales, mut sums) = (AlignedFloats::zeroed(padded), AlignedFloats::zeroed(padded));
        let rows: Vec<_> =
            weights.iter().flat_map(|weight| (0..weight.n()).map(move |row| (weight, row))).collect();
        for ((weight, row), scale) in rows.iter().zip(&mut *scales) {
            *scale = weight.scales()[*row];
        }
        ctx.for_each_chunk_mut(&mut sums[..n], ROWS_A_TASK, |task, sums| {
            for (sum, (weight, row)) in sums.iter_mut().zip(&rows[task * ROWS_A_TASK..]) {
                let of_row = ctx.dispatch(SumCodes { codes: &weight.codes()[row * k..][..k] });
                *sum = of_row as f32 * weight.scales()[*row];
            }
        });
        let format = PackedFormat::Int8(Int8Columns { scales, sums });
        Self::pack_words(ctx, weights, (n, k), k.div_ceil(4), format)
    }

    /// Packs several weights [Nᵢ, K] as one, whose groups are the same.
    ///
    /// # Panics
    /// When there are none, or their K or groups differ.
    #[must_use]
    pub fn pack_int4(ctx: &Context, weights: &[Int4Weight], activations: Int4Activations) -> Self {
        let k = common_k(weights.iter().map(Int4Weight::k));
        let n: usize = weights.iter().map(Int4Weight::n).sum();
        let group = common_k(weights.iter().map(Int4Weight::group));
        let (width, groups) = (ctx.dispatch(PanelWidth { n }), k.div_ceil(group));
        let len = n.next_multiple_of(width) * groups;
        let (mut scales, mut zeros) = (AlignedFloats::zeroed(len), AlignedFloats::zeroed(len));
        let mut first = 0;
        for weight in weights {
            for g in 0..groups {
                let of_group = g * weight.n()..(g + 1) * weight.n();
                let (of_scales, of_zeros) = (&weight.scales()[of_group.clone()], &weight.zeros()[of_group]);
                for ((column, scale), zero) in (first..).zip(of_scales).zip(of_zeros) {
                    let place = (column / width * groups + g) * width + column % width;
                    (scales[place], zeros[place]) = (*scale, *zero);
                }
            }
            first += weight.n();
        }
        let format = PackedFormat::Int4(Int4Groups { group, scales, zeros, activations });
        Self::pack_words(ctx, weights, (n, k), k.div_ceil(8), format)
    }

    /// Packs the words of stacked parts.
    fn pack_words<R: Words>(
        ctx: &Context,
        parts: &[R],
        (n, k): (usize, usize),
        depth: usize,
        format: PackedFormat,
    ) -> Self {
        let width = ctx.dispatch(PanelWidth { n });
        let panel_len = width * depth;
        let mut data = AlignedFloats::in_huge_pages(n.div_ceil(width) * panel_len);
        let rows: Vec<(&R, usize)> =
            parts.iter().flat_map(|part| (0..part.rows()).map(move |row| (part, row))).collect();
        if panel_len > 0 {
            let panels = &mut data[..n.div_ceil(width) * panel_len];
            ctx.for_each_chunk_mut(panels, panel_len, |p, panel| {
                let rows = &rows[p * width..n.min((p + 1) * width)];
                ctx.dispatch(PackWords { rows, width, panel });
            });
        }
        Self { n, k, isa: ctx.isa(), width, depth, data, format }
    }
}

/// The K (or group) that all parts have.
fn common_k(mut of_parts: impl Iterator<Item = usize>) -> usize {
    let first = of_parts.next();
    assert!(of_parts.all(|k| Some(k) == first), "parts of the same inputs and groups");
    first.unwrap_or_else(|| unreachable!("a weight has parts"))
}

/// Rows whose codes one task sums.
const ROWS_A_TASK: usize = 64;

/// The sum of the codes of a row.
struct SumCodes<'a> {
    codes: &'a [i8],
}

impl Operation for SumCodes<'_> {
    type Output = i32;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> i32 {
        self.codes.iter().map(|code| i32::from(*code)).sum()
    }
}
