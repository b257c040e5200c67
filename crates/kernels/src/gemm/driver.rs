//! The entry of the linear layer `out = epilogue(a · weightᵀ)`, a [M, K], weight [N, K], out [M, N], and the loops of a thread.
//!
//! The loops of a run (some panels of a part of the rows, `blocking.rs`) are: blocks of K, then panels, then tiles, so that a
//! panel's block is read once for all rows. Sums of one block stay in one tile's place; those of several wait in scratch
//! memory. Rows of `a` are read in place: callers lay them out by [`crate::row_stride`].

use super::blocking::{Cut, Run, Work};
use super::f16::F16;
use super::format::{Expanded, Format, Int8, Packed, Place};
use super::int4::Int4;
use super::rows::RowWords;
use super::tile::Tile;
use super::weight::PackedFormat;
use super::{Epilogue, PackedWeight};
use crate::matrix::{Blocks, part, row_stride};
use crate::profile::Op;
use crate::simd::{Bf16Pairs, Floats, Operation, Simd, tile_rows};
use crate::{Context, MatMut, MatRef};
use std::marker::PhantomData;
use std::ops::Range;

/// Computes `out = epilogue(a · weightᵀ)`.
///
/// The error of a sum was at most 1.4·√K·2⁻²⁴·Σ|aₖ·wₖ| in the tests.
///
/// # Panics
/// When shapes disagree, or the weight was packed for another instruction set.
pub fn gemm(
    ctx: &Context,
    a: MatRef<'_>,
    weight: &PackedWeight,
    epilogue: &Epilogue<'_>,
    out: &mut MatMut<'_>,
) {
    let (m, n, k) = (a.rows(), weight.n(), weight.k());
    assert_eq!(a.cols(), k, "columns of a, and of the weight");
    assert_eq!((out.rows(), out.cols()), (m, n), "shape of the output");
    assert!(epilogue.bias.is_none_or(|bias| bias.len() == n), "length of the bias");
    assert!(epilogue.scale.is_none_or(|scale| scale.len() == n), "length of the scale");
    assert_eq!(weight.isa(), ctx.isa(), "instruction set of the weight");
    let _span = ctx.span(|| Op::Gemm { m, n, k, epilogue: epilogue.kind() });
    let out = Blocks::new(out);
    let product = Product { ctx, weight, epilogue, out: &out };
    match weight.format() {
        PackedFormat::F32 => product.compute(a, Packed::<Floats>(PhantomData)),
        PackedFormat::Bf16 if ctx.multiplies_bf16() => {
            let rows = RowWords::bf16(ctx, a);
            product.compute(rows.matrix(m), Packed::<Bf16Pairs>(PhantomData));
        }
        PackedFormat::Int4(groups) if groups.multiplies_bytes() => {
            let words = RowWords::signed_bytes(ctx, a, groups.group);
            product.compute(words.matrix(m), Int4 { groups, rows: words.byte_rows() });
        }
        PackedFormat::F16 { rows_most: Some(most) } => {
            let rows = RowWords::f16(ctx, a, *most);
            product.compute(rows.matrix(m), F16 { rows: rows.f16_rows() });
        }
        PackedFormat::Bf16 | PackedFormat::F16 { .. } | PackedFormat::Int4(_) => product.compute(a, Expanded),
        PackedFormat::Int8(columns) => {
            let words = RowWords::bytes(ctx, a);
            product.compute(words.matrix(m), Int8 { columns, rows: words.byte_rows() });
        }
    }
}

impl PackedWeight {
    /// Floats of scratch memory that [`gemm`] takes for each row of `a`, to hold it in the words that are multiplied; 0 where rows
    /// are read as they are.
    #[must_use]
    pub fn row_scratch(&self, ctx: &Context) -> usize {
        let len = match self.format() {
            PackedFormat::Bf16 if ctx.multiplies_bf16() => RowWords::bf16_len(self.k()),
            PackedFormat::Int4(groups) if groups.multiplies_bytes() => {
                RowWords::signed_bytes_len(self.k(), groups.group)
            }
            PackedFormat::F16 { rows_most: Some(_) } => RowWords::f16_len(self.k()),
            PackedFormat::F32 | PackedFormat::Bf16 | PackedFormat::F16 { .. } | PackedFormat::Int4(_) => 0,
            PackedFormat::Int8(_) => RowWords::bytes_len(self.k()),
        };
        row_stride(len)
    }
}

/// A product to compute.
#[derive(Clone, Copy)]
struct Product<'a> {
    ctx: &'a Context,
    weight: &'a PackedWeight,
    epilogue: &'a Epilogue<'a>,
    out: &'a Blocks<'a>,
}

