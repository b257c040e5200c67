//! `cpu`: what this machine has, what is used of it, and how fast it is at best.

use crate::{args::CpuArgs, error::CliError, exit::Exit, output::json_line, session::Session};
use dinoxide::roof;
use dinoxide::{Context, ContextOptions, Isa};
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
    /// Reads from memory, all threads, and one.
    memory_gb_per_s: f64,
    memory_gb_per_s_one_thread: f64,
}

pub(super) fn run(args: &CpuArgs, session: &mut Session) -> Result<Exit, CliError> {
    let report = measure(session.context)?;
    let text =
        if args.json { json_line(&report).map_err(CliError::Stdout)? } else { table(&report).into_bytes() };
    session.printer.data(&text)?;
    Ok(Exit::Done)
}

fn measure(options: ContextOptions) -> Result<Report, CliError> {
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
        memory_gb_per_s: tenths(roof::memory_gb_per_s(&all)),
        memory_gb_per_s_one_thread: tenths(roof::memory_gb_per_s(&one)),
    })
}

/// A measurement has no more digits than it repeats.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn table(report: &Report) -> String {
    let Report { fma_gflops, fma_gflops_one_thread, memory_gb_per_s, memory_gb_per_s_one_thread, .. } =
        report;
    format!(
        "ISA found      {}\nISA used       {}\ncores          {}\nthreads used   {}\n\
         GEMM roof      {fma_gflops} GFLOP/s f32, {fma_gflops_one_thread} on one thread\n\
         memory         {memory_gb_per_s} GB/s, {memory_gb_per_s_one_thread} on one thread\n",
        report.isa_found.join(", "),
        report.isa,
        report.cores,
        report.threads,
    )
}
