//! Where the rows of one head of one batch item are in q, k, v, the mask and the output.

use super::{AttentionShape, Dropout, Qkv};
use std::ops::Range;

/// Keys and values of a head, in the words that products multiply: floats in place, or bf16 (`bf16.rs`).
#[derive(Clone, Copy)]
pub(super) struct KeyValues<'a> {
    /// Rows of words, one a key.
    pub(super) keys: &'a [f32],
    /// Words from one to the next.
    pub(super) key_stride: usize,
    /// Rows of words, each of as many keys as a word has numbers.
    pub(super) values: &'a [f32],
    /// Words from one to the next.
    pub(super) value_stride: usize,
}

/// One head of one batch item.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    q: &'a [f32],
    /// Floats from one query to the next.
    pub(super) row_stride: usize,
    key_values: KeyValues<'a>,
    key_mask: Option<&'a [bool]>,
    dropout: Option<Dropout<'a>>,
    pub(super) tokens: usize,
    pub(super) head_dim: usize,
    scale: f32,
    /// Where query 0 is in `out`: its row, and the first column of the head.
    out: (usize, usize),
    /// b·A + h.
    pub(super) index: usize,
}

impl<'a> Head<'a> {
    /// Head `index` = b·A + h.
    pub(super) fn new(shape: &AttentionShape, qkv: &Qkv<'a>, index: usize) -> Self {
        let AttentionShape { heads, tokens, head_dim, scale, .. } = *shape;
        let (b, h) = (index / heads, index % heads);
        let start = b * tokens * qkv.row_stride + h * head_dim;
        Self {
            q: &qkv.q[start..],
            row_stride: qkv.row_stride,
            key_values: KeyValues {
                keys: &qkv.k[start..],
                key_stride: qkv.row_stride,
                values: &qkv.v[start..],
                value_stride: qkv.row_stride,
            },
            key_mask: qkv.key_mask.map(|mask| &mask[b * tokens..][..tokens]),
            dropout: qkv.dropout,
            tokens,
            head_dim,
            scale,
            out: (b * tokens, h * head_dim),
            index,
        }
    }

    /// The queries from `i` on, `row_stride` apart.
    #[inline(always)]
    pub(super) fn queries(&self, i: usize) -> &'a [f32] {
        &self.q[i * self.row_stride..]
    }

    /// The same head with other keys and values.
    pub(super) fn with_key_values(self, key_values: KeyValues<'a>) -> Self {
        Self { key_values, ..self }
    }

    /// Keys and values.
    #[inline(always)]
    pub(super) fn key_values(&self) -> KeyValues<'a> {
        self.key_values
    }

    /// What queries are multiplied by, so that scores are exponents of two.
    pub(super) fn factor(&self) -> f32 {
        self.scale * std::f32::consts::LOG2_E
    }

    /// Which keys take part; all when there is no mask.
    pub(super) fn key_mask(&self) -> Option<&'a [bool]> {
        self.key_mask
    }

    /// Whether no key takes part.
    pub(super) fn is_masked_whole(&self) -> bool {
        self.key_mask.is_some_and(|takes_part| !takes_part.contains(&true))
    }

    /// The probability of a key for a query after the dropout, if there is one.
    #[inline(always)]
    pub(super) fn dropped(&self, p: f32, query: usize, key: usize) -> f32 {
        match self.dropout {
            Some(Dropout { keep, scale }) if keep[self.row(query) * self.tokens + key] => p * scale,
            Some(_) => 0.0,
            None => p,
        }
    }

    /// A query's row of probabilities in [B·A·S, S].
    #[inline(always)]
    pub(super) fn row(&self, query: usize) -> usize {
        self.index * self.tokens + query
    }

    /// The place of a query in `out` [B·S, A·d]: its row, and the columns of this head.
    #[inline(always)]
    pub(super) fn out_place(&self, query: usize) -> (usize, Range<usize>) {
        let (first, column) = self.out;
        (first + query, column..column + self.head_dim)
    }
}
