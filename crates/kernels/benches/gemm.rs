//! GEMM at the shapes of vision transformers: checked against the naive twin, then timed, as GFLOP/s and as a share of
//! the FMA roof measured in the same run.
//!
//! `cargo bench -p dinoxide-kernels --bench gemm [-- ISA [THREADS]]`, see `common`.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod common;

use dinoxide_kernels::{
    Activation, Context, Epilogue, Int4Activations, Int4Weight, Int8Weight, MatMut, MatRef, PackedWeight,
    gemm, reference, roof,
};
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::GEMM_BENCH_MAX_ABS;

const ROWS: [usize; 3] = [257, 1370, 2056];
const WEIGHTS: [(usize, usize); 8] =
    [(384, 384), (1152, 384), (1536, 384), (384, 1536), (768, 768), (3072, 768), (768, 3072), (1024, 1024)];

/// (m, n, k) of first halves of MLPs, which end in GELU: dinov2-small at 224, and the four stages of ConvNeXt tiny.
const WITH_GELU: [(usize, usize, usize); 5] =
    [(257, 1536, 384), (3136, 384, 96), (784, 768, 192), (196, 1536, 384), (49, 3072, 768)];

fn main() {
    common::for_each_context(report);
}

fn report(ctx: &Context) {
    let roof = roof::fma_gflops(ctx);
    let memory = roof::memory_gb_per_s(ctx).unwrap();
    println!("{}, {} threads: FMA roof {roof:.0} GFLOP/s, memory {memory:.0} GB/s", ctx.isa(), ctx.threads());
    let line = |(m, n, k), activation| {
        let seconds = seconds(ctx, (m, n, k), activation);
        let gflops = (2 * m * n * k) as f64 / seconds / 1e9;
        let (share, name) = (100.0 * gflops / roof, activation.map_or("", Activation::name));
        print!("  {m:4} x {n:4} x {k:4} {name:4}  {gflops:6.1} GFLOP/s  {share:3.0} %");
        seconds
    };
    for m in ROWS {
        for (n, k) in WEIGHTS {
            let seconds = line((m, n, k), None);
            let times = compact(ctx, m, n, k).map(|(name, time)| format!("  {name} x{:.2}", seconds / time));
            println!("{}", times.concat());
        }
    }
    for shape in WITH_GELU {
        line(shape, Some(Activation::Gelu));
        println!();
    }
    println!("FMA roof again {:.0} GFLOP/s", roof::fma_gflops(ctx));
}

/// Seconds of the fastest run of an (m, n, k) product with bias and an activation, after a check of some rows.
fn seconds(ctx: &Context, (m, n, k): (usize, usize, usize), activation: Option<Activation>) -> f64 {
    let (a, weight, bias) = (hash32(1, m * k), hash32(2, n * k), hash32(3, n));
    let packed = PackedWeight::pack(ctx, &weight, n, k);
    let epilogue = Epilogue { bias: Some(&bias), activation, ..Epilogue::default() };
    let mut out = vec![0.0; m * n];
    let mut run = || gemm(ctx, MatRef::new(&a, m, k), &packed, &epilogue, &mut MatMut::new(&mut out, m, n));
    let best = common::best_seconds(&mut run);
    for r in [0, m - 1] {
        let mut want = vec![0.0; n];
        let row = MatRef::new(&a[r * k..], 1, k);
        reference::gemm(row, &weight, n, &epilogue, &mut MatMut::new(&mut want, 1, n));
        for (got, want) in out[r * n..(r + 1) * n].iter().zip(&want) {
            assert!((got - want).abs() <= GEMM_BENCH_MAX_ABS, "row {r}: {got}, want {want}");
        }
    }
    best
}

/// The name of each other format, and seconds of the fastest run of a product with it.
fn compact(ctx: &Context, m: usize, n: usize, k: usize) -> [(&'static str, f64); 5] {
    let (a, weight, bias) = (hash32(1, m * k), hash32(2, n * k), hash32(3, n));
    let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
    let int4 = Int4Weight::quantize(ctx, &weight, (n, k), 128);
    let weights = [
        ("bf16", PackedWeight::pack_bf16(ctx, &[(&weight).into()], n, k)),
        ("f16", PackedWeight::pack_f16(ctx, &[(&weight).into()], n, k).unwrap()),
        ("int8", PackedWeight::pack_int8(ctx, &[Int8Weight::quantize(ctx, &weight, n, k)])),
        ("int4", PackedWeight::pack_int4(ctx, std::slice::from_ref(&int4), Int4Activations::Float)),
        ("int4-a8", PackedWeight::pack_int4(ctx, &[int4], Int4Activations::Int8)),
    ];
    let mut out = vec![0.0; m * n];
    weights.map(|(name, packed)| {
        let mut run =
            || gemm(ctx, MatRef::new(&a, m, k), &packed, &epilogue, &mut MatMut::new(&mut out, m, n));
        (name, common::best_seconds(&mut run))
    })
}
