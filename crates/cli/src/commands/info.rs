//! `info`: what a checkpoint holds, and what a picture costs. No weight is read.
//!
//! Names, shapes and dtypes are those of the files. The number of parameters, memory and operations are counted from the
//! config by formula (see `cost`), not measured, and the output says so.

use crate::{
    args::{InfoArgs, Size},
    cost,
    error::CliError,
    exit::Exit,
    inputs::made_of,
    licence::{self, Licence},
    options,
    output::json_line,
    session::Session,
    text,
};
use dinoxide::{
    Checkpoint, ImageProcessor, Precision, TensorSpec,
    config::{ModelConfig, ProblemType},
    layout,
};
use serde::Serialize;

/// How costs are found.
const FORMULA: &str = "formula";

/// Labels, and names of tensors, that the table shows.
const NAMES_SHOWN: usize = 3;

/// What replaces a masked patch.
const MASK_TOKEN: &str = "embeddings.mask_token";

#[derive(Debug, Serialize)]
struct Report {
    model: String,
    family: &'static str,
    /// Of the model without a classifier, counted from the config.
    parameters: u64,
    hidden_size: usize,
    /// Layers of a ViT; of a ConvNeXt, of all stages together.
    num_hidden_layers: usize,
    patch_size: Option<[usize; 2]>,
    num_register_tokens: usize,
    image_size: [usize; 2],
    /// What the processor makes of a picture, where that is one size.
    processor_size: Option<[usize; 2]>,
    dtype: Option<String>,
    /// What the weights of linear layers are held in, as `--dtype` names it; `mixed` where they differ.
    precision: &'static str,
    /// Inputs of a group of 4-bit weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    group_size: Option<usize>,
    file_bytes: u64,
    stages: Vec<String>,
    /// Of each stage.
    channels: Vec<usize>,
    /// The stages that a backbone gives when none are chosen.
    out_features: Vec<String>,
    /// Whether patches can be masked.
    mask_token: bool,
    classifier: bool,
    labels: Vec<String>,
    problem_type: Option<&'static str>,
    /// Tensors of the model that the files lack; it works without them.
    missing_keys: Vec<String>,
    /// Tensors of the files that the model has no use for.
    unexpected_keys: Vec<String>,
    licence: Option<String>,
    licence_from: Option<&'static str>,
    picture: PictureCost,
}

/// For one picture of this size.
#[derive(Debug, Serialize)]
struct PictureCost {
    size: [usize; 2],
    /// How the numbers below were found.
    method: &'static str,
    flops: u64,
    weight_bytes: u64,
    activation_bytes: u64,
}

pub(super) fn run(args: &InfoArgs, session: &mut Session) -> Result<Exit, CliError> {
    let name = args.name.clone().unwrap_or_else(|| options::model_name(&args.source, &session.env));
    let checkpoint = options::open(&name, &args.source, &session.printer)?;
    warn_of_classifier(&checkpoint, session);
    let report = report(&name.to_string_lossy(), &checkpoint, args.size);
    let text =
        if args.json { json_line(&report).map_err(CliError::Stdout)? } else { table(&report).into_bytes() };
    session.printer.data(&text)?;
    Ok(Exit::Done)
}

fn report(name: &str, checkpoint: &Checkpoint, size: Option<Size>) -> Report {
    let config = checkpoint.config();
    let seen = processor_size(checkpoint);
    let image_size = config.image_size();
    let image_size = Size { height: image_size.height, width: image_size.width };
    let size = size.or(seen).unwrap_or(image_size);
    let cost = cost::cost(config, size);
    let parameters = layout::parameter_count(config);
    let licence = licence::of(checkpoint);
    let precision = precision(checkpoint);
    Report {
        model: name.to_owned(),
        family: config.model_type(),
        parameters,
        hidden_size: config.hidden_size(),
        num_hidden_layers: layers(config),
        patch_size: config.patch_size().map(|size| [size.height, size.width]),
        num_register_tokens: config.num_register_tokens(),
        image_size: pair(image_size),
        processor_size: seen.map(pair),
        dtype: checkpoint.file_dtype().map(|dtype| format!("{dtype:?}").to_lowercase()),
        precision: precision.map_or("mixed", Precision::name),
        group_size: precision.and_then(Precision::group_size),
        file_bytes: checkpoint.total_bytes(),
        stages: config.stage_names(),
        channels: config.num_features(),
        out_features: config.stages().unwrap_or_default().into_iter().map(|stage| stage.name).collect(),
        mask_token: checkpoint.tensors().contains(MASK_TOKEN),
        classifier: checkpoint.has_classifier(),
        labels: labels(checkpoint),
        problem_type: config.common().problem_type.map(ProblemType::name),
        missing_keys: checkpoint.loading_info().missing_keys.clone(),
        unexpected_keys: checkpoint.loading_info().unexpected_keys.clone(),
        licence: licence.as_ref().map(|licence| licence.name.clone()),
        licence_from: licence.as_ref().map(|Licence { from, .. }| *from),
        picture: PictureCost {
            size: pair(size),
            method: FORMULA,
            flops: cost.flops,
            weight_bytes: weight_bytes(checkpoint),
            activation_bytes: cost.activation_bytes,
        },
    }
}

/// What the linear layers are held in when nothing is asked; nothing where they differ.
fn precision(checkpoint: &Checkpoint) -> Option<Precision> {
    let held = linears(checkpoint.config()).map(|spec| Precision::of_tensor(checkpoint, &spec.name));
    let mut all: Vec<_> = held.collect();
    all.dedup();
    match all[..] {
        [] => Some(Precision::F32),
        [only] => Some(only),
        _ => None,
    }
}

