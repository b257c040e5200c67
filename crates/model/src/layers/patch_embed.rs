//! The patch embedding: a convolution with kernel = stride = patch size, computed as patches × GEMM. Pixels beyond the
//! last complete patch, right and bottom, are ignored.

use crate::{
    ModelError,
    layers::linear::{Linear, LinearShape},
    memory::MAX_PATCHES,
    pixels::slice,
    shape::{Grid, TokenShape},
    weights::Weights,
};
use dinoxide_kernels::{Context, Epilogue, MatMut, MatRef, PatchLayout, PatchShape, patches};
use ndarray::{ArrayView4, CowArray, Ix4};
use std::ops::Range;

/// The sizes of a patch embedding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchConfig {
    /// C.
    pub(crate) channels: usize,
    /// (height, width), pixels.
    pub(crate) patch: (usize, usize),
    /// D.
    pub(crate) hidden_size: usize,
}

/// A patch embedding.
#[derive(Debug)]
pub(crate) struct PatchEmbed {
    config: PatchConfig,
    projection: Linear,
}

impl PatchEmbed {
    /// Reads `weight` [D, C, ph, pw] and `bias` [D].
    pub(crate) fn load(weights: &Weights<'_>, config: PatchConfig) -> Result<Self, ModelError> {
        let PatchConfig { channels, patch: (height, width), hidden_size } = config;
        let weight = weights.numbers("weight", &[hidden_size, channels, height, width])?;
        let bias = Some(weights.read("bias", &[hidden_size])?);
        let shape = LinearShape { inputs: channels * height * width, outputs: hidden_size, bias: true };
        Ok(Self { config, projection: Linear::new(weights, &weight, shape, bias) })
    }

    /// The tokens that `pixel_values` [B, C, H, W] become, after `prefix` others.
    ///
    /// # Errors
    /// Another number of channels, no complete patch, or more than [`MAX_PATCHES`].
    pub(crate) fn token_shape(
        &self,
        pixel_values: &ArrayView4<'_, f32>,
        prefix: usize,
    ) -> Result<TokenShape, ModelError> {
        let (batch, channels, height, width) = pixel_values.dim();
        if channels != self.config.channels {
            return Err(ModelError::Channels { expected: self.config.channels, got: channels });
        }
        let (least_height, least_width) = self.config.patch;
        let grid = Grid { rows: height / least_height, cols: width / least_width };
        if grid.is_empty() {
            return Err(ModelError::TooSmall { height, width, least_height, least_width });
        }
        let patches = grid.rows.saturating_mul(grid.cols);
        if patches > MAX_PATCHES {
            return Err(ModelError::TooManyPatches { height, width, patches, limit: MAX_PATCHES });
        }
        let (square, hidden_size) = (height == width, self.config.hidden_size);
        Ok(TokenShape { batch, prefix, grid, square, hidden_size })
    }

    /// Bytes of the packed weight.
    pub(crate) fn bytes(&self) -> usize {
        self.projection.bytes()
    }

    /// Writes the patch tokens of these items of `pixels` into every item of `x` [items, S, D], after its prefix.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        pixels: &CowArray<'_, f32, Ix4>,
        items: Range<usize>,
        shape: &TokenShape,
        x: &mut [f32],
    ) {
        let (_, channels, height, width) = pixels.dim();
        let picture_len = channels * height * width;
        let (patch_height, patch_width) = self.config.patch;
        let layout = PatchLayout::ChannelsFirst;
        let patch = PatchShape { batch: 1, channels, height, width, patch_height, patch_width, layout };
        let (rows, row_len) = (shape.grid.len(), patch.row_len());
        let mut matrix = ctx.scratch(rows * row_len);
        let pictures =
            slice(pixels)[items.start * picture_len..items.end * picture_len].chunks_exact(picture_len);
        for (picture, item) in pictures.zip(x.chunks_exact_mut(shape.tokens() * shape.hidden_size)) {
            patches(ctx, &patch, picture, &mut matrix);
            let tokens = &mut item[shape.prefix * shape.hidden_size..];
            let mut tokens = MatMut::new(tokens, rows, shape.hidden_size);
            self.projection.forward(
                ctx,
                MatRef::new(&matrix, rows, row_len),
                &mut tokens,
                Epilogue::default(),
            );
        }
    }
}
