//! Train mode: what the config says is dropped, and how a forward is changed by it.
//!
//! Dropout: `x ⊙ kept / (1 − rate)`. Drop path, a picture at a time: `x += kept / (1 − rate) · branch`, with the full rate for each
//! branch. Source: Transformers 5.24, `nn.Dropout` and `…DropPath` of each family.

use crate::{
    draws::{DrawPlace, Draws},
    shape::TokenShape,
};
use dinoxide_kernels::Dropout;

/// The rates of a ViT.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrainRates {
    /// Of the embedding output.
    pub(crate) embedding: f64,
    /// Of the attention probabilities.
    pub(crate) attention: f64,
    /// Of every branch of every layer.
    pub(crate) drop_path: f64,
}

/// Drops elements of `x`, and scales the others up.
pub(crate) fn dropout(draws: &dyn Draws, place: DrawPlace, rate: f64, x: &mut [f32]) {
    if rate > 0.0 {
        let mask = KeepMask::draw(draws, place, rate, x.len());
        x.iter_mut().zip(mask.keep).for_each(|(x, keep)| *x = if keep { *x * mask.scale } else { 0.0 });
    }
}

/// The factor of a branch for each of `batch` pictures: 0, or 1 / (1 − rate). Nothing when the rate is 0.
pub(crate) fn drop_path(draws: &dyn Draws, branch: usize, rate: f64, batch: usize) -> Option<Vec<f32>> {
    (rate > 0.0).then(|| {
        let mask = KeepMask::draw(draws, DrawPlace::DropPath { branch }, rate, batch);
        mask.keep.iter().map(|&keep| if keep { mask.scale } else { 0.0 }).collect()
    })
}

/// Which elements are kept, and what they are multiplied by.
#[derive(Debug)]
pub(crate) struct KeepMask {
    keep: Vec<bool>,
    scale: f32,
}

impl KeepMask {
    fn draw(draws: &dyn Draws, place: DrawPlace, rate: f64, len: usize) -> Self {
        let mut keep = vec![true; len];
        draws.keep(place, rate, &mut keep);
        Self { keep, scale: (1.0 / (1.0 - rate)) as f32 }
    }

    /// For the attention kernel.
    pub(crate) fn as_dropout(&self) -> Dropout<'_> {
        Dropout { keep: &self.keep, scale: self.scale }
    }
}

/// What is drawn for one layer of a ViT.
#[derive(Debug)]
pub(crate) struct LayerDraws {
    /// Of the probabilities [B, A, S, S].
    pub(crate) attention: Option<KeepMask>,
    /// Factors [B] of the attention and of the MLP.
    pub(crate) branches: [Option<Vec<f32>>; 2],
}

impl LayerDraws {
    /// The draws of layer `layer`.
    pub(crate) fn new(
        draws: &dyn Draws,
        rates: TrainRates,
        layer: usize,
        shape: &TokenShape,
        heads: usize,
    ) -> Self {
        let probabilities = shape.rows() * heads * shape.tokens();
        let place = DrawPlace::AttentionDropout { layer };
        let branch = |i| drop_path(draws, 2 * layer + i, rates.drop_path, shape.batch);
        Self {
            attention: (rates.attention > 0.0)
                .then(|| KeepMask::draw(draws, place, rates.attention, probabilities)),
            branches: [branch(0), branch(1)],
        }
    }
}
