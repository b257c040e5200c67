//! What must not change a bit: the rest of the batch, the number of threads, asking for more outputs, and pixels beyond the last patch.

use crate::fixtures::{checkpoints, model, open};
use dinoxide::{Inputs, Isa, ModelError, Outputs, hash32};
use ndarray::{Array4, ArrayView4, Axis, concatenate, s};

/// One fixture a family, and one a form of the layers.
const NAMES: [&str; 6] =
    ["dinov2", "dinov2-with-registers", "dinov2-swiglu", "dinov3-vit", "dinov3-vit-gated", "dinov3-convnext"];

fn pixels(seed: u32, height: usize, width: usize) -> Array4<f32> {
    Array4::from_shape_vec((1, 3, height, width), hash32(seed, 3 * height * width)).unwrap()
}

fn bits(outputs: &Outputs) -> Vec<u32> {
    outputs.last_hidden_state.iter().chain(&outputs.pooler_output).map(|v| v.to_bits()).collect()
}

#[allow(clippy::needless_pass_by_value)] // a view is passed as a slice is
fn forward(model: &dinoxide::Model, pixels: ArrayView4<'_, f32>) -> Outputs {
    model.forward(&Inputs::new(pixels)).unwrap()
}

#[test]
fn an_item_of_a_batch_equals_the_item_alone_to_the_bit_on_any_number_of_threads() {
    for name in NAMES {
        for isa in Isa::available() {
            let alone = model(name, isa, 1);
            for (height, width) in [(64, 48), (33, 90)] {
                let items: Vec<_> = (0..5).map(|seed| pixels(seed, height, width)).collect();
                let views: Vec<_> = items.iter().map(|item| item.view()).collect();
                let batch = concatenate(Axis(0), &views).unwrap();
                for threads in [1, 2, 3] {
                    let together = forward(&model(name, isa, threads), batch.view());
                    for (i, item) in items.iter().enumerate() {
                        let same = bits(&together.item(i)) == bits(&forward(&alone, item.view()));
                        assert!(same, "{name} {isa} x{threads} {height}x{width} item {i}");
                    }
                }
            }
        }
    }
}

#[test]
fn asking_for_hidden_states_changes_no_bit() {
    for name in NAMES {
        let model = model(name, Isa::best(), 2);
        let pixels = pixels(1, 40, 56);
        let asked = Inputs { output_hidden_states: true.into(), ..Inputs::new(pixels.view()) };
        assert_eq!(bits(&model.forward(&asked).unwrap()), bits(&forward(&model, pixels.view())), "{name}");
    }
}

#[test]
fn attentions_are_probabilities_and_the_eager_result_stays_close() {
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit"] {
        let model = model(name, Isa::best(), 2);
        let pixels = pixels(2, 28, 28);
        let asked = Inputs { output_attentions: Some(true), ..Inputs::new(pixels.view()) };
        let outputs = model.forward(&asked).unwrap();
        let attentions = outputs.attentions.as_ref().unwrap();
        let tokens = outputs.prefix + outputs.grid.len();
        assert_eq!(attentions.len(), 2);
        for attention in attentions {
            assert_eq!(attention.dim(), (1, 2, tokens, tokens), "{name}");
            assert!(attention.sum_axis(Axis(3)).iter().all(|sum| (sum - 1.0).abs() < 1e-5), "{name}");
        }
        let map = outputs.cls_attention(1).unwrap();
        assert_eq!(map.dim(), (1, 2, 7, 7), "{name}");
        assert_eq!(map[[0, 1, 6, 2]], attentions[1][[0, 1, 0, outputs.prefix + 6 * 7 + 2]], "{name}");
        assert!(outputs.cls_attention(2).is_none());
        let fused = forward(&model, pixels.view()).last_hidden_state;
        let worst = (&outputs.last_hidden_state - &fused).iter().fold(0.0_f32, |worst, d| worst.max(d.abs()));
        assert!(worst < 1e-5, "{name}: {worst}");
    }
}

