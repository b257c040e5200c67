//! Every tolerance of the tests. A bound here is a promise of `docs/parity.md`; it is set by a measurement,
//! quoted beside it, and never loosened to make a test pass.

/// Model outputs of tiny models in f32: largest absolute difference from Transformers, for outputs of order 1.
pub const TINY_MODEL_MAX_ABS: f32 = 1e-5;

/// Model outputs of true-size models in f32 (random weights): largest absolute difference.
pub const TRUE_SIZE_MAX_ABS: f32 = 1e-4;

/// Model outputs of true-size models in f32: smallest cosine over a whole tensor.
pub const TRUE_SIZE_COSINE: f64 = 0.999_999;

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

// Kernels against their naive twins in f64 (`kernels::reference`). Each was measured over the cases of its test, on every
// level of a processor with AVX-512; the tests print nothing, so repeat a measurement by lowering its bound.

/// GEMM: largest error of an output, in √K·2⁻²⁴·Σ|aₖ·wₖ|.
pub const GEMM_ERROR: f32 = 1.5;

/// GEMM with an activation: largest difference, relative to 1 or the output, for sums of order 10.
pub const GEMM_ACTIVATION: f32 = 3e-6;

/// GEMM at the sizes of the benches, K ≤ 3072, sums of order 100: largest difference.
pub const GEMM_BENCH_MAX_ABS: f32 = 1e-3;

/// Attention over values in ±2: largest difference of an output.
pub const ATTENTION_MAX_ABS: f32 = 3e-6;

/// Attention: largest difference of a probability.
pub const PROBABILITY_MAX_ABS: f32 = 2e-6;

/// Attention: how far the sum of a query's probabilities is from 1.
pub const PROBABILITY_SUM: f64 = 1e-6;

/// Attention whose scores reach 1000, where the spacing of f32 is 6e-5: largest difference of an output.
pub const ATTENTION_FAR_SCORES_MAX_ABS: f32 = 1e-3;

/// Layer norm of rows in ±2, weights in ±2: largest difference.
pub const LAYER_NORM_MAX_ABS: f32 = 2e-6;

/// Layer norm of rows in 98..102.
pub const LAYER_NORM_OFFSET_MAX_ABS: f32 = 5e-6;

/// Layer norm of a constant row, which should give the bias.
pub const LAYER_NORM_CONSTANT_MAX_ABS: f32 = 1e-6;

/// Depthwise 7×7 convolution of values in ±2, sums of order 30: largest difference.
pub const DEPTHWISE_MAX_ABS: f32 = 3e-5;

/// Resampling of values in ±2 to any size: largest difference from the twin, and from torch.
pub const RESAMPLE_MAX_ABS: f32 = 2e-6;

/// Exponentials: largest error in units in the last place, where multiply-adds round once. Measured over all f32: 1.06.
pub const EXP_ULPS: f64 = 1.1;

/// Exponentials at the portable level, which may round twice. Measured over all f32: 1.35.
pub const EXP_ULPS_PORTABLE: f64 = 1.4;

/// The complementary error function in f64, which the twins use: largest relative error. Measured against Python's
/// `math.erfc`:
pub const ERFC: f64 = 1e-13;

/// Twins of activations (rounded to f32) against Transformers' in float64: largest difference, relative to 1 or the value.
pub const TWIN_ACTIVATION: f64 = 1e-7;

/// Activations of 1e30, −1e30 and zeros: units in the last place.
pub const SPECIAL_VALUE_ULPS: u64 = 1;

/// A gated product, act(gate) · up with SiLU: units in the last place.
pub const GATE_ULPS: u64 = 5;

/// How far an activation may be from its twin; measured over 70 million floats spread over all f32, on every level.
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

const fn bound(name: &'static str, ulps: u64, from: f32, of_scale: f32) -> ActivationBound {
    ActivationBound { name, ulps, from, of_scale, bounded: false }
}

/// The bounds that `kernels::Activation` promises.
pub const ACTIVATION_BOUNDS: [ActivationBound; 16] = [
    bound("gelu", 3, 0.0, 4.0),
    bound("gelu_10", 3, 0.0, 4.0),
    bound("gelu_pytorch_tanh", 2, 0.0, 3.0),
    bound("quick_gelu", 2, 0.0, 3.0),
    bound("silu", 2, -80.0, 3.0),
    bound("mish", 4, -80.0, 3.0),
    bound("sigmoid", 2, -80.0, f32::INFINITY),
    bound("tanh", 2, f32::MIN, 3.0),
    bound("hardswish", 2, f32::MIN, 3.0),
    bound("leaky_relu", 1, f32::MIN, f32::INFINITY),
    bound("relu2", 1, f32::MIN, f32::INFINITY),
    bound("relu", 0, f32::MIN, 0.0),
    bound("relu6", 0, f32::MIN, 0.0),
    bound("linear", 0, f32::MIN, 0.0),
    bound("sqrtsoftplus", 3, -80.0, f32::INFINITY),
    ActivationBound { name: "laplace", ulps: 4, from: 0.71, of_scale: 4.0, bounded: true },
];

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

/// Activations of values in ±2, in the benches: largest difference.
pub const ACTIVATION_BENCH_MAX_ABS: f32 = 1e-6;

/// Gated products of values in ±2, in the benches: largest difference.
pub const GATE_BENCH_MAX_ABS: f32 = 1e-5;
