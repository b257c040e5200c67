//! Classifiers: none there, another number of labels, labels in the order of their numbers, losses.

use crate::fixtures::fixture;
use dinoxide::{
    CheckpointError, ClassifyOptions, Dinov2ForImageClassification, Error, ImageClassifier, Inputs,
    LoadOptions, Model, ModelError, Pipeline, hash32,
};
use ndarray::{Array2, Array4, arr1};
use serde_json::{Map, Value, json};

fn pixels() -> Array4<f32> {
    Array4::from_shape_vec((2, 3, 12, 20), hash32(3, 2 * 3 * 12 * 20)).unwrap()
}

#[test]
fn a_headless_checkpoint_is_refused_as_a_classifier_unless_a_fresh_one_is_wanted() {
    let error = ImageClassifier::from_pretrained(fixture("dinov2")).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(CheckpointError::NoClassifier { .. })), "{error}");
    assert!(error.hint().is_some(), "{error}");
    assert!(
        format!("{error:?}").ends_with("or start a fresh one with `LoadOptions::fresh_classifier`"),
        "{error:?}"
    );
    let options = LoadOptions { fresh_classifier: true, ..LoadOptions::default() }.with("num_labels", 5);
    let classifier = ImageClassifier::from_pretrained_with(fixture("dinov2"), &options).unwrap();
    let missing = &classifier.model().checkpoint().loading_info().missing_keys;
    assert!(missing.iter().any(|key| key == "classifier.weight"), "{missing:?}");
    let pixels = pixels();
    let outputs = classifier.forward(&Inputs::new(pixels.view())).unwrap();
    assert_eq!(outputs.logits.dim(), (2, 5));
    let bare =
        Model::from_pretrained(fixture("dinov2")).unwrap().forward(&Inputs::new(pixels.view())).unwrap();
    assert_eq!(outputs.base.last_hidden_state, bare.last_hidden_state);
}

#[test]
fn dinov3_has_no_classifier_class() {
    for name in ["dinov3-vit", "dinov3-convnext"] {
        let options = LoadOptions { fresh_classifier: true, ..LoadOptions::default() };
        let error = ImageClassifier::from_pretrained_with(fixture(name), &options).unwrap_err();
        assert!(matches!(error, Error::Checkpoint(CheckpointError::NoClassifierClass { .. })), "{error}");
    }
}

#[test]
fn another_number_of_labels_is_an_error_with_both_or_makes_the_classifier_anew() {
    let name = fixture("dinov2-classifier");
    let five = LoadOptions::default().with("num_labels", 5);
    let error = ImageClassifier::from_pretrained_with(&name, &five).unwrap_err();
    let Error::Checkpoint(CheckpointError::LabelCount { config, weights, .. }) = &error else {
        panic!("{error}")
    };
    assert_eq!((*config, *weights), (5, 12));
    assert!(error.to_string().contains('5') && error.to_string().contains("12"), "{error}");

    let remade = LoadOptions { ignore_mismatched_sizes: true, ..five };
    let remade = ImageClassifier::from_pretrained_with(&name, &remade).unwrap();
    let pixels = pixels();
    let (inputs, whole) = (Inputs::new(pixels.view()), ImageClassifier::from_pretrained(&name).unwrap());
    let (remade, whole) = (remade.forward(&inputs).unwrap(), whole.forward(&inputs).unwrap());
    assert_eq!((remade.logits.ncols(), whole.logits.ncols()), (5, 12));
    assert_eq!(remade.base.last_hidden_state, whole.base.last_hidden_state);
}

#[test]
fn labels_are_in_the_order_of_their_numbers_not_of_their_digits() {
    // Class 10 wins in this fixture; sorted as texts it would come third.
    let pipeline = Pipeline::image_classification(fixture("dinov2-classifier")).unwrap();
    let picture = fixture("../pictures/chelsea.png");
    let labels =
        pipeline.classify(&picture, &ClassifyOptions { top_k: 3, ..ClassifyOptions::default() }).unwrap();
    let labels: Vec<&str> = labels.iter().map(|prediction| prediction.label.as_str()).collect();
    assert_eq!(labels, ["c10", "c1", "c0"]);
    let names: Map<String, Value> = (0..12).map(|i| (i.to_string(), json!(format!("class {i}")))).collect();
    let renamed = LoadOptions::default().with("id2label", names);
    let pipeline = Pipeline::image_classification_with(fixture("dinov2-classifier"), &renamed).unwrap();
    assert_eq!(pipeline.classify(&picture, &ClassifyOptions::default()).unwrap()[0].label, "class 10");
}

#[test]
fn labels_that_do_not_fit_are_errors_and_leave_the_config_as_it_is() {
    let classifier = Dinov2ForImageClassification::from_pretrained(fixture("dinov2-classifier")).unwrap();
    let pixels = pixels();
    let inputs = Inputs::new(pixels.view());
    let classes = arr1(&[3_i64, 11]);
    let loss = |outputs: Result<dinoxide::ImageClassifierOutputs, Error>| {
        outputs.map(|outputs| outputs.loss.unwrap())
    };
    let single = loss(classifier.forward_with_labels(&inputs, classes.view())).unwrap();
    let values = Array2::from_elem((2, 12), 0.5_f32);
    let multi = loss(classifier.forward_with_labels(&inputs, values.view())).unwrap();
    // The kind of the first labels is not remembered: the same again gives the same.
    assert_eq!(loss(classifier.forward_with_labels(&inputs, classes.view())).unwrap(), single);
    assert!(single.is_finite() && multi.is_finite());
    assert!(classifier.config().common.problem_type.is_none());
    let wrong = arr1(&[3_i64, 12]);
    let error = loss(classifier.forward_with_labels(&inputs, wrong.view())).unwrap_err();
    assert!(
        matches!(error, Error::Model(ModelError::LabelOutOfRange { item: 1, label: 12, classes: 12 })),
        "{error}"
    );
    let wrong = arr1(&[3_i64]);
    let error = loss(classifier.forward_with_labels(&inputs, wrong.view())).unwrap_err();
    assert!(matches!(error, Error::Model(ModelError::Labels { .. })), "{error}");
}

#[test]
fn a_configs_own_wishes_are_met_unless_the_caller_says_otherwise() {
    let wishes = LoadOptions::default().with("output_hidden_states", true).with("output_attentions", true);
    let model = Model::from_pretrained_with(fixture("dinov2"), &wishes).unwrap();
    let pixels = pixels();
    let asked = model.forward(&Inputs::new(pixels.view())).unwrap();
    assert_eq!((asked.hidden_states.unwrap().len(), asked.attentions.unwrap().len()), (3, 2));
    let plain = model.forward(&dinoxide::FileOptions::plain().inputs(pixels.view())).unwrap();
    assert!(plain.hidden_states.is_none() && plain.attentions.is_none());
}