impl Product<'_> {
    /// Computes it, from the rows in the format's words.
    fn compute<F: Format>(self, a: MatRef<'_>, format: F) {
        let Self { ctx, weight, .. } = self;
        let tile_rows = ctx.dispatch(TileRows { width: weight.width() });
        let (panels, width, depth) = (weight.panels(), weight.width(), F::depth(weight));
        let cut = Work { rows: a.rows(), panels, width, k: depth, tile_rows, threads: ctx.hands() }.cut();
        let blocks = F::blocks(depth);
        let room_len = F::room(width, depth.div_ceil(blocks) + F::ALIGNED);
        ctx.for_each_range(cut.units(), |units| {
            let mut room = ctx.scratch(room_len);
            for run in cut.runs(units) {
                let tiles = cut.tiles(&run);
                let places = if blocks == 1 { 1 } else { tiles * run.panels.len() };
                let mut sums = ctx.scratch(places * tile_rows * width);
                let task = Task {
                    product: self,
                    format,
                    a,
                    depth,
                    cut,
                    run,
                    tiles,
                    sums: &mut sums,
                    room: &mut room,
                };
                ctx.dispatch_products::<F::Products, _>(task);
            }
        });
    }
}

/// Asks a level for the rows of its tiles.
struct TileRows {
    /// Of the panels.
    width: usize,
}

impl Operation for TileRows {
    type Output = usize;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> usize {
        tile_rows::<S>(self.width / S::LANES)
    }
}

/// A run, computed on one thread.
struct Task<'a, F> {
    product: Product<'a>,
    format: F,
    a: MatRef<'a>,
    /// Words of K.
    depth: usize,
    cut: Cut,
    run: Run,
    /// Tiles into which the rows are dealt.
    tiles: usize,
    /// Of one tile, or of all when K has several blocks: [panel, tile, row, column].
    sums: &'a mut [f32],
    /// What the format wants for a panel.
    room: &'a mut [f32],
}

impl<F: Format> Operation for Task<'_, F> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        match self.product.weight.width() / S::LANES {
            3 => self.run::<S, 3>(simd),
            _ => self.run::<S, 2>(simd),
        }
    }
}

/// A block of K.
struct Step {
    ks: Range<usize>,
    first: bool,
    last: bool,
}

impl<F: Format> Task<'_, F> {
    /// All of it, with panels of V vectors.
    #[inline(always)]
    fn run<S: Simd, const V: usize>(mut self, simd: S) {
        let blocks = F::blocks(self.depth);
        for block in 0..blocks {
            let ks = aligned_part::<F>(self.depth, blocks, block);
            for i in 0..self.run.panels.len() {
                let step = Step { ks: ks.clone(), first: block == 0, last: block + 1 == blocks };
                self.panel::<S, V>(simd, i, &step);
            }
        }
    }

    /// The rows of the run times a block of its panel `i`.
    #[inline(always)]
    fn panel<S: Simd, const V: usize>(&mut self, simd: S, i: usize, step: &Step) {
        let Step { ks, first, last } = step;
        let Product { weight, epilogue, out, .. } = self.product;
        let (p, width) = (self.run.panels.start + i, V * S::LANES);
        let panel = F::panel(simd, weight, p, ks.clone(), self.room);
        let next_panel = weight.panel(p).as_ptr().wrapping_add(weight.panel(p).len() + ks.start * width);
        let cols = p * width..weight.n().min((p + 1) * width);
        let (tile_len, next_step) = (tile_rows::<S>(V) * width, width.div_ceil(self.tiles));
        let a_stride = self.a.row_stride();
        let a = self.a.data().get(self.run.rows.start * a_stride + ks.start..);
        for t in self.cut.panel_tiles(&self.run, i) {
            let within = part(self.run.rows.len(), self.tiles, t);
            let rows = self.run.rows.start + within.start..self.run.rows.start + within.end;
            let place = if *first && *last { 0 } else { i * self.tiles + t };
            let sums = &mut self.sums[place * tile_len..][..tile_len];
            // There is nothing to read when K = 0.
            let a = a.and_then(|a| a.get(within.start * a_stride..)).unwrap_or_default();
            let next = next_panel.wrapping_add(t * ks.len() * next_step);
            let tile = Tile { a, a_stride, panel, depth: ks.len(), next, next_step };
            if *last {
                prefetch_rows(simd, out, rows.clone(), cols.clone());
            }
            let at = Place { weight, p, rows, add: !first };
            self.format.multiply::<S, V>(simd, tile, &at, sums);
            if *last {
                // SAFETY: the tiles of all runs are disjoint, and each is finished once.
                #[allow(unsafe_code)]
                unsafe {
                    epilogue.finish::<S, F::Sums, V>(
                        simd,
                        (&self.format.sums(), &at),
                        sums,
                        out,
                        cols.clone(),
                    );
                }
            }
        }
    }
}

/// Block `block` of K, which begins where the format can.
#[inline(always)]
fn aligned_part<F: Format>(depth: usize, blocks: usize, block: usize) -> Range<usize> {
    let units = part(depth.div_ceil(F::ALIGNED), blocks, block);
    units.start * F::ALIGNED..depth.min(units.end * F::ALIGNED)
}

/// Brings a tile of the output into the cache, so that its stores need not wait.
#[inline(always)]
fn prefetch_rows<S: Simd>(simd: S, out: &Blocks<'_>, rows: Range<usize>, cols: Range<usize>) {
    for r in rows {
        for column in cols.clone().step_by(S::LANES) {
            simd.prefetch(out.address(r, column));
        }
    }
}
