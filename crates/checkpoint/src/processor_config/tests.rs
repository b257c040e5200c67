//! Processor configs as text: defaults of each kind, spellings of sizes, and values that are refused by name.
//!
//! The defaults are Transformers 5.24.0's for `BitImageProcessor` and `DINOv3ViTImageProcessor`. Steps that are on without
//! their values are errors.

use super::*;

fn parse(json: &str) -> Result<ProcessorConfig, CheckpointError> {
    ProcessorConfig::from_json(Path::new("preprocessor_config.json"), json.as_bytes(), None)
}

fn bit(fields: &str) -> Result<ProcessorConfig, CheckpointError> {
    parse(&format!("{{\"image_processor_type\": \"BitImageProcessor\", {fields}}}"))
}

#[test]
fn a_step_that_is_on_needs_its_value() {
    let cases = [
        ("rescale_factor", "do_rescale"),
        ("image_mean", "do_normalize"),
        ("image_std", "do_normalize"),
        ("crop_size", "do_center_crop"),
        ("size", "do_resize"),
        ("resample", "do_resize"),
    ];
    for (value, step) in cases {
        let config = bit(&format!("\"{value}\": null")).unwrap();
        match config.validate() {
            Err(CheckpointError::ProcessorNeeds { step: got, missing }) => {
                assert_eq!((got, missing), (step, value));
            }
            other => panic!("{other:?}"),
        }
        bit(&format!("\"{value}\": null, \"{step}\": false")).unwrap().validate().unwrap();
    }
}

#[test]
fn the_defaults_of_both_classes_are_valid() {
    for kind in ProcessorKind::ALL {
        ProcessorConfig::new(kind).validate().unwrap();
    }
}

#[test]
fn backend_suffixes_and_old_names_are_understood() {
    let cases = [
        ("{\"image_processor_type\": \"BitImageProcessorFast\"}", ProcessorKind::Bit),
        ("{\"image_processor_type\": \"BitImageProcessorPil\"}", ProcessorKind::Bit),
        ("{\"feature_extractor_type\": \"BitFeatureExtractor\"}", ProcessorKind::Bit),
        ("{\"image_processor_type\": \"DINOv3ViTImageProcessorFast\"}", ProcessorKind::DINOv3ViT),
        (
            "{\"image_processor_type\": \"DINOv3ViTImageProcessor\", \"feature_extractor_type\": \"BitFeatureExtractor\"}",
            ProcessorKind::DINOv3ViT,
        ),
    ];
    for (json, kind) in cases {
        assert_eq!(parse(json).unwrap().kind, kind, "{json}");
    }
}

#[test]
fn a_missing_or_unknown_type_lists_the_known_ones() {
    assert!(matches!(parse("{}"), Err(CheckpointError::NoProcessorType { .. })));
    for value in ["\"ViTImageProcessor\"", "3", "\"Fast\"", "\"BitImageProcessorFastFast\""] {
        let error = parse(&format!("{{\"image_processor_type\": {value}}}")).unwrap_err();
        assert!(matches!(error, CheckpointError::UnknownProcessorType { .. }), "{error:?}");
        assert!(
            error.to_string().ends_with("expected one of BitImageProcessor, DINOv3ViTImageProcessor"),
            "{error}"
        );
    }
}

#[test]
fn sizes_out_of_range_and_of_other_forms_are_refused_by_name() {
    let values = [
        "0",
        "-1",
        "16385",
        "1e18",
        "2.5",
        "true",
        "\"224\"",
        "[224]",
        "[1, 2, 3]",
        "[0, 1]",
        "{}",
        "{\"height\": 224}",
        "{\"height\": 224, \"width\": null}",
        "{\"height\": 0, \"width\": 224}",
        "{\"shortest_edge\": 0}",
        "{\"shortest_edge\": 0, \"longest_edge\": 9}",
        "{\"height\": 1, \"width\": 1, \"depth\": 1}",
        "{\"shortest_edge\": 1e12}",
    ];
    for key in ["size", "crop_size", "pad_size"] {
        for value in values {
            match bit(&format!("\"{key}\": {value}")) {
                Err(CheckpointError::InvalidField { key: got, .. }) => assert_eq!(got, key),
                other => panic!("{key} {value}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_zero_longest_edge_counts_as_not_given() {
    let size = |json: &str| bit(&format!("\"size\": {json}")).unwrap().size.unwrap();
    let shortest = SizeSpec::ShortestEdge { shortest_edge: 9 };
    assert_eq!(size("{\"shortest_edge\": 9, \"longest_edge\": 0}"), shortest);
    assert_eq!(size("{\"shortest_edge\": 9, \"longest_edge\": null}"), shortest);
}

#[test]
fn other_fields_of_a_wrong_type_are_refused_by_name() {
    let cases = [
        ("do_resize", "1"),
        ("do_resize", "\"true\""),
        ("resample", "6"),
        ("resample", "\"bicubic\""),
        ("resample", "-1"),
        ("image_mean", "[]"),
        ("image_mean", "[\"a\"]"),
        ("image_std", "[1, null, 1]"),
        ("rescale_factor", "\"1/255\""),
        ("default_to_square", "0"),
    ];
    for (key, value) in cases {
        match bit(&format!("\"{key}\": {value}")) {
            Err(CheckpointError::InvalidField { key: got, .. }) => assert_eq!(got, key, "{value}"),
            other => panic!("{key} {value}: {other:?}"),
        }
    }
}

#[test]
fn resample_numbers_are_pillows() {
    for (code, filter) in Resample::ALL.into_iter().enumerate() {
        assert_eq!(filter.code(), code);
        assert_eq!(bit(&format!("\"resample\": {code}")).unwrap().resample, Some(filter));
    }
    assert_eq!((Resample::Bilinear.code(), Resample::Bicubic.code()), (2, 3));
}

#[test]
fn one_number_serves_all_channels() {
    assert_eq!(bit("\"image_mean\": 0.5").unwrap().image_mean, Some(vec![0.5]));
}

#[test]
fn the_object_of_a_file_keeps_its_keys_and_values() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("preprocessor_config.json");
    let json = "{\"feature_extractor_type\": \"BitFeatureExtractor\", \"note\": [1], \"size\": null}";
    std::fs::write(&file, json).unwrap();
    let (kind, object) = ProcessorConfig::open_object(dir.path(), None).unwrap().unwrap();
    std::fs::write(&file, "{\"note\": 1}").unwrap();
    let untyped = ProcessorConfig::open_object(dir.path(), None);
    let by_family = ProcessorConfig::open_object(dir.path(), Some(Family::DINOv3Vit)).unwrap().unwrap();
    assert_eq!(kind, ProcessorKind::Bit);
    assert_eq!(Value::Object(object), serde_json::from_str::<Value>(json).unwrap());
    assert!(matches!(untyped, Err(CheckpointError::NoProcessorType { .. })), "{untyped:?}");
    assert_eq!(by_family.0, ProcessorKind::DINOv3ViT);
}
