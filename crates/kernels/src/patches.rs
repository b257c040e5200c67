//! Pixels to patch rows, so that a convolution with kernel = stride is a GEMM:
//! `out[b, row, col, (c, y, x)] = pixels[b, c, row·ph + y, col·pw + x]`, or (y, x, c) for channels-last maps.
//!
//! Pixels beyond the last complete patch are left out, as `Conv2d` without padding leaves them. Nothing is computed, so
//! values are equal to the bit.

use crate::Context;
use crate::matrix::product;
use crate::profile::Op;

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

/// Floats below which a task is not worth handing to a thread.
const LEAST_FLOATS: usize = 64 * 1024;

/// Copies the patches of `pixels` into `out` [B·rows·cols, C·ph·pw], row-major over the grid.
///
/// # Panics
/// When the lengths disagree with the shape.
pub fn patches(ctx: &Context, shape: &PatchShape, pixels: &[f32], out: &mut [f32]) {
    let PatchShape { batch, channels, height, width, layout, .. } = *shape;
    let (rows, cols) = shape.grid();
    assert_eq!(Some(pixels.len()), product(&[batch, channels, height, width]), "pixels of {shape:?}");
    let len = product(&[batch, rows, cols, channels, shape.patch_height, shape.patch_width]);
    assert_eq!(Some(out.len()), len, "patches of {shape:?}");
    if out.is_empty() {
        return;
    }
    let _span = ctx.span(|| Op::Patches { rows: batch * rows * cols, width: shape.row_len() });
    let strip = cols * shape.row_len();
    let strips = ctx.items_per_task(batch * rows, LEAST_FLOATS.div_ceil(strip.max(1)));
    ctx.for_each_chunk_mut(out, strips * strip, |index, out| {
        for (i, out) in (index * strips..).zip(out.chunks_exact_mut(strip)) {
            match layout {
                PatchLayout::ChannelsFirst => strip_channels_first(shape, pixels, i / rows, i % rows, out),
                PatchLayout::ChannelsLast => strip_channels_last(shape, pixels, i / rows, i % rows, out),
            }
        }
    });
}

/// The patches of one grid row of [B, C, H, W]: runs of `patch_width` pixels.
fn strip_channels_first(shape: &PatchShape, pixels: &[f32], b: usize, row: usize, out: &mut [f32]) {
    let PatchShape { channels, height, width, patch_height, patch_width, .. } = *shape;
    for (within, (c, y)) in (0..channels).flat_map(|c| (0..patch_height).map(move |y| (c, y))).enumerate() {
        let line = &pixels[((b * channels + c) * height + row * patch_height + y) * width..][..width];
        copy_runs(line, patch_width, within, shape.row_len(), out);
    }
}

/// The patches of one grid row of [B, H, W, C]: runs of `patch_width` pixels with all their channels.
fn strip_channels_last(shape: &PatchShape, pixels: &[f32], b: usize, row: usize, out: &mut [f32]) {
    let PatchShape { channels, height, width, patch_height, patch_width, .. } = *shape;
    for y in 0..patch_height {
        let line = &pixels[(b * height + row * patch_height + y) * width * channels..][..width * channels];
        copy_runs(line, patch_width * channels, y, shape.row_len(), out);
    }
}

/// Run i of a line of pixels becomes run `within` of patch i.
fn copy_runs(line: &[f32], run: usize, within: usize, patch_len: usize, out: &mut [f32]) {
    for (run_in, patch) in line.chunks_exact(run).zip(out.chunks_exact_mut(patch_len)) {
        patch[within * run..][..run].copy_from_slice(run_in);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextOptions, reference};
    use dinoxide_testkit::data::hash32;

    #[test]
    fn patches_equal_their_twin_in_both_layouts() {
        for threads in [1, 2, 3] {
            let ctx = Context::new(ContextOptions { isa: None, threads: Some(threads) }).unwrap();
            for layout in [PatchLayout::ChannelsFirst, PatchLayout::ChannelsLast] {
                for (height, width, patch_height, patch_width) in [
                    (28, 28, 14, 14),
                    (30, 43, 14, 14),
                    (8, 8, 2, 2),
                    (9, 7, 4, 3),
                    (13, 50, 14, 14),
                    (300, 400, 16, 16),
                ] {
                    let shape = PatchShape {
                        batch: 2,
                        channels: 3,
                        height,
                        width,
                        patch_height,
                        patch_width,
                        layout,
                    };
                    let (rows, cols) = shape.grid();
                    let pixels = hash32(1, 2 * 3 * height * width);
                    let mut got = vec![f32::NAN; 2 * rows * cols * shape.row_len()];
                    let mut want = got.clone();
                    patches(&ctx, &shape, &pixels, &mut got);
                    reference::patches(&shape, &pixels, &mut want);
                    assert_eq!(got, want, "{shape:?} {threads} threads");
                }
            }
        }
    }

    const HUGE: PatchShape = PatchShape {
        batch: 1,
        channels: 1 << 40,
        height: 1 << 40,
        width: 1,
        patch_height: 1,
        patch_width: 1,
        layout: PatchLayout::ChannelsFirst,
    };

    #[test]
    #[should_panic(expected = "pixels of")]
    fn sizes_too_large_to_count_are_not_taken_for_small_ones() {
        let ctx = Context::new(ContextOptions { isa: None, threads: Some(1) }).unwrap();
        patches(&ctx, &HUGE, &[], &mut []);
    }

    #[test]
    fn no_pictures_are_no_work_whatever_their_size() {
        let ctx = Context::new(ContextOptions { isa: None, threads: Some(1) }).unwrap();
        patches(&ctx, &PatchShape { batch: 0, ..HUGE }, &[], &mut []);
    }
}
