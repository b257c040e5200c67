//! Goldens of masks, labels and backbones: every tensor that Transformers gave, on every instruction set, with one and
//! with two threads.

use crate::fixtures::{OTHER, f32_checkpoints, goldens_of, model_for};
use dinoxide::{Golden, Isa, verify};
use dinoxide_testkit::tolerance::TINY_MODEL_MAX_ABS;

#[test]
fn goldens_of_masks_labels_and_backbones_are_met_on_every_isa_with_one_and_two_threads() {
    let mut failed = Vec::new();
    for kind in OTHER.into_iter().filter(|kind| *kind != "train") {
        let mut compared = 0;
        for name in f32_checkpoints() {
            for path in goldens_of(&name, kind) {
                let golden = Golden::open(&path).unwrap();
                for isa in Isa::available() {
                    for threads in [1, 2] {
                        let model = model_for(&name, &golden, isa, threads);
                        let rows =
                            verify(&model, &golden).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
                        let bad = rows.into_iter().filter(|row| !row.passes(TINY_MODEL_MAX_ABS));
                        failed.extend(bad.map(|row| format!("{isa} x{threads} {}: {row:?}", path.display())));
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 0, "no golden of kind {kind}");
    }
    assert!(failed.is_empty(), "{} failures:\n{}", failed.len(), failed.join("\n"));
}
