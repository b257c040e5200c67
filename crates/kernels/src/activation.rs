//! Activations, under Transformers' names (`ACT2FN`), on slices and (for the epilogues of other kernels) on vectors.
//!
//! GELU is the exact erf form x·Φ(x); Φ is the standard normal distribution, σ the logistic function. The formulas that take
//! more than a few operations are in `functions.rs`. [`gate`] is the middle of a gated MLP: act(gate) · up.

mod functions;
mod normal;
#[cfg(test)]
mod tests;

use crate::profile::Op;
use crate::simd::{Operation, Simd, map_in_place};
use crate::{Context, KernelError, MatMut};
use std::str::FromStr;

/// An elementwise activation. NaN gives NaN; infinities give what torch's formulas give (`silu(−∞)` is NaN).
///
/// Errors, measured against f64 on every level over 70 million floats spread over all f32 (an ignored test repeats it,
/// a sample of it always runs): at most 4 units in the last place for `mish`, 3 for `gelu`,
/// `laplace` and `sqrtsoftplus`, 2 for the others; this holds for `gelu`, its tanh form and `quick_gelu` where x ≥ 0, for `laplace` where
/// x ≥ 0.71, for `silu`, `mish`, `sigmoid` and `sqrtsoftplus` where x ≥ −80. Below, where results shrink to 0, `gelu` is
/// within 4 and the others within 3 times 2⁻²⁴·|x|; `laplace` is within 4 times 2⁻²⁴.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// x·Φ(x), exact (`gelu`, `gelu_python`).
    Gelu,
    /// min(x·Φ(x), 10) (`gelu_10`).
    Gelu10,
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
    /// Φ((x − 0.707107) / 0.282095) (`laplace`).
    Laplace,
    /// √ln(1 + eˣ) (`sqrtsoftplus`).
    SqrtSoftplus,
    /// x (`linear`).
    Linear,
}

/// Transformers' names (`ACT2FN`) of what we compute; the first of an activation is the one it is told by. `prelu` and
/// `xielu` are missing: they have weights of their own.
const NAMES: [(&str, Activation); 22] = [
    ("gelu", Activation::Gelu),
    ("gelu_python", Activation::Gelu),
    ("gelu_10", Activation::Gelu10),
    ("gelu_pytorch_tanh", Activation::GeluTanh),
    ("gelu_python_tanh", Activation::GeluTanh),
    ("gelu_new", Activation::GeluTanh),
    ("gelu_fast", Activation::GeluTanh),
    ("gelu_accurate", Activation::GeluTanh),
    ("quick_gelu", Activation::QuickGelu),
    ("silu", Activation::Silu),
    ("swish", Activation::Silu),
    ("relu", Activation::Relu),
    ("relu6", Activation::Relu6),
    ("relu2", Activation::Relu2),
    ("leaky_relu", Activation::LeakyRelu),
    ("hardswish", Activation::HardSwish),
    ("mish", Activation::Mish),
    ("sigmoid", Activation::Sigmoid),
    ("tanh", Activation::Tanh),
    ("laplace", Activation::Laplace),
    ("sqrtsoftplus", Activation::SqrtSoftplus),
    ("linear", Activation::Linear),
];

impl FromStr for Activation {
    type Err = KernelError;

    /// From Transformers' name (`config.hidden_act`).
    fn from_str(name: &str) -> Result<Self, KernelError> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, activation)| activation).ok_or_else(|| KernelError::UnknownActivation {
            got: name.to_owned(),
            known: NAMES.map(|(known, _)| known).join(", "),
        })
    }
}

