//! The roof of this machine: how fast it multiplies and reads memory at best, measured now, so that a kernel's speed
//! can be told as a share of it.
//!
//! Multiplying: chains of dependent multiply-adds, enough of them to hide their latency, all in registers. Reading: sums
//! over more memory than caches hold. Each figure is the best of several short runs, as other programs disturb some.

use crate::simd::{Operation, Simd};
use crate::{Context, KernelError};
use std::hint::black_box;
use std::time::Instant;

/// Runs of which the best counts: short ones, so that some are left in peace.
const RUNS: usize = 32;

/// Chains of dependent FMAs: more than latency (≤ 5 cycles) × FMAs per cycle (≤ 2), and few enough for 16 registers.
const CHAINS: usize = 12;

/// Lanes of the widest level.
const MAX_LANES: usize = 16;

/// Steps of each chain in a run; about a millisecond, so that waking threads does not count.
const STEPS: usize = 1 << 18;

/// Floats of all runs: 128 MiB, four times the L3 cache that the cores of a large processor share. Each run reads other
/// floats than the last, and when the last floats come, all others were read since they were written.
const FLOATS: usize = RUNS * RUN_FLOATS;

/// Floats read in a run: 4 MiB.
const RUN_FLOATS: usize = 1 << 20;

/// Floats that a task reads at a time.
const PIECE: usize = 1 << 16;

/// f32 operations per second (a multiplication and an addition count two) of all threads of the context together,
/// from registers, in GFLOP/s.
#[must_use]
pub fn fma_gflops(ctx: &Context) -> f64 {
    let threads = ctx.threads();
    let flops = (2 * threads * CHAINS * STEPS * ctx.dispatch(Lanes)) as f64;
    let seconds = best_seconds(|_| {
        ctx.for_each(threads, |_| {
            black_box(ctx.dispatch(FmaChains));
        });
    });
    flops / seconds / 1e9
}

/// Bytes per second that all threads of the context together read from memory, in GB/s. Takes 128 MiB for a moment.
///
/// # Errors
/// [`KernelError::Memory`] when the system does not give them.
pub fn memory_gb_per_s(ctx: &Context) -> Result<f64, KernelError> {
    let data = ones(FLOATS)?;
    let seconds = best_seconds(|run| {
        let data = &data[run * RUN_FLOATS..][..RUN_FLOATS];
        ctx.for_each(RUN_FLOATS / PIECE, |i| {
            black_box(ctx.dispatch(Sum { data: &data[i * PIECE..][..PIECE] }));
        });
    });
    Ok((RUN_FLOATS * size_of::<f32>()) as f64 / seconds / 1e9)
}

/// So many ones: not zeros, as pages of zeros may all be the same page.
fn ones(len: usize) -> Result<Vec<f32>, KernelError> {
    let mut data = Vec::new();
    let refused = |_| KernelError::Memory { bytes: len.saturating_mul(size_of::<f32>()) };
    data.try_reserve_exact(len).map_err(refused)?;
    data.resize(len, 1.0);
    Ok(data)
}

/// Seconds of the fastest of the runs, which get their numbers.
fn best_seconds(run: impl Fn(usize)) -> f64 {
    let timed = (0..RUNS).map(|i| {
        let start = Instant::now();
        run(i);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContextOptions, Isa};

    #[test]
    fn chains_converge_to_one_on_every_level() {
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(1) }).unwrap();
            assert_eq!(ctx.dispatch(FmaChains), 1.0, "{isa}");
        }
    }

    #[test]
    fn memory_that_there_is_not_is_an_error() {
        assert_eq!(ones(3), Ok(vec![1.0; 3]));
        let bytes = isize::MAX as usize - 3;
        assert_eq!(ones(bytes / 4), Err(KernelError::Memory { bytes }));
        assert_eq!(ones(usize::MAX), Err(KernelError::Memory { bytes: usize::MAX }));
    }

    #[test]
    fn all_data_is_read() {
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(1) }).unwrap();
            assert_eq!(ctx.dispatch(Sum { data: &[1.0; 1024] }), 1024.0, "{isa}");
        }
    }
}
