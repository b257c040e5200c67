//! Keys and values as bf16, for products of bf16: made once for all queries.
//!
//! ```text
//! keys    [B·A, S, ⌈d/2⌉]   a word has two numbers of a key
//! values  [B·A, ⌈S/2⌉, d]   a word has a number of two keys
//! ```

#[cfg(test)]
mod tests;

use super::head::KeyValues;
use super::{AttentionShape, Qkv};
use crate::simd::Bf16Pairs;
use crate::words::{PairRows, ToHalves};
use crate::{Buffer, Context};

/// The words of all heads.
pub(super) struct HeadWords<'c> {
    words: Buffer<'c>,
    /// Of the keys of a head, and of the values.
    lens: (usize, usize),
    /// d.
    head_dim: usize,
}

impl<'c> HeadWords<'c> {
    /// Makes them, on the context's threads.
    pub(super) fn new(ctx: &'c Context, shape: &AttentionShape, qkv: &Qkv<'_>) -> Self {
        let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
        let key_words = head_dim.div_ceil(2);
        let lens = (tokens * key_words, tokens.div_ceil(2) * head_dim);
        let mut words = ctx.scratch(batch * heads * (lens.0 + lens.1));
        if lens.0 > 0 {
            ctx.for_each_chunk_mut(&mut words[..], lens.0 + lens.1, |index, words| {
                let (keys, values) = words.split_at_mut(lens.0);
                let start = index / heads * tokens * qkv.row_stride + index % heads * head_dim;
                let place = |token: usize| start + token * qkv.row_stride;
                for (token, words) in keys.chunks_exact_mut(key_words).enumerate() {
                    let row = &qkv.k[place(token)..][..head_dim];
                    ctx.dispatch_products::<Bf16Pairs, _>(ToHalves::<false> { row, words, factor: 1.0 });
                }
                for (pair, words) in values.chunks_exact_mut(head_dim).enumerate() {
                    let row = |token: usize| &qkv.v[place(token)..][..head_dim];
                    let (low, high) = (2 * pair, 2 * pair + 1);
                    let high = (high < tokens).then(|| row(high));
                    ctx.dispatch_products::<Bf16Pairs, _>(PairRows { low: row(low), high, words });
                }
            });
        }
        Self { words, lens, head_dim }
    }

    /// Those of head `index` = b·A + h.
    pub(super) fn of_head(&self, index: usize) -> KeyValues<'_> {
        let (keys, values) = self.words[index * (self.lens.0 + self.lens.1)..].split_at(self.lens.0);
        KeyValues { keys, key_stride: self.head_dim.div_ceil(2), values, value_stride: self.head_dim }
    }
}
