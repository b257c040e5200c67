//! Every golden of every fixture, on every instruction set of this machine, with one and with two threads: all tensors that
//! Transformers gave, intermediates included, within the bound of tiny models.

use crate::fixtures::{base, checkpoints, f32_checkpoints, fixture, goldens, model, open};
use dinoxide::{Golden, ImageClassifier, Isa, Model, Pooling, Row, hash32, verify};
use dinoxide_testkit::{compare::assert_close, tolerance::TINY_MODEL_MAX_ABS};
use std::{collections::BTreeSet, path::Path};

/// Compares all tensors of a golden.
fn rows(model: &Model, path: &Path) -> Vec<Row> {
    verify(model, &Golden::open(path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn failures(model: &Model, name: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for path in goldens(name) {
        let rows = rows(model, &path);
        for row in rows.iter().filter(|row| !row.passes(TINY_MODEL_MAX_ABS)) {
            let ctx = model.context();
            failures.push(format!("{name} on {} x{} {}: {row:?}", ctx.isa(), ctx.threads(), path.display()));
        }
    }
    failures
}

#[test]
fn every_golden_is_met_on_every_isa_with_one_and_two_threads() {
    let mut failed = Vec::new();
    for name in &f32_checkpoints() {
        for isa in Isa::available() {
            for threads in [1, 2] {
                failed.extend(failures(&model(name, isa, threads), name));
            }
        }
    }
    assert!(failed.is_empty(), "{} failures:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn the_fixtures_cover_all_four_families_and_each_has_goldens() {
    let families: BTreeSet<_> = checkpoints().iter().map(|name| open(name).config().model_type()).collect();
    let all = ["dinov2", "dinov2_with_registers", "dinov3_convnext", "dinov3_vit"];
    assert_eq!(families.into_iter().collect::<Vec<_>>(), all);
    for name in checkpoints() {
        assert!(!goldens(&name).is_empty(), "{name} (base {})", base(&name));
    }
}

#[test]
fn changing_only_registers_changes_no_logit() {
    let path = fixture("dinov2-with-registers-classifier");
    let classifier = ImageClassifier::from_pretrained(&path).unwrap();
    let golden = Golden::open(path.join("golden-native.safetensors")).unwrap();
    let outputs = classifier.forward(&golden.inputs().unwrap()).unwrap();
    // What the classifier reads, by hand: CLS and the mean of what comes after the registers.
    let features = Pooling::ClsMean.pool(&outputs.base, 0);
    let (width, labels) = (features.len(), outputs.logits.ncols());
    let tensors = classifier.model().checkpoint().tensors();
    let weight = tensors.read_f32("classifier.weight", &[labels, width]).unwrap();
    let bias = tensors.read_f32("classifier.bias", &[labels]).unwrap();
    let dot =
        |row: &[f32]| row.iter().zip(&features).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum::<f64>();
    let by_hand: Vec<f32> =
        weight.chunks_exact(width).zip(&bias).map(|(row, &b)| (dot(row) + f64::from(b)) as f32).collect();
    assert_close("logits", outputs.logits.as_slice().unwrap(), &by_hand, TINY_MODEL_MAX_ABS);
}

#[test]
fn the_hashed_inputs_are_those_that_the_golden_stores() {
    // `golden-small` holds both the recipe and the tensor, which is the one that is read.
    let golden = Golden::open(fixture("dinov2/golden-small.safetensors")).unwrap();
    let spec = &golden.metadata()["pixel_values"];
    let seed = spec.split(':').nth(1).unwrap().parse().unwrap();
    let stored: Vec<f32> = golden.pixel_values().iter().copied().collect();
    assert_eq!(stored, hash32(seed, stored.len()));
    assert_eq!(stored, dinoxide_testkit::data::hash32(seed, stored.len()));
}
