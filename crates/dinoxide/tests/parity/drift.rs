//! Configs and weights files as they drift in the wild: sizes as numbers or pairs, unknown keys, training options, a missing mask
//! token. All of them give the golden; what disagrees is refused with both sizes.

use crate::fixtures::fixture;
use dinoxide::{Checkpoint, ContextOptions, Golden, Inputs, Model, verify};
use dinoxide_testkit::tolerance::TINY_MODEL_MAX_ABS;
use safetensors::{SafeTensors, serialize};
use serde_json::{Value, json};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(fixture("dinov2").join(name)).unwrap()
}

/// The fixture `dinov2` with keys of its config changed (`null` removes one).
fn config(changes: &Value) -> Vec<u8> {
    let mut config: Value = serde_json::from_slice(&read("config.json")).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
            value => config[key] = value.clone(),
        }
    }
    serde_json::to_vec(&config).unwrap()
}

fn assert_golden(config: &[u8], weights: Vec<u8>) {
    let checkpoint = Checkpoint::from_bytes(config, None, weights).unwrap();
    let model = Model::from_checkpoint(&checkpoint, ContextOptions::default()).unwrap();
    for golden in ["golden-native.safetensors", "golden-portrait.safetensors"] {
        let golden = Golden::open(fixture("dinov2").join(golden)).unwrap();
        let rows = verify(&model, &golden).unwrap();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.passes(TINY_MODEL_MAX_ABS)), "{rows:?}");
    }
}

fn refusal(changes: &Value) -> String {
    Checkpoint::from_bytes(&config(changes), None, read("model.safetensors")).unwrap_err().to_string()
}

#[test]
fn sizes_as_pairs_unknown_keys_and_training_options_change_nothing() {
    let changes = json!({
        "image_size": [28, 28], "patch_size": [4, 4], "drop_path_rate": 0.5, "hidden_dropout_prob": 0.3,
        "attention_probs_dropout_prob": 0.2, "interpolate_offset": 0.1, "some_future_key": {"a": [1, null]},
        "dtype": null, "torch_dtype": "float32", "mlp_ratio": 2.0,
    });
    assert_golden(&config(&changes), read("model.safetensors"));
}

#[test]
fn a_weights_file_without_mask_token_gives_the_same() {
    let bytes = read("model.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors: Vec<_> =
        file.tensors().into_iter().filter(|(name, _)| name != "embeddings.mask_token").collect();
    assert_eq!(tensors.len() + 1, file.len());
    assert_golden(&read("config.json"), serialize(tensors, None).unwrap());
}

#[test]
fn an_unknown_model_type_lists_the_known_ones() {
    let message = refusal(&json!({"model_type": "dinov9"}));
    for name in ["dinov9", "dinov2", "dinov2_with_registers", "dinov3_vit", "dinov3_convnext"] {
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn a_table_or_a_kernel_that_the_config_does_not_fit_is_refused_with_both_sizes() {
    let message = refusal(&json!({"image_size": 56}));
    assert!(message.contains("14x14") && message.contains("7x7"), "{message}");
    // A missing patch_size means 14, never silently the kernel's.
    let message = refusal(&json!({"patch_size": null}));
    assert!(message.contains("14") && message.contains('4'), "{message}");
}

#[test]
fn an_unknown_activation_is_a_typed_error() {
    let config = config(&json!({"hidden_act": "gelu_of_the_future"}));
    let checkpoint = Checkpoint::from_bytes(&config, None, read("model.safetensors")).unwrap();
    let error = Model::from_checkpoint(&checkpoint, ContextOptions::default()).unwrap_err().to_string();
    assert!(error.contains("gelu_of_the_future") && error.contains("hidden_act"), "{error}");
}

#[test]
fn tied_last_hidden_states_are_the_normed_ones() {
    let config = config(&json!({"tie_last_hidden_states": true}));
    let checkpoint = Checkpoint::from_bytes(&config, None, read("model.safetensors")).unwrap();
    let model = Model::from_checkpoint(&checkpoint, ContextOptions::default()).unwrap();
    let golden = Golden::open(fixture("dinov2/golden-small.safetensors")).unwrap();
    let asked = Inputs { output_hidden_states: true.into(), ..Inputs::new(golden.pixel_values()) };
    let outputs = model.forward(&asked).unwrap();
    let states = outputs.hidden_states.unwrap();
    assert_eq!(states.len(), 3);
    assert_eq!(states[2], outputs.last_hidden_state.into_dyn());
    assert_ne!(states[1], states[2]);
}
