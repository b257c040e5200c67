//! Arithmetic on slices for dinoxide: GEMM, attention, norms, activations, resampling.
