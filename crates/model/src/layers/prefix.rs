//! The tokens before the patches: CLS, then registers.

use crate::{ModelError, shape::TokenShape, weights::Weights};

/// CLS and registers.
#[derive(Debug)]
pub(crate) struct Prefix {
    /// [1 + R, D].
    tokens: Vec<f32>,
    width: usize,
}

impl Prefix {
    /// Reads `cls_token` [1, 1, width] and, when there are any, `register_tokens` [1, registers, width].
    pub(crate) fn load(weights: &Weights<'_>, registers: usize, width: usize) -> Result<Self, ModelError> {
        let mut tokens = weights.read("cls_token", &[1, 1, width])?;
        if registers > 0 {
            tokens.extend(weights.read("register_tokens", &[1, registers, width])?);
        }
        Ok(Self { tokens, width })
    }

    /// 1 + R.
    pub(crate) fn len(&self) -> usize {
        self.tokens.len() / self.width
    }

    /// Writes the prefix of every item of `x` [B, S, D].
    pub(crate) fn write(&self, shape: &TokenShape, x: &mut [f32]) {
        for item in x.chunks_exact_mut(shape.tokens() * shape.hidden_size) {
            item[..self.tokens.len()].copy_from_slice(&self.tokens);
        }
    }
}