impl Activation {
    /// Transformers' name; the first where there are several.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, activation)| *activation == self).map_or("", |(name, _)| name)
    }

    /// Each one once.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        NAMES.iter().filter(|(name, activation)| activation.name() == *name).map(|&(_, a)| a).collect()
    }

    /// The activation of a vector.
    #[inline(always)]
    pub(crate) fn eval<S: Simd>(self, simd: S, x: S::Vec) -> S::Vec {
        let zero = simd.splat(0.0);
        match self {
            Self::Gelu => functions::gelu(simd, x),
            // The lower limit, −10, is never reached: x·Φ(x) > −0.17.
            Self::Gelu10 => simd.min(simd.splat(10.0), functions::gelu(simd, x)),
            Self::GeluTanh => functions::gelu_tanh(simd, x),
            Self::QuickGelu => functions::quick_gelu(simd, x),
            Self::Silu => functions::silu(simd, x),
            Self::Relu => simd.max(zero, x),
            Self::Relu6 => simd.min(simd.splat(6.0), simd.max(zero, x)),
            Self::Relu2 => {
                let positive = simd.max(zero, x);
                simd.mul(positive, positive)
            }
            Self::LeakyRelu => simd.select(simd.gt(x, zero), x, simd.mul(x, simd.splat(0.01))),
            Self::HardSwish => {
                let ramp = simd.min(simd.splat(6.0), simd.max(zero, simd.add(x, simd.splat(3.0))));
                simd.mul(x, simd.div(ramp, simd.splat(6.0)))
            }
            Self::Mish => functions::mish(simd, x),
            Self::Sigmoid => functions::sigmoid(simd, x),
            Self::Tanh => functions::tanh(simd, x),
            Self::Laplace => functions::laplace(simd, x),
            Self::SqrtSoftplus => functions::sqrt_softplus(simd, x),
            Self::Linear => x,
        }
    }

    /// Applies it to a slice. The activations of the DINO models have loops of their own, without a choice for each vector.
    #[inline(always)]
    pub(crate) fn apply<S: Simd>(self, simd: S, x: &mut [f32]) {
        match self {
            Self::Gelu => map_in_place(
                simd,
                x,
                #[inline(always)]
                |x| Self::Gelu.eval(simd, x),
            ),
            Self::Silu => map_in_place(
                simd,
                x,
                #[inline(always)]
                |x| Self::Silu.eval(simd, x),
            ),
            other => map_in_place(
                simd,
                x,
                #[inline(always)]
                |x| other.eval(simd, x),
            ),
        }
    }
}

/// Floats below which a task is not worth handing to a thread.
const LEAST_FLOATS: usize = 16 * 1024;

/// Applies an activation in place.
pub fn activate(ctx: &Context, activation: Activation, x: &mut [f32]) {
    let _span = ctx.span(|| Op::Activation { activation, len: x.len() });
    let chunk = ctx.items_per_task(x.len(), LEAST_FLOATS);
    ctx.for_each_chunk_mut(x, chunk, |_, x| ctx.dispatch(Activate { activation, x }));
}

/// [`activate`] on one thread.
struct Activate<'a> {
    activation: Activation,
    x: &'a mut [f32],
}

impl Operation for Activate<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        self.activation.apply(simd, self.x);
    }
}

/// `out = act(gate) · up`, where a row of `gate_up` [rows, 2F] holds the gate first, then up; `out` is [rows, F].
///
/// # Panics
/// When the shapes disagree.
pub fn gate(ctx: &Context, activation: Activation, gate_up: &[f32], out: &mut MatMut<'_>) {
    let (rows, width, stride) = (out.rows(), out.cols(), out.row_stride());
    assert_eq!(Some(gate_up.len()), rows.checked_mul(2 * width), "gate and up");
    let _span = ctx.span(|| Op::Gate { activation, rows, width });
    let per_task = ctx.items_per_task(rows, LEAST_FLOATS.div_ceil(width.max(1)));
    ctx.for_each_chunk_mut(out.span(), per_task * stride, |index, out| {
        let gate_up = &gate_up[2 * index * per_task * width..];
        ctx.dispatch(Gate { activation, gate_up, width, out, stride });
    });
}

/// [`gate`] on one thread.
struct Gate<'a> {
    activation: Activation,
    gate_up: &'a [f32],
    width: usize,
    out: &'a mut [f32],
    /// Floats from one row of `out` to the next.
    stride: usize,
}

impl Operation for Gate<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        for (row, out) in self.gate_up.chunks_exact(2 * self.width).zip(self.out.chunks_mut(self.stride)) {
            let out = &mut out[..self.width];
            let (gate, up) = row.split_at(self.width);
            let whole = self.width - self.width % S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                let gated = self.activation.eval(simd, simd.load(&gate[i..]));
                simd.store(simd.mul(gated, simd.load(&up[i..])), &mut out[i..]);
            }
            let gated = self.activation.eval(simd, simd.load_part(&gate[whole..], 0.0));
            simd.store_part(simd.mul(gated, simd.load_part(&up[whole..], 0.0)), &mut out[whole..]);
        }
    }
}
