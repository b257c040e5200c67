//! Sizes of blocks, and how an output [M, N] is cut into units that threads take.
//!
//! ```text
//! rows → parts (as the caches and the threads want it) → for each part: panels → for each panel: pieces of some tiles
//! ```
//! Units (a piece of a panel of a part) are numbered in this order. A thread takes ranges of them: within a range a panel is
//! read once for all rows of the part, and the threads of a small output have parts of their own, whose rows
//! stay in their caches from one product to the next.
//!
//! Blocks of K depend on K alone, as they decide the order of sums; all else is free, and follows the caches: a panel
//! of the weight and the rows of a part within an L2 cache of 1 MiB, a tile within L1. `benches/gemm.rs` measures them.

use crate::matrix::part;
use std::ops::Range;

/// Up to here K is one block, without partial sums: the panel (96 KiB at 32 columns) and the rows of a part (264 · 3 KiB
/// = 792 KiB) are together within an L2 cache of 1 MiB. Layers of 384 and 768 features are the most common ones.
const ONE_BLOCK: usize = 768;

/// The most k of one block of several: 64 KiB and 528 KiB, as the partial sums want room in the cache too.
const MAX_BLOCK: usize = 512;

/// The most rows of a part; a multiple of the rows of a tile at every level. One picture at 224 px is one part high.
const MAX_PART_ROWS: usize = 264;

/// The fewest rows of a part that is made for the threads' sake: a panel is read from afar for each part.
const LEAST_PART_ROWS: usize = 48;

/// The most columns of a run, so that its partial sums (264 KiB) stay in the cache.
const MAX_RUN_COLS: usize = 256;

/// Multiplications of a unit: some 10 µs, by which threads may end apart.
const UNIT_PRODUCTS: usize = 1 << 19;

/// Blocks of K; at least one, so that an epilogue runs even when K = 0.
#[inline(always)]
pub(super) fn blocks(k: usize) -> usize {
    if k <= ONE_BLOCK { 1 } else { k.div_ceil(MAX_BLOCK) }
}

/// The output and the hands for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// M.
    pub(super) rows: usize,
    /// Panels of the weight.
    pub(super) panels: usize,
    /// Columns of a panel.
    pub(super) width: usize,
    /// K.
    pub(super) k: usize,
    /// The most rows of a tile.
    pub(super) tile_rows: usize,
    /// Threads.
    pub(super) threads: usize,
}

/// How an output is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    rows: usize,
    tile_rows: usize,
    panels: usize,
    /// The most panels of a run.
    run_panels: usize,
    /// Parts of the rows.
    pub(super) parts: usize,
    /// Pieces of the tiles of a part.
    pub(super) pieces: usize,
}

impl Work {
    /// Cuts the output: as the caches want it, then finer until all threads have work, but never below a tile.
    pub(super) fn cut(&self) -> Cut {
        let Self { rows, panels, width, k, tile_rows, threads } = *self;
        let for_threads = threads.min(rows / LEAST_PART_ROWS);
        let parts = rows.div_ceil(MAX_PART_ROWS).max(for_threads);
        let tiles = rows.div_ceil(parts.max(1)).div_ceil(tile_rows);
        let unit_tiles = UNIT_PRODUCTS / (tile_rows * width).saturating_mul(k).max(1);
        let pieces = if threads == 1 { 1 } else { tiles / unit_tiles.max(1) };
        Cut { rows, tile_rows, panels, run_panels: MAX_RUN_COLS / width, parts, pieces: pieces.max(1) }
    }
}

/// Panels of a part that are computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// The rows of the part.
    pub(super) rows: Range<usize>,
    pub(super) panels: Range<usize>,
    /// Pieces: the first of the first panel, and the end of those of the last panel.
    pieces: Range<usize>,
}

impl Cut {
    /// How many units there are.
    pub(super) fn units(&self) -> usize {
        self.parts * self.panels * self.pieces
    }

