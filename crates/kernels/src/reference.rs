//! The naive twin of every operation: its specification, used by tests and benches.
//!
//! Plain loops, one thread, no vectors. Sums are in f64, so that a twin is closer to the true value than any kernel; RoPE and
//! patches, whose kernels round as torch does, are equal to theirs to the bit.

use crate::resample::AxisWeights;
use crate::{
    Activation, AttentionShape, DepthwiseShape, Epilogue, MatMut, MatRef, PatchLayout, PatchShape, Qkv,
    RopeShape,
};

/// Twin of [`crate::gemm()`], over the unpacked weight [N, K].
pub fn gemm(a: MatRef<'_>, weight: &[f32], n: usize, epilogue: &Epilogue<'_>, out: &mut MatMut<'_>) {
    let k = a.cols();
    for r in 0..a.rows() {
        let row = a.row(r);
        for (c, o) in out.row(r).iter_mut().enumerate().take(n) {
            let mut v = dot(row, &weight[c * k..(c + 1) * k]) as f32;
            v += epilogue.bias.map_or(0.0, |bias| bias[c]);
            v = epilogue.activation.map_or(v, |act| activation(act, v));
            v *= epilogue.scale.map_or(1.0, |scale| scale[c]);
            *o = if epilogue.accumulate { *o + v } else { v };
        }
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

/// Twin of [`crate::activate()`], for one value.
#[must_use]
pub fn activation(activation: Activation, x: f32) -> f32 {
    let v = f64::from(x);
    let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
    let normal = |v: f64| 0.5 * erfc(-v * std::f64::consts::FRAC_1_SQRT_2);
    let result = match activation {
        Activation::Gelu => v * normal(v),
        Activation::Gelu10 => (v * normal(v)).clamp(-10.0, 10.0),
        Activation::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (v + 0.044_715 * v * v * v);
            0.5 * v * (1.0 + inner.tanh())
        }
        Activation::QuickGelu => v * sigmoid(1.702 * v),
        Activation::Silu => v * sigmoid(v),
        Activation::Relu if v > 0.0 || v.is_nan() => v,
        Activation::Relu => 0.0,
        Activation::Relu6 => v.clamp(0.0, 6.0),
        Activation::Relu2 if v > 0.0 || v.is_nan() => v * v,
        Activation::Relu2 => 0.0,
        Activation::LeakyRelu => {
            if v > 0.0 {
                v
            } else {
                0.01 * v
            }
        }
        Activation::HardSwish => v * (v + 3.0).clamp(0.0, 6.0) / 6.0,
        Activation::Mish => v * v.exp().ln_1p().tanh(),
        Activation::Sigmoid => sigmoid(v),
        Activation::Tanh => v.tanh(),
        // Six digits of √½, as Transformers has them.
        #[allow(clippy::approx_constant)]
        Activation::Laplace => normal((v - 0.707_107) / 0.282_095),
        Activation::SqrtSoftplus => (v.max(0.0) + (-v.abs()).exp().ln_1p()).sqrt(),
        Activation::Linear => v,
    };
    result as f32
}

/// Complementary error function in f64 (relative error below 1e-13): a Taylor series near 0, a continued
/// fraction (Lentz) beyond.
#[must_use]
pub fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while f64::abs(term) > 1e-18 * f64::abs(sum) && n < 200.0 {
            n += 1.0;
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    // erfc(x) = exp(−x²)/√π · 1/(x + (1/2)/(x + (2/2)/(x + (3/2)/(x + …)))), evaluated from the far end.
    let fraction = (1..=120).rev().fold(x, |tail, n| x + f64::from(n) / 2.0 / tail);
    (-x * x).exp() / std::f64::consts::PI.sqrt() / fraction
}

/// Twin of [`crate::layer_norm()`].
pub fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
    let d = weight.len();
    assert!(x.len() == out.len() && x.len().is_multiple_of(d) && bias.len() == d, "layer norm over {d}");
    for (row, out) in x.chunks_exact(d).zip(out.chunks_exact_mut(d)) {
        let mean = row.iter().map(|&v| f64::from(v)).sum::<f64>() / d as f64;
        let variance = row.iter().map(|&v| (f64::from(v) - mean).powi(2)).sum::<f64>() / d as f64;
        let inverse = 1.0 / (variance + f64::from(eps)).sqrt();
        for (i, o) in out.iter_mut().enumerate() {
            *o = ((f64::from(row[i]) - mean) * inverse * f64::from(weight[i]) + f64::from(bias[i])) as f32;
        }
    }
}

