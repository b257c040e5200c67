//! The entry, and the loops of a task.

use super::blocking::{Work, blocks, part};
use super::tile::{Tile, tile_rows};
use super::{Epilogue, PackedWeight};
use crate::matrix::Blocks;
use crate::simd::{Operation, Simd};
use crate::{Context, MatMut, MatRef};
use std::ops::Range;

/// Computes `out = epilogue(a · weightᵀ)`.
///
/// The error of a sum is at most 2·√K·ε·Σ|aₖ·wₖ| in practice (ε = 2⁻²⁴; the tests assert it).
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
    let tile_rows = ctx.dispatch(TileRows);
    let (panels, width) = (weight.panels(), weight.width());
    let grid = Work { rows: m, panels, width, k, tile_rows, threads: ctx.threads() }.grid();
    let out = Blocks::new(out);
    ctx.for_each(grid.tasks(), |i| {
        let rows = part(m, grid.row_parts, i / grid.panel_parts);
        let panels = part(panels, grid.panel_parts, i % grid.panel_parts);
        let tiles = rows.len().div_ceil(tile_rows);
        let tile_len = tile_rows * width;
        let mut sums = ctx.scratch(if blocks(k) == 1 { tile_len } else { tiles * panels.len() * tile_len });
        ctx.dispatch(Task { a, weight, epilogue, out: &out, rows, panels, tiles, sums: &mut sums });
    });
}

/// Asks a level for the rows of its tiles.
struct TileRows;

impl Operation for TileRows {
    type Output = usize;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> usize {
        tile_rows::<S>()
    }
}

/// A part of the output, computed on one thread.
struct Task<'a> {
    a: MatRef<'a>,
    weight: &'a PackedWeight,
    epilogue: &'a Epilogue<'a>,
    out: &'a Blocks<'a>,
    rows: Range<usize>,
    panels: Range<usize>,
    /// Tiles into which the rows are dealt.
    tiles: usize,
    /// Of one tile, or of all when K has several blocks: [panel, tile, row, column].
    sums: &'a mut [f32],
}

impl Operation for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { a, weight, epilogue, out, rows, panels, tiles, sums } = self;
        let (width, blocks) = (weight.width(), blocks(weight.k()));
        let tile_len = tile_rows::<S>() * width;
        for block in 0..blocks {
            let ks = part(weight.k(), blocks, block);
            for (i, p) in panels.clone().enumerate() {
                let panel = &weight.panel(p)[ks.start * width..ks.end * width];
                for t in 0..tiles {
                    let tile = part(rows.len(), tiles, t);
                    let tile = rows.start + tile.start..rows.start + tile.end;
                    let place = if blocks == 1 { 0 } else { i * tiles + t };
                    let sums = &mut sums[place * tile_len..][..tile_len];
                    let a_block = a.data().get(tile.start * a.row_stride() + ks.start..).unwrap_or_default();
                    let product = Tile { a: a_block, a_stride: a.row_stride(), panel, depth: ks.len() };
                    product.multiply(simd, tile.len(), sums, block > 0);
                    if block + 1 == blocks {
                        let cols = p * width..weight.n().min((p + 1) * width);
                        // SAFETY: the tiles of all tasks are disjoint, and each is finished once.
                        #[allow(unsafe_code)]
                        unsafe {
                            epilogue.finish(simd, sums, out, tile, cols);
                        }
                    }
                }
            }
        }
    }
}
