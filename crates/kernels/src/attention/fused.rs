//! The fused form: some panels of one head, on one thread, over blocks of keys, with a running softmax.
//!
//! Blocks go outside panels, so that a block's keys and values are read from afar once for all panels of the group.

use super::head::Head;
use super::panel::{Panel, StoreSums, panel_width, vectors};
use crate::Context;
use crate::matrix::Blocks;
use crate::simd::{FloatProducts, Operation, Simd, tile_rows};
use std::marker::PhantomData;
use std::ops::Range;

/// The most panels of a group: their sums (64 KiB at d = 64) stay in the L2 cache beside a block of keys and values.
pub(super) const MAX_PANELS: usize = 8;

/// About the most keys of a block: its scores for a panel (16 KiB), and the panel's sums, stay in the L1 cache.
const MAX_KEYS: usize = 128;

/// Keys in equal blocks, in whole tiles and pairs; they depend on S and the level alone.
#[inline(always)]
fn key_block<S: Simd>(tokens: usize) -> usize {
    tokens.div_ceil(tokens.div_ceil(MAX_KEYS)).next_multiple_of(tile_rows::<S>(2).next_multiple_of(2))
}

/// Fused attention of some panels of a head, at most [`MAX_PANELS`].
pub(super) struct Fused<'a, P> {
    pub(super) ctx: &'a Context,
    pub(super) head: Head<'a>,
    pub(super) panels: Range<usize>,
    pub(super) out: &'a Blocks<'a>,
    pub(super) products: PhantomData<P>,
}

impl<P: FloatProducts> Operation for Fused<'_, P> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) {
        let Self { ctx, ref head, panels, out, .. } = self;
        let (width, d) = (panel_width::<S>(), head.head_dim);
        let queries = |panel: usize| panel * width..head.tokens.min((panel + 1) * width);
        let block = key_block::<S>(head.tokens);
        let mut memory = ctx.scratch(block * width + panels.len() * Panel::len::<S>(d));
        let (scores, memory) = memory.split_at_mut(block * width);
        let panel_memory = memory.chunks_exact_mut(Panel::len::<S>(d));
        let mut of_panels = [const { None }; MAX_PANELS];
        for ((panel, memory), index) in of_panels.iter_mut().zip(panel_memory).zip(panels.clone()) {
            let mut new = Panel::new::<S>(memory, d);
            new.start::<S, P>(simd, head, queries(index));
            *panel = Some((new, queries(index)));
        }
        let masked_whole = head.is_masked_whole();
        for start in (0..head.tokens).step_by(block).take_while(|_| !masked_whole) {
            let keys = start..head.tokens.min(start + block);
            for (panel, queries) in of_panels.iter_mut().flatten() {
                let scores = &mut scores[..keys.len() * width];
                panel.scores::<S, P>(simd, head, keys.clone(), queries.len(), f32::NEG_INFINITY, scores);
                panel.running.update::<S, P>(simd, scores, vectors::<S>(queries.len()));
                panel.values::<S, P>(simd, head, keys.clone(), queries.len(), scores);
            }
        }
        for (panel, queries) in of_panels.iter_mut().flatten() {
            let factors = &mut *panel.running.total;
            if masked_whole {
                factors.fill(0.0);
                panel.sums.fill(0.0);
            } else {
                factors.iter_mut().for_each(|total| *total = 1.0 / *total);
            }
            simd.call(StoreSums { head, queries: queries.clone(), sums: panel.sums, factors, out });
        }
    }
}
