//! Which stages `out_features` and `out_indices` choose, and what is refused, as Transformers does (`selections.json`).

use crate::fixtures::{checkpoints, fixture};
use dinoxide::{
    Backbone, BackboneOptions, DINOv3ConvNextBackbone, Error, FileOptions, ImageProcessor, Inputs,
    LoadOptions, Model, ModelError, run_files,
};
use serde_json::{Value, json};

fn selections(name: &str) -> Vec<Value> {
    let path = fixture(name).join("selections.json");
    std::fs::read(path).map_or(Vec::new(), |bytes| serde_json::from_slice(&bytes).unwrap())
}

fn texts(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().map(|text| text.as_str().unwrap().to_owned()).collect())
}

fn numbers(value: &Value) -> Option<Vec<i64>> {
    Some(value.as_array()?.iter().map(|number| number.as_i64().unwrap()).collect())
}

#[test]
fn every_selection_of_stages_is_what_transformers_makes_of_it() {
    let (mut accepted, mut refused) = (0, 0);
    for name in checkpoints() {
        let selections = selections(&name);
        if selections.is_empty() {
            continue;
        }
        let backbone = Backbone::from_pretrained(fixture(&name)).unwrap();
        for case in selections {
            let written = |key: &str| case.get(key).is_none_or(Value::is_array);
            if !written("out_features") || !written("out_indices") {
                let options = case.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("out_"));
                let options =
                    options.fold(LoadOptions::default(), |all, (key, value)| all.with(key, value.clone()));
                Backbone::from_pretrained_with(fixture(&name), &options).unwrap_err();
                continue;
            }
            let (features, indices) = (texts(&case["out_features"]), numbers(&case["out_indices"]));
            let chosen = backbone.clone().with_stages(features.as_deref(), indices.as_deref());
            if case.get("error").is_some() {
                let Err(error) = chosen else { panic!("{name} {case}: accepted") };
                assert!(matches!(error, Error::Checkpoint(_)), "{name} {case}: {error}");
                refused += 1;
                continue;
            }
            let chosen = chosen.unwrap_or_else(|error| panic!("{name} {case}: {error}"));
            let names: Vec<String> = chosen.stages().into_iter().map(|stage| stage.name).collect();
            assert_eq!(names, texts(&case["expect"]["out_features"]).unwrap(), "{name} {case}");
            assert_eq!(chosen.channels().len(), names.len());
            accepted += 1;
        }
    }
    assert!(accepted >= 20 && refused >= 20, "{accepted} accepted, {refused} refused");
}

#[test]
fn options_of_loading_choose_stages_too() {
    let options = LoadOptions::default().with("out_features", json!(["stage1", "stage2"]));
    let backbone = Backbone::from_pretrained_with(fixture("dinov2-backbone"), &options).unwrap();
    assert_eq!(backbone.options.stages, [1, 2]);
    assert_eq!(backbone.channels(), [16, 16]);
    assert_eq!(backbone.num_features(), [16; 4]);
    assert_eq!(backbone.stage_names(), ["stem", "stage1", "stage2", "stage3"]);
    let options = LoadOptions::default().with("out_indices", json!([2, 1]));
    assert!(Backbone::from_pretrained_with(fixture("dinov2-backbone"), &options).is_err());
}

#[test]
fn a_convnext_has_its_own_channels_and_takes_no_class_tokens() {
    let backbone = DINOv3ConvNextBackbone::from_pretrained(fixture("dinov3-convnext-backbone")).unwrap();
    assert_eq!(backbone.num_features(), [3, 4, 8, 12, 16]);
    assert_eq!(backbone.config().num_channels, 3);
    let mut backbone = backbone.into_inner();
    backbone.options = BackboneOptions { return_class_token: true, ..backbone.options };
    let pixels = ndarray::Array4::zeros((1, 3, 64, 64));
    let error = backbone.forward(&Inputs::new(pixels.view())).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::NoClassTokens { .. })), "{error}");
    backbone.options = BackboneOptions { return_class_token: false, stages: vec![7], ..backbone.options };
    let error = backbone.forward(&Inputs::new(pixels.view())).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::NoStage { stage: 7, stages: 5 })), "{error}");
}

