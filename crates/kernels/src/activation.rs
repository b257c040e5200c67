//! Activations, under Transformers' names (`ACT2FN`). GELU is the exact erf form x·Φ(x).

use crate::{Context, reference};
use std::str::FromStr;

/// An elementwise activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x·Φ(x), exact (`gelu`, `gelu_python`).
    Gelu,
    /// 0.5x(1 + tanh(√(2/π)(x + 0.044715x³))) (`gelu_new`, `gelu_fast`, `gelu_pytorch_tanh`, …).
    GeluTanh,
    /// x·σ(1.702x) (`quick_gelu`).
    QuickGelu,
    /// x·σ(x) (`silu`, `swish`).
    Silu,
    /// max(0, x) (`relu`).
    Relu,
    /// min(max(0, x), 6) (`relu6`).
    Relu6,
    /// max(0, x)² (`relu2`).
    Relu2,
    /// x for x > 0, 0.01x otherwise (`leaky_relu`).
    LeakyRelu,
    /// x·min(max(0, x + 3), 6) / 6 (`hardswish`).
    HardSwish,
    /// x·tanh(ln(1 + eˣ)) (`mish`).
    Mish,
    /// σ(x) (`sigmoid`).
    Sigmoid,
    /// tanh(x) (`tanh`).
    Tanh,
    /// x (`linear`).
    Linear,
}

impl FromStr for Activation {
    type Err = ();

    /// From Transformers' name (`config.hidden_act`); `Err` when the name is not one we compute.
    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "gelu" | "gelu_python" => Self::Gelu,
            "gelu_new" | "gelu_fast" | "gelu_accurate" | "gelu_pytorch_tanh" | "gelu_python_tanh" => {
                Self::GeluTanh
            }
            "quick_gelu" => Self::QuickGelu,
            "silu" | "swish" => Self::Silu,
            "relu" => Self::Relu,
            "relu6" => Self::Relu6,
            "relu2" => Self::Relu2,
            "leaky_relu" => Self::LeakyRelu,
            "hardswish" => Self::HardSwish,
            "mish" => Self::Mish,
            "sigmoid" => Self::Sigmoid,
            "tanh" => Self::Tanh,
            "linear" => Self::Linear,
            _ => return Err(()),
        })
    }
}

/// Applies an activation in place.
pub fn activate(_ctx: &Context, activation: Activation, x: &mut [f32]) {
    x.iter_mut().for_each(|v| *v = reference::activation(activation, *v));
}

/// `out = act(gate) · up`, where a row of `gate_up` [rows, 2F] holds the gate first, then up; `out` is [rows, F].
///
/// # Panics
/// When the lengths disagree with `width` = F.
pub fn gate(_ctx: &Context, activation: Activation, gate_up: &[f32], width: usize, out: &mut [f32]) {
    assert_eq!(gate_up.len(), 2 * out.len(), "gate and up");
    for (row, out) in gate_up.chunks_exact(2 * width).zip(out.chunks_exact_mut(width)) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = reference::activation(activation, row[i]) * row[width + i];
        }
    }
}
