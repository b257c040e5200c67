//! Products of bf16 at every level, whether the processor is fast at them or not, against the twin over rounded queries, keys
//! and values; what is left is the rounding of the probabilities.

use super::HeadWords;
use crate::attention::{AttentionShape, Qkv, attention, attention_bf16, attention_bf16_scratch, with_bf16};
use crate::{Context, ContextOptions, Isa, MatMut, reference};
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::ATTENTION_BF16_MAX_ABS;
use half::bf16;

fn contexts() -> Vec<Context> {
    let with =
        |isa, threads| Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
    Isa::available().into_iter().flat_map(|isa| [1, 3].map(|threads| with(isa, threads))).collect()
}

fn shape(batch: usize, heads: usize, tokens: usize, head_dim: usize) -> AttentionShape {
    AttentionShape { batch, heads, tokens, head_dim, scale: (head_dim as f32).powf(-0.5) }
}

fn run(ctx: &Context, shape: &AttentionShape, data: &[f32], key_mask: Option<&[bool]>) -> Vec<f32> {
    let width = shape.heads * shape.head_dim;
    let mut out = vec![f32::NAN; shape.batch * shape.tokens * width];
    let mut rows = MatMut::new(&mut out, shape.batch * shape.tokens, width);
    with_bf16(ctx, shape, &qkv(shape, data, key_mask), &mut rows);
    out
}

/// q, k and v side by side.
fn qkv<'a>(shape: &AttentionShape, data: &'a [f32], key_mask: Option<&'a [bool]>) -> Qkv<'a> {
    let width = shape.heads * shape.head_dim;
    let [q, k, v] = [0, 1, 2].map(|i| &data[i * width..]);
    Qkv { q, k, v, row_stride: 3 * width + 5, key_mask, dropout: None }
}

fn data(shape: &AttentionShape) -> Vec<f32> {
    hash32(shape.tokens as u32, shape.batch * shape.tokens * (3 * shape.heads * shape.head_dim + 5))
}

fn want(shape: &AttentionShape, data: &[f32], key_mask: Option<&[bool]>) -> Vec<f32> {
    let width = shape.heads * shape.head_dim;
    let factor = shape.scale * std::f32::consts::LOG2_E;
    let round = |x: f32| bf16::from_f32(x).to_f32();
    let mut rounded = data.to_vec();
    for row in rounded.chunks_exact_mut(3 * width + 5) {
        row[..width].iter_mut().for_each(|q| *q = round(*q * factor) / factor);
        row[width..].iter_mut().for_each(|x| *x = round(*x));
    }
    let mut out = vec![0.0; shape.batch * shape.tokens * width];
    reference::attention(shape, &qkv(shape, &rounded, key_mask), None, &mut out);
    out
}

#[test]
fn attention_of_bf16_equals_that_of_the_rounded_numbers() {
    let tokens = [1, 2, 3, 31, 32, 33, 127, 128, 129, 257, 300];
    let dims = [64, 1, 3, 15, 16, 17, 32, 48, 80, 130, 64];
    let mut worst = 0.0_f32;
    for ctx in contexts() {
        for (tokens, d) in tokens.into_iter().zip(dims) {
            let shape = shape(2, 2, tokens, d);
            let data = data(&shape);
            let mask: Vec<bool> = (0..2 * tokens).map(|i| i % 3 != 1 || i % tokens == 0).collect();
            for key_mask in [None, Some(&mask[..])] {
                let (got, want) = (run(&ctx, &shape, &data, key_mask), want(&shape, &data, key_mask));
                for (got, want) in got.iter().zip(&want) {
                    worst = worst.max((got - want).abs());
                    assert!((got - want).abs() <= ATTENTION_BF16_MAX_ABS, "{} {shape:?}", ctx.isa());
                }
            }
        }
    }
    println!("largest difference {worst:e}");
}

#[test]
fn an_item_has_the_bits_it_has_alone_on_any_number_of_threads_and_nan_stays_in_its_row() {
    for ctx in contexts() {
        let (three, one) = (shape(3, 2, 201, 32), shape(1, 2, 201, 32));
        let mut data = data(&three);
        data[7 * (3 * 64 + 5) + 3] = f32::NAN;
        let (all, item) = (run(&ctx, &three, &data, None), data.len() / 3);
        for i in 0..3 {
            let alone = run(&ctx, &one, &data[i * item..], None);
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&alone), bits(&all[i * 201 * 64..(i + 1) * 201 * 64]), "{}", ctx.isa());
        }
        for (query, row) in all.chunks(64).enumerate() {
            assert_eq!(row[..32].iter().any(|x| x.is_nan()), query == 7, "{} {query}", ctx.isa());
            assert!(row[32..].iter().all(|x| x.is_finite()), "{} {query}", ctx.isa());
        }
    }
}

#[test]
fn where_the_processor_is_slow_at_it_it_is_that_of_floats() {
    for ctx in contexts().into_iter().filter(|ctx| !ctx.multiplies_bf16()) {
        let shape = shape(1, 2, 40, 24);
        let data = data(&shape);
        let qkv = qkv(&shape, &data, None);
        let (mut floats, mut halves) = (vec![0.0; 40 * 48], vec![0.0; 40 * 48]);
        attention(&ctx, &shape, &qkv, &mut MatMut::new(&mut floats, 40, 48));
        attention_bf16(&ctx, &shape, &qkv, &mut MatMut::new(&mut halves, 40, 48));
        assert_eq!(floats, halves, "{}", ctx.isa());
    }
}

#[test]
fn keys_and_values_take_the_scratch_memory_that_is_told() {
    for (ctx, head_dim) in contexts().iter().flat_map(|ctx| [1, 64, 17].map(|d| (ctx, d))) {
        let shape = shape(2, 3, 10, head_dim);
        let data = data(&shape);
        let words = HeadWords::new(ctx, &shape, &qkv(&shape, &data, None)).words.len();
        let told = attention_bf16_scratch(ctx, shape.heads, head_dim);
        let rows = shape.batch * shape.tokens;
        // The last of an odd number of rows of a head has a word a number too.
        let most = if ctx.multiplies_bf16() { words + rows * shape.heads } else { 0 };
        let least = words.min(most);
        assert!((least..=most).contains(&(rows * told)), "{words} of {rows} rows, {told} told");
    }
}