    /// The runs that a range of units consists of.
    #[inline(always)]
    pub(super) fn runs(self, units: Range<usize>) -> impl Iterator<Item = Run> {
        let panel = move |unit: usize| unit / self.pieces;
        let mut start = units.start;
        std::iter::from_fn(move || {
            if start >= units.end {
                return None;
            }
            let (i, first) = (panel(start) / self.panels, panel(start) % self.panels);
            let most = self.panels.min(first + self.run_panels) - first;
            let end = units.end.min((panel(start) + most) * self.pieces);
            let last = panel(end - 1) % self.panels;
            let pieces = start % self.pieces..(end - 1) % self.pieces + 1;
            start = end;
            Some(Run { rows: part(self.rows, self.parts, i), panels: first..last + 1, pieces })
        })
    }

    /// Tiles into which the rows of a run are dealt.
    #[inline(always)]
    pub(super) fn tiles(&self, run: &Run) -> usize {
        run.rows.len().div_ceil(self.tile_rows)
    }

    /// The tiles of the `i`-th panel of a run.
    #[inline(always)]
    pub(super) fn panel_tiles(&self, run: &Run, i: usize) -> Range<usize> {
        let first = if i == 0 { run.pieces.start } else { 0 };
        let end = if i + 1 == run.panels.len() { run.pieces.end } else { self.pieces };
        let edge = |piece| self.tiles(run) * piece / self.pieces;
        edge(first)..edge(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_bounded_length() {
        for (k, want) in [(0, 1), (1, 1), (384, 1), (768, 1), (769, 2), (1024, 2), (3072, 6), (4096, 8)] {
            assert_eq!(blocks(k), want, "{k}");
        }
    }

    const VIT: Work = Work { rows: 257, panels: 12, width: 32, k: 384, tile_rows: 12, threads: 1 };

    #[test]
    fn one_thread_takes_what_the_caches_want() {
        assert_eq!((VIT.cut().parts, VIT.cut().pieces), (1, 1));
        assert_eq!(Work { rows: 1370, ..VIT }.cut().parts, 6);
        assert_eq!(Work { rows: 0, ..VIT }.cut().units(), 0);
    }

    #[test]
    fn threads_share_rows_where_there_are_many_else_panels() {
        assert_eq!(Work { threads: 2, ..VIT }.cut().parts, 2);
        assert_eq!(Work { threads: 64, ..VIT }.cut().parts, 5);
        let head = Work { rows: 1, panels: 32, k: 1024, threads: 2, ..VIT }.cut();
        assert_eq!((head.parts, head.pieces, head.units()), (1, 1, 32));
    }

    #[test]
    fn products_too_many_to_count_are_cut_like_many() {
        let huge = Work { k: usize::MAX / 2, threads: 2, ..VIT };
        assert_eq!(huge.cut().pieces, 11);
    }

    #[test]
    fn the_runs_of_any_ranges_cover_every_tile_of_every_panel_once() {
        let works = [
            VIT,
            Work { threads: 2, ..VIT },
            Work { threads: 3, rows: 600, panels: 19, k: 1536, ..VIT },
            Work { threads: 8, rows: 13, panels: 1, ..VIT },
            Work { threads: 2, rows: 100, panels: 5, width: 16, tile_rows: 6, ..VIT },
        ];
        for (work, step) in works.into_iter().flat_map(|work| [1, 3, 7, 1000].map(|step| (work, step))) {
            let cut = work.cut();
            let mut runs_of = vec![0; work.rows * work.panels];
            for start in (0..cut.units()).step_by(step) {
                for run in cut.runs(start..cut.units().min(start + step)) {
                    assert!(run.panels.len() * work.width <= MAX_RUN_COLS);
                    for (i, panel) in run.panels.clone().enumerate() {
                        for tile in cut.panel_tiles(&run, i) {
                            let rows = part(run.rows.len(), cut.tiles(&run), tile);
                            assert!(rows.len() <= work.tile_rows);
                            rows.for_each(|r| runs_of[(run.rows.start + r) * work.panels + panel] += 1);
                        }
                    }
                }
            }
            assert!(runs_of.iter().all(|&n| n == 1), "{work:?} {cut:?} in steps of {step}");
        }
    }
}
