//! Every level that the machine has, on several numbers of threads, against the naive twin, at sizes around the edges
//! of tiles, panels and blocks; and equality to the bit where it is promised.

use super::{Epilogue, PackedWeight, gemm};
use crate::{Activation, Context, ContextOptions, Isa, MatMut, MatRef, reference};
use dinoxide_testkit::data::hash32;

/// Each level on 1, 2 and 3 threads.
fn contexts() -> impl Iterator<Item = Context> {
    let with =
        |isa, threads| Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
    Isa::available().into_iter().flat_map(move |isa| (1..=3).map(move |threads| with(isa, threads)))
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

/// The bound of `gemm`'s documentation, in units of √K·ε·Σ|aₖ·wₖ|. Measured over the cases below: at most MEASURED.
const ERROR_BOUND: f32 = 2.0;

fn assert_products(cases: impl Iterator<Item = Case>) {
    let contexts: Vec<Context> = contexts().collect();
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
    assert!(worst.0 <= ERROR_BOUND, "{worst:?}");
}

#[test]
fn products_are_right_around_the_edges_of_tiles_and_panels() {
    let rows = [0, 1, 2, 5, 6, 7, 11, 12, 13, 24, 25];
    let cols = [0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65];
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
