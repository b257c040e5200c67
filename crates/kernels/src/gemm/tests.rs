//! Every level that the machine has, on several numbers of threads, against the naive twin, at sizes around the edges
//! of tiles, panels and blocks; and equality to the bit where it is promised.
//!
//! Errors of sums are counted in √K·2⁻²⁴·Σ|aₖ·wₖ|: rounding errors grow like a random walk over the K terms.

use super::{Epilogue, PackedWeight, gemm};
use crate::{Activation, Context, ContextOptions, Isa, MatMut, MatRef, reference};
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::{GEMM_ACTIVATION, GEMM_ERROR};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Each level on 1, 2 and 3 threads.
fn contexts() -> Vec<Context> {
    let with =
        |isa, threads| Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
    Isa::available().into_iter().flat_map(|isa| (1..=3).map(move |threads| with(isa, threads))).collect()
}

/// A product to compute; rows of `a` and of the output have `gap` floats of something else between them.
#[derive(Debug, Clone, Copy)]
struct Case {
    m: usize,
    n: usize,
    k: usize,
    gap: usize,
}

const GAP_VALUE: f32 = 12_345.0;

impl Case {
    fn dense(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, gap: 0 }
    }

    /// `a` with its gaps, and the weight.
    fn operands(self) -> (Vec<f32>, Vec<f32>) {
        let mut a = hash32(1, self.m * (self.k + self.gap));
        for row in a.chunks_exact_mut((self.k + self.gap).max(1)) {
            row[self.k..].fill(f32::NAN);
        }
        (a, hash32(2, self.n * self.k))
    }

    fn output(self) -> Vec<f32> {
        let mut out = hash32(3, self.m * (self.n + self.gap));
        for row in out.chunks_exact_mut((self.n + self.gap).max(1)) {
            row[self.n..].fill(GAP_VALUE);
        }
        out
    }

    fn a(self, a: &[f32]) -> MatRef<'_> {
        MatRef::with_stride(a, self.m, self.k, self.k + self.gap)
    }

    fn out(self, out: &mut [f32]) -> MatMut<'_> {
        MatMut::with_stride(out, self.m, self.n, self.n + self.gap)
    }

    fn run(self, ctx: &Context, epilogue: &Epilogue<'_>) -> Vec<f32> {
        let ((a, weight), mut out) = (self.operands(), self.output());
        let weight = PackedWeight::pack(ctx, &weight, self.n, self.k);
        gemm(ctx, self.a(&a), &weight, epilogue, &mut self.out(&mut out));
        out
    }

    fn want(self, epilogue: &Epilogue<'_>) -> Vec<f32> {
        let ((a, weight), mut out) = (self.operands(), self.output());
        reference::gemm(self.a(&a), &weight, self.n, epilogue, &mut self.out(&mut out));
        out
    }

    /// Σ|aₖ·wₖ| of each output: what its rounding errors are relative to.
    fn magnitude(self) -> Vec<f32> {
        let (mut a, mut weight) = self.operands();
        a.iter_mut().chain(&mut weight).for_each(|v| *v = v.abs());
        let mut out = vec![0.0; self.m * (self.n + self.gap)];
        reference::gemm(self.a(&a), &weight, self.n, &Epilogue::default(), &mut self.out(&mut out));
        out
    }

    /// Largest error of a plain product in units of √K·ε·Σ|aₖ·wₖ|; gaps must be as they were.
    fn error(self, got: &[f32], want: &[f32], magnitude: &[f32]) -> f32 {
        let unit = (self.k.max(1) as f32).sqrt() * f32::EPSILON / 2.0;
        let errors = got.iter().zip(want).zip(magnitude).map(|((got, want), magnitude)| {
            let error = (got - want).abs() / (unit * magnitude + f32::MIN_POSITIVE);
            if got == want {
                0.0
            } else if error.is_nan() {
                f32::INFINITY
            } else {
                error
            }
        });
        errors.fold(0.0, f32::max)
    }
}