/// The weights of the linear layers, without the classifier's.
fn linears(config: &ModelConfig) -> impl Iterator<Item = TensorSpec> {
    layout::tensor_specs(config).into_iter().filter(TensorSpec::is_linear_weight)
}

/// Bytes of the weights as they are held when nothing is asked, without the classifier's: all but linear layers in f32.
fn weight_bytes(checkpoint: &Checkpoint) -> u64 {
    let config = checkpoint.config();
    let held = |spec: TensorSpec| {
        let precision = Precision::of_tensor(checkpoint, &spec.name);
        let [rows, columns] = [0, 1].map(|axis| spec.shape.get(axis).copied().unwrap_or(0));
        (spec.elements(), precision.storage().weight_bytes([rows, columns]))
    };
    let (elements, bytes) = linears(config)
        .map(held)
        .fold((0_u64, 0_u64), |sum, one| (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1)));
    layout::parameter_count(config).saturating_sub(elements).saturating_mul(4).saturating_add(bytes)
}

/// Says what is wrong with a classifier that is there; the model works without it.
fn warn_of_classifier(checkpoint: &Checkpoint, session: &Session) {
    if checkpoint.has_classifier()
        && let Err(error) = checkpoint.check_classifier()
    {
        session.printer.warning(&error.to_string());
    }
}

/// What the processor makes of any picture; nothing where that depends on the picture, or where there is no processor.
pub(super) fn processor_size(checkpoint: &Checkpoint) -> Option<Size> {
    let processor = ImageProcessor::from_checkpoint(checkpoint).ok()?;
    // A resize that ends the same for a wide and a tall picture ends the same for all.
    let made = |sides| made_of(processor.spec(), sides);
    made((480, 640)).filter(|&wide| made((640, 480)) == Some(wide))
}

fn pair(size: Size) -> [usize; 2] {
    [size.height, size.width]
}

fn layers(config: &ModelConfig) -> usize {
    match config {
        ModelConfig::Dinov2(config) => config.num_hidden_layers,
        ModelConfig::Dinov2WithRegisters(config) => config.base.num_hidden_layers,
        ModelConfig::DINOv3Vit(config) => config.num_hidden_layers,
        ModelConfig::DINOv3ConvNext(config) => config.depths.iter().sum(),
    }
}

/// The labels of a classifier; a config without one has labels too, which mean nothing.
fn labels(checkpoint: &Checkpoint) -> Vec<String> {
    if !checkpoint.has_classifier() {
        return Vec::new();
    }
    checkpoint.config().common().id2label.iter().map(|(_, label)| label.clone()).collect()
}

fn table(report: &Report) -> String {
    let by = |[height, width]: [usize; 2]| format!("{height}x{width}");
    let stages = match report.stages.as_slice() {
        [first, .., last] => format!("{first}, … {last} ({})", report.stages.len()),
        stages => stages.join(", "),
    };
    let licence = match (&report.licence, report.licence_from) {
        (Some(name), Some(from)) => format!("{name} (from {from})"),
        _ => "unknown".to_owned(),
    };
    let picture = &report.picture;
    let memory = format!(
        "{} of weights ({}), {} for a picture of {} ({FORMULA})",
        text::bytes(picture.weight_bytes),
        report.precision,
        text::bytes(picture.activation_bytes),
        by(picture.size)
    );
    let flops =
        format!("{:.2} GFLOP for a picture of {} ({FORMULA})", picture.flops as f64 / 1e9, by(picture.size));
    let mut dtype = report.dtype.clone().unwrap_or_else(|| "none".to_owned());
    if report.precision != dtype {
        let groups = report.group_size.map(|size| format!(" in groups of {size}")).unwrap_or_default();
        dtype = format!("{dtype}, linear layers {}{groups}", report.precision);
    }
    let rows = [
        ("model", report.model.clone()),
        ("family", report.family.to_owned()),
        (
            "parameters",
            format!("{} ({:.1} M, by the config)", report.parameters, report.parameters as f64 / 1e6),
        ),
        ("hidden size", report.hidden_size.to_string()),
        ("layers", report.num_hidden_layers.to_string()),
        ("patch", report.patch_size.map_or_else(|| "none".to_owned(), by)),
        ("registers", report.num_register_tokens.to_string()),
        ("image size", by(report.image_size)),
        ("model sees", report.processor_size.map_or_else(|| "depends on the picture".to_owned(), by)),
        ("dtype", format!("{dtype}, {} in files", text::bytes(report.file_bytes))),
        ("stages", stages),
        ("channels", channels(&report.channels)),
        ("mask token", yes(report.mask_token)),
        ("classifier", yes(report.classifier)),
        ("labels", first_of(&report.labels)),
        ("licence", licence),
        ("memory", memory),
        ("work", flops),
    ];
    let problem_type = report.problem_type.map(|name| ("problem type", name.to_owned()));
    let keys = [("missing", &report.missing_keys), ("unexpected", &report.unexpected_keys)];
    let keys =
        keys.into_iter().filter(|(_, keys)| !keys.is_empty()).map(|(name, keys)| (name, first_of(keys)));
    let rows = rows.into_iter().chain(problem_type).chain(keys);
    rows.map(|(name, value)| format!("{name:<12} {}\n", text::shown(&value))).collect()
}

fn yes(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

/// One number where all stages have as many, else that of each.
fn channels(channels: &[usize]) -> String {
    match channels {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => first.to_string(),
        channels => channels.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// How many there are, and the first of them; --json has all.
fn first_of(names: &[String]) -> String {
    match names.len() {
        0 => "none".to_owned(),
        n if n <= NAMES_SHOWN => names.join(", "),
        n => format!("{n}: {}, …", names[..NAMES_SHOWN].join(", ")),
    }
}
