//! Weights under any names and of any shapes, and damaged files of torch.save, give an answer: never a panic, never more memory
//! than the file has.

use std::fs;

use dinoxide_checkpoint::{Checkpoint, OpenOptions, layout};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{CONVNEXT, DINOV2, DINOV2_SWIGLU, DINOV3_VIT, Weights, fixtures, open};

/// Components that names of all conventions are made of.
const COMPONENTS: [&str; 40] = [
    "blocks",
    "0",
    "1",
    "7",
    "00",
    "attn",
    "qkv",
    "q_bias",
    "weight",
    "bias",
    "bias_mask",
    "proj",
    "norm",
    "norm1",
    "norms",
    "mlp",
    "fc1",
    "fc1_g",
    "w12",
    "w3",
    "ls1",
    "gamma",
    "gamma_1",
    "cls_token",
    "pos_embed",
    "reg_token",
    "patch_embed",
    "storage_tokens",
    "stem",
    "stages",
    "downsample_layers",
    "downsample",
    "pwconv1",
    "head",
    "module",
    "teacher",
    "backbone",
    "encoder",
    "layer",
    "mask_token",
];

fn name() -> impl Strategy<Value = String> {
    vec(proptest::sample::select(COMPONENTS.to_vec()), 1..6).prop_map(|parts| parts.join("."))
}

/// Reads every tensor that a checkpoint should have.
fn read_all(checkpoint: &Checkpoint) {
    for spec in layout::tensor_specs(checkpoint.config()) {
        let _ = checkpoint.tensors().read_f32(&spec.name, &spec.shape);
        let _ = checkpoint.tensors().parts(&spec.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_names_and_shapes_give_an_answer(
        config in proptest::sample::select(vec![DINOV2, DINOV2_SWIGLU, DINOV3_VIT, CONVNEXT]),
        tensors in vec((name(), vec(0usize..5, 0..4)), 0..8),
    ) {
        let none = Weights::of(config).only(|_| false);
        let weights = tensors.iter().fold(none, |weights, (name, shape)| weights.with(name, shape));
        let error = open(config, &weights).expect_err("a few tensors are no model").to_string();
        prop_assert!(error.len() < 4000);
    }

    #[test]
    fn a_tensor_too_many_or_of_another_shape_gives_an_answer(
        config in proptest::sample::select(vec![DINOV2, DINOV2_SWIGLU, DINOV3_VIT, CONVNEXT]),
        place in any::<proptest::sample::Index>(),
        shape in vec(0usize..9, 0..4),
        ignore_mismatched_sizes in any::<bool>(),
        extra in name(),
    ) {
        let weights = Weights::of(config);
        let name = weights.0.keys().nth(place.index(weights.0.len())).cloned().unwrap();
        let weights = weights.with(&name, &shape).with(&extra, &shape);
        let options = OpenOptions { ignore_mismatched_sizes, ..OpenOptions::default() };
        if let Ok(checkpoint) = Checkpoint::from_bytes_with(config.as_bytes(), None, weights.bytes(), &options) {
            read_all(&checkpoint);
        }
    }

    #[test]
    fn a_damaged_file_of_torch_save_gives_an_answer(
        (folder, file) in proptest::sample::select(vec![
            ("dinov2-nomask-bin", "pytorch_model.bin"),
            ("dinov3-vit-gated-pth", "dinov3_vits16plus_pretrain.pth"),
        ]),
        changes in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let source = fixtures().join(folder);
        let mut bytes = fs::read(source.join(file)).unwrap();
        for (place, byte) in changes {
            // The pickle stands at the start.
            let place = place.index(6000);
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let place = tempfile::tempdir().unwrap();
        fs::copy(source.join("config.json"), place.path().join("config.json")).unwrap();
        fs::write(place.path().join(file), bytes).unwrap();
        match Checkpoint::open(place.path()) {
            Ok(checkpoint) => read_all(&checkpoint),
            Err(error) => { let _ = error.hint(); }
        }
    }
}
