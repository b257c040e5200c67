//! The samples of one component while a row of MCUs goes by: its coefficients, then its rows, and the row of before.
//!
//! A row of MCUs has `down` rows of blocks. Blocks lie in groups of eight side by side, as the inverse DCT takes them.

use super::idct::{Coefficients, LANES, inverse};

/// Rows of the row of MCUs before that are kept: triangle upsampling looks one row up, and runs one row late.
const KEPT: usize = 1;

/// One component.
pub(super) struct Plane {
    /// Rows of blocks in a row of MCUs.
    down: usize,
    /// Groups in a row of blocks.
    groups: usize,
    coefficients: Vec<Coefficients>,
    /// Of each group, the largest place in zigzag order of a coefficient that is not 0.
    lasts: Vec<u8>,
    samples: Vec<u8>,
}

/// Where a block's coefficients go.
pub(super) struct Block<'a> {
    pub(super) coefficients: &'a mut Coefficients,
    pub(super) last: &'a mut u8,
    /// Which of the group's blocks, below [`LANES`].
    pub(super) lane: usize,
}

impl Plane {
    /// A plane of `across` blocks by `down` for each row of MCUs.
    pub(super) fn new(across: usize, down: usize) -> Self {
        let groups = across.div_ceil(LANES);
        let stride = groups * LANES * 8;
        Self {
            down,
            groups,
            coefficients: vec![[0; 64 * LANES]; groups * down],
            lasts: vec![0; groups * down],
            samples: vec![0; (KEPT + 8 * down) * stride],
        }
    }

    fn stride(&self) -> usize {
        self.groups * LANES * 8
    }

    /// The block at `column` of row `row` of the row of MCUs.
    #[inline(always)]
    pub(super) fn block(&mut self, row: usize, column: usize) -> Block<'_> {
        let group = row * self.groups + column / LANES;
        Block {
            coefficients: &mut self.coefficients[group],
            last: &mut self.lasts[group],
            lane: column % LANES,
        }
    }

    /// Makes samples of the coefficients, which become 0 again.
    #[inline(always)]
    pub(super) fn transform(&mut self) {
        let stride = self.stride();
        let end = self.samples.len();
        self.samples.copy_within(end - KEPT * stride.., 0);
        let rows = self.samples[KEPT * stride..].chunks_exact_mut(8 * stride);
        let groups =
            self.coefficients.chunks_exact_mut(self.groups).zip(self.lasts.chunks_exact_mut(self.groups));
        for ((coefficients, lasts), out) in groups.zip(rows) {
            for (group, (coefficients, last)) in coefficients.iter_mut().zip(lasts).enumerate() {
                inverse(coefficients, *last, &mut out[group * 8 * LANES..], stride);
                (*coefficients, *last) = ([0; 64 * LANES], 0);
            }
        }
    }

    /// Row `row` of the component, while row `mcu_row` of MCUs is here.
    #[inline(always)]
    pub(super) fn row(&self, mcu_row: usize, row: usize) -> &[u8] {
        let from = row + KEPT - mcu_row * 8 * self.down;
        &self.samples[from * self.stride()..][..self.stride()]
    }
}
