//! Every tolerance of the tests: first of whole models and processors against Transformers, the promises of
//! `docs/parity.md`; then of kernels against their naive twins.
//!
//! A bound is set by a measurement, quoted beside it, and never loosened to make a test pass.

/// Model outputs of tiny models in f32: largest absolute difference from Transformers, for outputs of order 1.
pub const TINY_MODEL_MAX_ABS: f32 = 1e-5;

/// Scores and features of the pipelines, tiny models, from the picture's file on: largest difference. The bytes of the
/// picture may differ by a level. Measured: 4.8e-7 (a logit as score).
pub const PIPELINE_SCORE_MAX_ABS: f32 = 1e-6;

/// The same of features. Measured: 2.5e-6 (ConvNeXt).
pub const PIPELINE_FEATURE_MAX_ABS: f32 = 4e-6;

/// Processors, before normalising: largest difference on any pixel, in levels of 255.
pub const PROCESSOR_MAX_LEVELS: f32 = 1.0;

/// Processors, before normalising: largest mean difference, in levels of 255.
pub const PROCESSOR_MEAN_LEVELS: f32 = 0.05;

/// The DINOv3 float path, before normalising, of 1. torch's own float32 antialiased resize is up to 1.1e-5
/// away from a float64 one (512 to 224), so a tighter bound would test torch's rounding.
pub const PROCESSOR_FLOAT_MAX_ABS: f32 = 3e-5;

/// From a JPEG file to the embedding: smallest cosine.
pub const JPEG_TO_EMBEDDING_COSINE: f64 = 0.9999;

/// bf16 and f16 checkpoints against the f32 golden: smallest cosine of any token.
pub const HALF_TOKEN_COSINE: f64 = 0.999;

/// Linear layers multiplied in f16, tiny models, against f32: smallest cosine of any token. Measured: 0.9999983
/// (DINOv2).
pub const F16_TOKEN_COSINE: f64 = 0.99999;

/// Linear layers in int8, tiny models, against the float model that the codes stand for: smallest cosine of any token. Measured:
/// 0.99995 (DINOv3 ViT).
pub const INT8_TOKEN_COSINE: f64 = 0.9999;

/// Linear layers in 4 bits in groups of 32 or 128, hidden size 48, against f32: smallest cosine over all tokens together. Measured:
/// 0.99985 in groups of 32, 0.99979 in one of 48.
pub const INT4_COSINE: f64 = 0.9997;

// Pictures (crate image). Repeat a measurement by lowering its bound until the test fails.

/// Resize weights in f64: largest difference of one from its exact value. Measured on a 2:1 bicubic reduction: 0.
pub const WEIGHT_MAX_ABS: f64 = 1e-15;

/// Resize weights in f64: how far the sum of an output's weights is from 1. Measured up to 65535 to 224: 2e-14.
pub const WEIGHT_SUM_MAX_ABS: f64 = 1e-12;

/// The float resize, of 1: largest difference from its twin in f64. Measured over the sizes and filters of the test: 4.6e-6.
pub const RESIZE_TWIN_MAX_ABS: f64 = 1e-5;

/// The float resize, of 1: largest difference of a window from the same place of the whole, whose passes may come in the
/// other order. Measured: 0.
pub const RESIZE_WINDOW_MAX_ABS: f32 = 1e-6;

/// A JPEG stored turned, decoded and turned back, against the one stored upright: most levels of 255, as each was compressed
/// on its own. Measured: 11.
pub const TURNED_JPEG_MAX_LEVELS: u8 = 12;

/// A progressive JPEG cut after its first scan against the whole one: mean levels of 255. Measured: 13.6.
pub const FIRST_SCAN_MEAN_LEVELS: f64 = 20.0;

// Kernels against their naive twins in f64 (`kernels::reference`): each was measured over the cases of its test, on the
// portable, AVX2 and AVX-512 levels. Data are hashes in ±2 (`data::hash32`) unless said otherwise.