#[test]
fn stages_are_chosen_by_plain_names_or_by_indices_alone() {
    let backbone = Backbone::from_pretrained(fixture("dinov2-backbone")).unwrap();
    let by_names = backbone.clone().with_out_features(&["stem", "stage2"]).unwrap();
    let by_indices = backbone.clone().with_out_indices(&[0, 2]).unwrap();
    assert_eq!((&by_names.options.stages[..], &by_indices.options.stages[..]), (&[0, 2][..], &[0, 2][..]));
    let error = backbone.with_out_features(&["stage99".to_owned()]).unwrap_err();
    assert!(error.to_string().starts_with("no stage `stage99`"), "{error}");
}

#[test]
fn a_backbone_without_a_stage_is_an_error_of_each_picture() {
    for name in ["dinov2-backbone", "dinov3-convnext-backbone"] {
        let backbone =
            Backbone::from_pretrained(fixture(name)).unwrap().with_stages(None, Some(&[])).unwrap();
        let processor = ImageProcessor::from_pretrained(fixture(name)).unwrap();
        let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pictures/chelsea.png");
        let results = run_files(&backbone, &processor, FileOptions::default(), [picture; 2]).take(3);
        let refused =
            |result: &Result<_, Error>| matches!(result, Err(Error::Model(ModelError::NoStageChosen)));
        assert_eq!(results.filter(|(_, result)| refused(result)).count(), 2, "{name}");
    }
}

#[test]
fn a_class_of_another_family_is_refused() {
    let error = DINOv3ConvNextBackbone::from_pretrained(fixture("dinov2")).unwrap_err();
    assert!(matches!(error, Error::WrongFamily { expected: "dinov3_convnext", got: "dinov2" }), "{error}");
}

#[test]
fn backbones_refuse_bool_masked_pos() {
    let (pixels, masked) =
        (ndarray::Array4::zeros((1, 3, 32, 32)), ndarray::Array2::from_elem((1, 64), true));
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext"] {
        let backbone = Backbone::from_pretrained(fixture(&format!("{name}-backbone"))).unwrap();
        let inputs = Inputs::new(pixels.view()).with_bool_masked_pos(masked.view());
        let error = backbone.forward(&inputs).unwrap_err();
        let told = matches!(error, Error::Model(ModelError::InputNotTaken { input: "bool_masked_pos", .. }));
        assert!(told, "{name}: {error}");
    }
}

#[test]
fn what_the_caller_leaves_open_the_config_decides() {
    let options = LoadOptions::default().with("output_hidden_states", true).with("output_attentions", true);
    let pixels = ndarray::Array4::zeros((1, 3, 32, 32));
    let open = Inputs::new(pixels.view());
    let no = Inputs { output_attentions: Some(false), ..open.clone() }.with_hidden_states(false);
    let model = Model::from_pretrained_with(fixture("dinov3-vit-backbone"), &options).unwrap();
    let given = |inputs| {
        let outputs = model.forward(inputs).unwrap();
        (outputs.hidden_states.map(|all| all.len()), outputs.attentions.map(|all| all.len()))
    };
    assert_eq!((given(&open), given(&no)), ((Some(4), Some(3)), (None, None)));
}

#[test]
fn options_that_name_stages_out_of_order_or_twice_are_refused() {
    let mut backbone = Backbone::from_pretrained(fixture("dinov2")).unwrap();
    let pixels = ndarray::Array4::zeros((1, 3, 28, 28));
    for stages in [vec![2, 1], vec![1, 1]] {
        backbone.options.stages = stages;
        let error = backbone.forward(&Inputs::new(pixels.view())).unwrap_err();
        assert!(matches!(error, Error::Model(ModelError::StageOrder { .. })), "{error}");
    }
}
