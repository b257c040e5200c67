//! `out = epilogue(a · weightᵀ)`: the linear layer. `a` is [M, K] row-major, the weight [N, K] as PyTorch's `Linear`
//! stores it, packed once for the instruction set found at run time; `out` is [M, N].

use crate::{Activation, Context, MatMut, MatRef, reference};

/// A weight [N, K] laid out for a kernel.
#[derive(Debug)]
pub struct PackedWeight {
    n: usize,
    k: usize,
    data: Vec<f32>,
}

impl PackedWeight {
    /// Packs `weight` ([N, K] row-major, `Linear.weight`) for the context's instruction set.
    ///
    /// # Panics
    /// When `weight.len() != n * k`.
    #[must_use]
    pub fn pack(_ctx: &Context, weight: &[f32], n: usize, k: usize) -> Self {
        assert_eq!(weight.len(), n * k, "weight of {n}x{k}");
        Self { n, k, data: weight.to_vec() }
    }

    /// Output features.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Input features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.data.len() * 4
    }
}

/// What happens to a sum before it is stored, in this order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Epilogue<'a> {
    /// Added: [N].
    pub bias: Option<&'a [f32]>,
    /// Applied after the bias.
    pub activation: Option<Activation>,
    /// Multiplied (layer scale): [N].
    pub scale: Option<&'a [f32]>,
    /// Added to what `out` holds (residual) in place of overwriting it.
    pub accumulate: bool,
}

/// Computes `out = epilogue(a · weightᵀ)`.
///
/// # Panics
/// When shapes disagree, or the weight was packed for another instruction set.
pub fn gemm(
    _ctx: &Context,
    a: MatRef<'_>,
    weight: &PackedWeight,
    epilogue: &Epilogue<'_>,
    out: &mut MatMut<'_>,
) {
    reference::gemm(a, &weight.data, weight.n, epilogue, out);
}
