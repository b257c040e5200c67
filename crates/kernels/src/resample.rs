//! Separable float resampling of one axis: the weights of each output place, as torch computes them.
//!
//! Two rules, both needed for position tables: *clamped* (no antialias, borders replicated, cubic constant −0.75) and
//! *antialiased* (support widened when shrinking, borders dropped and renormalised, cubic constant −0.5).
//! Source: PyTorch `aten/src/ATen/native/cpu/UpSampleKernel.cpp`, `UpSample.h`.

/// The weights of one axis: output place `i` is `Σ_j weights[i][j] · input[start[i] + j]`.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisWeights {
    /// Input length.
    pub n_in: usize,
    /// First input index and weights of every output place.
    pub taps: Vec<(usize, Vec<f32>)>,
}

impl AxisWeights {
    /// Bicubic without antialias (`interpolate(mode="bicubic")`): a = −0.75, indices clamped into the axis. f32 throughout.
    #[must_use]
    pub fn bicubic(n_in: usize, n_out: usize) -> Self {
        const A: f32 = -0.75;
        let near = |x: f32| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
        let far = |x: f32| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
        let scale = n_in as f32 / n_out as f32;
        let taps = (0..n_out).map(|i| {
            let x = scale * (i as f32 + 0.5) - 0.5;
            let k = (x.floor() as isize).min(n_in as isize - 1);
            let t = (x - k as f32).clamp(0.0, 1.0);
            let weights = [far(1.0 + t), near(t), near(1.0 - t), far(2.0 - t)];
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
    #[must_use]
    pub fn bicubic_antialias(n_in: usize, n_out: usize) -> Self {
        const A: f32 = -0.5;
        Self::antialias(n_in, n_out, 2.0, |x: f32| {
            let x = x.abs();
            if x < 1.0 {
                ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
            } else if x < 2.0 {
                A * (((x - 5.0) * x + 8.0) * x - 4.0)
            } else {
                0.0
            }
        })
    }

    fn antialias(n_in: usize, n_out: usize, radius: f32, filter: impl Fn(f32) -> f32) -> Self {
        let scale = n_in as f32 / n_out as f32;
        let support = radius * scale.max(1.0);
        let inverse = 1.0 / scale.max(1.0);
        let taps = (0..n_out).map(|i| {
            let center = scale * (i as f32 + 0.5);
            let start = ((center - support + 0.5) as isize).max(0) as usize;
            let end = ((center + support + 0.5) as isize).clamp(0, n_in as isize) as usize;
            let raw: Vec<f32> =
                (start..end.max(start)).map(|j| filter((j as f32 - center + 0.5) * inverse)).collect();
            let sum: f32 = raw.iter().sum();
            (start, raw.into_iter().map(|w| w / sum).collect())
        });
        Self { n_in, taps: taps.collect() }
    }
}

/// Resamples a channels-last map [n_in_y, n_in_x, C] to [n_out_y, n_out_x, C]: along x first, then along y, in f32.
///
/// # Panics
/// When `map.len()` disagrees with the weights.
#[must_use]
pub fn resample(map: &[f32], channels: usize, y: &AxisWeights, x: &AxisWeights) -> Vec<f32> {
    assert_eq!(map.len(), y.n_in * x.n_in * channels, "map of {}x{}x{channels}", y.n_in, x.n_in);
    let row_out = x.taps.len() * channels;
    let mut rows = vec![0.0; y.n_in * row_out];
    for (source, target) in map.chunks_exact(x.n_in * channels).zip(rows.chunks_exact_mut(row_out)) {
        for ((start, weights), pixel) in x.taps.iter().zip(target.chunks_exact_mut(channels)) {
            for (j, &w) in weights.iter().enumerate() {
                axpy(w, &source[(start + j) * channels..][..channels], pixel);
            }
        }
    }
    let mut out = vec![0.0; y.taps.len() * row_out];
    for ((start, weights), target) in y.taps.iter().zip(out.chunks_exact_mut(row_out)) {
        for (j, &w) in weights.iter().enumerate() {
            axpy(w, &rows[(start + j) * row_out..][..row_out], target);
        }
    }
    out
}

fn axpy(weight: f32, x: &[f32], y: &mut [f32]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y += weight * x);
}
