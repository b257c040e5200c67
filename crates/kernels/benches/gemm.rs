//! GEMM at the shapes of vision transformers: checked against the naive twin, then timed, as GFLOP/s and as a share of
//! the FMA roof measured in the same run.
//!
//! `cargo bench -p dinoxide-kernels --bench gemm [-- ISA [THREADS]]`; all levels, on one thread and on all cores, when
//! none is named. Other programs disturb some runs, so the best of many short ones counts.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use dinoxide_kernels::{
    Context, ContextOptions, Epilogue, Isa, MatMut, MatRef, PackedWeight, gemm, reference, roof,
};
use dinoxide_testkit::data::hash32;
use std::time::{Duration, Instant};

const ROWS: [usize; 3] = [257, 1370, 2056];
const WEIGHTS: [(usize, usize); 8] =
    [(384, 384), (1152, 384), (1536, 384), (384, 1536), (768, 768), (3072, 768), (768, 3072), (1024, 1024)];

/// Time for one shape: many runs, to find one that nobody disturbed.
const BUDGET: Duration = Duration::from_millis(400);

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let isas = named.first().map_or_else(Isa::available, |name| vec![name.parse().unwrap()]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = named.get(1).map_or_else(|| vec![1, cores], |n| vec![n.parse().unwrap()]);
    for isa in isas {
        for &threads in &threads {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
            ctx.install(|| report(&ctx));
        }
    }
}

fn report(ctx: &Context) {
    let roof = roof::fma_gflops(ctx);
    let memory = roof::memory_gb_per_s(ctx);
    println!("{}, {} threads: FMA roof {roof:.0} GFLOP/s, memory {memory:.0} GB/s", ctx.isa(), ctx.threads());
    for m in ROWS {
        for (n, k) in WEIGHTS {
            let seconds = seconds(ctx, m, n, k);
            let gflops = (2 * m * n * k) as f64 / seconds / 1e9;
            println!("  {m:4} x {n:4} x {k:4}  {gflops:6.1} GFLOP/s  {:3.0} %", 100.0 * gflops / roof);
        }
    }
    println!("FMA roof again {:.0} GFLOP/s", roof::fma_gflops(ctx));
}

/// Seconds of the fastest run of an (m, n, k) product with bias, after a check of some rows.
fn seconds(ctx: &Context, m: usize, n: usize, k: usize) -> f64 {
    let (a, weight, bias) = (hash32(1, m * k), hash32(2, n * k), hash32(3, n));
    let packed = PackedWeight::pack(ctx, &weight, n, k);
    let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
    let mut out = vec![0.0; m * n];
    let mut run = || gemm(ctx, MatRef::new(&a, m, k), &packed, &epilogue, &mut MatMut::new(&mut out, m, n));
    run();
    let mut best = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed() < BUDGET {
        let run_start = Instant::now();
        run();
        best = best.min(run_start.elapsed().as_secs_f64());
    }
    for r in [0, m - 1] {
        let mut want = vec![0.0; n];
        let row = MatRef::new(&a[r * k..], 1, k);
        reference::gemm(row, &weight, n, &epilogue, &mut MatMut::new(&mut want, 1, n));
        for (got, want) in out[r * n..(r + 1) * n].iter().zip(&want) {
            assert!((got - want).abs() <= 1e-3, "row {r}: {got}, want {want}");
        }
    }
    best
}
