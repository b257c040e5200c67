//! What is saved opens again to the same outputs, to the bit: every family and class, in shards, in half precision, from fresh weights.

use crate::fixtures::{f32_checkpoints, fixture};
use dinoxide::{
    Backbone, DINOv3ConvNextBackbone, DINOv3ConvNextConfig, DINOv3ConvNextModel, DINOv3ViTConfig,
    DINOv3ViTModel, Dinov2Config, Dinov2ForImageClassification, Dinov2WithRegistersConfig,
    Dinov2WithRegistersModel, Error, ImageClassifier, Inputs, LoadOptions, Model, SaveOptions,
    config::TorchDtype, hash32,
};
use ndarray::Array4;
use std::path::Path;
use tempfile::TempDir;

fn pixels(channels: usize) -> Array4<f32> {
    Array4::from_shape_vec((1, channels, 64, 64), hash32(8, channels * 64 * 64)).unwrap()
}

fn tokens(model: &Model) -> Vec<u32> {
    let pixels = pixels(model.config().num_channels());
    let outputs = model.forward(&Inputs::new(pixels.view())).unwrap();
    outputs.last_hidden_state.iter().map(|x| x.to_bits()).collect()
}

fn saved(save: impl Fn(&Path) -> Result<(), Error>) -> TempDir {
    let dir = TempDir::new().unwrap();
    save(dir.path()).unwrap();
    dir
}

#[test]
fn every_fixture_saved_and_opened_again_gives_the_same_bits() {
    for name in f32_checkpoints().iter().filter(|name| *name != "builtin") {
        if name.contains("shortcut-4x7") {
            continue; // Its table has no square view: it takes its own size only.
        }
        let model = Model::from_pretrained(fixture(name)).unwrap();
        let dir = saved(|dir| model.save_pretrained(dir, &SaveOptions::default()));
        let again = Model::from_pretrained(dir.path()).unwrap();
        assert_eq!(tokens(&again), tokens(&model), "{name}");
        let small = SaveOptions { max_shard_size: "3KB".parse().unwrap() };
        let dir = saved(|dir| model.save_pretrained(dir, &small));
        assert!(dir.path().join("model.safetensors.index.json").is_file(), "{name}");
        assert_eq!(tokens(&Model::from_pretrained(dir.path()).unwrap()), tokens(&model), "{name}, shards");
    }
}

#[test]
fn classifiers_and_backbones_stay_what_they_are() {
    let name = fixture("dinov2-with-registers-classifier");
    let classifier = ImageClassifier::from_pretrained(&name).unwrap();
    let dir = saved(|dir| classifier.save_pretrained(dir, &SaveOptions::default()));
    let again = ImageClassifier::from_pretrained(dir.path()).unwrap();
    let pixels = pixels(3);
    let logits =
        |classifier: &ImageClassifier| classifier.forward(&Inputs::new(pixels.view())).unwrap().logits;
    assert_eq!(logits(&again), logits(&classifier));
    assert_eq!(again.config().common().id2label, classifier.config().common().id2label);

    let options = LoadOptions::default().with("out_indices", vec![1, 3]);
    let backbone = Backbone::from_pretrained_with(fixture("dinov3-convnext-backbone"), &options).unwrap();
    let dir = saved(|dir| backbone.save_pretrained(dir, &SaveOptions::default()));
    let again = DINOv3ConvNextBackbone::from_pretrained(dir.path()).unwrap();
    assert_eq!(again.options, backbone.options);
    let maps = |backbone: &Backbone| backbone.forward(&Inputs::new(pixels.view())).unwrap().feature_maps;
    assert_eq!(maps(&again), maps(&backbone));
    // Saved as a backbone there is no final norm, so no bare model can be made of it.
    let error =
        Model::from_pretrained(dir.path()).and_then(|model| model.forward(&Inputs::new(pixels.view())));
    assert!(error.is_err());
}

#[test]
fn weights_opened_in_half_precision_are_saved_in_it() {
    let options = LoadOptions { dtype: Some(TorchDtype::BFloat16), ..LoadOptions::default() };
    let model = Model::from_pretrained_with(fixture("dinov3-vit"), &options).unwrap();
    assert_ne!(tokens(&model), tokens(&Model::from_pretrained(fixture("dinov3-vit")).unwrap()));
    let dir = saved(|dir| model.save_pretrained(dir, &SaveOptions::default()));
    let again = Model::from_pretrained(dir.path()).unwrap();
    assert_eq!(again.config().common().dtype, Some(TorchDtype::BFloat16));
    assert_eq!(tokens(&again), tokens(&model));
    // The same numbers as the file that Transformers wrote in bf16.
    assert_eq!(tokens(&model), tokens(&Model::from_pretrained(fixture("dinov3-vit-bf16")).unwrap()));
}

fn small(config: Dinov2Config) -> Dinov2Config {
    Dinov2Config { hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 2, ..config }
}

#[test]
fn fresh_models_of_all_families_are_decided_by_their_seed_and_can_be_saved() {
    let registers = Dinov2WithRegistersConfig::default();
    let registers = Dinov2WithRegistersConfig { base: small(registers.base.clone()), ..registers };
    let vit = DINOv3ViTConfig {
        hidden_size: 32,
        intermediate_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 2,
        ..DINOv3ViTConfig::default()
    };
    let convnext = DINOv3ConvNextConfig {
        hidden_sizes: vec![8, 16, 24, 32],
        depths: vec![1, 1, 2, 1],
        ..DINOv3ConvNextConfig::default()
    };
    let make = |seed| {
        [
            Dinov2ForImageClassification::from_config(small(Dinov2Config::default()), seed)
                .unwrap()
                .model()
                .clone(),
            Dinov2WithRegistersModel::from_config(registers.clone(), seed).unwrap().into_inner(),
            DINOv3ViTModel::from_config(vit.clone(), seed).unwrap().into_inner(),
            DINOv3ConvNextModel::from_config(convnext.clone(), seed).unwrap().into_inner(),
        ]
    };
    for ((one, same), other) in make(1).iter().zip(&make(1)).zip(&make(2)) {
        let name = one.config().model_type();
        assert_eq!(tokens(one), tokens(same), "{name}");
        assert_ne!(tokens(one), tokens(other), "{name}");
        let dir = saved(|dir| one.save_pretrained(dir, &SaveOptions::default()));
        assert_eq!(tokens(&Model::from_pretrained(dir.path()).unwrap()), tokens(one), "{name}");
    }
}

#[test]
fn a_model_saved_over_the_folder_it_was_opened_from_is_unharmed() {
    let model = Model::from_pretrained(fixture("dinov2")).unwrap();
    let dir = saved(|dir| model.save_pretrained(dir, &SaveOptions::default()));
    let opened = Model::from_pretrained(dir.path()).unwrap();
    opened.save_pretrained(dir.path(), &SaveOptions::default()).unwrap();
    assert_eq!(tokens(&opened), tokens(&model));
    assert_eq!(tokens(&Model::from_pretrained(dir.path()).unwrap()), tokens(&model));
}
