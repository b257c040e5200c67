//! What a format of weights does around the tiles: which words they multiply, and how sums become floats.
//!
//! | weight | words of a panel that tiles read | rows of `a` | sums |
//! | --- | --- | --- | --- |
//! | f32 | as packed | as they are | floats |
//! | bf16, where the processor multiplies them fast | as packed | rounded to bf16 | floats |
//! | f16, where the processor multiplies them | as packed | times a power of two each, rounded to f16 | short ones f16, then floats, scaled (`f16.rs`) |
//! | bf16 and f16 elsewhere, int4 | a panel at a time made floats, in cache | as they are | floats |
//! | int8 | as packed | bytes, a scale and a zero each (`rows.rs`) | integers, then scaled |
//! | int4 with int8 activations, groups of whole words | as packed | signed bytes, a scale each | integers of a group, scaled and added (`int4.rs`) |

use super::PackedWeight;
use super::blocking::blocks;
use super::rows::{ByteRow, ByteRows};
use super::sums::{FloatSums, Sums};
use super::tile::Tile;
use super::weight::{Int4Groups, Int8Columns, PackedFormat};
use crate::simd::{Bytes, Floats, Operation, Products, Simd};
use std::marker::PhantomData;
use std::ops::Range;

/// The smallest piece of K that all expanded formats can begin at.
const ALIGNED_K: usize = 8;

/// What is done around the tiles.
pub(super) trait Format: Copy + Sync {
    /// What tiles multiply.
    type Products: Products;

    /// Words of K that tiles run over.
    fn depth(weight: &PackedWeight) -> usize {
        weight.depth()
    }

    /// What pieces of K begin at multiples of.
    const ALIGNED: usize = 1;

    /// Floats of the memory that [`Self::panel`] wants for so many words of K.
    fn room(_width: usize, _depth: usize) -> usize {
        0
    }

    /// Blocks of so many words of K.
    fn blocks(depth: usize) -> usize {
        blocks(depth)
    }

    /// `sums[..rows * W]` = the products of the rows from `first` on, as many as `rows` says, or added to it.
    #[inline(always)]
    fn multiply<S: Simd, const V: usize>(&self, simd: S, tile: Tile<'_>, at: &Place<'_>, sums: &mut [f32]) {
        tile.multiply::<S, Self::Products, V>(simd, at.rows.len(), sums, at.add);
    }

    /// The words `ks` of a panel, [ks, W], in place or made in `room`.
    #[inline(always)]
    fn panel<'a, S: Simd>(
        _simd: S,
        weight: &'a PackedWeight,
        p: usize,
        ks: Range<usize>,
        _room: &'a mut [f32],
    ) -> &'a [f32] {
        let width = weight.width();
        &weight.panel(p)[ks.start * width..ks.end * width]
    }

    /// How sums become floats.
    type Sums: Sums;

    /// See [`Self::Sums`].
    fn sums(&self) -> Self::Sums;
}

/// Where a tile is.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) weight: &'a PackedWeight,
    /// The panel.
    pub(super) p: usize,
    pub(super) rows: Range<usize>,
    /// Whether there are sums already.
    pub(super) add: bool,
}

/// Words as they are packed, floats as sums.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packed<P>(pub(super) PhantomData<P>);

impl<P: Products> Format for Packed<P> {
    type Products = P;

    type Sums = FloatSums;

    fn sums(&self) -> FloatSums {
        FloatSums
    }
}

/// Panels made floats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expanded;

impl Format for Expanded {
    type Products = Floats;

    type Sums = FloatSums;

    fn sums(&self) -> FloatSums {
        FloatSums
    }

    const ALIGNED: usize = ALIGNED_K;

    fn depth(weight: &PackedWeight) -> usize {
        weight.k()
    }

    fn room(width: usize, depth: usize) -> usize {
        width * depth.next_multiple_of(ALIGNED_K)
    }

    #[inline(always)]
    fn panel<'a, S: Simd>(
        simd: S,
        weight: &'a PackedWeight,
        p: usize,
        ks: Range<usize>,
        room: &'a mut [f32],
    ) -> &'a [f32] {
        let len = ks.len() * weight.width();
        simd.call(Expand { weight, p, ks, out: &mut *room });
        &room[..len]
    }
}

/// Makes floats of a part of a panel that begins at a multiple of [`ALIGNED_K`].
struct Expand<'a> {
    weight: &'a PackedWeight,
    p: usize,
    ks: Range<usize>,
    /// [ks, W], and what a last word has past them.
    out: &'a mut [f32],
}

impl Operation for Expand<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { weight, p, ks, out } = self;
        match weight.format() {
            PackedFormat::Bf16 => halves::<S, false>(simd, (weight, p), ks, out),
            PackedFormat::F16 { .. } => halves::<S, true>(simd, (weight, p), ks, out),
            PackedFormat::Int4(groups) => codes(simd, groups, (weight, p), ks, out),
            PackedFormat::F32 | PackedFormat::Int8(_) => unreachable!("read in place"),
        }
    }
}

