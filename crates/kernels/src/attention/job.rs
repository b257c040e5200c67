//! One part of the queries of one head, on one thread: the fused form (the plan: `attention.rs`).
//!
//! [`Head`] finds the rows of one head of one batch item in q, k, v and out; [`Work`] cuts a job's scratch memory into its
//! parts; [`Job`] runs over blocks of keys and tiles of queries and keeps a running softmax for each query, so that no
//! row of scores is ever longer than a block.

use super::shared::SharedRows;
use super::softmax::{Running, mask};
use super::tile::{self, MAX_KEYS, MAX_ROWS, Panels, SCORES_STRIDE, Scores, row_granularity, tile_rows};
use super::{AttentionShape, Dropout, MOST_QUERIES, Qkv, pack};
use crate::Context;
use crate::simd::{Operation, Simd};
use std::ops::Range;

/// One head of one batch item.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    row_stride: usize,
    key_mask: Option<&'a [bool]>,
    dropout: Option<Dropout<'a>>,
    pub(super) tokens: usize,
    pub(super) head_dim: usize,
    scale: f32,
    /// Where query 0 is in `out`, and how far the next is.
    out_start: usize,
    out_stride: usize,
    /// b·A + h.
    pub(super) index: usize,
}

impl<'a> Head<'a> {
    pub(super) fn new(shape: &AttentionShape, qkv: &Qkv<'a>, b: usize, h: usize) -> Self {
        let AttentionShape { heads, tokens, head_dim, scale, .. } = *shape;
        let start = b * tokens * qkv.row_stride + h * head_dim;
        Self {
            q: &qkv.q[start..],
            k: &qkv.k[start..],
            v: &qkv.v[start..],
            row_stride: qkv.row_stride,
            key_mask: qkv.key_mask.map(|mask| &mask[b * tokens..][..tokens]),
            dropout: qkv.dropout,
            tokens,
            head_dim,
            scale,
            out_start: b * tokens * heads * head_dim + h * head_dim,
            out_stride: heads * head_dim,
            index: b * heads + h,
        }
    }

    #[inline(always)]
    pub(super) fn query(&self, i: usize) -> &[f32] {
        &self.q[i * self.row_stride..][..self.head_dim]
    }

    #[inline(always)]
    pub(super) fn key(&self, i: usize) -> &[f32] {
        &self.k[i * self.row_stride..][..self.head_dim]
    }

    #[inline(always)]
    pub(super) fn value(&self, i: usize) -> &[f32] {
        &self.v[i * self.row_stride..][..self.head_dim]
    }

    /// What the packed queries are multiplied by: scores are exponents of two.
    pub(super) fn factor(&self) -> f32 {
        self.scale * std::f32::consts::LOG2_E
    }

    /// Keys in equal blocks (to a vector of any level); they depend on S alone.
    pub(super) fn key_blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        const WIDEST: usize = 16;
        let tokens = self.tokens;
        let block = tokens.div_ceil(tokens.div_ceil(MAX_KEYS)).next_multiple_of(WIDEST);
        (0..tokens).step_by(block).map(move |start| start..(start + block).min(tokens))
    }

    /// Masks a row of scores of the keys `keys`.
    #[inline(always)]
    pub(super) fn mask(&self, scores: &mut [f32], keys: Range<usize>) {
        if let Some(takes_part) = self.key_mask {
            mask(scores, &takes_part[keys]);
        }
    }

    /// Whether no key takes part.
    fn is_masked_whole(&self) -> bool {
        self.key_mask.is_some_and(|takes_part| !takes_part.contains(&true))
    }

    /// Drops probabilities of a row of a query over all keys.
    pub(super) fn drop(&self, probabilities: &mut [f32], query: usize) {
        let Some(Dropout { keep, scale }) = self.dropout else { return };
        let keep = &keep[(self.index * self.tokens + query) * self.tokens..];
        probabilities.iter_mut().zip(keep).for_each(|(p, keep)| *p = if *keep { *p * scale } else { 0.0 });
    }

    /// Writes one row of sums, times `factor`, to its place.
    #[inline(always)]
    pub(super) fn store(&self, out: &SharedRows<'_>, query: usize, sums: &[f32], factor: f32) {
        let start = self.out_start + query * self.out_stride;
        // SAFETY: this is the row of one query of one head; `for_each_job` gives each to one job, which lends it once.
        #[allow(unsafe_code)]
        let row = unsafe { out.row(start, self.head_dim) };
        row.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * factor);
    }
}

/// The scratch memory of a job, cut into its parts.
pub(super) struct Work<'a> {
    /// Packed queries.
    pub(super) queries: &'a mut [f32],
    /// Sums [rows, d padded].
    pub(super) sums: &'a mut [f32],
    pub(super) keys: &'a mut [f32],
    pub(super) values: &'a mut [f32],
    pub(super) scores: &'a mut Scores,
    /// d padded.
    pub(super) width: usize,
}

