//! `bench --profile`: what the timed forwards spent their time on, by kind and shape of operation, as a share of the roof.
//!
//! Operations count by formula, as everywhere in `bench`. GEMM, attention and convolution are told as a share of the
//! multiply-add roof, all else as a share of the bandwidth of memory: above 1 where caches hold what is moved. Roofs are
//! measured before and after the forwards; the better one counts, as other programs disturb some.

use super::digits;
use crate::output::Table;
use dinoxide::{Context, Op, OpBound, OpTime, Profile, roof};
use serde::Serialize;

/// Kinds whose operations are nearly all of a model's.
const MAIN_KINDS: [&str; 2] = ["gemm", "attention"];

/// The best that this machine does: f32 multiply-adds and reads of memory, all threads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Roofs {
    fma_gflops: f64,
    /// Nothing where there is no memory to measure it with.
    memory_gb_per_s: Option<f64>,
}

impl Roofs {
    /// Measures them.
    pub(super) fn measure(ctx: &Context) -> Self {
        Self { fma_gflops: roof::fma_gflops(ctx), memory_gb_per_s: roof::memory_gb_per_s(ctx).ok() }
    }

    /// The better of two measurements.
    pub(super) fn or_better(self, other: Self) -> Self {
        let memory = [self.memory_gb_per_s, other.memory_gb_per_s].into_iter().flatten();
        Self {
            fma_gflops: self.fma_gflops.max(other.fma_gflops),
            memory_gb_per_s: memory.max_by(f64::total_cmp),
        }
    }
}

/// Where the time of a forward goes.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    fma_gflops: f64,
    memory_gb_per_s: Option<f64>,
    /// Of one forward of the batch, the mean.
    ms: f64,
    /// The longest first.
    ops: Vec<Line>,
    /// Time outside of operations: copies, outputs.
    rest_ms: f64,
    rest_share: f64,
    /// GEMM and attention together.
    main_share: f64,
    main_roof_share: f64,
}

/// Operations of one kind and shape.
#[derive(Debug, Serialize)]
struct Line {
    op: &'static str,
    shape: String,
    /// In a forward.
    calls: f64,
    ms: f64,
    /// Of the forward's time.
    share: f64,
    gflops: Option<f64>,
    gb_per_s: Option<f64>,
    /// Of the roof that bounds it.
    roof_share: Option<f64>,
}

impl Report {
    /// Of so many forwards.
    pub(super) fn new(profile: &Profile, rounds: usize, roofs: Roofs) -> Self {
        let mut ops = profile.ops.clone();
        ops.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let main: Vec<&OpTime> = ops.iter().filter(|op| MAIN_KINDS.contains(&op.op.kind())).collect();
        let seconds: f64 = main.iter().map(|op| op.seconds).sum();
        let giga: f64 = main.iter().map(|op| op.calls as f64 * amount(&op.op)).sum();
        let per_forward = |seconds: f64| digits(seconds * 1e3 / rounds as f64, 4);
        let share = |seconds: f64| digits(seconds / profile.seconds, 3);
        Self {
            fma_gflops: digits(roofs.fma_gflops, 4),
            memory_gb_per_s: roofs.memory_gb_per_s.map(|n| digits(n, 4)),
            ms: per_forward(profile.seconds),
            rest_ms: per_forward(profile.rest_seconds()),
            rest_share: share(profile.rest_seconds()),
            main_share: share(seconds),
            main_roof_share: digits(giga / seconds / roofs.fma_gflops, 3),
            ops: ops
                .iter()
                .map(|op| {
                    let rate = op.calls as f64 * amount(&op.op) / op.seconds;
                    let (arithmetic, roof) = match op.op.bound() {
                        OpBound::Arithmetic { .. } => (true, Some(roofs.fma_gflops)),
                        OpBound::Memory { .. } => (false, roofs.memory_gb_per_s),
                    };
                    Line {
                        op: op.op.kind(),
                        shape: op.op.to_string(),
                        calls: digits(op.calls as f64 / rounds as f64, 4),
                        ms: per_forward(op.seconds),
                        share: share(op.seconds),
                        gflops: arithmetic.then(|| digits(rate, 4)),
                        gb_per_s: (!arithmetic).then(|| digits(rate, 4)),
                        roof_share: roof.map(|roof| digits(rate / roof, 3)),
                    }
                })
                .collect(),
        }
    }

