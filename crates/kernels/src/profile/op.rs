//! The kinds and shapes of operations, and what each costs: arithmetic (a multiplication and an addition count two) or
//! bytes moved (each float of input and output once), whichever bounds it.

use crate::{Activation, AttentionShape, DepthwiseShape};
use std::fmt;

/// An operation: its kind and its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// `[m, k] · [n, k]ᵀ`, with its epilogue.
    Gemm {
        /// Rows.
        m: usize,
        /// Columns of the output.
        n: usize,
        /// Columns of the input.
        k: usize,
        /// What happens to the sums.
        epilogue: OpEpilogue,
    },
    /// Attention of `[batch, tokens, heads, head_dim]`.
    Attention {
        /// B.
        batch: usize,
        /// A.
        heads: usize,
        /// S.
        tokens: usize,
        /// d.
        head_dim: usize,
        /// Whether the probabilities are stored.
        eager: bool,
    },
    /// Layer norm of `[rows, width]`.
    LayerNorm {
        /// Rows.
        rows: usize,
        /// D.
        width: usize,
    },
    /// An activation by itself, of so many floats.
    Activation {
        /// Which.
        activation: Activation,
        /// Floats.
        len: usize,
    },
    /// act(gate) · up, of `[rows, 2·width]`.
    Gate {
        /// Which activation.
        activation: Activation,
        /// Rows.
        rows: usize,
        /// F.
        width: usize,
    },
    /// Rotary embedding of `[rows, width]`.
    Rope {
        /// Tokens that are rotated, of all items.
        rows: usize,
        /// Floats of a token that are rotated.
        width: usize,
    },
    /// Pixels to patches `[rows, width]`.
    Patches {
        /// Patches.
        rows: usize,
        /// Floats of a patch.
        width: usize,
    },
    /// Depthwise 7×7 convolution of `[batch, height, width, channels]`.
    DepthwiseConv7 {
        /// B.
        batch: usize,
        /// H.
        height: usize,
        /// W.
        width: usize,
        /// C.
        channels: usize,
    },
    /// Resampling of a map.
    Resample {
        /// (rows, cols) of the input.
        from: (usize, usize),
        /// (rows, cols) of the output.
        to: (usize, usize),
        /// C.
        channels: usize,
    },
}

/// What a GEMM's epilogue does: `out = (act(sum + bias) · scale) [+ out]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpEpilogue {
    /// Adds a bias.
    pub bias: bool,
    /// Applies an activation.
    pub activation: Option<Activation>,
    /// Multiplies by a scale.
    pub scale: bool,
    /// Adds to what the output holds.
    pub accumulate: bool,
}

/// What bounds the speed of an operation at best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpBound {
    /// So many multiplications and additions.
    Arithmetic {
        /// Their number.
        flops: u64,
    },
    /// So many bytes, read or written.
    Memory {
        /// Their number.
        bytes: u64,
    },
}

impl Op {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gemm { .. } => "gemm",
            Self::Attention { .. } => "attention",
            Self::LayerNorm { .. } => "layer norm",
            Self::Activation { .. } => "activation",
            Self::Gate { .. } => "gate",
            Self::Rope { .. } => "rope",
            Self::Patches { .. } => "patches",
            Self::DepthwiseConv7 { .. } => "depthwise conv 7x7",
            Self::Resample { .. } => "resample",
        }
    }

    /// What one call costs, and what bounds it. Taps outside a map count, the softmax of an attention does not.
    #[must_use]
    pub fn bound(&self) -> OpBound {
        match *self {
            Self::Gemm { m, n, k, .. } => flops(&[2, m, n, k]),
            Self::Attention { batch, heads, tokens, head_dim, .. } => {
                flops(&[4, batch, heads, tokens, tokens, head_dim])
            }
            Self::DepthwiseConv7 { batch, height, width, channels } => {
                flops(&[2, 49, batch, height, width, channels])
            }
            Self::LayerNorm { rows, width } | Self::Rope { rows, width } | Self::Patches { rows, width } => {
                bytes(&[2, rows, width])
            }
            Self::Activation { len, .. } => bytes(&[2, len]),
            Self::Gate { rows, width, .. } => bytes(&[3, rows, width]),
            Self::Resample { from, to, channels } => bytes(&[from.0 * from.1 + to.0 * to.1, channels]),
        }
    }
}

fn flops(factors: &[usize]) -> OpBound {
    OpBound::Arithmetic { flops: product(factors) }
}

/// Of so many floats.
fn bytes(factors: &[usize]) -> OpBound {
    OpBound::Memory { bytes: product(factors).saturating_mul(size_of::<f32>() as u64) }
}

fn product(factors: &[usize]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| product.saturating_mul(factor as u64))
}

impl From<&AttentionShape> for Op {
    /// Without stored probabilities.
    fn from(shape: &AttentionShape) -> Self {
        let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
        Self::Attention { batch, heads, tokens, head_dim, eager: false }
    }
}

impl From<&DepthwiseShape> for Op {
    fn from(shape: &DepthwiseShape) -> Self {
        let DepthwiseShape { batch, height, width, channels } = *shape;
        Self::DepthwiseConv7 { batch, height, width, channels }
    }
}

/// The shape, without the kind.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gemm { m, n, k, epilogue } => write!(f, "{m}x{n}x{k}{epilogue}"),
            Self::Attention { batch, heads, tokens, head_dim, eager } => {
                let eager = if *eager { ", eager" } else { "" };
                write!(f, "B={batch} A={heads} S={tokens} d={head_dim}{eager}")
            }
            Self::LayerNorm { rows, width } | Self::Rope { rows, width } | Self::Patches { rows, width } => {
                write!(f, "{rows}x{width}")
            }
            Self::Activation { activation, len } => write!(f, "{len} {}", activation.name()),
            Self::Gate { activation, rows, width } => write!(f, "{rows}x{width} {}", activation.name()),
            Self::DepthwiseConv7 { batch, height, width, channels } => {
                write!(f, "{batch}x{height}x{width}x{channels}")
            }
            Self::Resample { from, to, channels } => {
                write!(f, "{}x{} to {}x{}, {channels} channels", from.0, from.1, to.0, to.1)
            }
        }
    }
}

/// What it does in order, each word after a space: ` bias gelu scale residual`.
impl fmt::Display for OpEpilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bias {
            write!(f, " bias")?;
        }
        if let Some(activation) = self.activation {
            write!(f, " {}", activation.name())?;
        }
        if self.scale {
            write!(f, " scale")?;
        }
        if self.accumulate {
            write!(f, " residual")?;
        }
        Ok(())
    }
}
