//! The random draws of a forward in train mode: where each is made, and a seeded generator of them.
//!
//! Dropout keeps each element with probability 1 − rate and divides what it keeps by it. Drop path does so with a whole
//! branch of a picture. RoPE's augmentation draws uniform numbers. Source: Transformers 5.24 `modeling_dinov2.py`,
//! `modeling_dinov3_vit.py`, `modeling_dinov3_convnext.py`; their generator is torch's, whose numbers are not repeated here.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use std::fmt::Debug;

/// A place in a forward where something is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DrawPlace {
    /// Dropout of the embedding output [B, S, D]: `hidden_dropout_prob` of the DINOv2 families.
    EmbeddingDropout,
    /// Dropout of a layer's attention probabilities [B, A, S, S].
    AttentionDropout {
        /// The layer.
        layer: usize,
    },
    /// Drop path of a residual branch `[B]`, counted through the model: 2·layer is an attention, 2·layer + 1 an MLP. A ConvNeXt has one
    /// branch a layer.
    DropPath {
        /// The branch.
        branch: usize,
    },
    /// `pos_embed_shift`: `[2]`, y and x.
    RopeShift,
    /// `pos_embed_jitter`: `[2]`, y and x.
    RopeJitter,
    /// `pos_embed_rescale`: `[1]`.
    RopeRescale,
}

impl DrawPlace {
    /// A number of its own for each place.
    fn stream(self) -> u64 {
        match self {
            Self::EmbeddingDropout => 0,
            Self::RopeShift => 1,
            Self::RopeJitter => 2,
            Self::RopeRescale => 3,
            Self::AttentionDropout { layer } => 4 + 2 * layer as u64,
            Self::DropPath { branch } => 5 + 2 * branch as u64,
        }
    }
}

/// Where a forward in train mode takes its draws from. The same draws give the same outputs.
pub trait Draws: Debug + Sync {
    /// For each element whether it is kept, which it is with probability 1 − `rate`.
    fn keep(&self, place: DrawPlace, rate: f64, kept: &mut [bool]);

    /// Numbers from −`limit` to `limit`, each equally likely.
    fn uniform(&self, place: DrawPlace, limit: f64, numbers: &mut [f32]);
}

/// Draws from a seed: ChaCha with 8 rounds, a stream a place. The same seed gives the same draws on every machine and any number
/// of threads; a training step takes a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededDraws(
    /// The seed.
    pub u64,
);

impl SeededDraws {
    /// Uniform numbers in [0, 1), 24 bits each.
    fn numbers(self, place: DrawPlace) -> impl Iterator<Item = f32> {
        let mut generator = ChaCha8Rng::seed_from_u64(self.0);
        generator.set_stream(place.stream());
        std::iter::repeat_with(move || (generator.next_u32() >> 8) as f32 / (1 << 24) as f32)
    }
}

impl Draws for SeededDraws {
    fn keep(&self, place: DrawPlace, rate: f64, kept: &mut [bool]) {
        kept.iter_mut().zip(self.numbers(place)).for_each(|(kept, u)| *kept = f64::from(u) >= rate);
    }

    fn uniform(&self, place: DrawPlace, limit: f64, numbers: &mut [f32]) {
        let limit = limit as f32;
        numbers.iter_mut().zip(self.numbers(place)).for_each(|(x, u)| *x = (2.0 * u - 1.0) * limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(seed: u64, place: DrawPlace, rate: f64) -> Vec<bool> {
        let mut kept = vec![false; 20_000];
        SeededDraws(seed).keep(place, rate, &mut kept);
        kept
    }

    #[test]
    fn elements_are_dropped_at_the_rate() {
        for rate in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let kept = kept(7, DrawPlace::EmbeddingDropout, rate);
            let share = kept.iter().filter(|kept| **kept).count() as f64 / kept.len() as f64;
            // Four standard deviations of a share of 20,000 draws.
            let bound = 4.0 * (rate * (1.0 - rate) / kept.len() as f64).sqrt();
            assert!((share - (1.0 - rate)).abs() <= bound, "rate {rate}: {share} kept");
        }
    }

    #[test]
    fn each_place_and_each_seed_has_its_own_draws_and_they_can_be_repeated() {
        let places = [
            DrawPlace::EmbeddingDropout,
            DrawPlace::AttentionDropout { layer: 0 },
            DrawPlace::AttentionDropout { layer: 1 },
            DrawPlace::DropPath { branch: 0 },
            DrawPlace::DropPath { branch: 1 },
            DrawPlace::RopeShift,
            DrawPlace::RopeJitter,
            DrawPlace::RopeRescale,
        ];
        for (i, &a) in places.iter().enumerate() {
            assert_eq!(kept(3, a, 0.5), kept(3, a, 0.5));
            assert_ne!(kept(3, a, 0.5), kept(4, a, 0.5));
            for &b in &places[..i] {
                assert_ne!(kept(3, a, 0.5), kept(3, b, 0.5), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn uniform_numbers_fill_their_range() {
        let mut numbers = vec![0.0; 20_000];
        SeededDraws(1).uniform(DrawPlace::RopeShift, 0.25, &mut numbers);
        let mean = numbers.iter().sum::<f32>() / numbers.len() as f32;
        let (least, most) = numbers.iter().fold((1.0_f32, -1.0_f32), |(a, b), &x| (a.min(x), b.max(x)));
        assert!(mean.abs() < 0.005 && (-0.25..-0.249).contains(&least) && (0.249..0.25).contains(&most));
    }
}
