//! Masks that do not fit, or that a family does not take, are typed errors; masks that hide nothing change no bit.

use crate::fixtures::model;
use dinoxide::{Backbone, Error, HiddenStates, ImageClassifier, Inputs, Isa, Model, ModelError, hash32};
use ndarray::{Array2, Array4, s};

fn pixels() -> Array4<f32> {
    Array4::from_shape_vec((2, 3, 12, 20), hash32(1, 2 * 3 * 12 * 20)).unwrap()
}

const VITS: [(&str, usize); 3] =
    [("dinov2-backbone", 16), ("dinov2-with-registers-backbone", 18), ("dinov3-vit-backbone", 18)];

fn error(model: &Model, inputs: &Inputs<'_>) -> ModelError {
    match model.forward(inputs).unwrap_err() {
        Error::Model(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn masks_of_a_wrong_shape_are_errors_that_say_both_shapes() {
    let pixels = pixels();
    for (name, tokens) in VITS {
        let model = model(name, Isa::best(), 1);
        for (rows, cols) in [(2, 14), (2, 16), (1, 15), (3, 15), (2, 1), (2, 0)] {
            let mask = Array2::from_elem((rows, cols), false);
            let error = error(&model, &Inputs::new(pixels.view()).with_bool_masked_pos(mask.view()));
            let ModelError::InputShape { input: "bool_masked_pos", expected, got } = error else {
                panic!("{name} {rows}x{cols}: {error}")
            };
            assert_eq!((expected, got), (vec![2, 15], vec![rows, cols]), "{name}");
        }
        if name.starts_with("dinov3") {
            continue;
        }
        // Transformers drops a mask of ones of any length without a look; a wrong length is a mistake all the same.
        for (rows, cols) in [(2, tokens - 1), (2, tokens + 1), (1, tokens), (3, tokens), (2, 1)] {
            let mask = Array2::from_elem((rows, cols), true);
            let error = error(&model, &Inputs::new(pixels.view()).with_attention_mask(mask.view()));
            assert!(
                matches!(error, ModelError::InputShape { input: "attention_mask", .. }),
                "{name}: {error}"
            );
        }
    }
}

#[test]
fn masks_that_hide_nothing_change_no_bit() {
    let pixels = pixels();
    for (name, tokens) in VITS {
        let model = model(name, Isa::best(), 2);
        let plain = model.forward(&Inputs::new(pixels.view())).unwrap().last_hidden_state;
        let masked = Array2::from_elem((2, 15), false);
        let inputs = Inputs::new(pixels.view()).with_bool_masked_pos(masked.view());
        assert_eq!(model.forward(&inputs).unwrap().last_hidden_state, plain, "{name}");
        if !name.starts_with("dinov3") {
            let attended = Array2::from_elem((2, tokens), true);
            let inputs = Inputs::new(pixels.view()).with_attention_mask(attended.view());
            assert_eq!(model.forward(&inputs).unwrap().last_hidden_state, plain, "{name}");
        }
    }
}

#[test]
fn what_a_family_does_not_take_is_refused_rather_than_ignored() {
    let pixels = Array4::zeros((1, 3, 64, 64));
    let (masked, attended) = (Array2::from_elem((1, 256), true), Array2::from_elem((1, 259), true));
    let vit = model("dinov3-vit-backbone", Isa::best(), 1);
    let error_of_vit = error(&vit, &Inputs::new(pixels.view()).with_attention_mask(attended.view()));
    assert!(
        matches!(error_of_vit, ModelError::InputNotTaken { input: "attention_mask", .. }),
        "{error_of_vit}"
    );
    let convnext = model("dinov3-convnext", Isa::best(), 1);
    for inputs in [
        Inputs::new(pixels.view()).with_attention_mask(attended.view()),
        Inputs::new(pixels.view()).with_bool_masked_pos(masked.view()),
    ] {
        assert!(matches!(error(&convnext, &inputs), ModelError::InputNotTaken { .. }));
    }
    let without = model("dinov2-nomask", Isa::best(), 1);
    let pixels = Array4::zeros((1, 3, 12, 20));
    let masked = Array2::from_elem((1, 15), true);
    let error = error(&without, &Inputs::new(pixels.view()).with_bool_masked_pos(masked.view()));
    assert!(matches!(error, ModelError::NoMaskToken), "{error}");
    without.forward(&Inputs::new(pixels.view())).unwrap();
}

#[test]
fn a_patch_that_is_no_number_stays_so_under_the_mask_of_plain_dinov2_only() {
    for (name, _) in VITS {
        let mut pixels = pixels();
        pixels[[0, 1, 2, 3]] = f32::NAN; // patch 0 of picture 0
        let mut masked = Array2::from_elem((2, 15), false);
        masked[[0, 0]] = true;
        let inputs = Inputs::new(pixels.view()).with_bool_masked_pos(masked.view());
        let outputs = model(name, Isa::best(), 1).forward(&inputs).unwrap();
        let is_nan = |item: usize| outputs.pooler_output.row(item).iter().any(|x| x.is_nan());
        assert_eq!((is_nan(0), is_nan(1)), (name == "dinov2-backbone", false), "{name}");
    }
}

#[test]
fn only_the_hidden_states_asked_for_are_kept_and_the_rest_is_unchanged() {
    let pixels = pixels();
    for (name, _) in VITS {
        let model = model(name, Isa::best(), 2);
        let all = model.forward(&Inputs::new(pixels.view()).with_hidden_states(true)).unwrap();
        let some = model.forward(&Inputs::new(pixels.view()).with_hidden_states([0, -2, 9])).unwrap();
        assert_eq!(all.last_hidden_state, some.last_hidden_state);
        let (all, some): (HiddenStates, HiddenStates) =
            (all.hidden_states.unwrap(), some.hidden_states.unwrap());
        assert_eq!((all.len(), some.len()), (4, 4));
        assert_eq!(some.iter().map(|(place, _)| place).collect::<Vec<_>>(), [0, 2]);
        assert!(some.iter().all(|(place, state)| all.get(place) == Some(state)), "{name}");
        assert!(some.get(1).is_none() && some.get(3).is_none());
    }
}

#[test]
fn masks_backbones_and_classifiers_keep_items_apart_to_the_bit_on_any_number_of_threads() {
    let pixels = pixels();
    let masked = Array2::from_shape_fn((2, 15), |(item, patch)| (item + patch) % 3 == 0);
    for (name, tokens) in VITS {
        let attended = Array2::from_shape_fn((2, tokens), |(item, token)| (item + token) % 4 > 0);
        let inputs = |items: std::ops::Range<usize>| {
            let rows = s![items.clone(), ..];
            let inputs = Inputs::new(pixels.slice(s![items.clone(), .., .., ..])).with_hidden_states([1]);
            let inputs = Inputs { bool_masked_pos: Some(masked.slice(rows)), ..inputs };
            let takes_attention_mask = !name.starts_with("dinov3");
            Inputs { attention_mask: takes_attention_mask.then(|| attended.slice(rows)), ..inputs }
        };
        let alone = model(name, Isa::best(), 1);
        for threads in [1, 2, 3] {
            let model = model(name, Isa::best(), threads);
            let together = model.forward(&inputs(0..2)).unwrap();
            let maps = Inputs { bool_masked_pos: None, ..inputs(0..2) };
            let maps = Backbone::new(model).unwrap().forward(&maps).unwrap();
            for item in 0..2 {
                let one = alone.forward(&inputs(item..item + 1)).unwrap();
                let of_batch = together.item(item);
                assert_eq!(of_batch.last_hidden_state, one.last_hidden_state, "{name} x{threads}");
                assert_eq!(of_batch.hidden_states, one.hidden_states, "{name} x{threads}");
                let one = Inputs { bool_masked_pos: None, ..inputs(item..item + 1) };
                let one = Backbone::new(alone.clone()).unwrap().forward(&one).unwrap();
                assert_eq!(maps.item(item).feature_maps, one.feature_maps, "{name} x{threads}");
            }
        }
    }
    let name = "dinov2-with-registers-classifier";
    let classifier = |threads| ImageClassifier::new(model(name, Isa::best(), threads)).unwrap();
    let logits = |classifier: &ImageClassifier, items: std::ops::Range<usize>| {
        classifier.forward(&Inputs::new(pixels.slice(s![items, .., .., ..]))).unwrap().logits
    };
    for threads in [1, 2, 3] {
        let together = logits(&classifier(threads), 0..2);
        for item in 0..2 {
            let one = logits(&classifier(1), item..item + 1);
            assert_eq!(together.row(item), one.row(0), "x{threads}");
        }
    }
}
