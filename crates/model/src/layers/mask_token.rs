//! The token that stands for masked patches (`bool_masked_pos`), put in their place before positions are added.
//!
//! Plain DINOv2 blends, `patch·(1 − m) + token·m`, so that a patch that is not finite stays so; the others select.
//! Source: `…Embeddings.forward` of each family, Transformers 5.24.

use crate::{Inputs, ModelError, inputs::Mask, shape::TokenShape, weights::Weights};

/// How masked patches are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaskRule {
    /// `patch·(1 − m) + token·m`.
    Blend,
    /// `where(m, token, patch)`.
    Select,
}

/// A mask token, where the checkpoint has one.
#[derive(Debug)]
pub(crate) struct MaskToken {
    /// [D].
    token: Option<Vec<f32>>,
    rule: MaskRule,
}

impl MaskToken {
    /// Reads `mask_token` of this shape, if it is there.
    pub(crate) fn load(weights: &Weights<'_>, shape: &[usize], rule: MaskRule) -> Result<Self, ModelError> {
        let there = weights.contains("mask_token");
        Ok(Self { token: there.then(|| weights.read("mask_token", shape)).transpose()?, rule })
    }

    /// No mask token: masking is an error.
    pub(crate) fn none() -> Self {
        Self { token: None, rule: MaskRule::Select }
    }

    /// The patches to mask, [B, N], if there are any.
    ///
    /// # Errors
    /// A mask of another shape than [B, N]; no mask token.
    pub(crate) fn masked<'a>(
        &self,
        inputs: &'a Inputs<'_>,
        shape: &TokenShape,
    ) -> Result<Option<Mask<'a>>, ModelError> {
        let masked = inputs.masked_patches(shape)?;
        if masked.is_some() && self.token.is_none() {
            return Err(ModelError::NoMaskToken);
        }
        Ok(masked)
    }

    /// Replaces the masked patches of `x` [B, S, D].
    pub(crate) fn apply(&self, masked: &[bool], shape: &TokenShape, x: &mut [f32]) {
        let Some(token) = &self.token else { return };
        let (width, patches) = (shape.hidden_size, shape.grid.len());
        for (item, masked) in x.chunks_exact_mut(shape.tokens() * width).zip(masked.chunks_exact(patches)) {
            let tokens = item[shape.prefix * width..].chunks_exact_mut(width);
            for (patch, _) in tokens.zip(masked).filter(|(_, masked)| **masked) {
                match self.rule {
                    MaskRule::Blend => patch.iter_mut().zip(token).for_each(|(x, t)| *x = *x * 0.0 + t),
                    MaskRule::Select => patch.copy_from_slice(token),
                }
            }
        }
    }
}
