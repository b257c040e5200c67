//! Both models on the same pictures: first the original in f32, whose outputs are kept, then what was made of it.

use super::report::Compared;
use crate::{
    args::{PictureArgs, QuantizeArgs},
    error::CliError,
    inputs::collect,
    session::Session,
    text,
};
use dinoxide::{Checkpoint, DecodeOptions, ImageProcessor, Model, Precision, Reference, decode, layout};
use ndarray::{Array3, Axis};
use std::{fs, path::PathBuf};

/// Pictures of the repository, for who names none.
const BUILT_IN: [(&str, &[u8]); 3] = [
    ("built-in astronaut.jpg", include_bytes!("../../../../../pictures/astronaut.jpg")),
    ("built-in coffee.jpg", include_bytes!("../../../../../pictures/coffee.jpg")),
    ("built-in rocket.jpg", include_bytes!("../../../../../pictures/rocket.jpg")),
];

/// Most pictures: all outputs of the original are kept.
const MAX_PICTURES: usize = 16;

/// What to compare on.
pub(super) enum Pictures {
    /// Nothing: that is not wanted.
    None,
    BuiltIn,
    /// Files, and how many places could not be looked into.
    Files(Vec<PathBuf>, usize),
}

/// The pictures that are named, or those that are built in.
///
/// # Errors
/// As [`collect`].
pub(super) fn find(args: &QuantizeArgs, session: &Session) -> Result<Pictures, CliError> {
    if args.no_compare {
        if !args.pictures.is_empty() {
            session.printer.warning("--no-compare: the pictures are not looked at");
        }
        return Ok(Pictures::None);
    }
    if args.pictures.is_empty() {
        return Ok(Pictures::BuiltIn);
    }
    let named = PictureArgs { inputs: args.pictures.clone(), null: false, fail_fast: false };
    let mut found = collect(&named, &session.printer)?;
    if found.pictures.len() > MAX_PICTURES {
        session
            .printer
            .note(&format!("compared on the first {MAX_PICTURES} of {} pictures", found.pictures.len()));
        found.pictures.truncate(MAX_PICTURES);
    }
    Ok(Pictures::Files(found.pictures, found.failed))
}

/// Compares, or says why not.
///
/// # Errors
/// A model that cannot be built or run.
pub(super) fn run(
    original: &Checkpoint,
    made: &Checkpoint,
    pictures: &Pictures,
    session: &Session,
) -> Result<Compared, CliError> {
    let not = |reason: String| Ok(Compared { not_compared: Some(reason), ..Compared::default() });
    if let Pictures::None = pictures {
        return not("--no-compare".to_owned());
    }
    if let Some(reason) = too_large(original) {
        return not(reason);
    }
    let processor = match ImageProcessor::from_checkpoint(original) {
        Ok(processor) => processor.with_isa(session.context.isa),
        Err(error) => return not(error.to_string()),
    };
    let (pixels, mut compared) = read(pictures, &processor, session)?;
    if pixels.is_empty() {
        compared.not_compared = Some("no picture could be read".to_owned());
        return Ok(compared);
    }
    let exact = Model::from_checkpoint(original, session.run_options(Some(Precision::F32)))?;
    let reference = match Reference::record(&exact, pixels) {
        // A model may not take such pictures (four channels), or have no final norm: what was made of it is no worse for that.
        Err(dinoxide::Error::Model(error)) => return not(error.to_string()),
        reference => reference?,
    };
    drop(exact);
    let model = Model::from_checkpoint(made, session.context)?;
    session.model_detail(&model);
    compared.comparison = Some(reference.compare(&model)?);
    Ok(compared)
}

/// The pictures as the model sees them. One that cannot be read loses only itself.
fn read(
    pictures: &Pictures,
    processor: &ImageProcessor,
    session: &Session,
) -> Result<(Vec<Array3<f32>>, Compared), CliError> {
    let (mut pixels, mut compared) = (Vec::new(), Compared::default());
    match pictures {
        Pictures::None => {}
        Pictures::BuiltIn => {
            for (name, bytes) in BUILT_IN {
                let decoded = decode(bytes, &DecodeOptions::default()).map_err(dinoxide::Error::from)?;
                let batch = processor.preprocess(&[decoded])?;
                pixels.push(batch.index_axis_move(Axis(0), 0));
                compared.pictures.push(name.to_owned());
            }
        }
        Pictures::Files(paths, lost) => {
            compared.failed = *lost;
            for path in paths {
                match processor.open(path) {
                    Ok(read) => {
                        pixels.push(read);
                        compared.pictures.push(text::path_text(path).into_owned());
                    }
                    Err(error) => {
                        session.printer.error(&error.into());
                        compared.failed += 1;
                    }
                }
            }
        }
    }
    Ok((pixels, compared))
}

/// Why the original in f32 is too much for this machine's memory, if it is.
fn too_large(checkpoint: &Checkpoint) -> Option<String> {
    let needed = layout::parameter_count(checkpoint.config()).saturating_mul(4);
    let available = available_bytes()?;
    (needed > available).then(|| {
        let [needed, available] = [needed, available].map(text::bytes);
        format!("the original needs {needed} in f32, and {available} of memory are free")
    })
}

/// Memory that can be had: Linux's `MemAvailable`; other systems do not say it in a file.
fn available_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}
