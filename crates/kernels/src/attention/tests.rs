//! Both forms of attention on every level that the machine has, against the naive twin: at head sizes and numbers of
//! tokens around the edges of vectors, tiles and blocks, with masks, with scores far apart, with NaN.
//!
//! And equality to the bit where it is promised: an item in a batch, any number of threads, a query at any place.

use super::*;
use crate::{ContextOptions, Isa, reference};
use dinoxide_testkit::compare::{assert_close, worst};
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::{
    ATTENTION_FAR_SCORES_MAX_ABS, ATTENTION_MAX_ABS, PROBABILITY_MAX_ABS, PROBABILITY_SUM,
};

fn contexts(threads: usize) -> Vec<Context> {
    let context = |isa| Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
    Isa::available().into_iter().map(context).collect()
}

fn shape(batch: usize, heads: usize, tokens: usize, head_dim: usize) -> AttentionShape {
    AttentionShape { batch, heads, tokens, head_dim, scale: (head_dim as f32).powf(-0.5) }
}

/// q, k and v side by side in one buffer [B·S, 3·A·d + gap], as the model lays them out.
struct Input {
    data: Vec<f32>,
    width: usize,
    row_stride: usize,
    key_mask: Option<Vec<bool>>,
}

impl Input {
    fn new(shape: &AttentionShape, gap: usize) -> Self {
        let width = shape.heads * shape.head_dim;
        let row_stride = 3 * width + gap;
        let data = hash32(shape.tokens as u32, shape.batch * shape.tokens * row_stride);
        Self { data, width, row_stride, key_mask: None }
    }

    fn qkv(&self) -> Qkv<'_> {
        let [q, k, v] = [0, 1, 2].map(|i| &self.data[(i * self.width).min(self.data.len())..]);
        Qkv { q, k, v, row_stride: self.row_stride, key_mask: self.key_mask.as_deref(), dropout: None }
    }
}

fn rows_of<'a>(shape: &AttentionShape, out: &'a mut [f32]) -> MatMut<'a> {
    MatMut::new(out, shape.batch * shape.tokens, shape.heads * shape.head_dim)
}

fn run(ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>) -> Vec<f32> {
    let mut out = vec![f32::NAN; shape.batch * shape.tokens * shape.heads * shape.head_dim];
    attention(ctx, shape, qkv, &mut rows_of(shape, &mut out));
    out
}

fn run_eager(ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>) -> (Vec<f32>, Vec<f32>) {
    let mut out = vec![f32::NAN; shape.batch * shape.tokens * shape.heads * shape.head_dim];
    let mut probabilities = vec![f32::NAN; shape.batch * shape.heads * shape.tokens * shape.tokens];
    attention_with_probabilities(ctx, shape, qkv, &mut probabilities, &mut rows_of(shape, &mut out));
    (probabilities, out)
}

/// The twin's result as the fused form gives it: 0 for items whose keys are all masked.
fn fused(shape: &AttentionShape, qkv: &Qkv<'_>, want: &[f32]) -> Vec<f32> {
    let mut want = want.to_vec();
    for (mask, item) in qkv
        .key_mask
        .unwrap_or_default()
        .chunks(shape.tokens)
        .zip(want.chunks_mut(shape.tokens * shape.heads * shape.head_dim))
    {
        if !mask.contains(&true) {
            item.fill(0.0);
        }
    }
    want
}

/// Both forms against the twin; values are of order 1.
fn assert_equals_twin(name: &str, ctx: &Context, shape: &AttentionShape, qkv: &Qkv<'_>) {
    let mut want = vec![0.0; shape.batch * shape.tokens * shape.heads * shape.head_dim];
    let mut want_p = vec![0.0; shape.batch * shape.heads * shape.tokens * shape.tokens];
    reference::attention(shape, qkv, Some(&mut want_p), &mut want);
    let name = format!("{} {name} {shape:?}", ctx.isa());
    assert_close(&name, &run(ctx, shape, qkv), &fused(shape, qkv, &want), ATTENTION_MAX_ABS);
    let (p, out) = run_eager(ctx, shape, qkv);
    assert_close(&name, &out, &want, ATTENTION_MAX_ABS);
    assert_close(&name, &p, &want_p, PROBABILITY_MAX_ABS);
    for row in p.chunks(shape.tokens.max(1)) {
        let sum: f64 = row.iter().map(|&p| f64::from(p)).sum();
        assert!((sum - 1.0).abs() <= PROBABILITY_SUM, "{name}: probabilities sum to {sum}");
    }
}

