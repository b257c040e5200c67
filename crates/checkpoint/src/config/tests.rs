//! Configs as text: defaults, spellings, and values that are refused by name.
//!
//! The defaults are Transformers 5.24.0's. A config that is out of bounds must be an error that names the key, before a size
//! is computed from it.

use super::*;

fn parse(json: &str) -> Result<ModelConfig, CheckpointError> {
    ModelConfig::from_json(Path::new("dir/config.json"), json.as_bytes())
}

/// A config of `model_type` with these further fields.
fn with(model_type: &str, fields: &str) -> Result<ModelConfig, CheckpointError> {
    parse(&format!("{{\"model_type\": \"{model_type}\", {fields}}}"))
}

fn refused_key(model_type: &str, fields: &str) -> String {
    match with(model_type, fields) {
        Err(CheckpointError::InvalidField { key, path, .. }) => {
            assert_eq!(path, Path::new("dir/config.json"));
            key
        }
        other => panic!("{model_type} {fields}: {other:?}"),
    }
}

#[test]
fn swiglu_width_is_two_thirds_rounded_up_to_a_multiple_of_8() {
    let cases = [(1536, 4, 4096), (40, 4, 112), (8, 4, 24), (384, 4, 1024), (32, 4, 88), (3, 1, 8)];
    for (hidden, ratio, expected) in cases {
        let fields = format!(
            "\"hidden_size\": {hidden}, \"mlp_ratio\": {ratio}, \"num_attention_heads\": 1, \"use_swiglu_ffn\": true"
        );
        assert_eq!(with("dinov2", &fields).unwrap().swiglu_width(), Some(expected), "{hidden}");
    }
    assert_eq!(with("dinov2", "\"hidden_size\": 1536").unwrap().swiglu_width(), None);
}

#[test]
fn sizes_come_from_the_family_that_has_them() {
    let vit = with("dinov3_vit", "\"num_register_tokens\": 4").unwrap();
    assert_eq!((vit.hidden_size(), vit.head_dim(), vit.num_register_tokens()), (384, Some(64), 4));
    assert_eq!(vit.patch_size(), Some(Size2::square(16)));
    assert_eq!(vit.stage_names().len(), 13);
    let convnext = parse("{\"model_type\": \"dinov3_convnext\"}").unwrap();
    assert_eq!((convnext.hidden_size(), convnext.head_dim(), convnext.patch_size()), (768, None, None));
    assert_eq!(convnext.stage_names(), ["stem", "stage1", "stage2", "stage3", "stage4"]);
    let registers = parse("{\"model_type\": \"dinov2_with_registers\"}").unwrap();
    assert_eq!((registers.num_register_tokens(), registers.patch_size()), (4, Some(Size2::square(16))));
}

#[test]
fn a_head_dim_key_replaces_the_quotient_which_is_rounded_down() {
    let fields = "\"hidden_size\": 10, \"num_attention_heads\": 3";
    assert_eq!(with("dinov2", fields).unwrap().head_dim(), Some(3));
    assert_eq!(with("dinov2", &format!("{fields}, \"head_dim\": 7")).unwrap().head_dim(), Some(7));
}

#[test]
fn labels_are_sorted_as_integers() {
    let labels: Vec<String> = (0..12).rev().map(|i| format!("\"{i}\": \"c{i}\"")).collect();
    let config = with("dinov2", &format!("\"id2label\": {{{}}}", labels.join(", "))).unwrap();
    assert_eq!(config.common().num_labels(), 12);
    assert_eq!(config.common().label(10), Some("c10"));
    assert_eq!(config.common().id2label[2], (2, "c2".into()));
}

#[test]
fn an_unknown_or_missing_model_type_lists_the_known_ones() {
    for json in ["{\"model_type\": \"dinov9\"}", "{\"model_type\": 3}", "{}", "{\"model_type\": null}"] {
        let text = parse(json).unwrap_err().to_string();
        assert!(text.contains("dinov2, dinov2_with_registers, dinov3_vit, dinov3_convnext"), "{text}");
        assert!(text.contains("dir/config.json"), "{text}");
    }
    assert!(matches!(parse("{}"), Err(CheckpointError::NoModelType { .. })));
}

#[test]
fn text_that_is_no_json_object_is_refused() {
    for json in ["", "{", "nul", "{\"a\": NaN}", "{\"a\": 1e999}"] {
        assert!(matches!(parse(json), Err(CheckpointError::Json { .. })), "{json}");
    }
    assert!(matches!(parse("[]"), Err(CheckpointError::NotAnObject { .. })));
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    assert!(matches!(parse(&deep), Err(CheckpointError::Json { .. })));
}

#[test]
fn whole_floats_serve_as_integers_and_integers_as_floats() {
    let config = with("dinov2", "\"mlp_ratio\": 4.0, \"layer_norm_eps\": 0, \"patch_size\": 14.0").unwrap();
    let ModelConfig::Dinov2(config) = config else { unreachable!() };
    assert_eq!((config.mlp_ratio, config.layer_norm_eps, config.patch_size), (4, 0.0, Size2::square(14)));
}

