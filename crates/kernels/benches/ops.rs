//! All operations but GEMM, at the shapes of the models: checked against the naive twin, then timed, as GFLOP/s with its
//! share of the FMA roof, or as GB/s with its share of a copy's, both measured in the same run.
//!
//! `cargo bench -p dinoxide-kernels --bench ops [-- ISA [THREADS]]`, see `common`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod common;

use common::best_seconds;
use dinoxide_kernels::resample::{AxisWeights, resample_with};
use dinoxide_kernels::{
    Activation, AttentionShape, Context, DepthwiseShape, MatMut, PatchLayout, PatchShape, Qkv, RopeShape,
    activate, attention, attention_bf16, attention_with_probabilities, depthwise_conv7, gate, layer_norm,
    patches, reference, roof, rope,
};
use dinoxide_testkit::compare::assert_close;
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::{
    ACTIVATION_BENCH_MAX_ABS, ATTENTION_MAX_ABS, DEPTHWISE_MAX_ABS, GATE_BENCH_MAX_ABS, LAYER_NORM_MAX_ABS,
    RESAMPLE_MAX_ABS,
};

fn main() {
    common::for_each_context(|ctx| Report::new(ctx).all());
}

/// The roofs of a context, and the benches.
struct Report<'a> {
    ctx: &'a Context,
    /// FMA, GFLOP/s.
    flops: f64,
    /// A copy of 16 MB, read and written, GB/s.
    copy: f64,
}

impl<'a> Report<'a> {
    fn new(ctx: &'a Context) -> Self {
        let floats = 4 << 20;
        let (from, mut to) = (hash32(1, floats), vec![0.0; floats]);
        let seconds = best_seconds(|| {
            ctx.for_each_chunk_mut(&mut to, floats / 16, |i, to| {
                to.copy_from_slice(&from[i * to.len()..][..to.len()]);
            });
        });
        let report = Self { ctx, flops: roof::fma_gflops(ctx), copy: (8 * floats) as f64 / seconds / 1e9 };
        let (isa, threads) = (ctx.isa(), ctx.threads());
        println!("{isa}, {threads} threads: roof {:.0} GFLOP/s, copy {:.1} GB/s", report.flops, report.copy);
        report
    }

    fn all(&self) {
        for (batch, heads, tokens, head_dim) in [
            (1, 6, 257, 64),
            (1, 12, 257, 64),
            (8, 12, 257, 64),
            (1, 12, 1370, 64),
            (1, 20, 201, 64),
            (1, 32, 201, 128),
        ] {
            self.attention(&AttentionShape { batch, heads, tokens, head_dim, scale: 0.125 });
        }
        for (height, width, channels) in
            [(56, 56, 96), (28, 28, 192), (14, 14, 384), (7, 7, 768), (64, 64, 128)]
        {
            self.depthwise(&DepthwiseShape { batch: 1, height, width, channels });
        }
        for activation in
            [Activation::Gelu, Activation::GeluTanh, Activation::Silu, Activation::Mish, Activation::Tanh]
        {
            self.activate(activation, 257 * 1536);
        }
        self.gate(257, 2048);
        self.layer_norm(257, 384);
        self.layer_norm(257, 1024);
        self.rope(12, 64);
        for layout in [PatchLayout::ChannelsFirst, PatchLayout::ChannelsLast] {
            self.patches(14, layout);
        }
        self.patches(16, PatchLayout::ChannelsFirst);
        self.resample(384);
    }

    fn flops(&self, name: &str, flops: usize, seconds: f64) {
        let gflops = flops as f64 / seconds / 1e9;
        let (time, share) = (seconds * 1e6, 100.0 * gflops / self.flops);
        println!("  {name:44} {time:9.1} us  {gflops:6.1} GFLOP/s  {share:3.0} %");
    }

    fn bytes(&self, name: &str, bytes: usize, seconds: f64) {
        let rate = bytes as f64 / seconds / 1e9;
        let (time, share) = (seconds * 1e6, 100.0 * rate / self.copy);
        println!("  {name:44} {time:9.1} us  {rate:6.1} GB/s     {share:3.0} %");
    }

    fn attention(&self, shape: &AttentionShape) {
        let AttentionShape { batch, heads, tokens, head_dim, .. } = *shape;
        let width = heads * head_dim;
        let data = hash32(1, batch * tokens * 3 * width);
        let (q, k, v) = (&data[..], &data[width..], &data[2 * width..]);
        let qkv = Qkv { q, k, v, row_stride: 3 * width, key_mask: None, dropout: None };
        let (mut out, rows) = (vec![0.0; batch * tokens * width], batch * tokens);
        let seconds =
            best_seconds(|| attention(self.ctx, shape, &qkv, &mut MatMut::new(&mut out, rows, width)));
        let bf16_seconds =
            best_seconds(|| attention_bf16(self.ctx, shape, &qkv, &mut MatMut::new(&mut out, rows, width)));
        let mut p = vec![0.0; batch * heads * tokens * tokens];
        let eager_seconds = best_seconds(|| {
            attention_with_probabilities(
                self.ctx,
                shape,
                &qkv,
                &mut p,
                &mut MatMut::new(&mut out, rows, width),
            );
        });
        // The twin of one head is enough of it.
        let one = AttentionShape { batch: 1, heads: 1, ..*shape };
        let mut want = vec![0.0; tokens * head_dim];
        reference::attention(&one, &qkv, None, &mut want);
        for (out, want) in out.chunks(width).zip(want.chunks(head_dim)) {
            assert_close("attention", &out[..head_dim], want, ATTENTION_MAX_ABS);
        }
        let flops = 4 * batch * heads * tokens * tokens * head_dim;
        self.flops(&format!("attention {batch}x{heads}x{tokens}x{head_dim}"), flops, seconds);
        self.flops(&format!("attention {batch}x{heads}x{tokens}x{head_dim}, bf16"), flops, bf16_seconds);
        self.flops(
            &format!("attention {batch}x{heads}x{tokens}x{head_dim}, probabilities"),
            flops,
            eager_seconds,
        );
    }

