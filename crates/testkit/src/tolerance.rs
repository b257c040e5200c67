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
