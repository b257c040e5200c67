//! Every golden of every fixture, on every instruction set of this machine, with one and with two threads: all tensors that
//! Transformers gave, intermediates included, within the bound of tiny models.

use crate::fixtures::{base, checkpoints, fixture, goldens, model, open};
use dinoxide::{Golden, Isa, Model, hash32, verify};
use dinoxide_testkit::tolerance::TINY_MODEL_MAX_ABS;
use std::{collections::BTreeSet, path::Path};

/// Reads a golden; logits are compared where classifiers are run.
fn read(path: &Path) -> Golden {
    Golden::open(path).unwrap().without("logits")
}

fn failures(model: &Model, name: &str) -> Vec<String> {
    let (mut failures, mut compared) = (Vec::new(), 0);
    for path in goldens(name) {
        let rows = verify(model, &read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        compared += rows.len();
        for row in rows.iter().filter(|row| !row.passes(TINY_MODEL_MAX_ABS)) {
            let ctx = model.context();
            failures.push(format!("{name} on {} x{} {}: {row:?}", ctx.isa(), ctx.threads(), path.display()));
        }
    }
    assert!(compared > 0, "{name}: no golden has tensors to compare");
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
