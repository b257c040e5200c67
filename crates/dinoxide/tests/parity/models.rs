//! Every golden of every fixture, on every instruction set of this machine, with one and with two threads: all tensors that
//! Transformers gave, intermediates included, within the bound of tiny models.

use crate::fixtures::{base, checkpoints, fixture, goldens, model, open};
use dinoxide::{Golden, Inputs, Isa, Model, Pooling, Row, hash32, verify};
use dinoxide_testkit::{compare::assert_close, tolerance::TINY_MODEL_MAX_ABS};
use std::{collections::BTreeSet, path::Path};

/// Compares all tensors of a golden; logits are compared below.
fn rows(model: &Model, path: &Path) -> Vec<Row> {
    let golden = Golden::open(path).unwrap().without("logits");
    verify(model, &golden).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
    for name in checkpoints().iter().filter(|name| !name.ends_with("bf16") && !name.ends_with("f16")) {
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

/// What `classifier` makes of CLS and the patch mean: the backbone read out of a classifier's file, registers left out.
fn logits(name: &str, golden: &Golden) -> Vec<f32> {
    let checkpoint = open(name);
    let (width, labels) = (checkpoint.config().hidden_size(), checkpoint.config().common().num_labels());
    let weight = checkpoint.tensors().read_f32("classifier.weight", &[labels, 2 * width]).unwrap();
    let bias = checkpoint.tensors().read_f32("classifier.bias", &[labels]).unwrap();
    let outputs = model(name, Isa::best(), 2).forward(&Inputs::new(golden.pixel_values())).unwrap();
    let item = |item| {
        let features = Pooling::ClsMean.pool(&outputs, item);
        let dot =
            |row: &[f32]| row.iter().zip(&features).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum::<f64>();
        weight
            .chunks_exact(2 * width)
            .zip(&bias)
            .map(|(row, &b)| (dot(row) + f64::from(b)) as f32)
            .collect::<Vec<_>>()
    };
    (0..outputs.pooler_output.nrows()).flat_map(item).collect()
}

#[test]
fn logits_of_classifier_files_follow_from_cls_and_patch_mean() {
    let mut compared = 0;
    for name in checkpoints() {
        for path in goldens(&name) {
            let golden = Golden::open(&path).unwrap();
            if let Some((_, want)) = golden.outputs().find(|(name, _)| *name == "logits") {
                let want: Vec<f32> = want.iter().copied().collect();
                assert_close(&path.display().to_string(), &logits(&name, &golden), &want, TINY_MODEL_MAX_ABS);
                compared += 1;
            }
        }
    }
    assert!(compared >= 6, "{compared} goldens with logits");
}

#[test]
fn the_hashed_inputs_are_those_that_the_golden_stores() {
    // `golden-small` holds both the recipe and the tensor, which is the one that is read.
    let golden = Golden::open(&fixture("dinov2/golden-small.safetensors")).unwrap();
    let spec = &golden.metadata()["pixel_values"];
    let seed = spec.split(':').nth(1).unwrap().parse().unwrap();
    let stored: Vec<f32> = golden.pixel_values().iter().copied().collect();
    assert_eq!(stored, hash32(seed, stored.len()));
    assert_eq!(stored, dinoxide_testkit::data::hash32(seed, stored.len()));
}
