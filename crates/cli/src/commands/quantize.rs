//! `quantize`: a checkpoint in lower precision, and how close it is to what it was made of.
//!
//! The folder is written beside its place, weight by weight; then, unless that is not wanted or there is no memory for it, both
//! models run on some pictures. The report is part of the folder, which is renamed last.

mod compare;
mod report;

use self::report::Report;
use crate::{
    args::QuantizeArgs,
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    options,
    output::{OutputFile, OutputFolder, json_line},
    session::Session,
    text,
};
use dinoxide::{Checkpoint, Precision, QuantizeOptions, SaveOptions, layout};
use std::{io::Write, path::Path};

/// The report's name in the folder.
const REPORT_FILE: &str = "quantization_report.json";

pub(super) fn run(args: &QuantizeArgs, session: &mut Session) -> Result<Exit, CliError> {
    let precision = precision(args, session);
    let pictures = compare::find(args, session)?;
    let save = SaveOptions { max_shard_size: shard_size(args)? };
    let folder = OutputFolder::create(&args.output, &Cleanup::on_interrupt())?;
    let original = open(args, session)?;
    let options = QuantizeOptions { precision, save, context: session.context };
    session.printer.start_progress(weights_of(&original), "weights");
    let printer = &session.printer;
    let weights = dinoxide::quantize(&original, folder.path(), &options, &mut |_| printer.advance());
    session.printer.end_progress();
    let (weights, made) = (weights?, Checkpoint::open(folder.path()).map_err(dinoxide::Error::from)?);
    let bytes = [original.total_bytes(), made.total_bytes()];
    let name = args.model.to_string_lossy().into_owned();
    let mut report = Report::new(name, precision, bytes, weights);
    let failed = report.enter(compare::run(&original, &made, &pictures, session)?);
    write_report(&folder, &report)?;
    drop(made);
    folder.commit()?;
    tell(args, &report, session)?;
    Ok(if failed > 0 { Exit::Input } else { Exit::Done })
}

fn precision(args: &QuantizeArgs, session: &Session) -> Precision {
    if args.group_size.is_some() && args.to.group_size().is_none() {
        session.printer.warning(&format!("--group-size: no effect with --to {}", args.to));
    }
    args.group_size.map_or(args.to, |group_size| args.to.with_group_size(group_size))
}

fn shard_size(args: &QuantizeArgs) -> Result<dinoxide::ShardSize, CliError> {
    args.max_shard_size
        .parse()
        .map_err(|error| CliError::of_option("--max-shard-size", dinoxide::Error::Checkpoint(error)))
}

/// The checkpoint, with the numbers that its files have.
fn open(args: &QuantizeArgs, session: &Session) -> Result<Checkpoint, CliError> {
    options::open_with(Some(Precision::F32).into(), &args.model, &args.hub, &session.printer)
}

/// Weights of linear layers that will be written.
fn weights_of(checkpoint: &Checkpoint) -> usize {
    let specs = layout::model_specs(checkpoint.config(), checkpoint.head());
    specs.iter().filter(|spec| spec.is_linear_weight() && checkpoint.tensors().contains(&spec.name)).count()
}

fn write_report(folder: &OutputFolder, report: &Report) -> Result<(), CliError> {
    let path = folder.path().join(REPORT_FILE);
    let mut file = OutputFile::create(&path, &Cleanup::default())?;
    let failed = |source| CliError::Write { path: path.clone(), source };
    serde_json::to_writer_pretty(&mut file, report).map_err(|error| failed(error.into()))?;
    file.write_all(b"\n").map_err(failed)?;
    file.commit()
}

fn tell(args: &QuantizeArgs, report: &Report, session: &mut Session) -> Result<(), CliError> {
    let data = match args.json {
        true => json_line(report).map_err(CliError::Stdout)?,
        false => report.to_string().into_bytes(),
    };
    session.printer.data(&data)?;
    if let Some(reason) = &report.not_compared {
        session.printer.note(&format!("the models were not compared: {reason}"));
    }
    let [before, after] = [report.bytes_before, report.bytes_after].map(text::bytes);
    let target: &Path = &args.output;
    session.printer.note(&format!("wrote {}: {before} became {after}", target.display()));
    Ok(())
}
