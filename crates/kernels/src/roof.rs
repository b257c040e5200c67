//! The roof of this machine: how fast it multiplies and reads memory at best, measured now, so that a kernel's speed
//! can be told as a share of it. Each figure is the best of several short runs, as other programs disturb some.

use crate::Context;
use crate::simd::{Operation, Simd};
use std::hint::black_box;
use std::time::Instant;

/// Runs of which the best counts.
const RUNS: usize = 12;

/// Chains of dependent FMAs: more than latency (≤ 5 cycles) × FMAs per cycle (≤ 2), and few enough for 16 registers.
const CHAINS: usize = 12;

/// Lanes of the widest level.
const MAX_LANES: usize = 16;

/// Steps of each chain in a run; some milliseconds.
const STEPS: usize = 1 << 20;

/// Floats read in a run: 256 MiB, more than caches hold.
const FLOATS: usize = 1 << 26;

/// Floats that a task reads at a time.
const PIECE: usize = 1 << 16;

/// f32 operations per second (a multiplication and an addition count two) of all threads of the context together,
/// from registers, in GFLOP/s.
#[must_use]
pub fn fma_gflops(ctx: &Context) -> f64 {
    let threads = ctx.threads();
    let flops = (2 * threads * CHAINS * STEPS * ctx.dispatch(Lanes)) as f64;
    let seconds = best_seconds(|| {
        ctx.for_each(threads, |_| {
            black_box(ctx.dispatch(FmaChains));
        });
    });
    flops / seconds / 1e9
}

/// Bytes per second that all threads of the context together read from memory, in GB/s. Takes 256 MiB for a moment.
#[must_use]
pub fn memory_gb_per_s(ctx: &Context) -> f64 {
    // Not zero, as pages of zeros may all be the same page.
    let data = vec![1.0_f32; FLOATS];
    let seconds = best_seconds(|| {
        ctx.for_each(FLOATS / PIECE, |i| {
            black_box(ctx.dispatch(Sum { data: &data[i * PIECE..][..PIECE] }));
        });
    });
    size_of_val(data.as_slice()) as f64 / seconds / 1e9
}

/// Seconds of the fastest of several runs.
fn best_seconds(mut run: impl FnMut()) -> f64 {
    let timed = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    timed.fold(f64::INFINITY, f64::min)
}

struct Lanes;

impl Operation for Lanes {
    type Output = usize;

    #[inline(always)]
    fn eval<S: Simd>(self, _simd: S) -> usize {
        S::LANES
    }
}

struct FmaChains;

impl Operation for FmaChains {
    type Output = f32;

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) -> f32 {
        // The chains converge to 1, so no subnormal slows them. Values come from memory and go there, hidden by
        // `black_box`: the compiler must not compute them, and sees that lanes are vectors, also at the portable level.
        let values = black_box([0.5; CHAINS * MAX_LANES]);
        let (factor, term) = (simd.load(&values), simd.load(&values[1..]));
        let mut chains: [S::Vec; CHAINS] = std::array::from_fn(|i| simd.load(&values[i * S::LANES..]));
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = simd.mul_add(*chain, factor, term);
            }
        }
        let mut results = [0.0; CHAINS * MAX_LANES];
        for (i, chain) in chains.into_iter().enumerate() {
            simd.store(chain, &mut results[i * S::LANES..]);
        }
        black_box(results)[0]
    }
}

/// Reads all of the data.
struct Sum<'a> {
    data: &'a [f32],
}

impl Operation for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn eval<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat(0.0); 8];
        for chunk in self.data.chunks_exact(8 * S::LANES) {
            for (sum, v) in sums.iter_mut().zip(chunk.chunks_exact(S::LANES)) {
                *sum = simd.add(*sum, simd.load(v));
            }
        }
        sums.into_iter().map(|sum| simd.reduce_sum(sum)).sum()
    }
}