#[test]
fn attention_equals_its_twin_at_every_head_size() {
    for ctx in contexts(2) {
        for d in [1, 3, 4, 8, 13, 15, 16, 17, 20, 31, 32, 33, 48, 64, 80, 96, 128, 130] {
            let shape = shape(1, 2, 29, d);
            assert_equals_twin("head size", &ctx, &shape, &Input::new(&shape, 0).qkv());
        }
    }
}

#[test]
fn attention_equals_its_twin_at_every_number_of_tokens() {
    for ctx in contexts(3) {
        for tokens in (1..=40).chain([47, 48, 49, 64, 65, 196, 197, 201, 257, 261]) {
            let shape = shape(1, 1, tokens, 16);
            assert_equals_twin("tokens", &ctx, &shape, &Input::new(&shape, 5).qkv());
        }
    }
}

#[test]
fn attention_equals_its_twin_over_several_blocks_of_keys() {
    for ctx in contexts(2) {
        for tokens in [512, 513, 700, 1030, 1100] {
            let shape = shape(1, 1, tokens, 24);
            assert_equals_twin("blocks", &ctx, &shape, &Input::new(&shape, 0).qkv());
        }
    }
}

#[test]
fn masked_keys_take_no_part_and_all_masked_means_none_fused_and_all_alike_eager() {
    for ctx in contexts(2) {
        for tokens in [1, 5, 37, 600] {
            let shape = shape(3, 2, tokens, 20);
            let mut input = Input::new(&shape, 0);
            // Item 0 loses some keys, item 1 its first block, item 2 all of them.
            let keep = |i: usize| match i / tokens {
                0 => i % 3 != 1,
                1 => i % tokens + 3 > tokens,
                _ => false,
            };
            input.key_mask = Some((0..3 * tokens).map(keep).collect());
            assert_equals_twin("mask", &ctx, &shape, &input.qkv());
        }
    }
}

#[test]
fn dropped_probabilities_are_zero_and_the_others_grow() {
    for ctx in contexts(2) {
        for tokens in [5, 37, 600] {
            let shape = shape(2, 2, tokens, 20);
            let input = Input::new(&shape, 0);
            let keep: Vec<bool> = (0..4 * tokens * tokens).map(|i| i % 7 < 5 && i % 3 > 0).collect();
            let qkv = Qkv { dropout: Some(Dropout { keep: &keep, scale: 1.25 }), ..input.qkv() };
            let (mut want, mut want_p) = (vec![0.0; 2 * tokens * 40], vec![0.0; keep.len()]);
            reference::attention(&shape, &qkv, Some(&mut want_p), &mut want);
            let (p, out) = run_eager(&ctx, &shape, &qkv);
            assert_close(ctx.isa().name(), &p, &want_p, PROBABILITY_MAX_ABS);
            assert_close(ctx.isa().name(), &out, &want, ATTENTION_MAX_ABS);
            assert!(p.iter().zip(&keep).all(|(p, keep)| (*p > 0.0) == *keep));
        }
    }
}

#[test]
fn scores_far_apart_neither_overflow_nor_lose_the_largest() {
    for ctx in contexts(1) {
        let shape = AttentionShape { scale: 40.0, ..shape(1, 1, 600, 8) };
        let input = Input::new(&shape, 0);
        let mut want = vec![0.0; 600 * 8];
        reference::attention(&shape, &input.qkv(), None, &mut want);
        let got = run(&ctx, &shape, &input.qkv());
        assert_close(ctx.isa().name(), &got, &want, ATTENTION_FAR_SCORES_MAX_ABS);
    }
}

