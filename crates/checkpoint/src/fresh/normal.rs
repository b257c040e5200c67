//! Normal distributions around 0, whole or cut to [-2, 2], from one reproducible stream of numbers a tensor.
//!
//! The cut is at absolute values, as torch's `trunc_normal_` has it by default: numbers outside are drawn again. A standard
//! deviation above the cut would throw most of them away, so there the draw is uniform over [-2, 2] and kept with
//! probability exp(-x²/2σ²), which is the same distribution. Either way at least 60 % are kept.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};

/// Where torch cuts.
const CUT: f64 = 2.0;

/// The random numbers of one tensor.
pub(super) struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream that belongs to a seed and a name.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(fnv1a(name));
        Self(rng)
    }
}

/// FNV-1a, 64 bits: the same on every machine and in every version.
fn fnv1a(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// N(0, std²), perhaps cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Normal {
    std: f64,
    truncated: bool,
}

impl Normal {
    /// The whole distribution.
    pub(super) fn whole(std: f64) -> Self {
        Self { std, truncated: false }
    }

    /// Cut to [-2, 2].
    pub(super) fn truncated(std: f64) -> Self {
        Self { std, truncated: true }
    }

    pub(super) fn sample(self, stream: &mut Stream) -> f32 {
        loop {
            let value = if self.truncated && self.std > CUT {
                self.thinned_uniform(stream)
            } else {
                let standard: f64 = StandardNormal.sample(&mut stream.0);
                Some(self.std * standard).filter(|value| !self.truncated || value.abs() <= CUT)
            };
            if let Some(value) = value {
                return value as f32;
            }
        }
    }

    /// A number from [-2, 2], with the probability that the density has there.
    fn thinned_uniform(self, stream: &mut Stream) -> Option<f64> {
        let [place, chance]: [f64; 2] = [(); 2].map(|()| StandardUniform.sample(&mut stream.0));
        let value = CUT * (2.0 * place - 1.0);
        (chance <= (-0.5 * (value / self.std).powi(2)).exp()).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 40_000;

    fn draw(normal: Normal, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, "x");
        (0..COUNT).map(|_| f64::from(normal.sample(&mut stream))).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
    }

    /// Standard deviation of N(0, std²) cut to [-2, 2], by the trapezoid rule.
    fn truncated_std(std: f64) -> f64 {
        let (mut mass, mut square) = (0.0, 0.0);
        for step in 0..=4000 {
            let x = -2.0 + f64::from(step) / 1000.0;
            let density = (-0.5 * (x / std).powi(2)).exp() * if step % 4000 == 0 { 0.5 } else { 1.0 };
            mass += density;
            square += x * x * density;
        }
        (square / mass).sqrt()
    }

    #[test]
    fn moments_and_bounds_are_those_of_the_distribution() {
        // Five standard errors of mean and deviation: std/sqrt(n) and at most std/sqrt(2n).
        for std in [0.02, 0.5, 1.5, 1.999, 2.001, 7.0, 1e6] {
            let values = draw(Normal::truncated(std), 3);
            let expected = truncated_std(std);
            let (mean, got) = moments(&values);
            let error = expected / (COUNT as f64).sqrt();
            assert!(mean.abs() < 5.0 * error, "{std}: mean {mean}");
            assert!((got - expected).abs() < 5.0 * error, "{std}: deviation {got}, expected {expected}");
            assert!(values.iter().all(|value| value.abs() <= CUT), "{std}");
        }
        let values = draw(Normal::whole(1.5), 3);
        let (mean, got) = moments(&values);
        assert!(mean.abs() < 0.04 && (got - 1.5).abs() < 0.04, "{mean} {got}");
        // 18 % lie beyond the cut.
        let beyond = values.iter().filter(|value| value.abs() > CUT).count() as f64 / COUNT as f64;
        assert!((beyond - 0.182).abs() < 0.01, "{beyond}");
    }

    #[test]
    fn a_deviation_of_zero_gives_zeros() {
        assert!(draw(Normal::truncated(0.0), 1).iter().all(|value| *value == 0.0));
    }

    #[test]
    fn streams_of_other_seeds_and_names_differ() {
        let first = |seed, name: &str| Normal::whole(1.0).sample(&mut Stream::new(seed, name)).to_bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // From the algorithm's own list of test vectors.
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a("foobar"), 0x8594_4171_f739_67e8);
    }
}