    fn depthwise(&self, shape: &DepthwiseShape) {
        let DepthwiseShape { batch, height, width, channels } = *shape;
        let x = hash32(1, batch * height * width * channels);
        let (weight, bias) = (hash32(2, 49 * channels), hash32(3, channels));
        let (mut out, mut want) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let seconds = best_seconds(|| depthwise_conv7(self.ctx, shape, &x, &weight, &bias, &mut out));
        reference::depthwise_conv7(shape, &x, &weight, &bias, &mut want);
        assert_close("depthwise", &out, &want, DEPTHWISE_MAX_ABS);
        self.flops(&format!("depthwise 7x7 {height}x{width}x{channels}"), 2 * 49 * x.len(), seconds);
    }

    fn activate(&self, activation: Activation, len: usize) {
        let (x, mut out) = (hash32(1, len), vec![0.0; len]);
        let seconds = best_seconds(|| {
            out.copy_from_slice(&x);
            activate(self.ctx, activation, &mut out);
        });
        let want: Vec<f32> = x.iter().map(|&x| reference::activation(activation, x)).collect();
        assert_close("activation", &out, &want, ACTIVATION_BENCH_MAX_ABS);
        self.bytes(&format!("{activation:?} after a copy, {len}"), 16 * len, seconds);
    }

    fn gate(&self, rows: usize, width: usize) {
        let (x, mut out) = (hash32(1, rows * 2 * width), vec![0.0; rows * width]);
        let seconds =
            best_seconds(|| gate(self.ctx, Activation::Silu, &x, &mut MatMut::new(&mut out, rows, width)));
        let want = |i: usize| reference::activation(Activation::Silu, x[i]) * x[i + width];
        assert_close("gate", &out[..width], &(0..width).map(want).collect::<Vec<_>>(), GATE_BENCH_MAX_ABS);
        self.bytes(&format!("gate {rows}x{width}"), 12 * out.len(), seconds);
    }

    fn layer_norm(&self, rows: usize, d: usize) {
        let (x, weight, bias) = (hash32(1, rows * d), hash32(2, d), hash32(3, d));
        let (mut out, mut want) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        let seconds = best_seconds(|| {
            layer_norm(self.ctx, &x, &weight, &bias, 1e-6, &mut MatMut::new(&mut out, rows, d));
        });
        reference::layer_norm(&x, &weight, &bias, 1e-6, &mut want);
        assert_close("layer norm", &out, &want, LAYER_NORM_MAX_ABS);
        self.bytes(&format!("layer norm {rows}x{d}"), 8 * x.len(), seconds);
    }

    fn rope(&self, heads: usize, head_dim: usize) {
        let shape =
            RopeShape { batch: 1, tokens: 201, prefix: 5, heads, head_dim, row_stride: 3 * heads * head_dim };
        let x = hash32(1, 201 * shape.row_stride);
        let (cos, sin) = (hash32(2, 196 * head_dim), hash32(3, 196 * head_dim));
        let (mut got, mut want) = (x.clone(), x.clone());
        rope(self.ctx, &shape, &cos, &sin, &mut got);
        reference::rope(&shape, &cos, &sin, &mut want);
        assert_close("rope", &got, &want, 0.0);
        // Rotations by angles of length 1 neither grow nor shrink the values, however many there are.
        let (cos, sin) = (vec![0.6; cos.len()], vec![0.8; sin.len()]);
        let seconds = best_seconds(|| rope(self.ctx, &shape, &cos, &sin, &mut got));
        self.bytes(&format!("rope 201x{heads}x{head_dim}"), 8 * 196 * heads * head_dim, seconds);
    }

    fn patches(&self, patch: usize, layout: PatchLayout) {
        let (height, width) = (patch * 16, patch * 16);
        let shape = PatchShape {
            batch: 8,
            channels: 3,
            height,
            width,
            patch_height: patch,
            patch_width: patch,
            layout,
        };
        let pixels = hash32(1, 8 * 3 * height * width);
        let (mut out, mut want) = (vec![0.0; pixels.len()], vec![0.0; pixels.len()]);
        let seconds = best_seconds(|| patches(self.ctx, &shape, &pixels, &mut out));
        reference::patches(&shape, &pixels, &mut want);
        assert_close("patches", &out, &want, 0.0);
        self.bytes(&format!("patches {patch} of 8x3x{height}x{width}, {layout:?}"), 8 * out.len(), seconds);
    }

    fn resample(&self, channels: usize) {
        let map = hash32(1, 37 * 37 * channels);
        let (y, x) = (AxisWeights::bicubic(37, 16), AxisWeights::bicubic(37, 16));
        let got = resample_with(self.ctx, &map, channels, &y, &x);
        assert_close("resample", &got, &reference::resample(&map, channels, &y, &x), RESAMPLE_MAX_ABS);
        let seconds = best_seconds(|| drop(resample_with(self.ctx, &map, channels, &y, &x)));
        self.bytes(&format!("resample 37x37x{channels} to 16x16"), 4 * (map.len() + got.len()), seconds);
    }
}