fn assert_products(cases: impl Iterator<Item = Case>) {
    let contexts = contexts();
    let mut worst = (0.0, String::new());
    for case in cases {
        let (want, magnitude) = (case.want(&Epilogue::default()), case.magnitude());
        for ctx in &contexts {
            let got = case.run(ctx, &Epilogue::default());
            let error = case.error(&got, &want, &magnitude);
            if error >= worst.0 {
                worst = (error, format!("{case:?} {} on {} threads", ctx.isa(), ctx.threads()));
            }
        }
    }
    println!("largest error {worst:?}");
    assert!(worst.0 <= GEMM_ERROR, "{worst:?}");
}

#[test]
fn products_are_right_around_the_edges_of_tiles_and_panels() {
    let rows = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 24, 25];
    // Multiples of 24 and 48 have panels of three vectors.
    let cols = [0, 1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 65, 96];
    assert_products(rows.iter().flat_map(|&m| cols.iter().map(move |&n| Case::dense(m, n, 19))));
}

#[test]
fn products_are_right_at_every_short_depth() {
    assert_products((0..=67).map(|k| Case::dense(13, 35, k)));
}

#[test]
fn products_are_right_around_the_edges_of_blocks_and_tasks() {
    let depths = [511, 512, 513, 1024, 1025, 1537].map(|k| Case::dense(14, 67, k));
    let rows = [257, 264, 265, 530].map(|m| Case::dense(m, 70, 40));
    assert_products(
        depths.into_iter().chain(rows).chain([Case::dense(3, 300, 30), Case::dense(257, 513, 600)]),
    );
}

#[test]
fn rows_may_be_apart_and_what_is_between_is_left_alone() {
    let cases = [(1, 1, 1), (13, 35, 19), (257, 40, 30), (5, 33, 600)];
    assert_products(cases.into_iter().map(|(m, n, k)| Case { m, n, k, gap: 7 }));
}

#[test]
fn rows_in_the_same_cache_set_are_right() {
    assert_products(
        [(1, 5, 1024), (13, 35, 1024), (30, 33, 2048)].map(|(m, n, k)| Case::dense(m, n, k)).into_iter(),
    );
}

#[test]
fn every_combination_of_bias_scale_and_residual_is_applied_in_order() {
    for (ctx, (n, k)) in contexts()
        .iter()
        .flat_map(|ctx| [(37, 0), (37, 19), (37, 1000), (48, 19), (48, 1000)].map(|nk| (ctx, nk)))
    {
        let case = Case::dense(14, n, k);
        let (bias, scale, before) = (hash32(4, case.n), hash32(5, case.n), case.output());
        let sums = case.run(ctx, &Epilogue::default());
        for bits in 0..16 {
            let epilogue = Epilogue {
                bias: (bits & 1 != 0).then_some(&bias),
                activation: (bits & 2 != 0).then_some(Activation::Relu),
                scale: (bits & 4 != 0).then_some(&scale),
                accumulate: bits & 8 != 0,
            };
            // The same operations on plain sums must give the same floats.
            for (i, got) in case.run(ctx, &epilogue).into_iter().enumerate() {
                let mut want = sums[i] + epilogue.bias.map_or(0.0, |bias| bias[i % case.n]);
                want = if epilogue.activation.is_some() { want.max(0.0) } else { want };
                want *= epilogue.scale.map_or(1.0, |scale| scale[i % case.n]);
                want += if epilogue.accumulate { before[i] } else { 0.0 };
                assert_eq!(got, want, "{case:?} {} {epilogue:?} at {i}", ctx.isa());
            }
        }
    }
}

#[test]
fn every_activation_follows_the_bias() {
    let case = Case::dense(13, 48, 19);
    let bias = hash32(4, case.n);
    for (ctx, activation) in
        contexts().iter().flat_map(|ctx| Activation::all().into_iter().map(move |a| (ctx, a)))
    {
        let epilogue = Epilogue { bias: Some(&bias), activation: Some(activation), ..Epilogue::default() };
        for (got, want) in case.run(ctx, &epilogue).iter().zip(&case.want(&epilogue)) {
            let error = (got - want).abs() / want.abs().max(1.0);
            assert!(error <= GEMM_ACTIVATION, "{} {activation:?}: {got}, want {want}", ctx.isa());
        }
    }
}

fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn a_row_alone_equals_the_row_in_a_batch_to_the_bit() {
    for (m, n, k, gap) in [
        (257, 35, 70, 0),
        (257, 48, 70, 0),
        (40, 67, 1537, 0),
        (40, 96, 1537, 0),
        (30, 33, 1024, 0),
        (30, 33, 1017, 7),
    ] {
        let case = Case { m, n, k, gap };
        let (bias, (a, weight)) = (hash32(4, n), case.operands());
        let epilogue =
            Epilogue { bias: Some(&bias), activation: Some(Activation::Gelu), ..Epilogue::default() };
        for ctx in contexts() {
            let batch = case.run(&ctx, &epilogue);
            let packed = PackedWeight::pack(&ctx, &weight, n, k);
            for (from, rows) in [(0, 1), (m - 1, 1), (m / 2, 1), (3, 7), (m - 13, 13)] {
                // Dense, whatever the distance of rows was in the batch.
                let part: Vec<f32> = (from..from + rows).flat_map(|r| case.a(&a).row(r).to_vec()).collect();
                let mut out = vec![0.0; rows * n];
                let mut out_view = MatMut::new(&mut out, rows, n);
                gemm(&ctx, MatRef::new(&part, rows, k), &packed, &epilogue, &mut out_view);
                for (i, row) in out.chunks_exact(n).enumerate() {
                    let want = &batch[(from + i) * (n + gap)..][..n];
                    assert_eq!(bits(row), bits(want), "{case:?} {}, row {}", ctx.isa(), from + i);
                }
            }
        }
    }
}

#[test]
fn threads_change_no_bit() {
    for case in [
        Case::dense(257, 200, 70),
        Case::dense(257, 192, 800),
        Case::dense(1, 700, 1600),
        Case::dense(600, 40, 513),
    ] {
        let outputs: Vec<(Isa, Vec<u32>)> =
            contexts().iter().map(|ctx| (ctx.isa(), bits(&case.run(ctx, &Epilogue::default())))).collect();
        for (isa, output) in &outputs {
            let first = outputs.iter().find(|(other, _)| other == isa).unwrap();
            assert_eq!(output, &first.1, "{case:?} {isa}");
        }
    }
}

#[test]
fn a_repeated_product_takes_no_more_scratch_memory() {
    for ctx in contexts() {
        let run = || Case::dense(100, 100, 1600).run(&ctx, &Epilogue::default());
        (0..3).for_each(|_| drop(run()));
        let bytes = ctx.scratch_bytes();
        (0..20).for_each(|_| drop(run()));
        // Threads that never met before may yet need a buffer each.
        assert!(
            ctx.scratch_bytes() <= bytes * ctx.threads(),
            "{} bytes, then {}",
            bytes,
            ctx.scratch_bytes()
        );
    }
}

#[test]
fn a_weight_packed_for_another_level_is_refused() {
    let contexts = contexts();
    for (one, other) in contexts.iter().flat_map(|one| contexts.iter().map(move |other| (one, other))) {
        let weight = PackedWeight::pack(one, &[1.0; 6], 2, 3);
        let product = catch_unwind(AssertUnwindSafe(|| {
            let (mut out, a) = ([0.0; 2], [1.0; 3]);
            let mut out_view = MatMut::new(&mut out, 1, 2);
            gemm(other, MatRef::new(&a, 1, 3), &weight, &Epilogue::default(), &mut out_view);
            out
        }));
        assert_eq!(product.ok(), (one.isa() == other.isa()).then_some([3.0; 2]));
    }
}

#[test]
#[should_panic(expected = "shape of the output")]
fn an_output_of_another_shape_is_refused() {
    let ctx = &contexts()[0];
    let weight = PackedWeight::pack(ctx, &[1.0; 6], 2, 3);
    gemm(
        ctx,
        MatRef::new(&[1.0; 3], 1, 3),
        &weight,
        &Epilogue::default(),
        &mut MatMut::new(&mut [0.0; 3], 1, 3),
    );
}