/// Twin of [`crate::attention()`] and [`crate::attention_with_probabilities()`] ([B, A, S, S]). A row whose keys are all
/// masked attends to all keys alike, as Transformers' eager attention does.
pub fn attention(
    shape: &AttentionShape,
    qkv: &Qkv<'_>,
    mut probabilities: Option<&mut [f32]>,
    out: &mut [f32],
) {
    let AttentionShape { batch, heads, tokens, head_dim, scale } = *shape;
    let at = |b: usize, s: usize, h: usize| (b * tokens + s) * qkv.row_stride + h * head_dim;
    for (b, h, s) in
        (0..batch).flat_map(|b| (0..heads).flat_map(move |h| (0..tokens).map(move |s| (b, h, s))))
    {
        let query = &qkv.q[at(b, s, h)..][..head_dim];
        let score = |key: usize| {
            let masked = qkv.key_mask.is_some_and(|mask| !mask[b * tokens + key]);
            let score = dot(query, &qkv.k[at(b, key, h)..][..head_dim]) * f64::from(scale);
            if masked { f64::from(f32::MIN) } else { score }
        };
        let scores: Vec<f64> = (0..tokens).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exps: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
        let total: f64 = exps.iter().sum();
        let row = ((b * heads + h) * tokens + s) * tokens;
        let stay = |key: usize| match qkv.dropout {
            Some(dropout) if dropout.keep[row + key] => f64::from(dropout.scale),
            Some(_) => 0.0,
            None => 1.0,
        };
        let exps: Vec<f64> = exps.iter().enumerate().map(|(key, e)| e * stay(key)).collect();
        for i in 0..head_dim {
            let sum: f64 = (0..tokens).map(|key| exps[key] * f64::from(qkv.v[at(b, key, h) + i])).sum();
            out[(b * tokens + s) * heads * head_dim + h * head_dim + i] = (sum / total) as f32;
        }
        if let Some(p) = probabilities.as_deref_mut() {
            p[row..][..tokens].iter_mut().zip(&exps).for_each(|(p, e)| *p = (e / total) as f32);
        }
    }
}

/// Twin of [`crate::rope()`].
pub fn rope(shape: &RopeShape, cos: &[f32], sin: &[f32], x: &mut [f32]) {
    let (d, half) = (shape.head_dim, shape.head_dim / 2);
    for b in 0..shape.batch {
        for s in shape.prefix..shape.tokens {
            let angle = (s - shape.prefix) * d;
            for h in 0..shape.heads {
                let head = &mut x[(b * shape.tokens + s) * shape.row_stride + h * d..][..d];
                for i in 0..half {
                    let (first, second) = (head[i], head[i + half]);
                    head[i] = first * cos[angle + i] - second * sin[angle + i];
                    head[i + half] = second * cos[angle + i + half] + first * sin[angle + i + half];
                }
            }
        }
    }
}

/// Twin of [`crate::patches()`].
pub fn patches(shape: &PatchShape, pixels: &[f32], out: &mut [f32]) {
    let PatchShape { batch, channels, height, width, patch_height, patch_width, layout } = *shape;
    let (rows, cols) = shape.grid();
    assert_eq!(pixels.len(), batch * channels * height * width, "pixels");
    assert_eq!(out.len(), batch * rows * cols * shape.row_len(), "patches");
    for (i, o) in out.iter_mut().enumerate() {
        let (patch, within) = (i / shape.row_len(), i % shape.row_len());
        let (b, row, col) = (patch / (rows * cols), patch / cols % rows, patch % cols);
        let (c, y, x) = match layout {
            PatchLayout::ChannelsFirst => (
                within / (patch_height * patch_width),
                within / patch_width % patch_height,
                within % patch_width,
            ),
            PatchLayout::ChannelsLast => {
                (within % channels, within / (channels * patch_width), within / channels % patch_width)
            }
        };
        let (y, x) = (row * patch_height + y, col * patch_width + x);
        *o = match layout {
            PatchLayout::ChannelsFirst => pixels[((b * channels + c) * height + y) * width + x],
            PatchLayout::ChannelsLast => pixels[((b * height + y) * width + x) * channels + c],
        };
    }
}

