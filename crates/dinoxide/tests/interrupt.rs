//! A forward that is stopped before its end.

use dinoxide::{
    Backbone, Error, Inputs, Interrupt, LoadOptions, Model, ModelError, Outputs, ndarray::Array4,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Wants the forward to stop when it has been asked so many times.
#[derive(Debug)]
struct After(AtomicUsize);

impl Interrupt for After {
    fn wanted(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

fn is_interrupted<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Model(ModelError::Interrupted)))
}

/// The last hidden state is a copy of the result: there is none before the last layer.
#[test]
fn a_forward_whose_last_hidden_state_alone_is_kept_stops_too() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/dinov3-vit");
    let mut options = LoadOptions::default();
    options.overrides.insert("tie_last_hidden_states".to_owned(), true.into());
    let model = Model::from_pretrained_with(folder, &options).unwrap();
    let pixels = Array4::from_elem((3, 3, 64, 64), 0.5);
    for layers in 0..2 {
        let after = After(AtomicUsize::new(layers));
        let mut inputs = Inputs::new(pixels.view()).with_interrupt(&after);
        inputs.output_hidden_states = vec![-1].into();
        assert!(is_interrupted(&model.forward(&inputs)), "after {layers} layers");
    }
}

#[test]
fn a_forward_stops_where_its_interrupt_says_so_and_the_model_works_afterwards() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/dinov3-convnext");
    for name in ["builtin:tiny", folder] {
        let model = Model::from_pretrained(name).unwrap();
        let backbone = Backbone::new(model.clone());
        let pixels = Array4::from_elem((3, 3, 64, 64), 0.5);
        let whole = model.forward(&Inputs::new(pixels.view())).unwrap();
        for layers in 0..3 {
            let after = After(AtomicUsize::new(layers));
            let inputs = Inputs::new(pixels.view()).with_hidden_states(true).with_interrupt(&after);
            assert!(is_interrupted(&model.forward(&inputs)), "{name} after {layers} layers");
            if let Ok(backbone) = &backbone {
                assert!(is_interrupted(&backbone.forward(&inputs)), "{name} after {layers} layers");
            }
        }
        let never = AtomicBool::new(false);
        let inputs = Inputs::new(pixels.view()).with_interrupt(&never);
        let mut outputs = Outputs::default();
        model.forward_into(&inputs, &mut outputs).unwrap();
        assert_eq!(outputs.last_hidden_state, whole.last_hidden_state);
    }
}
