//! Sizes of blocks and tasks. Blocks of K depend on K alone, as they decide the order of sums; all else is free.

use std::ops::Range;

/// The most k of a block. The panel's share of it (64 KiB at 32 columns) and the rows' share (`MAX_TASK_ROWS` · 2 KiB
/// = 528 KiB) are together within an L2 cache of 1 MiB, and partial sums are touched once in 512 steps.
const MAX_BLOCK: usize = 512;

/// The most rows of a task; a multiple of the rows of a tile at every level. One picture at 224 px is one task high.
const MAX_TASK_ROWS: usize = 264;

/// The most columns of a task, so that its partial sums (264 KiB) stay in the cache; a multiple of any panel's width.
const MAX_TASK_COLS: usize = 256;

/// Multiplications that make a task worth handing to a thread: some 5 µs.
const MIN_TASK_PRODUCTS: usize = 1 << 18;

/// Tasks per thread that a split aims at: enough to even out threads of unequal speed.
const TASKS_PER_THREAD: usize = 4;

/// Part `i` of `total` things dealt into `parts` ranges whose lengths differ by at most one.
#[inline(always)]
pub(super) fn part(total: usize, parts: usize, i: usize) -> Range<usize> {
    total * i / parts..total * (i + 1) / parts
}

/// Blocks of K; at least one, so that an epilogue runs even when K = 0.
#[inline(always)]
pub(super) fn blocks(k: usize) -> usize {
    k.div_ceil(MAX_BLOCK).max(1)
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
        let worthwhile = self.rows * self.panels * self.width * self.k / MIN_TASK_PRODUCTS;
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
