//! Sizes of blocks and tasks, and how an output [M, N] is cut into them.
//!
//! Blocks of K depend on K alone, as they decide the order of sums; all else is free, and follows the caches: a panel
//! of the weight and the rows of a task within an L2 cache of 1 MiB, a tile within L1. `benches/gemm.rs` measures them.

use std::ops::Range;

/// Up to here K is one block, without partial sums: the panel (96 KiB at 32 columns) and the rows of a task (264 · 3 KiB
/// = 792 KiB) are together within an L2 cache of 1 MiB. Layers of 384 and 768 features are the most common ones.
const ONE_BLOCK: usize = 768;

/// The most k of one block of several: 64 KiB and 528 KiB, as the partial sums want room in the cache too.
const MAX_BLOCK: usize = 512;

/// The most rows of a task; a multiple of the rows of a tile at every level. One picture at 224 px is one task high.
const MAX_TASK_ROWS: usize = 264;

/// The most columns of a task, so that its partial sums (264 KiB) stay in the cache; a multiple of any panel's width.
const MAX_TASK_COLS: usize = 256;

/// Multiplications that make a task worth handing to a thread: some 5 µs.
const MIN_TASK_PRODUCTS: usize = 1 << 18;

/// Tasks per thread that a split aims at: enough to even out threads of unequal speed.
const TASKS_PER_THREAD: usize = 4;

/// Rows whose distance is a multiple of this many floats (4 KiB) fall into the same set of an L1 cache, which cannot
/// hold a line of each of 12 rows then: such an `a` is copied, block by block, to rows at a kinder distance.
const SAME_SET: usize = 1024;

/// What a copied row is longer than its block, so that rows fall into different sets: a cache line.
const ROW_GAP: usize = 16;

/// The distance of the copied rows of a block, or none when rows can be read where they are.
#[inline(always)]
pub(super) fn copied_stride(row_stride: usize, depth: usize) -> Option<usize> {
    (row_stride > 0 && row_stride.is_multiple_of(SAME_SET))
        .then_some(depth.next_multiple_of(ROW_GAP) + ROW_GAP)
}

/// Part `i` of `total` things dealt into `parts` ranges whose lengths differ by at most one.
#[inline(always)]
pub(super) fn part(total: usize, parts: usize, i: usize) -> Range<usize> {
    total * i / parts..total * (i + 1) / parts
}

/// Blocks of K; at least one, so that an epilogue runs even when K = 0.
#[inline(always)]
pub(super) fn blocks(k: usize) -> usize {
    if k <= ONE_BLOCK { 1 } else { k.div_ceil(MAX_BLOCK) }
}

/// How an output is cut into tasks: `row_parts` × `panel_parts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    /// Parts of the rows.
    pub(super) row_parts: usize,
    /// Parts of the panels.
    pub(super) panel_parts: usize,
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

impl Work {
    /// Cuts the output: as the caches want it, then finer until all threads have work, panels first (a panel is then
    /// still read by one thread only), but never below a tile or a worthwhile task.
    pub(super) fn grid(&self) -> Grid {
        let row_parts = self.rows.div_ceil(MAX_TASK_ROWS);
        let panel_parts = self.panels.div_ceil(MAX_TASK_COLS / self.width);
        let grid = Grid { row_parts, panel_parts };
        if self.threads == 1 || grid.tasks() == 0 {
            return grid;
        }
        // Saturating: it only bounds the number of tasks.
        let products = [self.panels, self.width, self.k].into_iter().fold(self.rows, usize::saturating_mul);
        let worthwhile = products / MIN_TASK_PRODUCTS;
        let wanted = (self.threads * TASKS_PER_THREAD).min(worthwhile);
        let panel_parts = panel_parts.max(wanted.div_ceil(row_parts).min(self.panels));
        let row_parts = row_parts.max(wanted.div_ceil(panel_parts).min(self.rows.div_ceil(self.tile_rows)));
        Grid { row_parts, panel_parts }
    }
}

impl Grid {
    /// How many tasks there are.
    pub(super) fn tasks(&self) -> usize {
        self.row_parts * self.panel_parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_evenly() {
        for (total, parts) in [(0, 1), (1, 1), (257, 22), (36, 5), (3, 7)] {
            let ranges: Vec<_> = (0..parts).map(|i| part(total, parts, i)).collect();
            assert!(ranges.windows(2).all(|w| w[0].end == w[1].start));
            assert_eq!((ranges[0].start, ranges[parts - 1].end), (0, total));
            let lengths = || ranges.iter().map(ExactSizeIterator::len);
            assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1);
        }
    }

    #[test]
    fn blocks_are_of_bounded_length() {
        for (k, want) in [(0, 1), (1, 1), (384, 1), (768, 1), (769, 2), (1024, 2), (3072, 6), (4096, 8)] {
            assert_eq!(blocks(k), want, "{k}");
        }
    }

    const VIT: Work = Work { rows: 257, panels: 12, width: 32, k: 384, tile_rows: 12, threads: 1 };

    #[test]
    fn one_thread_takes_what_the_caches_want() {
        assert_eq!(VIT.grid(), Grid { row_parts: 1, panel_parts: 2 });
        assert_eq!(Work { rows: 1370, ..VIT }.grid(), Grid { row_parts: 6, panel_parts: 2 });
        assert_eq!(Work { rows: 0, ..VIT }.grid().tasks(), 0);
    }

    #[test]
    fn threads_share_panels_then_rows() {
        assert_eq!(Work { threads: 2, ..VIT }.grid(), Grid { row_parts: 1, panel_parts: 8 });
        let many = Work { threads: 16, ..VIT }.grid();
        assert_eq!(many, Grid { row_parts: 6, panel_parts: 12 });
        let head = Work { rows: 1, panels: 32, k: 1024, threads: 2, ..VIT }.grid();
        assert_eq!(head, Grid { row_parts: 1, panel_parts: 4 });
    }

    #[test]
    fn products_too_many_to_count_are_shared_like_many() {
        let huge = Work { k: usize::MAX / 2, threads: 2, ..VIT };
        assert_eq!(huge.grid(), Work { threads: 2, ..VIT }.grid());
    }

    #[test]
    fn tiny_products_are_not_shared() {
        assert_eq!(Work { rows: 2, panels: 1, k: 64, threads: 8, ..VIT }.grid().tasks(), 1);
    }
}
