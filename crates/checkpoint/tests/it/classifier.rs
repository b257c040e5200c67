//! Asking a checkpoint for its classifier.
//!
//! A backbone opens without one, and one that does not fit its labels or its features is refused only when it is asked for,
//! with both numbers.

use dinoxide_checkpoint::{Checkpoint, CheckpointError};

use crate::support::{CLASSIFIER, DINOV2, DINOV3_VIT, Weights, open};

#[test]
fn a_classifier_that_fits_its_labels_is_accepted() {
    let checkpoint = open(CLASSIFIER, &Weights::of(CLASSIFIER)).unwrap();
    assert!(checkpoint.has_classifier() && checkpoint.config().has_classifier());
    checkpoint.check_classifier().unwrap();
    assert_eq!(checkpoint.config().common().label(1), Some("bee"));
    assert_eq!(checkpoint.config().common().label(3), None);
}

#[test]
fn a_backbone_opens_and_has_no_classifier() {
    let refused = |config| {
        let checkpoint = open(config, &Weights::of(config)).unwrap();
        assert!(!checkpoint.has_classifier());
        checkpoint.check_classifier().unwrap_err()
    };
    let error = refused(DINOV2);
    assert!(matches!(error, CheckpointError::NoClassifier { .. }) && error.hint().is_some(), "{error:?}");
    // Not even without labels, where a classifier needs no weights.
    let no_labels = DINOV3_VIT.replacen('{', r#"{"num_labels": 0, "#, 1);
    for config in [DINOV3_VIT, &no_labels] {
        assert!(matches!(refused(config), CheckpointError::NoClassifierClass { .. }));
    }
}

#[test]
fn another_number_of_labels_is_refused_with_both_numbers_and_the_backbone_still_opens() {
    let five = CLASSIFIER.replace("\"2\": \"cat\"", "\"2\": \"cat\", \"3\": \"dog\", \"4\": \"eel\"");
    let checkpoint: Checkpoint = open(&five, &Weights::of(CLASSIFIER)).unwrap();
    match checkpoint.check_classifier().unwrap_err() {
        CheckpointError::LabelCount { config, weights, .. } => assert_eq!((config, weights), (5, 3)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_classifier_over_other_features_is_refused() {
    let weights = Weights::of(CLASSIFIER).with("classifier.weight", &[3, 8]);
    let error = open(CLASSIFIER, &weights).unwrap().check_classifier().unwrap_err();
    assert!(matches!(error, CheckpointError::TensorShape { .. }), "{error:?}");
}

#[test]
fn no_labels_means_no_classifier_weights_and_no_error() {
    let none = CLASSIFIER.replace(r#""id2label": {"0": "ant", "1": "bee", "2": "cat"}"#, r#""id2label": {}"#);
    assert_ne!(none, CLASSIFIER);
    open(&none, &Weights::of(&none)).unwrap().check_classifier().unwrap();
}
