//! Operations that are repeated at the same sizes take no memory from the system: what they need is scratch memory, kept by
//! the context.
//!
//! This binary has an allocator of its own, which counts; its one test runs alone in it.

#![allow(clippy::unwrap_used)]

use dinoxide_kernels::{
    Activation, AttentionShape, Context, ContextOptions, DepthwiseShape, Epilogue, MatMut, MatRef,
    PackedWeight, PatchLayout, PatchShape, Qkv, RopeShape, activate, attention, depthwise_conv7, gate, gemm,
    layer_norm, patches, rope,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static MEMORY: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Rounds of all operations in a row that must allocate nothing.
const REPEATED: usize = 100;

/// Rounds before which such a row must have begun. On one thread the second is already part of it; several may meet in some
/// order that needs one more buffer, each time for good.
const WARM: usize = 5_000;

const TOKENS: usize = 257;
const WIDTH: usize = 128;
const HEADS: usize = 2;

/// What the operations read and write, and the weights.
struct Job {
    ctx: Context,
    /// [WIDTH, WIDTH], and [WIDTH, 8·WIDTH], which is deep enough for partial sums.
    weights: [PackedWeight; 2],
    ones: Vec<f32>,
    x: Vec<f32>,
    out: Vec<f32>,
}

impl Job {
    fn new(threads: usize) -> Self {
        let ctx = Context::new(ContextOptions { threads: Some(threads), isa: None }).unwrap();
        let ones = vec![1.0; 8 * WIDTH * TOKENS];
        let pack = |k| PackedWeight::pack(&ctx, &ones[..WIDTH * k], WIDTH, k);
        let weights = [pack(WIDTH), pack(8 * WIDTH)];
        Self { ctx, weights, x: ones.clone(), out: ones.clone(), ones }
    }

    /// Every operation once.
    fn run(&mut self) {
        let Self { ctx, weights, ones, x, out } = self;
        for weight in weights {
            let epilogue = Epilogue {
                bias: Some(&ones[..WIDTH]),
                activation: Some(Activation::Gelu),
                ..Epilogue::default()
            };
            let a = MatRef::new(ones, TOKENS, weight.k());
            gemm(ctx, a, weight, &epilogue, &mut MatMut::new(out, TOKENS, WIDTH));
        }
        let rows = TOKENS * WIDTH;
        layer_norm(
            ctx,
            &ones[..rows],
            &ones[..WIDTH],
            &ones[..WIDTH],
            1e-6,
            &mut MatMut::new(out, TOKENS, WIDTH),
        );
        activate(ctx, Activation::Silu, &mut x[..rows]);
        gate(ctx, Activation::Silu, &ones[..2 * rows], &mut MatMut::new(out, TOKENS, WIDTH));
        let head_dim = WIDTH / HEADS;
        let shape = AttentionShape { batch: 1, heads: HEADS, tokens: TOKENS, head_dim, scale: 0.1 };
        let (q, k, v) = (&ones[..], &ones[..], &ones[..]);
        let qkv = Qkv { q, k, v, row_stride: WIDTH, key_mask: None, dropout: None };
        attention(ctx, &shape, &qkv, &mut MatMut::new(out, TOKENS, WIDTH));
        let shape =
            RopeShape { batch: 1, tokens: TOKENS, prefix: 1, heads: HEADS, head_dim, row_stride: WIDTH };
        rope(ctx, &shape, ones, ones, x);
        let shape = DepthwiseShape { batch: 1, height: 16, width: 16, channels: WIDTH };
        depthwise_conv7(
            ctx,
            &shape,
            &ones[..256 * WIDTH],
            &ones[..49 * WIDTH],
            &ones[..WIDTH],
            &mut out[..256 * WIDTH],
        );
        let shape = PatchShape {
            batch: 1,
            channels: 3,
            height: 56,
            width: 56,
            patch_height: 14,
            patch_width: 14,
            layout: PatchLayout::ChannelsFirst,
        };
        patches(ctx, &shape, &ones[..3 * 56 * 56], &mut out[..3 * 56 * 56]);
    }
}

/// How many rounds went before the first row of [`REPEATED`] that allocate nothing.
fn rounds_before_silence(job: &mut Job) -> Option<usize> {
    let mut silent = 0;
    for round in 0..WARM + REPEATED {
        let region = Region::new(MEMORY);
        job.run();
        let change = region.change();
        silent = if change.allocations + change.reallocations == 0 { silent + 1 } else { 0 };
        if silent == REPEATED {
            return Some(round + 1 - REPEATED);
        }
    }
    None
}

#[test]
fn operations_that_are_repeated_allocate_nothing() {
    for threads in [1, 2, 3] {
        let warm = rounds_before_silence(&mut Job::new(threads));
        let most = if threads == 1 { 1 } else { WARM };
        assert!(warm.is_some_and(|warm| warm <= most), "{threads} threads: {warm:?} rounds before silence");
    }
}
