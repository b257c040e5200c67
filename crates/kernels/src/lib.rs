//! Arithmetic on slices: GEMM over packed weights, attention, norms, activations, RoPE, depthwise convolution,
//! resampling. Knows no model.
//!
//! Every operation takes a [`Context`] (instruction set, thread pool, scratch memory). Every operation has a naive
//! twin in [`mod@reference`], which is its specification. Results do not depend on the number of threads, nor on
//! how many rows (pictures) are computed together: an element is always summed in the same order.

mod activation;
mod aligned;
mod attention;
mod context;
mod depthwise;
mod error;
mod exp;
mod floats;
mod gemm;
mod isa;
mod items;
mod layer_norm;
mod matrix;
mod patches;
mod pool;
mod profile;
mod quantize;
pub mod reference;
pub mod resample;
pub mod roof;
mod rope;
mod scratch;
mod simd;
mod words;

pub use activation::{Activation, activate, gate};
pub use attention::{
    AttentionShape, Dropout, Qkv, attention, attention_bf16, attention_bf16_scratch,
    attention_with_probabilities,
};
pub use context::{Context, ContextOptions};
pub use depthwise::{DepthwiseShape, depthwise_conv7};
pub use error::KernelError;
pub use floats::FloatSlice;
pub use gemm::{Epilogue, Int4Activations, PackedWeight, gemm};
pub use isa::Isa;
pub use items::{Group, Items};
pub use layer_norm::layer_norm;
pub use matrix::{MatMut, MatRef, row_stride};
pub use patches::{PatchLayout, PatchShape, patches};
pub use profile::{Op, OpBound, OpEpilogue, OpTime, Profile};
pub use quantize::{Int4Weight, Int8Weight};
pub use rope::{RopeShape, rope};
pub use scratch::Buffer;
