//! Configs are written as Transformers writes them.
//!
//! The fixtures' files were written by Transformers 5.24.0: read and written again they must be the same bytes.

use dinoxide_checkpoint::ModelConfig;
use dinoxide_checkpoint::config::Family;
use serde_json::{Value, json};

use crate::support::{fixtures, parse};

fn written(config: &str) -> Value {
    serde_json::from_str(&parse(config).unwrap().to_json()).unwrap()
}

#[test]
fn the_configs_of_all_fixtures_are_written_as_transformers_wrote_them() {
    let mut count = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path().join("config.json");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let config = ModelConfig::from_json(&path, text.as_bytes()).unwrap();
        assert_eq!(config.to_json(), text, "{}", path.display());
        count += 1;
    }
    assert!(count >= 50, "{count} configs");
}

#[test]
fn a_config_that_was_never_in_a_file_is_read_back_as_it_was() {
    for family in Family::ALL {
        let text = format!(r#"{{"model_type": "{}"}}"#, family.model_type());
        let config = parse(&text).unwrap();
        let map = written(&text);
        assert_eq!(map["transformers_version"], "5.24.0");
        for absent in ["id2label", "label2id", "dtype", "architectures", "problem_type", "num_labels"] {
            assert!(map.get(absent).is_none(), "{family:?}: {absent}");
        }
        let again = parse(&map.to_string()).unwrap();
        assert_eq!(again.to_json(), config.to_json());
    }
}

#[test]
fn unknown_keys_and_the_spelling_of_values_are_kept() {
    let map = written(
        r#"{"model_type": "dinov2", "interpolate_offset": 0.1, "nested": {"b": [], "a": null}, "image_size": [28, 28],
            "hidden_dropout_prob": 0, "patch_size": 4, "torch_dtype": "float16", "transformers_version": "4.31.0.dev0",
            "is_encoder_decoder": false, "chunk_size_feed_forward": 7}"#,
    );
    assert_eq!(map["interpolate_offset"], json!(0.1));
    assert_eq!(map["nested"], json!({"a": null, "b": []}));
    assert_eq!(map["image_size"], json!([28, 28]));
    assert_eq!(map["hidden_dropout_prob"].to_string(), "0");
    assert_eq!(map["drop_path_rate"].to_string(), "0.0");
    assert_eq!(map["dtype"], "float16");
    assert_eq!(map["transformers_version"], "4.31.0.dev0");
    assert_eq!(map["chunk_size_feed_forward"], 7);
    assert!(map.get("torch_dtype").is_none() && map.get("is_encoder_decoder").is_none());
}

#[test]
fn labels_are_written_both_ways_in_the_order_of_their_numbers() {
    let labels: Vec<String> = (0..12).map(|id| format!(r#""{id}": "c{id}""#)).collect();
    let text = format!(r#"{{"model_type": "dinov2", "id2label": {{{}}}}}"#, labels.join(","));
    let json = parse(&text).unwrap().to_json();
    assert!(json.find("\"9\": \"c9\"").unwrap() < json.find("\"10\": \"c10\"").unwrap());
    let map: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(map["label2id"]["c10"], 10);
    // The file's own way back is kept, whatever it says.
    let own = written(r#"{"model_type": "dinov2", "id2label": {"0": "a"}, "label2id": {"b": 4}}"#);
    assert_eq!(own["label2id"], json!({"b": 4}));
}

#[test]
fn numbers_of_labels_that_stand_alone_are_kept_beside_the_two_labels_of_a_config_without_names() {
    for label2id in [json!({"cat": 0}), json!({"cat": 0, "dog": 1}), json!({})] {
        let map = written(&json!({"model_type": "dinov2", "label2id": label2id}).to_string());
        assert_eq!((map.get("id2label"), &map["label2id"]), (None, &label2id));
    }
    let other = written(r#"{"model_type": "dinov2", "num_labels": 1, "label2id": {"cat": 0}}"#);
    assert_eq!((&other["id2label"], &other["label2id"]), (&json!({"0": "LABEL_0"}), &json!({"LABEL_0": 0})));
}

#[test]
fn a_changed_field_replaces_what_was_read() {
    let mut config =
        parse(r#"{"model_type": "dinov2", "id2label": {"0": "a"}, "label2id": {"a": 0}, "x": 1}"#).unwrap();
    let ModelConfig::Dinov2(inner) = &mut config else { panic!() };
    inner.hidden_size = 96;
    inner.common.id2label = vec![(0, "b".into()), (1, "c".into())];
    let map: Value = serde_json::from_str(&config.to_json()).unwrap();
    assert_eq!((&map["hidden_size"], &map["x"]), (&json!(96), &json!(1)));
    assert_eq!(map["label2id"], json!({"b": 0, "c": 1}));
}
