//! Multi-head self-attention: one fused linear for q, k, v; rotary embedding where the family has it; output projection.

use crate::{
    ModelError,
    layers::{
        axial_rope::RopeTable,
        layer::Residual,
        linear::{Linear, LinearShape},
    },
    shape::TokenShape,
    train::KeepMask,
    weights::Weights,
};
use dinoxide_kernels::{
    AttentionShape, Context, Epilogue, MatMut, MatRef, Qkv, RopeShape, attention, attention_bf16,
    attention_bf16_scratch, attention_with_probabilities, rope, row_stride,
};

/// The sizes of an attention, which of its linears have a bias, and what they are called.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttentionConfig {
    /// D.
    pub(crate) hidden_size: usize,
    pub(crate) heads: usize,
    pub(crate) head_dim: usize,
    /// Of q, k, v, out.
    pub(crate) bias: [bool; 4],
    /// Of q, k, v, out.
    pub(crate) names: [&'static str; 4],
}

/// A self-attention.
#[derive(Debug)]
pub(crate) struct Attention {
    qkv: Linear,
    out: Linear,
    heads: usize,
    head_dim: usize,
}

impl Attention {
    /// Reads the four linears.
    pub(crate) fn load(weights: &Weights<'_>, config: &AttentionConfig) -> Result<Self, ModelError> {
        let width = config.heads * config.head_dim;
        let input =
            |i: usize| LinearShape { inputs: config.hidden_size, outputs: width, bias: config.bias[i] };
        let places = [0, 1, 2].map(|i| weights.at(config.names[i]));
        let qkv = Linear::load_fused(&places, &[input(0), input(1), input(2)])?;
        let output = LinearShape { inputs: width, outputs: config.hidden_size, bias: config.bias[3] };
        let out = Linear::load(&weights.at(config.names[3]), output)?;
        Ok(Self { qkv, out, heads: config.heads, head_dim: config.head_dim })
    }

    /// Floats a token of [`Self::forward`]'s working memory: q, k, v and the attended values.
    pub(crate) fn scratch_width(&self) -> usize {
        let width = self.heads * self.head_dim;
        row_stride(3 * width) + row_stride(width)
    }

    /// Floats a token that the kernels take beside that.
    pub(crate) fn kernel_scratch(&self, ctx: &Context) -> usize {
        let fused = match self.qkv.allows_rounded_rows() {
            true => attention_bf16_scratch(ctx, self.heads, self.head_dim),
            false => 0,
        };
        fused.max(self.qkv.row_scratch(ctx)).max(self.out.row_scratch(ctx))
    }

    /// A.
    pub(crate) fn heads(&self) -> usize {
        self.heads
    }

    /// Bytes of the packed weights.
    pub(crate) fn bytes(&self) -> usize {
        self.qkv.bytes() + self.out.bytes()
    }

    /// `residual += scale ⊙ out(attention(x))`; `x` is [B·S, D]. With `probabilities` ([B, A, S, S]) the eager form runs
    /// and fills it.
    pub(crate) fn forward(
        &self,
        ctx: &Context,
        input: &AttentionInput<'_>,
        scratch: &mut [f32],
        probabilities: Option<&mut [f32]>,
        residual: Residual<'_>,
    ) {
        let (rows, width) = (input.shape.rows(), self.heads * self.head_dim);
        if rows == 0 {
            return; // An empty batch: there is no first row to find q, k and v in.
        }
        let (stride, out_stride) = (row_stride(3 * width), row_stride(width));
        let (qkv, rest) = scratch.split_at_mut(rows * stride);
        let attended = &mut rest[..rows * out_stride];
        let mut out = MatMut::with_stride(qkv, rows, 3 * width, stride);
        self.qkv.forward(ctx, input.x, &mut out, Epilogue::default());
        if let Some(table) = input.rope {
            self.rotate(ctx, &input.shape, table, qkv);
        }
        let shape = AttentionShape {
            batch: input.shape.batch,
            heads: self.heads,
            tokens: input.shape.tokens(),
            head_dim: self.head_dim,
            scale: (self.head_dim as f32).powf(-0.5),
        };
        let dropout = input.dropout.map(KeepMask::as_dropout);
        let (q, k, v) = (&qkv[..], &qkv[width..], &qkv[2 * width..]);
        let qkv = Qkv { q, k, v, row_stride: stride, key_mask: input.key_mask, dropout };
        let mut out = MatMut::with_stride(attended, rows, width, out_stride);
        match probabilities {
            Some(probabilities) => attention_with_probabilities(ctx, &shape, &qkv, probabilities, &mut out),
            None if self.qkv.allows_rounded_rows() => attention_bf16(ctx, &shape, &qkv, &mut out),
            None => attention(ctx, &shape, &qkv, &mut out),
        }
        residual.add(ctx, &self.out, MatRef::with_stride(attended, rows, width, out_stride));
    }

    /// Rotates q and k, which lie side by side: to the kernel they are one run of 2·A heads.
    fn rotate(&self, ctx: &Context, shape: &TokenShape, table: &RopeTable, qkv: &mut [f32]) {
        let shape = RopeShape {
            batch: shape.batch,
            tokens: shape.tokens(),
            prefix: shape.prefix,
            heads: 2 * self.heads,
            head_dim: self.head_dim,
            row_stride: row_stride(3 * self.heads * self.head_dim),
        };
        rope(ctx, &shape, &table.cos, &table.sin, qkv);
    }
}

/// What an attention reads.
#[derive(Clone, Copy)]
pub(crate) struct AttentionInput<'a> {
    pub(crate) shape: TokenShape,
    /// [B·S, D].
    pub(crate) x: MatRef<'a>,
    pub(crate) rope: Option<&'a RopeTable>,
    /// [B, S]: the keys that are attended to.
    pub(crate) key_mask: Option<&'a [bool]>,
    /// In train mode, of the probabilities, which there must then be.
    pub(crate) dropout: Option<&'a KeepMask>,
}
