//! The sizes that travel with the tokens: nothing downstream recomputes the grid.

use dinoxide_kernels::Context;

/// Patches of a picture: (rows, cols).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Patch rows: height / patch height.
    pub rows: usize,
    /// Patch columns: width / patch width.
    pub cols: usize,
}

impl Grid {
    /// Patches in all.
    #[must_use]
    pub fn len(self) -> usize {
        self.rows * self.cols
    }

    /// Whether there is no patch.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// Tokens [B, S, D] with S = prefix + rows·cols.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenShape {
    pub(crate) batch: usize,
    /// CLS and registers.
    pub(crate) prefix: usize,
    pub(crate) grid: Grid,
    /// Whether the picture's pixels are a square: a position table of as many places is then not resized.
    pub(crate) square: bool,
    /// D.
    pub(crate) hidden_size: usize,
}

impl TokenShape {
    /// S.
    pub(crate) fn tokens(&self) -> usize {
        self.prefix + self.grid.len()
    }

    /// B·S.
    pub(crate) fn rows(&self) -> usize {
        self.batch * self.tokens()
    }

    /// B·S·D.
    pub(crate) fn len(&self) -> usize {
        self.rows() * self.hidden_size
    }

    /// The shape of `items` of these items.
    pub(crate) fn of_items(self, items: usize) -> Self {
        Self { batch: items, ..self }
    }

    /// How many items to compute together on one thread: one, or as many small ones as read a weight to some purpose,
    /// but no more than leaves work for the other threads.
    pub(crate) fn per_group(&self, ctx: &Context) -> usize {
        const WORTHWHILE_ROWS: usize = 256;
        let share = self.batch.div_ceil(ctx.hands()).max(1);
        (WORTHWHILE_ROWS / self.tokens().max(1)).clamp(1, share)
    }
}
