//! Finding fixtures and opening them.

use dinoxide::{Checkpoint, ContextOptions, Golden, Isa, LoadOptions, Model};
use std::path::{Path, PathBuf};

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    root().join("fixtures").join(name)
}

/// The checkpoint of a fixture; `builtin` is the one inside the crate.
pub(crate) fn open(name: &str) -> Checkpoint {
    let options = LoadOptions::default();
    let opened = match name {
        "builtin" => dinoxide::open(dinoxide::BUILTIN_TINY, &options),
        _ => dinoxide::open(fixture(name), &options),
    };
    opened.unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn model(name: &str, isa: Isa, threads: usize) -> Model {
    Model::from_checkpoint(&open(name), ContextOptions { isa: Some(isa), threads: Some(threads) }).unwrap()
}

/// The fixtures that are checkpoints, in order.
pub(crate) fn checkpoints() -> Vec<String> {
    let entries = std::fs::read_dir(fixture("")).unwrap().map(|entry| entry.unwrap().path());
    let is_checkpoint = |path: &PathBuf| path.join("config.json").is_file();
    let mut names: Vec<_> = entries.filter(is_checkpoint).map(|path| name(&path)).collect();
    names.push("builtin".to_owned());
    names.sort();
    names
}

/// Those whose weights are not rounded.
pub(crate) fn f32_checkpoints() -> Vec<String> {
    let rounded = ["bf16", "f16", "int8", "int4"];
    checkpoints().into_iter().filter(|name| !rounded.iter().any(|suffix| name.ends_with(suffix))).collect()
}

/// The fixture that a copy of its weights in other files belongs to: `dinov2` for `dinov2-sharded`.
pub(crate) fn base(name: &str) -> &str {
    let suffixes = [
        "-v5-names",
        "-fb-names",
        "-timm-names",
        "-sharded-bin",
        "-bin",
        "-pth",
        "-sharded",
        "-bf16",
        "-f16",
    ];
    suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// The goldens that a plain forward can be compared with, in order. Those of other inputs (masks, labels), of
/// backbones and of the train mode say so in their names.
pub(crate) fn goldens(name: &str) -> Vec<PathBuf> {
    all_goldens(name).into_iter().filter(|path| !OTHER.iter().any(|other| is_golden(path, other))).collect()
}

/// The goldens of one kind, such as `masked`.
pub(crate) fn goldens_of(name: &str, kind: &str) -> Vec<PathBuf> {
    all_goldens(name).into_iter().filter(|path| is_golden(path, kind)).collect()
}

/// The kinds of goldens that are not of a plain forward.
pub(crate) const OTHER: [&str; 5] = ["masked", "attention-mask", "labels", "backbone", "train"];

fn is_golden(path: &Path, kind: &str) -> bool {
    name(path).starts_with(&format!("golden-{kind}"))
}

fn all_goldens(name_: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixture(base(name_))).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| is_golden(path, "")).collect();
    files.sort();
    files
}

/// The model of a fixture with the config that a golden was made with.
pub(crate) fn model_for(name: &str, golden: &Golden, isa: Isa, threads: usize) -> Model {
    let context = ContextOptions { isa: Some(isa), threads: Some(threads) };
    let options = LoadOptions { overrides: golden.overrides().unwrap(), ..LoadOptions::default() };
    let checkpoint =
        dinoxide::open(fixture(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"));
    Model::from_checkpoint(&checkpoint, context).unwrap()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