/// GEMM: largest error of an output, in √K·2⁻²⁴·Σ|aₖ·wₖ|. Measured: 1.39, at K = 2; 0.76 from K = 19 on.
pub const GEMM_ERROR: f32 = 1.5;

/// GEMM with an activation: largest difference, relative to 1 or the output, for sums of order 10. Measured: 1.9e-6
/// (`relu2`, which doubles relative errors), 1.2e-6 for the others.
pub const GEMM_ACTIVATION: f32 = 3e-6;

/// GEMM at the sizes of the benches, K ≤ 3072, sums of order 100: largest difference. Measured: 1.45e-4.
pub const GEMM_BENCH_MAX_ABS: f32 = 2e-4;

/// GEMM with weights of bf16, f16, int8 and int4: difference from the f64 product of what rows and weight stand for, over Σ|a·w|.
/// Measured: 2.8e-7. Of int8 it holds where rows are spread as these are: see [`ZERO_ERROR`].
pub const GEMM_COMPACT: f64 = 4e-7;

/// GEMM in f16, chains of 64, data in ±2, K ≤ 1536: root mean square of the differences from the f64 product of the rows and f16
/// weights, over that of the products. Measured: 1.31e-3.
pub const GEMM_F16_ERROR: f64 = 1.5e-3;

/// The same, also of rows of one sign or of numbers far apart: largest difference, over Σ|a·w|. Measured: 2.25e-3, where one product
/// outweighs all others; 5.7e-4 without.
pub const GEMM_F16_LARGEST_ERROR: f64 = 3e-3;

/// The same after bias, GELU, scale and residual, K = 72, against the twin: largest difference. Measured: 1.5e-5.
pub const GEMM_COMPACT_EPILOGUE: f32 = 2e-5;

/// int8: what is lost as the zero of a row is taken off, over the most that may be lost as its numbers become bytes: half a step
/// times Σ|w|. Of rows near 0 that is up to 6.6e-6 of Σ|a·w|. Measured: 3.0e-5.
pub const ZERO_ERROR: f64 = 4e-5;

/// Products of bytes where a channel is 1000 times the others: root mean square error over that without. Measured: 1.0009.
pub const OUTLIERS_ERROR_GROWTH: f64 = 1.01;

/// Products of bytes of a row of a thousandth of the others: largest error over the others' root mean square. Measured: 3.4e-3.
pub const SMALL_ROW_ERROR: f64 = 4e-3;

/// Attention with products of bf16, against that of the same rounded queries, keys and values of ±2: half a step of a probability,
/// 2⁻⁹, on all values would be 3.9e-3. Measured: 2.1e-3.
pub const ATTENTION_BF16_MAX_ABS: f32 = 3e-3;

/// Attention: largest difference of an output. Measured: 1.2e-6 in the tests, 1.9e-6 at the sizes of the benches.
pub const ATTENTION_MAX_ABS: f32 = 3e-6;

/// Attention: largest difference of a probability. Measured: 4.8e-7.
pub const PROBABILITY_MAX_ABS: f32 = 1e-6;

/// Attention: how far the sum of a query's probabilities is from 1. Measured: 2.4e-7.
pub const PROBABILITY_SUM: f64 = 5e-7;

/// Attention whose scores reach 1000, where the spacing of f32 is 6e-5: largest difference of an output. Measured: 4.2e-5.
pub const ATTENTION_FAR_SCORES_MAX_ABS: f32 = 1e-4;

/// Layer norm, of rows in ±2 and in 98..102: largest difference. Measured: 9.5e-7.
pub const LAYER_NORM_MAX_ABS: f32 = 1.5e-6;

/// Depthwise 7×7 convolution, sums of order 30: largest difference. Measured: 1.1e-5 in the tests, 1.5e-5 in the benches.
pub const DEPTHWISE_MAX_ABS: f32 = 2e-5;

/// Resampling to any size: largest difference from the twin, and from torch. Measured: 4.8e-7,
/// both; 7.2e-7 in the benches.
pub const RESAMPLE_MAX_ABS: f32 = 1e-6;

