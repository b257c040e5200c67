//! The engine as a worker of `benchmarks/`: a process that loads a model once and then measures what it is asked, line by line.
//!
//! `bench_worker MODEL [DTYPE [THREADS]]`; DTYPE is a [`Precision`]'s name, else the folder's own, THREADS else the environment's
//! `PEERS_THREADS`, else all cores. Inputs are raw little-endian floats [B, C, R, R] in `$PEERS_ROOT/inputs/x_b{B}_r{R}.f32`. Each request
//! has one answer, its name and JSON:
//!
//! `RUN b r secs min` → `RES {"times": [seconds of each forward of the batch]}`, at least `min` and for `secs` · `CHK b r` → `CHK
//! {"v": CLS of the first picture}` · `PICTURE secs min path` → `RES`, file to `pixel_values` · `PIXELS path` → `CHK`, the middle
//! row · `GEMM m n k secs` → `OPS {"dinoxide": [seconds]}` · `MEM` → `MEM {"rss_mb", "peak_mb"}` (MiB) · `QUIT`. What fails is
//! answered by `ERR message`. It starts with `READY {}`.

#![allow(clippy::print_stdout, clippy::print_stderr)] // what a worker is for

use dinoxide::ndarray::{Array4, s};
use dinoxide::{ContextOptions, ImageProcessor, Inputs, LoadOptions, Model, Outputs, Precision};
use dinoxide_kernels::{Epilogue, MatMut, MatRef, PackedWeight, gemm};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The name of an answer and what it holds.
type Answer = (&'static str, Value);

/// What stays between requests.
struct Worker {
    model: Model,
    /// Absent where the checkpoint has none: only pictures need it.
    processor: Option<ImageProcessor>,
    inputs: HashMap<(usize, usize), Array4<f32>>,
    /// Of the last forward; the next one writes over them.
    outputs: Outputs,
    root: PathBuf,
}

fn main() -> ExitCode {
    match start().and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<Worker> {
    let mut args = env::args().skip(1);
    let model = args.next().ok_or("usage: bench_worker MODEL [DTYPE [THREADS]]")?;
    let precision = args.next().map(|dtype| dtype.parse::<Precision>()).transpose()?;
    let threads = args.next().or_else(|| env::var("PEERS_THREADS").ok());
    let threads = threads.map(|text| text.parse().map_err(|_| format!("threads {text}: not a number")));
    let options = LoadOptions {
        context: ContextOptions { threads: threads.transpose()?, isa: None },
        precision,
        ..LoadOptions::default()
    };
    Ok(Worker {
        model: Model::from_pretrained_with(&model, &options)?,
        processor: ImageProcessor::from_pretrained(&model).ok(),
        inputs: HashMap::new(),
        outputs: Outputs::default(),
        root: env::var_os("PEERS_ROOT").map_or_else(|| "target/peers".into(), PathBuf::from),
    })
}

fn serve(mut worker: Worker) -> Result<()> {
    say("READY", &json!({}))?;
    for line in stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        if words == ["QUIT"] {
            break;
        }
        match worker.answer(&words) {
            Ok((name, value)) => say(name, &value)?,
            Err(error) => say("ERR", &Value::String(error.to_string()))?,
        }
    }
    Ok(())
}

fn say(name: &str, value: &Value) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{name} {value}")?;
    Ok(out.flush()?)
}