#[test]
fn impossible_sizes_are_refused_by_name() {
    let huge = u64::MAX.to_string();
    let power = (1u64 << 60).to_string();
    for value in
        ["0", "-1", "-9223372036854775808", &huge, &power, "1e30", "1.5", "\"8\"", "null", "true", "[8]"]
    {
        for (family, key) in [
            ("dinov2", "hidden_size"),
            ("dinov2", "num_attention_heads"),
            ("dinov2", "mlp_ratio"),
            ("dinov2", "num_channels"),
            ("dinov2", "head_dim"),
            ("dinov2", "patch_size"),
            ("dinov2", "image_size"),
            ("dinov3_vit", "intermediate_size"),
            ("dinov3_vit", "hidden_size"),
        ] {
            assert_eq!(refused_key(family, &format!("\"{key}\": {value}")), key, "{value}");
        }
    }
    for value in ["-1", &power, "0.5"] {
        assert_eq!(refused_key("dinov2", &format!("\"num_hidden_layers\": {value}")), "num_hidden_layers");
        let registers = format!("\"num_register_tokens\": {value}");
        assert_eq!(refused_key("dinov3_vit", &registers), "num_register_tokens");
        assert_eq!(refused_key("dinov2_with_registers", &registers), "num_register_tokens");
        assert_eq!(refused_key("dinov2", &format!("\"num_labels\": {value}")), "num_labels");
    }
}

#[test]
fn sizes_that_do_not_go_together_are_refused() {
    let cases = [
        ("dinov2", "\"hidden_size\": 4, \"num_attention_heads\": 8", "num_attention_heads"),
        ("dinov2", "\"num_attention_heads\": 4, \"head_dim\": 1048576", "head_dim"),
        ("dinov2", "\"hidden_size\": 1048576, \"mlp_ratio\": 2", "mlp_ratio"),
        ("dinov2", "\"image_size\": 10, \"patch_size\": 14", "image_size"),
        ("dinov3_vit", "\"hidden_size\": 385", "hidden_size"),
        ("dinov3_vit", "\"hidden_size\": 36, \"num_attention_heads\": 6", "hidden_size"),
        ("dinov3_convnext", "\"hidden_sizes\": [8, 16]", "depths"),
        ("dinov3_convnext", "\"hidden_sizes\": [], \"depths\": []", "hidden_sizes"),
        ("dinov3_convnext", "\"hidden_sizes\": [8, 0], \"depths\": [1, 1]", "hidden_sizes"),
        ("dinov3_convnext", "\"hidden_sizes\": [8, 8], \"depths\": [1, 1152921504606846976]", "depths"),
        ("dinov3_convnext", "\"hidden_sizes\": 8", "hidden_sizes"),
    ];
    for (family, fields, key) in cases {
        assert_eq!(refused_key(family, fields), key, "{fields}");
    }
    let many: Vec<&str> = vec!["8"; crate::limits::MAX_STAGES + 1];
    let fields = format!("\"hidden_sizes\": [{0}], \"depths\": [{0}]", many.join(", "));
    assert_eq!(refused_key("dinov3_convnext", &fields), "hidden_sizes");
}

#[test]
fn pairs_have_two_entries_within_range() {
    for value in ["[]", "[14]", "[14, 14, 14]", "[14, 0]", "[14, \"14\"]", "[14, null]", "{}", "[14, 1e9]"] {
        assert_eq!(refused_key("dinov2", &format!("\"patch_size\": {value}")), "patch_size");
    }
}

#[test]
fn values_that_nothing_here_understands_are_refused_rather_than_defaulted() {
    let cases = [
        ("\"problem_type\": \"foo\"", "problem_type"),
        ("\"dtype\": \"int8\"", "dtype"),
        ("\"torch_dtype\": 32", "torch_dtype"),
        ("\"id2label\": {\"0\": 1}", "id2label"),
        ("\"id2label\": [\"a\"]", "id2label"),
        ("\"architectures\": \"Dinov2Model\"", "architectures"),
        ("\"stage_names\": [1]", "stage_names"),
        ("\"out_indices\": [0.5]", "out_indices"),
        ("\"layer_norm_eps\": -1e-6", "layer_norm_eps"),
        ("\"drop_path_rate\": 2", "drop_path_rate"),
    ];
    for (fields, key) in cases {
        assert_eq!(refused_key("dinov2", fields), key);
    }
}

#[test]
fn a_choice_of_stages_that_does_not_fit_names_the_file_and_the_rule() {
    let error = with("dinov2", "\"out_indices\": [1, 1]").unwrap_err();
    assert!(matches!(error, CheckpointError::ConfigStages { .. }));
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "stage `stage1` is named twice in `out_indices`");
}

#[test]
fn stage_names_of_the_file_replace_the_computed_ones() {
    let fields = "\"num_hidden_layers\": 1, \"stage_names\": [\"in\", \"out\"], \"out_indices\": [1]";
    let config = with("dinov2", fields).unwrap();
    assert_eq!(config.stages().unwrap(), [Stage { index: 1, name: "out".into() }]);
}

#[test]
fn architectures_tell_classifiers_and_backbones() {
    let config = with("dinov2", "\"architectures\": [\"Dinov2ForImageClassification\"]").unwrap();
    assert!(config.has_classifier() && !config.is_backbone());
    let config = with("dinov2", "\"architectures\": [\"Dinov2Backbone\"]").unwrap();
    assert!(!config.has_classifier() && config.is_backbone());
}
