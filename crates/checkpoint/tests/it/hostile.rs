//! Arbitrary bytes and arbitrary JSON never panic, whatever they are given as.
//!
//! Each is opened as a config, a processor config, a shard index and a weights file. What is asserted is that an answer
//! comes: a value or a typed error.

use std::path::Path;

use dinoxide_checkpoint::config::Family;
use dinoxide_checkpoint::{Checkpoint, ModelConfig, ProcessorConfig, layout};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{DINOV2, Weights, raw_file};

const CONFIG_KEYS: [&str; 24] = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "head_dim",
    "mlp_ratio",
    "intermediate_size",
    "hidden_act",
    "image_size",
    "patch_size",
    "num_channels",
    "num_register_tokens",
    "hidden_sizes",
    "depths",
    "id2label",
    "num_labels",
    "problem_type",
    "out_features",
    "out_indices",
    "stage_names",
    "layer_norm_eps",
    "rope_theta",
    "use_swiglu_ffn",
    "dtype",
    "architectures",
];

const PROCESSOR_KEYS: [&str; 10] = [
    "image_processor_type",
    "feature_extractor_type",
    "image_processor",
    "size",
    "crop_size",
    "pad_size",
    "resample",
    "image_mean",
    "rescale_factor",
    "do_resize",
];

/// Values at the edges of what a field may be, and of every other type.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0i64..20).prop_map(Value::from),
        (0u32..64).prop_map(|bits| Value::from(1u64 << bits)),
        "[a-zA-Z0-9_]{0,12}".prop_map(Value::from),
        prop_oneof![
            Just("stem"),
            Just("stage1"),
            Just("BitImageProcessorFast"),
            Just("float32"),
            Just("height"),
            Just("regression")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("(height|width|shortest_edge|longest_edge|[0-9]{1,2})", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn object(keys: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
    vec((proptest::sample::select(keys), value()), 0..6)
        .prop_map(|pairs| pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_as_any_json_file_give_an_answer(bytes in vec(any::<u8>(), 0..200)) {
        let _ = ModelConfig::from_json(Path::new("config.json"), &bytes);
        let _ = ProcessorConfig::from_json(Path::new("preprocessor_config.json"), &bytes, Some(Family::Dinov2));
    }

    #[test]
    fn arbitrary_values_in_a_config_give_an_answer_and_a_bounded_layout(
        mut map in object(&CONFIG_KEYS),
        family in proptest::sample::select(Family::ALL.to_vec()),
    ) {
        map.insert("model_type".into(), family.model_type().into());
        let bytes = Value::Object(map).to_string();
        match ModelConfig::from_json(Path::new("config.json"), bytes.as_bytes()) {
            Ok(config) => {
                prop_assert!(layout::parameter_count(&config) < u64::MAX);
                prop_assert!(!layout::tensor_specs(&config).is_empty());
                prop_assert!(config.stages().is_ok());
                let _ = layout::classifier_specs(&config);
                let json = config.to_json();
                let again = ModelConfig::from_json(Path::new("config.json"), json.as_bytes());
                prop_assert_eq!(again.map(|config| config.to_json()).ok(), Some(json));
            }
            Err(error) => {
                prop_assert!(error.to_string().len() < 2000);
                let _ = error.hint();
            }
        }
    }

    #[test]
    fn arbitrary_values_in_a_processor_config_give_an_answer(
        map in object(&PROCESSOR_KEYS),
        family in proptest::option::of(proptest::sample::select(Family::ALL.to_vec())),
    ) {
        let bytes = Value::Object(map).to_string();
        match ProcessorConfig::from_json(Path::new("preprocessor_config.json"), bytes.as_bytes(), family) {
            Ok(config) => { let _ = config.validate(); }
            Err(error) => prop_assert!(error.to_string().len() < 2000),
        }
    }

    #[test]
    fn arbitrary_bytes_as_weights_are_refused(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(Checkpoint::from_bytes(DINOV2.as_bytes(), None, bytes).is_err());
    }

    #[test]
    fn arbitrary_headers_are_refused(
        tensors in vec(("[a-c]{1,2}", vec(any::<u64>(), 0..3), any::<u64>(), any::<u64>()), 0..4),
        data in 0usize..64,
    ) {
        let header: Map<String, Value> = tensors
            .into_iter()
            .map(|(name, shape, begin, end)| {
                (name, json!({"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}))
            })
            .collect();
        let file = raw_file(&Value::Object(header).to_string(), data);
        prop_assert!(Checkpoint::from_bytes(DINOV2.as_bytes(), None, file).is_err());
    }

    #[test]
    fn a_valid_file_with_one_byte_changed_gives_an_answer(place in any::<proptest::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = Weights::of(DINOV2).bytes();
        let place = place.index(bytes.len().min(4000));
        bytes[place] = byte;
        if let Ok(checkpoint) = Checkpoint::from_bytes(DINOV2.as_bytes(), None, bytes) {
            for spec in layout::tensor_specs(checkpoint.config()) {
                let _ = checkpoint.tensors().read_f32(&spec.name, &spec.shape);
            }
        }
    }
}
