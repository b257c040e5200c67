//! What the benches share: which contexts to measure, and for how long.
//!
//! `[ISA [THREADS]]` on the command line names one context; all levels, on one thread and on all cores, when none is named.
//! Other programs disturb some runs, so the best of many short ones counts.

use dinoxide_kernels::{Context, ContextOptions, Isa};
use std::time::{Duration, Instant};

/// Time for one shape: many runs, to find one that nobody disturbed.
const BUDGET: Duration = Duration::from_millis(300);

/// Calls `report` for each context asked for, on its threads.
pub(crate) fn for_each_context(report: impl Fn(&Context) + Sync) {
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let isas = named.first().map_or_else(Isa::available, |name| vec![name.parse().unwrap()]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = named.get(1).map_or_else(|| vec![1, cores], |n| vec![n.parse().unwrap()]);
    for isa in isas {
        for &threads in &threads {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap();
            report(&ctx);
        }
    }
}

/// Seconds of the fastest run.
pub(crate) fn best_seconds(mut run: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < BUDGET {
        let run_start = Instant::now();
        run();
        best = best.min(run_start.elapsed().as_secs_f64());
    }
    best
}