#[test]
fn pixels_beyond_the_last_patch_are_ignored() {
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit"] {
        let model = model(name, Isa::best(), 1);
        let whole = pixels(3, 30, 33);
        let cut = whole.slice(s![.., .., ..28, ..32]).to_owned();
        let outputs = forward(&model, whole.view());
        assert_eq!((outputs.grid.rows, outputs.grid.cols), (7, 8));
        assert_eq!(bits(&outputs), bits(&forward(&model, cut.view())), "{name}");
    }
}

#[test]
fn pixels_in_any_memory_order_give_the_same() {
    let model = model("dinov3-convnext", Isa::best(), 2);
    let pixels = pixels(4, 64, 40);
    let channels_last = pixels.view().permuted_axes([0, 2, 3, 1]).as_standard_layout().into_owned();
    let view = channels_last.view().permuted_axes([0, 3, 1, 2]);
    assert_eq!(bits(&forward(&model, view)), bits(&forward(&model, pixels.view())));
}

#[test]
fn an_empty_batch_gives_empty_outputs() {
    for name in NAMES {
        let outputs = forward(&model(name, Isa::best(), 2), Array4::zeros((0, 3, 64, 64)).view());
        assert_eq!(outputs.pooler_output.nrows(), 0, "{name}");
    }
}

#[test]
fn pictures_that_do_not_fit_are_typed_errors() {
    for name in checkpoints() {
        let model = model(&name, Isa::best(), 1);
        let channels = open(&name).config().num_channels();
        let run = |c, h, w| model.forward(&Inputs::new(Array4::zeros((1, c, h, w)).view()));
        let too_small = run(channels, 1, 300).unwrap_err();
        assert!(
            matches!(too_small, dinoxide::Error::Model(ModelError::TooSmall { .. })),
            "{name}: {too_small}"
        );
        let wrong = run(channels + 1, 64, 64).unwrap_err();
        assert!(matches!(wrong, dinoxide::Error::Model(ModelError::Channels { .. })), "{name}: {wrong}");
    }
    let thin = Array4::zeros((1, 3, 4, 4 * 65_537));
    let too_many = model("dinov2", Isa::best(), 1).forward(&Inputs::new(thin.view())).unwrap_err();
    assert!(matches!(too_many, dinoxide::Error::Model(ModelError::TooManyPatches { .. })), "{too_many}");
    let convnext = model("dinov3-convnext", Isa::best(), 1);
    let last_stage_empty = convnext.forward(&Inputs::new(Array4::zeros((1, 3, 30, 33)).view())).unwrap_err();
    assert!(matches!(last_stage_empty, dinoxide::Error::Model(ModelError::TooSmall { .. })));
    let asked = Array4::zeros((1, 3, 64, 64));
    let asked = Inputs { output_attentions: Some(true), ..Inputs::new(asked.view()) };
    let error = convnext.forward(&asked).unwrap_err();
    assert!(matches!(error, dinoxide::Error::Model(ModelError::NoAttentions { .. })), "{error}");
}

#[test]
fn attentions_above_the_limit_are_refused_before_they_are_made() {
    let model = model("dinov2", Isa::best(), 1);
    let pixels = Array4::zeros((1, 3, 700, 700)); // 30,626 tokens: 2 layers of 2 heads are 15 GB
    let asked = Inputs { output_attentions: Some(true), ..Inputs::new(pixels.view()) };
    let error = model.forward(&asked).unwrap_err();
    assert!(matches!(error, dinoxide::Error::Model(ModelError::AttentionsTooLarge { .. })), "{error}");
}

#[test]
fn the_eager_attention_without_its_probabilities_gives_the_same_as_with() {
    for name in ["dinov2", "dinov3-vit"] {
        let model = model(name, Isa::best(), 2);
        let pixels = pixels(5, 40, 28);
        let with = Inputs { output_attentions: Some(true), ..Inputs::new(pixels.view()) };
        let without = Inputs { eager_attention: true, ..Inputs::new(pixels.view()) };
        let (with, without) = (model.forward(&with).unwrap(), model.forward(&without).unwrap());
        assert_eq!(bits(&with), bits(&without), "{name}");
        assert!(without.attentions.is_none());
    }
}
