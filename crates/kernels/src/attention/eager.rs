//! One part of the queries of one head, on one thread: the eager form, which stores the probabilities.
//!
//! Scores of all keys go to their place in [B, A, S, S] block by block, the softmax is taken there over whole rows, and
//! the products with the values read them back in blocks.

use super::job::{Head, Work, for_each_tile};
use super::shared::SharedRows;
use super::tile::MAX_ROWS;
use super::{pack, softmax, tile};
use crate::Context;
use crate::simd::{Operation, Simd};
use std::ops::Range;

/// Attention of some queries of a head, with its probabilities.
pub(super) struct EagerJob<'a> {
    pub(super) ctx: &'a Context,
    pub(super) head: Head<'a>,
    pub(super) queries: Range<usize>,
    pub(super) out: &'a SharedRows<'a>,
    /// [B, A, S, S].
    pub(super) probabilities: &'a SharedRows<'a>,
}

impl Operation for EagerJob<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { ctx, head, queries, out, probabilities } = self;
        let mut buffer = ctx.scratch(Work::len::<S>(&head, queries.len()));
        let work = Work::new::<S>(&head, queries.len(), &mut buffer);
        let tokens = head.tokens;
        // SAFETY: these are the rows of this job's queries of this head; no other job has them.
        #[allow(unsafe_code)]
        let rows = unsafe {
            probabilities.row((head.index * tokens + queries.start) * tokens, queries.len() * tokens)
        };
        pack::queries::<S>(&head, queries.clone(), head.factor(), work.queries);
        for block in head.key_blocks() {
            let keys = pack::keys::<S>(&head, block.clone(), work.keys);
            for_each_tile::<S>(
                queries.len(),
                #[inline(always)]
                |first, count| {
                    let queries = &work.queries[first * head.head_dim..][..count * head.head_dim];
                    tile::scores(simd, count, queries, keys, work.scores);
                    for (row, scores) in rows.chunks_exact_mut(tokens).skip(first).zip(&work.scores[..count])
                    {
                        row[block.clone()].copy_from_slice(&scores[..block.len()]);
                    }
                },
            );
        }
        for (query, row) in queries.clone().zip(rows.chunks_exact_mut(tokens)) {
            head.mask(row, 0..tokens);
            softmax::softmax(simd, row);
            head.drop(row, query);
        }
        for block in head.key_blocks() {
            let values = pack::values::<S>(&head, block.clone(), work.values);
            for_each_tile::<S>(
                queries.len(),
                #[inline(always)]
                |first, count| {
                    for (row, p) in rows.chunks_exact(tokens).skip(first).zip(&mut work.scores[..count]) {
                        p[..block.len()].copy_from_slice(&row[block.clone()]);
                    }
                    let sums = &mut work.sums[first * work.width..][..count * work.width];
                    tile::values(simd, count, work.scores, &[1.0; MAX_ROWS], values, sums);
                },
            );
        }
        for (query, sums) in queries.zip(work.sums.chunks_exact(work.width)) {
            head.store(out, query, sums, 1.0);
        }
    }
}