    /// For people.
    pub(super) fn table(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let mut table =
            Table::new(&["op", "shape", "calls", "ms", "time", "GFLOP/s", "GB/s", "share of roof"]);
        let cell = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |n| format!("{n:.1}"));
        for line in &self.ops {
            table.row(vec![
                line.op.to_owned(),
                line.shape.clone(),
                line.calls.to_string(),
                format!("{:.3}", line.ms),
                percent(line.share),
                cell(line.gflops),
                cell(line.gb_per_s),
                line.roof_share.map_or_else(|| "-".to_owned(), percent),
            ]);
        }
        let rest =
            ["rest", "-", "-", &format!("{:.3}", self.rest_ms), &percent(self.rest_share), "-", "-", "-"];
        table.row(rest.map(str::to_owned).to_vec());
        let memory = self.memory_gb_per_s.map_or_else(String::new, |n| format!(", memory {n} GB/s"));
        format!(
            "{table}forward {} ms; GEMM and attention {} of the time at {} of the roof \
             (multiply-adds {} GFLOP/s{memory})\n",
            self.ms,
            percent(self.main_share),
            percent(self.main_roof_share),
            self.fma_gflops,
        )
    }
}

/// Billions of operations, or of bytes, of a call.
fn amount(op: &Op) -> f64 {
    let (OpBound::Arithmetic { flops: amount } | OpBound::Memory { bytes: amount }) = op.bound();
    amount as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{args::Size, cost};
    use dinoxide::{BUILTIN_TINY, ContextOptions, Inputs, LoadOptions, Model};
    use ndarray::Array4;

    fn profile(rounds: usize, threads: usize) -> (Profile, u64) {
        let context = ContextOptions { threads: Some(threads), isa: None };
        let options = LoadOptions { context, ..LoadOptions::default() };
        let model = Model::from_pretrained_with(BUILTIN_TINY, &options).unwrap();
        let pixels = Array4::<f32>::zeros((3, 3, 56, 70));
        model.context().start_profile();
        for _ in 0..rounds {
            model.forward(&Inputs::new(pixels.view())).unwrap();
        }
        let flops = 3 * cost::cost(model.config(), Size { height: 56, width: 70 }).flops;
        (model.context().finish_profile(), flops)
    }

    #[test]
    fn the_operations_of_a_profile_are_those_that_the_config_says() {
        for threads in [1, 2] {
            let (profile, flops) = profile(2, threads);
            let counted = |op: &OpTime| match op.op.bound() {
                OpBound::Arithmetic { flops } => op.calls * flops,
                OpBound::Memory { .. } => 0,
            };
            assert_eq!(profile.ops.iter().map(counted).sum::<u64>(), 2 * flops, "{profile:?}");
        }
    }

    #[test]
    fn times_sum_to_no_more_than_passed() {
        let (profile, _) = profile(3, 2);
        let sum: f64 = profile.ops.iter().map(|op| op.seconds).sum();
        assert!(sum > 0.0 && sum <= profile.seconds, "{sum} of {}", profile.seconds);
        assert!((sum + profile.rest_seconds() - profile.seconds).abs() < 1e-6);
    }

    #[test]
    fn a_report_is_of_one_forward_and_the_longest_operation_is_first() {
        let op = |rows, calls, seconds| OpTime { op: Op::LayerNorm { rows, width: 125 }, calls, seconds };
        let profile = Profile { seconds: 2.0, ops: vec![op(1000, 2, 0.5), op(2000, 4, 1.0)] };
        let roofs = Roofs { fma_gflops: 100.0, memory_gb_per_s: Some(0.01) };
        let report = Report::new(&profile, 2, roofs);
        let [first, second] = &report.ops[..] else { panic!("{report:?}") };
        // 2000·125 floats read and written are 2 MB, twice a second.
        assert_eq!((first.shape.as_str(), first.calls, first.ms, first.share), ("2000x125", 2.0, 500.0, 0.5));
        assert_eq!((first.gb_per_s, first.roof_share, first.gflops), (Some(0.008), Some(0.8), None));
        assert_eq!((second.ms, report.rest_ms, report.ms), (250.0, 250.0, 1000.0));
        assert!(report.table().contains("layer norm  2000x125"), "{}", report.table());
    }
}
