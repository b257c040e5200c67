//! `bench`: how fast a model runs here. Forward only, inputs ready, model warm; each forward is timed by itself.
//!
//! Operations are counted by formula (see `cost`), so `gflops` is a rate of useful work, not of instructions. Peak memory is the process's since the row began, where the system can say that (Linux), else absent.

mod profile;

use self::profile::{Report, Roofs};
use super::info::processor_size;
use crate::{
    args::{Attn, BenchArgs, Size},
    cost,
    error::CliError,
    exit::Exit,
    options,
    output::{Table, json_line},
    session::Session,
};
use dinoxide::{Checkpoint, Inputs, Model, Outputs, Precision};
use ndarray::Array4;
use serde::Serialize;
use std::{ffi::OsStr, fs, time::Instant};

/// Floats of a benchmark's inputs: 1 GiB.
const MAX_INPUT_FLOATS: usize = 1 << 28;

/// One combination of batch, size and dtype.
#[derive(Debug, Serialize)]
struct Row {
    model: String,
    family: &'static str,
    dtype: &'static str,
    isa: &'static str,
    threads: usize,
    batch: usize,
    height: usize,
    width: usize,
    rounds: usize,
    ms_per_image: Spread,
    images_per_s: f64,
    gflop_per_image: f64,
    gflops: f64,
    peak_rss_mb: Option<f64>,
    /// With `--profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Report>,
}

/// Over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

pub(super) fn run(args: &BenchArgs, session: &mut Session) -> Result<Exit, CliError> {
    let name = options::model_name(&args.source, &session.env);
    let checkpoint = options::open(&name, &args.source, &session.printer)?;
    let sizes = match args.size.as_slice() {
        [] => vec![default_size(&checkpoint)],
        sizes => sizes.to_vec(),
    };
    let channels = checkpoint.config().num_channels();
    for (size, batch) in combinations(&sizes, &args.batch) {
        check_input(channels, size, batch)?;
    }
    let as_table = (session.printer.stdout_is_terminal() || args.profile) && !args.json;
    let mut rows = Vec::new();
    let (rounds, eager, profile) = (args.rounds, args.attn == Attn::Eager, args.profile);
    let mut done = Vec::new();
    for dtype in &args.dtype {
        let model = load(args, dtype.0, &name, session)?;
        let dtype = dtype_of(&model);
        if done.contains(&dtype) {
            continue; // `auto` is another's name.
        }
        session.model_detail(&model);
        for (size, batch) in combinations(&sizes, &args.batch) {
            let row = measure(&name.to_string_lossy(), &model, Job { size, batch, rounds, eager, profile })?;
            if as_table {
                rows.push(row);
            } else {
                session.printer.data(&json_line(&row).map_err(CliError::Stdout)?)?;
            }
        }
        done.push(dtype);
    }
    if as_table {
        session.printer.data(table(&rows).as_bytes())?;
    }
    Ok(Exit::Done)
}

/// The model in a precision. It is opened for each: the numbers of a file may be rounded for one and not for another.
fn load(
    args: &BenchArgs,
    precision: Option<Precision>,
    name: &OsStr,
    session: &Session,
) -> Result<Model, CliError> {
    let precision = precision.map(|precision| precision.with_group_size(args.group_size));
    let checkpoint = options::open_with(precision.into(), name, &args.source.hub, &session.printer)?;
    Ok(Model::from_checkpoint(&checkpoint, session.run_options(precision))?)
}

/// What most of a model's linear weights are held in.
fn dtype_of(model: &Model) -> &'static str {
    let numbers = |name: &str| -> usize {
        let linears = model.linears().iter().filter(|linear| linear.precision.name() == name);
        linears.map(|linear| linear.shape[0] * linear.shape[1]).sum()
    };
    Precision::NAMES.into_iter().max_by_key(|name| numbers(name)).unwrap_or("f32")
}

/// What a row runs.
#[derive(Debug, Clone, Copy)]
struct Job {
    size: Size,
    batch: usize,
    rounds: usize,
    eager: bool,
    profile: bool,
}

fn combinations<'a>(sizes: &'a [Size], batches: &'a [usize]) -> impl Iterator<Item = (Size, usize)> + 'a {
    sizes.iter().flat_map(|&size| batches.iter().map(move |&batch| (size, batch)))
}

fn default_size(checkpoint: &Checkpoint) -> Size {
    let image_size = checkpoint.config().image_size();
    processor_size(checkpoint).unwrap_or(Size { height: image_size.height, width: image_size.width })
}

/// Refuses inputs beyond [`MAX_INPUT_FLOATS`].
fn check_input(channels: usize, size: Size, batch: usize) -> Result<(), CliError> {
    let floats = [channels, size.height, size.width].iter().try_fold(batch, |len, &n| len.checked_mul(n));
    match floats {
        Some(floats) if floats <= MAX_INPUT_FLOATS => Ok(()),
        _ => Err(CliError::OptionValue {
            option: "--batch",
            got: batch.to_string(),
            reason: format!("pictures of {size} are more than {MAX_INPUT_FLOATS} numbers"),
        }),
    }
}

