//! The learned position table [1 + P, D] of the DINOv2 families, resized to the picture's grid.
//!
//! CLS keeps its entry; the patch part [M, M, D] (M = √P) is resized bicubically, in f32, to (rows, cols): without
//! antialias (constant −0.75, borders replicated) for DINOv2, with antialias (constant −0.5, borders renormalised) for
//! DINOv2 with registers. A picture whose pixels are a square and whose patches are P in number takes the table as it is,
//! whatever its grid; this is Transformers' rule, and tells apart only where patches are not square. The size is given as integers,
//! never as a scale: Facebook's own code adds 0.1 to it, Transformers does not.

use crate::{
    ModelError,
    layers::cache::GridCache,
    shape::{Grid, TokenShape},
    weights::Weights,
};
use dinoxide_kernels::{
    Context,
    resample::{AxisWeights, resample_with},
};
use std::sync::Arc;

/// How a table is resized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableResize {
    /// `interpolate(mode="bicubic")`.
    Bicubic,
    /// `interpolate(mode="bicubic", antialias=True)`.
    BicubicAntialias,
}

/// A learned position table.
#[derive(Debug)]
pub(crate) struct PositionTable {
    /// [D].
    cls: Vec<f32>,
    /// [P, D], row-major over the native grid.
    patches: Arc<Vec<f32>>,
    resize: TableResize,
    resized: GridCache<Vec<f32>>,
}

impl PositionTable {
    /// Reads `position_embeddings` [1, 1 + positions, width].
    pub(crate) fn load(
        weights: &Weights<'_>,
        positions: usize,
        width: usize,
        resize: TableResize,
    ) -> Result<Self, ModelError> {
        let mut cls = weights.read("position_embeddings", &[1, 1 + positions, width])?;
        let patches = Arc::new(cls.split_off(width));
        Ok(Self { cls, patches, resize, resized: GridCache::default() })
    }

    /// The patch part for the pictures of a shape, resized when it must be: [N, D].
    ///
    /// # Errors
    /// A table that is no square.
    pub(crate) fn for_shape(&self, ctx: &Context, shape: &TokenShape) -> Result<Arc<Vec<f32>>, ModelError> {
        if shape.square && shape.grid.len() == self.positions() {
            return Ok(Arc::clone(&self.patches));
        }
        self.resized.get(shape.grid, || self.resized_to(ctx, shape.grid))
    }

    /// Adds the positions to CLS and patches of `x` [B, S, D]; registers have none. `table` is [`Self::for_shape`]'s.
    pub(crate) fn add(&self, table: &[f32], shape: &TokenShape, x: &mut [f32]) {
        for item in x.chunks_exact_mut(shape.tokens() * shape.hidden_size) {
            let (prefix, patches) = item.split_at_mut(shape.prefix * shape.hidden_size);
            prefix.iter_mut().zip(&self.cls).for_each(|(x, p)| *x += p);
            patches.iter_mut().zip(table).for_each(|(x, p)| *x += p);
        }
    }

    /// P.
    fn positions(&self) -> usize {
        self.patches.len() / self.cls.len()
    }

    /// The patch part, as a square of √P × √P places, resized to a grid: [rows·cols, D].
    fn resized_to(&self, ctx: &Context, grid: Grid) -> Result<Vec<f32>, ModelError> {
        let (width, positions) = (self.cls.len(), self.positions());
        let side = positions.isqrt();
        if side * side != positions {
            return Err(ModelError::PositionTable { positions, rows: grid.rows, cols: grid.cols });
        }
        let axis = |n| match self.resize {
            TableResize::Bicubic => AxisWeights::bicubic(side, n),
            TableResize::BicubicAntialias => AxisWeights::bicubic_antialias(side, n),
        };
        Ok(resample_with(ctx, &self.patches, width, &axis(grid.rows), &axis(grid.cols)))
    }
}
