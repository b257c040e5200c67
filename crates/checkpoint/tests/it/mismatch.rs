//! Weights that do not fit their config: one error with everything in it.
//!
//! Each test takes a checkpoint that fits and changes one side. The error must list all tensors, in the file's spelling, and
//! name the key of the config that explains them where one does.

use dinoxide_checkpoint::config::Size2;
use dinoxide_checkpoint::{CheckpointError, LayoutMismatch};

use crate::support::{CONVNEXT, DINOV2, DINOV2_SWIGLU, DINOV3_VIT, Weights, open};

fn mismatch(config: &str, weights: &Weights) -> LayoutMismatch {
    match open(config, weights).unwrap_err() {
        CheckpointError::Layout(mismatch) => *mismatch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_missing_and_misshapen_tensors_are_listed_at_once() {
    let weights = Weights::of(DINOV2)
        .without(&["layernorm.bias", "encoder.layer.1.norm2.weight"])
        .with("layernorm.weight", &[9])
        .with("encoder.layer.0.mlp.fc1.bias", &[2, 16])
        .renamed(|name| format!("dinov2.{name}"));
    let got = mismatch(DINOV2, &weights);
    let missing: Vec<&str> = got.missing.iter().map(|tensor| tensor.name.as_str()).collect();
    assert_eq!(missing, ["dinov2.encoder.layer.1.norm2.weight", "dinov2.layernorm.bias"]);
    let misshapen: Vec<_> =
        got.misshapen.iter().map(|t| (t.name.as_str(), &t.expected[..], &t.got[..])).collect();
    assert_eq!(
        misshapen,
        [
            ("dinov2.encoder.layer.0.mlp.fc1.bias", &[32][..], &[2, 16][..]),
            ("dinov2.layernorm.weight", &[8], &[9]),
        ]
    );
    let text = got.to_string();
    for name in missing.iter().chain(misshapen.iter().map(|(name, _, _)| name)) {
        assert!(text.contains(name), "{name} is not in: {text}");
    }
    assert!(text.contains("(expected [8], got [9])"), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn a_long_list_is_cut_in_the_message_and_whole_in_the_data() {
    let weights = Weights::of(DINOV2).only(|name| !name.contains("encoder"));
    let got = mismatch(DINOV2, &weights);
    assert_eq!(got.missing.len(), 36);
    assert!(got.to_string().ends_with("and 24 more"), "{got}");
}

#[test]
fn a_position_table_of_another_grid_is_explained_with_both_sizes() {
    let config = DINOV2.replace("\"image_size\": 28", "\"image_size\": 56");
    let got = mismatch(&config, &Weights::of(DINOV2));
    let table = got.position_table.as_ref().unwrap();
    assert_eq!((table.image_size, table.patch_size), (Size2::square(56), Size2::square(4)));
    assert_eq!((table.expected, table.got), (197, 50));
    assert!(got.patch_kernel.is_none());
    let text = got.to_string();
    let words = "config image_size 56x56 and patch_size 4x4 make a grid of 14x14, 197 positions with CLS, but the position \
                 table has 50 (a grid of 7x7)";
    assert!(text.contains(words), "{text}");
    let hint = CheckpointError::Layout(Box::new(got)).hint().unwrap();
    assert_eq!(hint, "set `image_size` in config.json to 28");
}

#[test]
fn a_patch_kernel_of_another_size_is_explained_and_not_defaulted() {
    // 7×7 patches of 4 pixels in the weights; the config has no patch_size, so it means 14.
    let weights = Weights::of(DINOV2);
    let config = DINOV2.replace(", \"patch_size\": 4", "");
    assert_ne!(config, DINOV2);
    let got = mismatch(&config, &weights);
    let kernel = got.patch_kernel.as_ref().unwrap();
    assert_eq!((kernel.patch_size, kernel.kernel), (Size2::square(14), Size2::square(4)));
    assert!(got.position_table.is_none(), "the kernel explains the table: {got}");
    assert!(got.to_string().contains("config patch_size 14x14, patch kernel 4x4"), "{got}");
    let hint = CheckpointError::Layout(Box::new(got)).hint().unwrap();
    assert_eq!(hint, "set `patch_size` in config.json to 4");

    let config = DINOV3_VIT.replace("\"patch_size\": 4", "\"patch_size\": [4, 2]");
    let got = mismatch(&config, &Weights::of(DINOV3_VIT));
    assert_eq!(got.patch_kernel.unwrap().kernel, Size2::square(4));
}

#[test]
fn a_missing_half_of_a_swiglu_input_is_named_as_the_file_would_name_it() {
    let fused = "encoder.layer.0.mlp.weights_in.weight";
    let weights =
        Weights::of(DINOV2_SWIGLU).without(&[fused]).with("encoder.layer.0.mlp.up_proj.weight", &[24, 8]);
    let got = mismatch(DINOV2_SWIGLU, &weights);
    assert_eq!(got.missing.len(), 1);
    assert_eq!(got.missing[0].name, "encoder.layer.0.mlp.gate_proj.weight");
    assert_eq!(got.missing[0].shape, [24, 8]);
}

#[test]
fn a_plain_mlp_where_a_swiglu_is_configured_is_a_mismatch() {
    let got = mismatch(DINOV2_SWIGLU, &Weights::of(DINOV2));
    assert_eq!(got.missing.len(), 8);
}

#[test]
fn a_mask_token_may_be_missing_but_not_misshapen() {
    let name = "embeddings.mask_token";
    open(DINOV2, &Weights::of(DINOV2).without(&[name])).unwrap();
    let got = mismatch(DINOV2, &Weights::of(DINOV2).with(name, &[1, 1, 8]));
    assert_eq!(got.misshapen[0].name, name);
    let config = DINOV2.replacen('{', "{\"use_mask_token\": false, ", 1);
    assert_eq!(open(&config, &Weights::of(DINOV2)).unwrap().unexpected(), [name]);
}

#[test]
fn only_a_backbones_file_may_lack_the_final_norm_of_a_convnext() {
    let weights = Weights::of(CONVNEXT).without(&["layer_norm.weight", "layer_norm.bias"]);
    assert_eq!(mismatch(CONVNEXT, &weights).missing.len(), 2);
    let backbone = CONVNEXT.replacen('{', "{\"architectures\": [\"DINOv3ConvNextBackbone\"], ", 1);
    open(&backbone, &weights).unwrap();
}