fn measure(name: &str, model: &Model, job: Job) -> Result<Row, CliError> {
    let Job { size, batch, rounds, eager, profile } = job;
    let roofs = profile.then(|| Roofs::measure(model.context()));
    reset_peak();
    let pixel_values = inputs(batch, model.config().num_channels(), size);
    let inputs = Inputs { eager_attention: eager, ..Inputs::new(pixel_values.view()) };
    let mut outputs = Outputs::default();
    model.forward_into(&inputs, &mut outputs)?;
    if !outputs.last_hidden_state.iter().all(|value| value.is_finite()) {
        return Err(CliError::NotFinite);
    }
    let mut times = Vec::with_capacity(rounds.min(1 << 16));
    if profile {
        model.context().start_profile();
    }
    for _ in 0..rounds {
        let start = Instant::now();
        model.forward_into(&inputs, &mut outputs)?;
        times.push(start.elapsed().as_secs_f64() * 1e3 / batch as f64);
    }
    let peak_rss_mb = peak_mb().map(|mb| digits(mb, 4));
    let profile = roofs.map(|before| {
        let profile = model.context().finish_profile();
        (profile, before.or_better(Roofs::measure(model.context())))
    });
    let spread = spread(times);
    let gflop_per_image = cost::cost(model.config(), size).flops as f64 / 1e9;
    Ok(Row {
        model: name.to_owned(),
        family: model.config().model_type(),
        dtype: dtype_of(model),
        isa: model.context().isa().name(),
        threads: model.context().threads(),
        batch,
        height: size.height,
        width: size.width,
        rounds,
        ms_per_image: Spread {
            min: digits(spread.min, 4),
            median: digits(spread.median, 4),
            max: digits(spread.max, 4),
        },
        images_per_s: digits(1e3 / spread.median, 4),
        gflop_per_image: digits(gflop_per_image, 4),
        gflops: digits(gflop_per_image / spread.median * 1e3, 4),
        peak_rss_mb,
        profile: profile.map(|(profile, roofs)| Report::new(&profile, rounds, roofs)),
    })
}

/// Numbers of the order of pixels, the same in every run; not zeros, whose products may be faster or slower.
fn inputs(batch: usize, channels: usize, size: Size) -> Array4<f32> {
    let mut state = 1_u32;
    Array4::from_shape_simple_fn((batch, channels, size.height, size.width), || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 4_194_304.0 - 2.0
    })
}

/// Least, middle and greatest of some times; at least one.
fn spread(mut times: Vec<f64>) -> Spread {
    times.sort_by(f64::total_cmp);
    let at = |index: usize| times.get(index).copied().unwrap_or(f64::NAN);
    let middle = times.len() / 2;
    let median =
        if times.len() % 2 == 1 { at(middle) } else { (at(middle.saturating_sub(1)) + at(middle)) / 2.0 };
    Spread { min: at(0), median, max: at(times.len().saturating_sub(1)) }
}

/// Rounded to significant digits.
fn digits(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// Forgets the peak so far, where the system can: Linux's `clear_refs`, value 5.
fn reset_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Megabytes (10⁶) of memory that the process had at most: Linux's `VmHWM`.
fn peak_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

fn table(rows: &[Row]) -> String {
    let headings = [
        "batch", "size", "dtype", "isa", "threads", "ms/image", "min", "max", "images/s", "GFLOP/s",
        "peak MB",
    ];
    let mut table = Table::new(&headings);
    for row in rows {
        let Spread { min, median, max } = row.ms_per_image;
        table.row(vec![
            row.batch.to_string(),
            format!("{}x{}", row.height, row.width),
            row.dtype.to_owned(),
            row.isa.to_owned(),
            row.threads.to_string(),
            median.to_string(),
            min.to_string(),
            max.to_string(),
            row.images_per_s.to_string(),
            row.gflops.to_string(),
            row.peak_rss_mb.map_or_else(|| "-".to_owned(), |mb| mb.to_string()),
        ]);
    }
    let profiles = rows.iter().filter_map(|row| Some(format!("\n{}", row.profile.as_ref()?.table())));
    table.to_string() + &profiles.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_of_sorted_times() {
        assert_eq!(spread(vec![3.0, 1.0, 2.0]), Spread { min: 1.0, median: 2.0, max: 3.0 });
        assert_eq!(spread(vec![4.0, 1.0]), Spread { min: 1.0, median: 2.5, max: 4.0 });
    }

    #[test]
    fn figures_are_rounded_to_significant_digits() {
        assert_eq!((digits(123.456, 4), digits(0.001_234_56, 4), digits(0.0, 4)), (123.5, 0.001_235, 0.0));
    }

    #[test]
    fn inputs_beyond_the_limit_are_refused_before_memory_is_taken() {
        let size = Size { height: 16_384, width: 16_384 };
        assert!(check_input(3, size, 1).is_err());
        assert!(check_input(3, Size { height: 224, width: 224 }, 64).is_ok());
        assert!(check_input(3, size, usize::MAX).is_err());
    }
}