/// Twin of [`crate::resample::resample_with()`].
#[must_use]
pub fn resample(map: &[f32], channels: usize, y: &AxisWeights, x: &AxisWeights) -> Vec<f32> {
    assert_eq!(map.len(), y.n_in * x.n_in * channels, "map of {}x{}x{channels}", y.n_in, x.n_in);
    let mut out = vec![0.0; y.taps.len() * x.taps.len() * channels];
    for (i, out) in out.iter_mut().enumerate() {
        let (place, c) = (i / channels, i % channels);
        let (y_start, y_weights) = &y.taps[place / x.taps.len()];
        let (x_start, x_weights) = &x.taps[place % x.taps.len()];
        let mut sum = 0.0;
        for (row, &wy) in (*y_start..).zip(y_weights) {
            for (column, &wx) in (*x_start..).zip(x_weights) {
                let value = f64::from(map[(row * x.n_in + column) * channels + c]);
                sum += f64::from(wy) * f64::from(wx) * value;
            }
        }
        *out = sum as f32;
    }
    out
}

/// Twin of [`crate::depthwise_conv7()`].
pub fn depthwise_conv7(shape: &DepthwiseShape, x: &[f32], weight: &[f32], bias: &[f32], out: &mut [f32]) {
    let DepthwiseShape { batch, height, width, channels } = *shape;
    for (i, o) in out.iter_mut().enumerate().take(batch * height * width * channels) {
        let c = i % channels;
        let (b, row, col) =
            (i / channels / width / height, i / channels / width % height, i / channels % width);
        let mut sum = f64::from(bias[c]);
        for (ky, kx) in (0..7).flat_map(|ky| (0..7).map(move |kx| (ky, kx))) {
            let (y, x_) = ((row + ky).wrapping_sub(3), (col + kx).wrapping_sub(3));
            if y < height && x_ < width {
                let value = x[((b * height + y) * width + x_) * channels + c];
                sum += f64::from(value) * f64::from(weight[(ky * 7 + kx) * channels + c]);
            }
        }
        *o = sum as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dinoxide_testkit::tolerance::{ERFC, TWIN_ACTIVATION};

    #[test]
    fn erfc_has_the_values_of_the_tables() {
        // Python's math.erfc.
        let table = [
            (-3.0, 1.999_977_909_503_001_5),
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.999, 0.004_698_443_348_629_488),
            (2.0, 0.004_677_734_981_047_265),
            (5.0, 1.537_459_794_428_035_1e-12),
            (10.0, 2.088_487_583_762_545e-45),
        ];
        for (x, want) in table {
            assert!((erfc(x) / want - 1.0).abs() < ERFC, "erfc({x}) = {}, not {want}", erfc(x));
        }
    }

    #[test]
    fn activations_have_the_values_of_transformers() {
        let goldens = include_str!("../tests/data/activations.txt");
        assert_eq!(goldens.lines().count(), 22);
        for line in goldens.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let activation: Activation = words[0].parse().unwrap();
            for pair in words[1..].chunks(2) {
                let [x, want]: [f64; 2] = std::array::from_fn(|i| pair[i].parse().unwrap());
                let got = f64::from(super::activation(activation, x as f32));
                let bound = TWIN_ACTIVATION * want.abs().max(1.0);
                assert!((got - want).abs() <= bound, "{}({x}) = {got}, not {want}", words[0]);
            }
        }
    }
}
