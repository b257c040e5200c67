//! Masks that do not fit, or that a family does not take, are typed errors; masks that hide nothing change no bit.

use crate::fixtures::model;
use dinoxide::{Error, HiddenStates, Inputs, Isa, Model, ModelError, hash32};
use ndarray::{Array2, Array4};

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
