//! The eager form: one panel of a head, on one thread, over all keys at once; it stores the probabilities.

use super::head::Head;
use super::panel::{Panel, StoreSums, panel_width, vectors};
use crate::Context;
use crate::matrix::Blocks;
use crate::simd::{Floats, Operation, Simd};

/// The score of a masked key: far below any other, and a number when multiplied.
const LOWEST: f32 = -1e30;

/// Attention of a panel of a head, with its probabilities.
pub(super) struct Eager<'a> {
    pub(super) ctx: &'a Context,
    pub(super) head: Head<'a>,
    pub(super) panel: usize,
    pub(super) out: &'a Blocks<'a>,
    /// [B·A·S, S].
    pub(super) probabilities: &'a Blocks<'a>,
}

impl Operation for Eager<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { ctx, ref head, panel, out, probabilities } = self;
        let (width, d, tokens) = (panel_width::<S>(), head.head_dim, head.tokens);
        let queries = panel * width..tokens.min((panel + 1) * width);
        let mut memory = ctx.scratch(tokens * width + Panel::len::<S>(d));
        let (scores, memory) = memory.split_at_mut(tokens * width);
        let mut panel = Panel::new::<S>(memory, d);
        panel.start::<S, Floats>(simd, head, queries.clone());
        // Not −∞: when all keys are masked they take part alike, as in Transformers' eager attention.
        panel.scores::<S, Floats>(simd, head, 0..tokens, queries.len(), LOWEST, scores);
        panel.running.update::<S, Floats>(simd, scores, vectors::<S>(queries.len()));
        for (lane, query) in queries.clone().enumerate() {
            let inverse = 1.0 / panel.running.total[lane];
            // SAFETY: this is the row of a query of this panel of this head; no other task has it.
            #[allow(unsafe_code)]
            let row = unsafe { probabilities.row(head.row(query), 0..tokens) };
            for (key, (p, row)) in scores[lane..].iter_mut().step_by(width).zip(row).enumerate() {
                *p = head.dropped(*p * inverse, query, key);
                *row = *p;
            }
        }
        panel.values::<S, Floats>(simd, head, 0..tokens, queries.len(), scores);
        panel.running.factors.fill(1.0);
        let Panel { sums, running, .. } = panel;
        simd.call(StoreSums { head, queries, sums, factors: running.factors, out });
    }
}