impl Worker {
    fn answer(&mut self, words: &[&str]) -> Result<Answer> {
        match *words {
            ["RUN", b, r, seconds, least] => {
                let (batch, side, budget) = (b.parse()?, r.parse()?, Budget::parse(seconds, least)?);
                self.load(batch, side)?;
                let times = budget.time(|| self.cls(batch, side))?;
                Ok(("RES", json!({ "times": times })))
            }
            ["CHK", b, r] => {
                let (batch, side) = (b.parse()?, r.parse()?);
                self.load(batch, side)?;
                Ok(("CHK", json!({ "v": self.cls(batch, side)? })))
            }
            ["PICTURE", seconds, least, path] => {
                let times = Budget::parse(seconds, least)?.time(|| Ok(self.processor()?.open(path)?))?;
                Ok(("RES", json!({ "times": times })))
            }
            ["PIXELS", path] => {
                let pixels = self.processor()?.open(path)?;
                let middle = pixels.slice(s![.., pixels.dim().1 / 2, ..]);
                Ok(("CHK", json!({ "v": middle.iter().collect::<Vec<_>>() })))
            }
            ["GEMM", m, n, k, seconds] => {
                let sizes = (m.parse()?, n.parse()?, k.parse()?);
                Ok(("OPS", json!({ "dinoxide": self.gemm(sizes, Budget::parse(seconds, "3")?)? })))
            }
            ["MEM"] => {
                Ok(("MEM", json!({ "rss_mb": status_mib("VmRSS:")?, "peak_mb": status_mib("VmHWM:")? })))
            }
            _ => Err(format!("unknown request: {}", words.join(" ")).into()),
        }
    }

    /// Reads an input unless it is there.
    fn load(&mut self, batch: usize, side: usize) -> Result<()> {
        if let Entry::Vacant(place) = self.inputs.entry((batch, side)) {
            let path = self.root.join(format!("inputs/x_b{batch}_r{side}.f32"));
            let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let floats = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            let shape = (batch, self.model.config().num_channels(), side, side);
            let pixels = Array4::from_shape_vec(shape, floats);
            place.insert(pixels.map_err(|error| format!("{} as {shape:?}: {error}", path.display()))?);
        }
        Ok(())
    }

    /// One forward of a loaded input; the first token of the first picture, where ConvNeXt too has what it pools.
    fn cls(&mut self, batch: usize, side: usize) -> Result<Vec<f32>> {
        let pixels = self.inputs.get(&(batch, side)).ok_or("an input that was not loaded")?;
        self.model.forward_into(&Inputs::new(pixels.view()), &mut self.outputs)?;
        Ok(black_box(&self.outputs.last_hidden_state).slice(s![0, 0, ..]).to_vec())
    }

    fn processor(&self) -> Result<&ImageProcessor> {
        Ok(self.processor.as_ref().ok_or("the checkpoint has no preprocessor_config.json")?)
    }

    /// Seconds of products [m, k] by [n, k] transposed, with a bias, as the layers have them.
    fn gemm(&self, (m, n, k): (usize, usize, usize), budget: Budget) -> Result<Vec<f64>> {
        let ctx = self.model.context();
        let values = |len: usize| (0..len).map(|i| (i % 251) as f32 / 125.0 - 1.0).collect::<Vec<_>>();
        let (a, bias, mut out) = (values(m * k), values(n), vec![0.0; m * n]);
        let packed = PackedWeight::pack(ctx, &values(n * k), n, k);
        let epilogue = Epilogue { bias: Some(&bias), ..Epilogue::default() };
        budget.time(|| {
            gemm(ctx, MatRef::new(&a, m, k), &packed, &epilogue, &mut MatMut::new(&mut out, m, n));
            black_box(&mut out);
            Ok(())
        })
    }
}

/// How long to repeat.
#[derive(Clone, Copy)]
struct Budget {
    seconds: f64,
    least: usize,
}

impl Budget {
    fn parse(seconds: &str, least: &str) -> Result<Self> {
        Ok(Self { seconds: seconds.parse()?, least: least.parse()? })
    }

    /// Seconds of each run.
    fn time<T>(self, mut run: impl FnMut() -> Result<T>) -> Result<Vec<f64>> {
        let (begin, mut times) = (Instant::now(), Vec::new());
        while times.len() < self.least || begin.elapsed().as_secs_f64() < self.seconds {
            let start = Instant::now();
            black_box(run()?);
            times.push(start.elapsed().as_secs_f64());
        }
        Ok(times)
    }
}

/// A line of `/proc/self/status` in MiB.
fn status_mib(key: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix(key)).ok_or("no memory in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}