#[test]
fn nan_stays_in_the_rows_that_saw_it() {
    for ctx in contexts(1) {
        let shape = shape(2, 1, 40, 16);
        let mut input = Input::new(&shape, 0);
        input.data[3 * input.row_stride + 2] = f32::NAN;
        let out = run(&ctx, &shape, &input.qkv());
        for (query, row) in out.chunks(16).enumerate() {
            assert_eq!(row.iter().all(|x| x.is_nan()), query == 3, "{} query {query}", ctx.isa());
            assert_eq!(row.iter().any(|x| x.is_nan()), query == 3, "{} query {query}", ctx.isa());
        }
    }
}

#[test]
fn a_batch_item_has_the_bits_it_has_alone_on_any_number_of_threads() {
    for tokens in [19, 201, 530] {
        let shape = shape(3, 2, tokens, 32);
        let input = Input::new(&shape, 0);
        let single = AttentionShape { batch: 1, ..shape };
        let alone = contexts(1);
        for threads in [1, 2, 3] {
            for (ctx, alone) in contexts(threads).iter().zip(&alone) {
                let together = run(ctx, &shape, &input.qkv());
                let (p_together, eager_together) = run_eager(ctx, &shape, &input.qkv());
                for b in 0..3 {
                    let part = Input {
                        data: input.data[b * tokens * input.row_stride..].to_vec(),
                        ..Input::new(&single, 0)
                    };
                    let name = format!("{} item {b}, {tokens} tokens, {threads} threads", ctx.isa());
                    let range = b * tokens * 64..(b + 1) * tokens * 64;
                    assert_eq!(together[range.clone()], run(alone, &single, &part.qkv()), "{name}");
                    let (p, eager) = run_eager(alone, &single, &part.qkv());
                    assert_eq!(eager_together[range], eager, "{name}");
                    assert_eq!(p_together[b * 2 * tokens * tokens..][..p.len()], p, "{name}");
                }
            }
        }
    }
}

#[test]
fn a_query_has_the_same_bits_at_any_place() {
    let shape = shape(1, 1, 60, 16);
    let mut input = Input::new(&shape, 0);
    let stride = input.row_stride;
    // All queries equal: all rows of the result must be.
    let query: Vec<f32> = input.data[..16].to_vec();
    for row in input.data.chunks_mut(stride) {
        row[..16].copy_from_slice(&query);
    }
    for ctx in contexts(1) {
        let out = run(&ctx, &shape, &input.qkv());
        assert!(out.chunks(16).all(|row| row == &out[..16]), "{}", ctx.isa());
    }
}

#[test]
fn no_tokens_are_no_work() {
    for (batch, heads, tokens) in [(0, 2, 3), (1, 0, 3), (1, 2, 0)] {
        let shape = shape(batch, heads, tokens, 4);
        let input = Input::new(&shape, 0);
        assert_eq!(worst(&run(&contexts(1)[0], &shape, &input.qkv()), &[]).max_abs, 0.0);
    }
}

#[test]
#[should_panic(expected = "out of")]
fn sizes_too_large_to_count_are_not_taken_for_small_ones() {
    let qkv = Qkv { q: &[], k: &[], v: &[], row_stride: 1, key_mask: None, dropout: None };
    attention(&contexts(1)[0], &shape(1 << 32, 1, 1 << 32, 1), &qkv, &mut MatMut::new(&mut [], 0, 1));
}

#[test]
#[should_panic(expected = "probabilities of")]
fn more_probabilities_than_can_be_counted_are_refused() {
    let (tokens, mut out) = (1 << 32, []);
    let qkv = Qkv { q: &[], k: &[], v: &[], row_stride: 1, key_mask: None, dropout: None };
    attention_with_probabilities(
        &contexts(1)[0],
        &shape(1, 1, tokens, 0),
        &qkv,
        &mut [],
        &mut MatMut::new(&mut out, tokens, 0),
    );
}