/// Both halves of the words of a panel: f16, or else bf16.
#[inline(always)]
fn halves<S: Simd, const F16: bool>(
    simd: S,
    (weight, p): (&PackedWeight, usize),
    ks: Range<usize>,
    out: &mut [f32],
) {
    let width = weight.width();
    let words = weight.panel(p)[ks.start / 2 * width..].chunks_exact(width);
    for (words, out) in words.zip(out[..ks.len().next_multiple_of(2) * width].chunks_exact_mut(2 * width)) {
        for column in (0..width).step_by(S::LANES) {
            let pair = simd.load(&words[column..]);
            for (half, high) in [false, true].into_iter().enumerate() {
                let float = if F16 { simd.f16_half(pair, high) } else { simd.bf16_half(pair, high) };
                simd.store(float, &mut out[half * width + column..]);
            }
        }
    }
}

/// The numbers that the codes of a panel stand for: code · scale + zero, each rounded as torchao rounds it.
#[inline(always)]
fn codes<S: Simd>(
    simd: S,
    groups: &Int4Groups,
    (weight, p): (&PackedWeight, usize),
    ks: Range<usize>,
    out: &mut [f32],
) {
    let (width, panel) = (weight.width(), weight.panel(p));
    let of_panel = p * weight.k().div_ceil(groups.group) * width;
    for (k, out) in ks.zip(out.chunks_exact_mut(width)) {
        let (word, group) = (&panel[k / 8 * width..][..width], of_panel + k / groups.group * width);
        let (scales, zeros) = (&groups.scales[group..][..width], &groups.zeros[group..][..width]);
        for column in (0..width).step_by(S::LANES) {
            let code = int4_code(simd, simd.load(&word[column..]), k);
            let scaled = simd.mul(code, simd.load(&scales[column..]));
            simd.store(simd.add(scaled, simd.load(&zeros[column..])), &mut out[column..]);
        }
    }
}

/// The codes (−8..=7) of input `k` in the words of eight inputs that have it.
#[inline(always)]
pub(super) fn int4_code<S: Simd>(simd: S, words: S::Vec, k: usize) -> S::Vec {
    let bytes = simd.nibbles(words, k % 8 >= 4);
    simd.sub(simd.signed_byte(bytes, (k % 4) as u32), simd.splat(8.0))
}

/// int8 weights with rows of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Int8<'a> {
    pub(super) columns: &'a Int8Columns,
    pub(super) rows: ByteRows<'a>,
}

impl<'a> Format for Int8<'a> {
    type Products = Bytes;

    type Sums = Self;

    fn sums(&self) -> Self {
        *self
    }
}

impl<'a> Sums for Int8<'a> {
    /// Scales of the columns, and the sums of what their codes stand for.
    type Columns<S: Simd, const V: usize> = [[S::Vec; 2]; V];

    #[inline(always)]
    fn columns<S: Simd, const V: usize>(&self, simd: S, at: &Place<'_>) -> [[S::Vec; 2]; V] {
        let mut columns = [[simd.splat(0.0); 2]; V];
        for (v, column) in columns.iter_mut().enumerate() {
            let start = (at.p * V + v) * S::LANES;
            *column = [simd.load(&self.columns.scales[start..]), simd.load(&self.columns.sums[start..])];
        }
        columns
    }

    type Row = ByteRow<'a>;

    #[inline(always)]
    fn row(&self, r: usize) -> ByteRow<'a> {
        self.rows.row(r)
    }

    /// `(sums · scale[column] − zero[row] · sum of weights[column]) · scale[row] + bias`, and the outliers. The terms of the difference
    /// may be larger than it, so that their roundings are some 2⁻²⁴ of them; of what the bytes were rounded by, that is no
    /// ten-thousandth. As a difference of integers it would be exact, and all products 1.5 % slower (measured at K = 384, AVX-512).
    #[inline(always)]
    fn to_float<S: Simd, const V: usize>(
        &self,
        simd: S,
        at: &Place<'_>,
        row: ByteRow<'a>,
        columns: &[[S::Vec; 2]; V],
        (v, sums, bias): (usize, S::Vec, S::Vec),
    ) -> S::Vec {
        let [scale, of_weights] = columns[v];
        let sums = simd.mul(simd.integer_to_float(sums), scale);
        let sums = simd.mul_add(simd.splat(-row.zero), of_weights, sums);
        let mut value = simd.mul_add(sums, simd.splat(row.scale), bias);
        for (k, x) in row.outliers() {
            let word = simd.load(&at.weight.panel(at.p)[(k / 4 * V + v) * S::LANES..]);
            let weight = simd.mul(simd.signed_byte(word, (k % 4) as u32), scale);
            value = simd.mul_add(weight, simd.splat(x), value);
        }
        value
    }
}
