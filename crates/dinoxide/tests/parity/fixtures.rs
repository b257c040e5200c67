//! Finding fixtures and opening them.

use dinoxide::{Checkpoint, ContextOptions, Isa, LoadOptions, Model};
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

/// The fixture that a copy of its weights in other files belongs to: `dinov2` for `dinov2-sharded`.
pub(crate) fn base(name: &str) -> &str {
    let suffixes = ["-v5-names", "-fb-names", "-timm-names", "-sharded", "-bf16", "-f16"];
    suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

/// The goldens that a plain forward can be compared with, in order. Those of other inputs (masks, labels) and of
/// backbones say so in their names.
pub(crate) fn goldens(name_: &str) -> Vec<PathBuf> {
    const OTHER: [&str; 5] =
        ["golden-masked", "golden-attention-mask", "golden-labels", "golden-backbone", "golden-train"];
    let entries = std::fs::read_dir(fixture(base(name_))).unwrap().map(|entry| entry.unwrap().path());
    let plain = |path: &PathBuf| {
        name(path).starts_with("golden-") && !OTHER.iter().any(|other| name(path).starts_with(other))
    };
    let mut files: Vec<_> = entries.filter(plain).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
