//! A vision transformer, the same for all ViT families; they differ in how a patch learns its place.
//!
//! ```text
//! pixel_values [B,C,H,W] ─ patches ─► [CLS, registers, patches] [B,S,D] ─ places, layers ─► norm ─► outputs
//! ```

use crate::{
    Inputs, ModelError, Outputs,
    layers::{
        axial_rope::{AxialRope, RopeTable},
        encoder::Encoder,
        layer_norm::LayerNorm,
        patch_embed::PatchEmbed,
        position_table::PositionTable,
        prefix::Prefix,
    },
    outputs::Record,
    shape::TokenShape,
};
use dinoxide_kernels::Context;
use std::sync::Arc;

/// How a patch learns its place in the grid.
#[derive(Debug)]
pub(crate) enum Positions {
    /// A learned table is added to CLS and patches.
    Table(PositionTable),
    /// Queries and keys of the patches are rotated, in every layer.
    Rope(AxialRope),
}

impl Positions {
    /// Adds a table to the tokens, or gives the angles that the layers take.
    fn apply(
        &self,
        ctx: &Context,
        shape: &TokenShape,
        x: &mut [f32],
    ) -> Result<Option<Arc<RopeTable>>, ModelError> {
        match self {
            Self::Table(table) => table.add(ctx, shape, x).map(|()| None),
            Self::Rope(rope) => rope.table(shape.grid).map(Some),
        }
    }
}

/// A vision transformer.
#[derive(Debug)]
pub(crate) struct Vit {
    pub(crate) patch_embed: PatchEmbed,
    pub(crate) prefix: Prefix,
    pub(crate) positions: Positions,
    pub(crate) encoder: Encoder,
    pub(crate) norm: LayerNorm,
    /// `config.tie_last_hidden_states`: the last of the hidden states is the normed one.
    pub(crate) tie_last_hidden_states: bool,
}

impl Vit {
    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.patch_embed.bytes() + self.encoder.bytes()
    }

    /// From pixels to the normed tokens.
    pub(crate) fn forward(&self, ctx: &Context, inputs: &Inputs<'_>) -> Result<Outputs, ModelError> {
        let pixels = &inputs.pixel_values;
        let shape = self.patch_embed.token_shape(pixels, self.prefix.len())?;
        self.encoder.check_memory(&shape, inputs)?;

        let mut x = vec![0.0; shape.len()]; // [B, S, D]
        self.prefix.write(&shape, &mut x);
        self.patch_embed.forward(ctx, pixels, &shape, &mut x);
        let rope = self.positions.apply(ctx, &shape, &mut x)?;
        let mut record = Record::new(inputs, &shape);
        self.encoder.forward(ctx, shape, rope.as_deref(), &mut x, &mut record);
        let mut normed = vec![0.0; x.len()];
        self.norm.forward(ctx, &x, &mut normed);
        if self.tie_last_hidden_states {
            record.replace_last_hidden_state(&normed);
        }
        Ok(Outputs::new(&shape, normed, record))
    }
}