/// Exponentials: largest error in units in the last place, where multiply-adds round once. Measured over all f32: 1.06.
pub const EXP_ULPS: f64 = 1.1;

/// Exponentials at the portable level, which may round twice. Measured over all f32: 1.35.
pub const EXP_ULPS_PORTABLE: f64 = 1.4;

/// Twins of activations (rounded to f32) against Transformers' in float64: largest difference, relative to 1 or the value.
/// Measured: 5.3e-8, the rounding.
pub const TWIN_ACTIVATION: f64 = 1e-7;

/// The complementary error function in f64, which the twins use, against Python's `math.erfc`: largest relative error.
/// Measured: 4.0e-14.
pub const ERFC: f64 = 1e-13;

/// Activations of 1e30, −1e30 and zeros: units in the last place. Measured: 1.
pub const SPECIAL_VALUE_ULPS: u64 = 1;

/// GELU of two floats in a row, around the edges of its table: largest difference over 2⁻²⁴·|x|. Measured: 5.8 (AVX-512, which
/// has the table: 3.6), of which up to 2.3 are GELU's slope.
pub const GELU_STEP: f32 = 6.0;

/// A gated product, act(gate) · up with SiLU: units in the last place. Measured: 3; 2 of SiLU's and a rounding.
pub const GATE_ULPS: u64 = 3;

/// Activations in the benches: largest difference. Measured: 3.6e-7.
pub const ACTIVATION_BENCH_MAX_ABS: f32 = 1e-6;

/// Gated products in the benches: largest difference. Measured: 2.4e-7.
pub const GATE_BENCH_MAX_ABS: f32 = 1e-6;

/// How far an activation may be from its twin. Measured over 70 million floats spread over all f32, on every level: the
/// `ulps` are what was found, `of_scale` was at most 3.2 (`gelu`), 3.0 (`laplace`), 2.5 (the others).
#[derive(Debug, Clone, Copy)]
pub struct ActivationBound {
    /// Transformers' name.
    pub name: &'static str,
    /// Units in the last place of results for x ≥ `from`.
    pub ulps: u64,
    /// See `ulps`.
    pub from: f32,
    /// Largest difference over 2⁻²⁴ times the scale, everywhere.
    pub of_scale: f32,
    /// Whether the scale is 1, as results are at most 1; else it is |x|.
    pub bounded: bool,
}

impl ActivationBound {
    /// Whose errors are relative to x.
    const fn new(name: &'static str, ulps: u64, from: f32, of_scale: f32) -> Self {
        Self { name, ulps, from, of_scale, bounded: false }
    }
}

/// The bounds that `kernels::Activation` promises.
pub const ACTIVATION_BOUNDS: [ActivationBound; 16] = [
    ActivationBound::new("gelu", 3, 0.0, 4.0),
    ActivationBound::new("gelu_10", 3, 0.0, 4.0),
    ActivationBound::new("gelu_pytorch_tanh", 2, 0.0, 3.0),
    ActivationBound::new("quick_gelu", 2, 0.0, 3.0),
    ActivationBound::new("silu", 2, -80.0, 3.0),
    ActivationBound::new("mish", 4, -80.0, 3.0),
    ActivationBound::new("sigmoid", 2, -80.0, f32::INFINITY),
    ActivationBound::new("tanh", 2, f32::MIN, 3.0),
    ActivationBound::new("hardswish", 2, f32::MIN, 3.0),
    ActivationBound::new("leaky_relu", 1, f32::MIN, f32::INFINITY),
    ActivationBound::new("relu2", 1, f32::MIN, f32::INFINITY),
    ActivationBound::new("relu", 0, f32::MIN, 0.0),
    ActivationBound::new("relu6", 0, f32::MIN, 0.0),
    ActivationBound::new("linear", 0, f32::MIN, 0.0),
    ActivationBound::new("sqrtsoftplus", 3, -80.0, f32::INFINITY),
    ActivationBound { name: "laplace", ulps: 3, from: 0.71, of_scale: 4.0, bounded: true },
];
