//! The packed weight: panels of W columns of the output, W = 2 vectors of the instruction set.
//!
//! ```text
//! weight[n, k]  →  data[p][k][c],  n = p·W + c;  columns past N are 0
//! ```
//! so that a tile reads one panel front to back, W floats for each k, 64-byte aligned.

use super::tile::panel_width;
use crate::scratch::AlignedFloats;
use crate::simd::{Operation, Simd};
use crate::{Context, Isa};

/// A weight [N, K] laid out for a kernel.
#[derive(Debug)]
pub struct PackedWeight {
    n: usize,
    k: usize,
    isa: Isa,
    width: usize,
    data: AlignedFloats,
}

impl PackedWeight {
    /// Packs `weight` ([N, K] row-major, `Linear.weight`) for the context's instruction set.
    ///
    /// # Panics
    /// When `weight.len() != n * k`.
    #[must_use]
    pub fn pack(ctx: &Context, weight: &[f32], n: usize, k: usize) -> Self {
        assert_eq!(Some(weight.len()), n.checked_mul(k), "weight of {n}x{k}");
        let width = ctx.dispatch(PanelWidth);
        let panel_len = width * k;
        let mut data = AlignedFloats::zeroed(n.div_ceil(width) * panel_len);
        if panel_len > 0 {
            let panels = &mut data[..n.div_ceil(width) * panel_len];
            ctx.for_each_chunk_mut(panels, panel_len, |p, panel| {
                pack_panel(&weight[p * panel_len..n.min((p + 1) * width) * k], k, width, panel);
            });
        }
        Self { n, k, isa: ctx.isa(), width, data }
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
        size_of_val::<[f32]>(&self.data)
    }

    /// Columns of a panel.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Panels.
    pub(super) fn panels(&self) -> usize {
        self.n.div_ceil(self.width)
    }

    /// Panel `p`: [K, W].
    #[inline(always)]
    pub(super) fn panel(&self, p: usize) -> &[f32] {
        &self.data[p * self.width * self.k..][..self.width * self.k]
    }
}

/// Asks a level for the width of its panels.
struct PanelWidth;

impl Operation for PanelWidth {
    type Output = usize;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> usize {
        panel_width::<S>()
    }
}

/// Transposes `rows` ([≤ W, K]) into `panel` ([K, W]).
fn pack_panel(rows: &[f32], k: usize, width: usize, panel: &mut [f32]) {
    for (i, line) in panel.chunks_exact_mut(width).enumerate() {
        for (to, row) in line.iter_mut().zip(rows.chunks_exact(k)) {
            *to = row[i];
        }
    }
}
