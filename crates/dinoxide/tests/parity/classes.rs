//! The names of the documentation pages: processors and configs by themselves, those of another class refused, configs that no model can have.

use crate::fixtures::fixture;
use dinoxide::{
    AutoConfig, BitImageProcessor, CheckpointError, DINOv3ConvNextConfig, DINOv3ConvNextModel,
    DINOv3ViTConfig, DINOv3ViTImageProcessor, DINOv3ViTModel, Dinov2Config, Dinov2Model, Error,
    ImageProcessor, LoadOptions, PreTrainedConfig, config::Size2,
};
use std::fs;

#[test]
fn a_processor_of_another_class_is_refused_by_name() {
    BitImageProcessor::from_pretrained(fixture("dinov2")).unwrap();
    DINOv3ViTImageProcessor::from_pretrained(fixture("dinov3-convnext")).unwrap();
    let error = DINOv3ViTImageProcessor::from_pretrained(fixture("dinov2")).unwrap_err();
    assert_eq!(error.to_string(), "a BitImageProcessor, expected a DINOv3ViTImageProcessor");
}

#[test]
fn processors_and_configs_need_no_weights_and_can_be_saved_by_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let error = ImageProcessor::from_pretrained(dir.path()).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(CheckpointError::NoProcessor { .. })), "{error}");
    let error = AutoConfig::from_pretrained(dir.path()).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(CheckpointError::NoConfig { .. })), "{error}");
    for name in ["dinov2", "dinov3-vit"] {
        ImageProcessor::from_pretrained(fixture(name)).unwrap().save_pretrained(dir.path()).unwrap();
        PreTrainedConfig::save_pretrained(&AutoConfig::from_pretrained(fixture(name)).unwrap(), dir.path())
            .unwrap();
        for file in ["config.json", "preprocessor_config.json"] {
            let text = |dir: &std::path::Path| fs::read_to_string(dir.join(file)).unwrap();
            assert_eq!(text(dir.path()), text(&fixture(name)), "{name}/{file}");
        }
        let sized = ImageProcessor::from_pretrained(dir.path()).unwrap().with_size(56, 84);
        sized.save_pretrained(dir.path()).unwrap();
        assert_eq!(ImageProcessor::from_pretrained(dir.path()).unwrap().spec(), sized.spec());
    }
}

#[test]
fn a_config_of_another_family_is_refused_and_options_change_it() {
    let error = DINOv3ViTConfig::from_pretrained(fixture("dinov2")).unwrap_err();
    assert!(matches!(error, Error::WrongFamily { expected: "dinov3_vit", got: "dinov2" }), "{error}");
    let options = LoadOptions::default().with("num_labels", 7);
    let config = Dinov2Config::from_pretrained_with(fixture("dinov2"), &options).unwrap();
    assert_eq!(config.common.num_labels(), 7);
}

#[test]
fn configs_that_no_model_can_have_are_errors() {
    let dinov2 = Dinov2Config::default;
    let none = Size2 { height: 0, width: 0 };
    for config in [
        Dinov2Config { hidden_size: 0, ..dinov2() },
        Dinov2Config { num_attention_heads: 0, ..dinov2() },
        Dinov2Config { patch_size: none, ..dinov2() },
        Dinov2Config { image_size: none, ..dinov2() },
        Dinov2Config { num_channels: 0, ..dinov2() },
        Dinov2Config { num_hidden_layers: usize::MAX, ..dinov2() },
        Dinov2Config { hidden_size: usize::MAX / 2, ..dinov2() },
        Dinov2Config { hidden_act: "of the future".into(), num_hidden_layers: 1, ..dinov2() },
    ] {
        let told = format!("{config:?}");
        assert!(Dinov2Model::from_config(config, 0).is_err(), "{told}");
    }
    let vit = DINOv3ViTConfig::default;
    for config in [
        DINOv3ViTConfig { num_attention_heads: 0, ..vit() },
        DINOv3ViTConfig { hidden_size: 30, num_attention_heads: 5, num_hidden_layers: 1, ..vit() },
        DINOv3ViTConfig { num_register_tokens: usize::MAX, ..vit() },
    ] {
        let told = format!("{config:?}");
        assert!(DINOv3ViTModel::from_config(config, 0).is_err(), "{told}");
    }
    let convnext = DINOv3ConvNextConfig::default;
    for config in [
        DINOv3ConvNextConfig { hidden_sizes: vec![], ..convnext() },
        DINOv3ConvNextConfig { depths: vec![1], ..convnext() },
        DINOv3ConvNextConfig { depths: vec![usize::MAX; 4], ..convnext() },
    ] {
        let told = format!("{config:?}");
        assert!(DINOv3ConvNextModel::from_config(config, 0).is_err(), "{told}");
    }
}