impl<'a> Work<'a> {
    /// Floats that a job of so many queries needs.
    pub(super) fn len<S: Simd>(head: &Head<'_>, queries: usize) -> usize {
        let parts = Self::parts::<S>(head, queries);
        parts.iter().sum::<usize>() + MAX_ROWS * SCORES_STRIDE
    }

    /// Lengths of queries, sums, keys, values, each in whole cache lines.
    fn parts<S: Simd>(head: &Head<'_>, queries: usize) -> [usize; 4] {
        let rows = queries.next_multiple_of(row_granularity::<S>());
        let width = head.head_dim.next_multiple_of(S::LANES);
        let keys = head.tokens.next_multiple_of(S::LANES).min(MAX_KEYS);
        [rows * head.head_dim, rows * width, keys * head.head_dim, keys * width]
            .map(|n| n.next_multiple_of(16))
    }

    /// Cuts `buffer`; sums are 0, the rest is whatever it was.
    pub(super) fn new<S: Simd>(head: &Head<'_>, queries: usize, buffer: &'a mut [f32]) -> Self {
        let [q, s, k, v] = Self::parts::<S>(head, queries);
        let (queries, rest) = buffer.split_at_mut(q);
        let (sums, rest) = rest.split_at_mut(s);
        let (keys, rest) = rest.split_at_mut(k);
        let (values, rest) = rest.split_at_mut(v);
        sums.fill(0.0);
        let (rows, _) = rest.as_chunks_mut::<SCORES_STRIDE>();
        let scores = rows.first_chunk_mut::<MAX_ROWS>().unwrap_or_else(|| unreachable!("scores in scratch"));
        Self { queries, sums, keys, values, scores, width: head.head_dim.next_multiple_of(S::LANES) }
    }
}

/// Fused attention of some queries of a head.
pub(super) struct Job<'a> {
    pub(super) ctx: &'a Context,
    pub(super) head: Head<'a>,
    pub(super) queries: Range<usize>,
    pub(super) out: &'a SharedRows<'a>,
}

/// A block of keys, packed.
struct Block<'a> {
    range: Range<usize>,
    keys: Panels<'a>,
    values: Panels<'a>,
}

/// The part of a job's memory that belongs to one tile.
struct TileWork<'a> {
    queries: &'a [f32],
    sums: &'a mut [f32],
    scores: &'a mut Scores,
    running: &'a mut [Running],
}

impl Operation for Job<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { ctx, ref head, ref queries, out } = self;
        let mut buffer = ctx.scratch(Work::len::<S>(head, queries.len()));
        let work = Work::new::<S>(head, queries.len(), &mut buffer);
        if head.is_masked_whole() {
            queries.clone().for_each(|query| head.store(out, query, work.sums, 1.0));
            return;
        }
        let mut running = [Running::START; MOST_QUERIES];
        pack::queries::<S>(head, queries.clone(), head.factor(), work.queries);
        for range in head.key_blocks() {
            let keys = pack::keys::<S>(head, range.clone(), work.keys);
            let values = pack::values::<S>(head, range.clone(), work.values);
            let block = Block { range, keys, values };
            for_each_tile::<S>(
                queries.len(),
                #[inline(always)]
                |first, rows| {
                    let tile = TileWork {
                        queries: &work.queries[first * head.head_dim..][..rows * head.head_dim],
                        sums: &mut work.sums[first * work.width..][..rows * work.width],
                        scores: work.scores,
                        running: &mut running[first..first + rows],
                    };
                    attend(simd, head, &block, tile);
                },
            );
        }
        for ((query, sums), running) in queries.clone().zip(work.sums.chunks_exact(work.width)).zip(&running)
        {
            head.store(out, query, sums, 1.0 / running.total);
        }
    }
}

/// Calls `tile(first row, rows)` for tiles that cover the rows, padded to `row_granularity`.
#[inline(always)]
pub(super) fn for_each_tile<S: Simd>(rows: usize, mut tile: impl FnMut(usize, usize)) {
    let padded = rows.next_multiple_of(row_granularity::<S>());
    for first in (0..padded).step_by(tile_rows::<S>()) {
        tile(first, tile_rows::<S>().min(padded - first));
    }
}

/// A tile's rows attend to a block of keys.
#[inline(always)]
fn attend<S: Simd>(simd: S, head: &Head<'_>, block: &Block<'_>, tile: TileWork<'_>) {
    let TileWork { queries, sums, scores, running } = tile;
    tile::scores(simd, running.len(), queries, block.keys, scores);
    let mut factors = [0.0; MAX_ROWS];
    for ((scores, factor), running) in scores.iter_mut().zip(&mut factors).zip(running.iter_mut()) {
        let scores = &mut scores[..block.range.len()];
        head.mask(scores, block.range.clone());
        *factor = running.update(simd, scores);
    }
    tile::values(simd, running.len(), scores, &factors, block.values, sums);
}
