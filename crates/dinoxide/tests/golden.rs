//! Every golden of every fixture, on every instruction set of this machine, with one and with two threads: all tensors that
//! Transformers gave, intermediates included, within the bound of tiny models.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dinoxide::{ContextOptions, Golden, Isa, LoadOptions, Model, verify};
use dinoxide_testkit::tolerance::TINY_MODEL_MAX_ABS;
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The fixtures that are checkpoints, in order.
fn checkpoints() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.join("config.json").is_file()).collect();
    folders.sort();
    folders
}

/// The goldens of a folder that a plain forward can be compared with. Those of other inputs (masks, labels), backbones and classifiers
/// say so in their names.
fn goldens(folder: &Path) -> Vec<PathBuf> {
    const OTHER: [&str; 5] =
        ["golden-masked", "golden-attention-mask", "golden-labels", "golden-backbone", "golden-logits"];
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let plain = |path: &PathBuf| {
        name(path).starts_with("golden-") && !OTHER.iter().any(|other| name(path).starts_with(other))
    };
    let mut files: Vec<_> = entries.filter(plain).collect();
    files.sort();
    files
}

fn verify_all(folder: &Path, isa: Isa, threads: usize) -> Vec<String> {
    let checkpoint = dinoxide::open(folder, &LoadOptions::default()).unwrap();
    let options = ContextOptions { isa: Some(isa), threads: Some(threads) };
    let model = Model::from_checkpoint(&checkpoint, options).unwrap();
    let mut failures = Vec::new();
    for path in goldens(folder) {
        let rows = verify(&model, &Golden::open(&path).unwrap()).unwrap();
        assert!(!rows.is_empty(), "{}", path.display());
        for row in rows.iter().filter(|row| !row.passes(TINY_MODEL_MAX_ABS)) {
            failures.push(format!("{isa} x{threads} {}: {row:?}", path.display()));
        }
    }
    failures
}

#[test]
fn every_golden_is_met_on_every_isa_with_one_and_two_threads() {
    let mut failures = Vec::new();
    for folder in checkpoints() {
        for isa in Isa::available() {
            for threads in [1, 2] {
                failures.extend(verify_all(&folder, isa, threads));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_fixtures_cover_all_four_families() {
    let families: std::collections::BTreeSet<_> = checkpoints()
        .iter()
        .map(|folder| dinoxide::open(folder, &LoadOptions::default()).unwrap().config().model_type())
        .collect();
    let all = ["dinov2", "dinov2_with_registers", "dinov3_convnext", "dinov3_vit"];
    assert_eq!(families.into_iter().collect::<Vec<_>>(), all);
    assert!(checkpoints().iter().all(|folder| !goldens(folder).is_empty()));
}
