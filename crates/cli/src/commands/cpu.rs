//! `cpu`: what this machine has, what is used of it, and how fast it is at best.
//!
//! The two roofs are measured: f32 multiply-adds out of registers, and reads of more memory than caches hold. Where that
//! memory cannot be had, as in a small container, the bandwidth is not measured and the rest is still told.

use crate::{
    args::CpuArgs, error::CliError, exit::Exit, output::json_line, printer::Printer, session::Session,
};
use dinoxide::roof;
use dinoxide::{Context, ContextOptions, Isa, KernelError};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Report {
    isa_found: Vec<&'static str>,
    isa: &'static str,
    cores: usize,
    threads: usize,
    /// f32 multiply-adds from registers, all threads, and one.
    fma_gflops: f64,
    fma_gflops_one_thread: f64,
    /// Reads from memory, all threads, and one; nothing where it could not be measured.
    memory_gb_per_s: Option<f64>,
    memory_gb_per_s_one_thread: Option<f64>,
}

pub(super) fn run(args: &CpuArgs, session: &mut Session) -> Result<Exit, CliError> {
    let report = measure(session.context, &session.printer)?;
    let text =
        if args.json { json_line(&report).map_err(CliError::Stdout)? } else { table(&report).into_bytes() };
    session.printer.data(&text)?;
    Ok(Exit::Done)
}

fn measure(options: ContextOptions, printer: &Printer) -> Result<Report, CliError> {
    let start = |options| Context::new(options).map_err(|error| CliError::from(dinoxide::Error::from(error)));
    let all = start(options)?;
    let one = start(ContextOptions { threads: Some(1), ..options })?;
    Ok(Report {
        isa_found: Isa::available().into_iter().map(Isa::name).collect(),
        isa: all.isa().name(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        threads: all.threads(),
        fma_gflops: tenths(roof::fma_gflops(&all)),
        fma_gflops_one_thread: tenths(roof::fma_gflops(&one)),
        memory_gb_per_s: bandwidth(roof::memory_gb_per_s(&all), printer),
        memory_gb_per_s_one_thread: bandwidth(roof::memory_gb_per_s(&one), printer),
    })
}

/// A bandwidth, or a warning that says why there is none.
fn bandwidth(measured: Result<f64, KernelError>, printer: &Printer) -> Option<f64> {
    match measured {
        Ok(gb_per_s) => Some(tenths(gb_per_s)),
        Err(error) => {
            printer.warning(&format!("memory bandwidth: not measured: {error}"));
            None
        }
    }
}

/// A measurement has no more digits than it repeats.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn table(report: &Report) -> String {
    let Report { fma_gflops, fma_gflops_one_thread, .. } = report;
    let memory =
        |figure: Option<f64>| figure.map_or_else(|| "not measured".to_owned(), |n| format!("{n} GB/s"));
    format!(
        "ISA found      {}\nISA used       {}\ncores          {}\nthreads used   {}\n\
         GEMM roof      {fma_gflops} GFLOP/s f32, {fma_gflops_one_thread} on one thread\n\
         memory         {}, {} on one thread\n",
        report.isa_found.join(", "),
        report.isa,
        report.cores,
        report.threads,
        memory(report.memory_gb_per_s),
        memory(report.memory_gb_per_s_one_thread),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{env::Env, printer::Verbosity};

    #[test]
    fn memory_that_cannot_be_had_leaves_one_figure_out() {
        let printer = Printer::new(Verbosity::Quiet, false, &Env::default());
        let report = Report {
            isa_found: vec!["portable"],
            isa: "portable",
            cores: 1,
            threads: 1,
            fma_gflops: 2.5,
            fma_gflops_one_thread: 2.5,
            memory_gb_per_s: bandwidth(Err(KernelError::Memory { bytes: 1 }), &printer),
            memory_gb_per_s_one_thread: bandwidth(Ok(7.26), &printer),
        };
        assert!(
            table(&report).ends_with("memory         not measured, 7.3 GB/s on one thread\n"),
            "{}",
            table(&report)
        );
        assert_eq!(serde_json::to_value(&report).unwrap()["memory_gb_per_s"], serde_json::Value::Null);
    }
}
