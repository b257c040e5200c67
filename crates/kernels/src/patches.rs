//! Pixels to patch rows, so that a convolution with kernel = stride is a GEMM. Pixels beyond the last complete patch are left out.

use crate::{Context, reference};

/// How the pixels lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchLayout {
    /// [B, C, H, W]: a row of the result is (c, y, x), as `Conv2d.weight` flattens.
    ChannelsFirst,
    /// [B, H, W, C]: a row of the result is (y, x, c).
    ChannelsLast,
}

/// The sizes of a patch extraction.
#[derive(Debug, Clone, Copy)]
pub struct PatchShape {
    /// B.
    pub batch: usize,
    /// C.
    pub channels: usize,
    /// H, pixels.
    pub height: usize,
    /// W, pixels.
    pub width: usize,
    /// Patch height.
    pub patch_height: usize,
    /// Patch width.
    pub patch_width: usize,
    /// How the pixels lie.
    pub layout: PatchLayout,
}

impl PatchShape {
    /// (rows, cols) of complete patches.
    #[must_use]
    pub fn grid(&self) -> (usize, usize) {
        (self.height / self.patch_height, self.width / self.patch_width)
    }

    /// Length of a row of the result.
    #[must_use]
    pub fn row_len(&self) -> usize {
        self.channels * self.patch_height * self.patch_width
    }
}

/// Copies the patches of `pixels` into `out` [B·rows·cols, C·ph·pw], row-major over the grid.
///
/// # Panics
/// When the lengths disagree with the shape.
pub fn patches(_ctx: &Context, shape: &PatchShape, pixels: &[f32], out: &mut [f32]) {
    reference::patches(shape, pixels, out);
}
