//! A precision asked at load: which layers take it, what becomes of those that cannot, and how close the model stays.

use crate::fixtures::{fixture, goldens};
use dinoxide::{
    Checkpoint, DINOv3ViTConfig, Dinov2Config, Error, Golden, Inputs, LoadOptions, Model, ModelError,
    Precision, PrecisionNote, QuantizeOptions, RunOptions, config::TorchDtype, hash32, quantize,
};
use dinoxide_testkit::{
    compare::cosine,
    tolerance::{HALF_TOKEN_COSINE, INT4_COSINE},
};
use ndarray::{Array4, Axis, Ix3};
use safetensors::{SafeTensors, serialize, tensor::TensorView};
use tempfile::TempDir;

fn with(precision: Precision) -> LoadOptions {
    LoadOptions { precision: Some(precision), ..LoadOptions::default() }
}

fn tokens(model: &Model) -> Vec<f32> {
    let pixels = Array4::from_shape_vec((1, 3, 56, 56), hash32(3, 3 * 56 * 56)).unwrap();
    model.forward(&Inputs::new(pixels.view())).unwrap().last_hidden_state.into_iter().collect()
}

#[test]
fn only_the_weights_of_linear_layers_take_a_precision() {
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext"] {
        let model = Model::from_pretrained_with(fixture(name), &with(Precision::Int8)).unwrap();
        for linear in model.linears() {
            assert_eq!((linear.precision, linear.note), (Precision::Int8, None), "{}", linear.name);
            assert_eq!(linear.bytes_f32, 4 * (linear.shape[0] * linear.shape[1]) as u64);
            for other in ["embeddings", "norm", "downsample", "depthwise", "layer_scale", "gamma", "bias"] {
                assert!(!linear.name.contains(other), "{}", linear.name);
            }
        }
        let names: Vec<&str> = model.linears().iter().map(|linear| linear.name.as_str()).collect();
        let expected = match name {
            "dinov3-convnext" => 2 * 5,
            _ => 2 * 6,
        };
        let layers = model.checkpoint().tensors().names().filter(|tensor| names.contains(tensor)).count();
        assert_eq!((names.len(), layers), (expected, expected), "{names:?}");
    }
}

#[test]
fn half_precision_files_are_held_as_they_are_and_f32_files_in_f32() {
    let held = |name: &str| {
        let model = Model::from_pretrained(fixture(name)).unwrap();
        let first = model.linears()[0].precision;
        assert!(model.linears().iter().all(|linear| linear.precision == first), "{name}");
        first
    };
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit"] {
        assert_eq!(held(name), Precision::F32);
        assert_eq!(held(&format!("{name}-bf16")), Precision::Bf16);
        assert_eq!(held(&format!("{name}-f16")), Precision::F16);
    }
    // Rounded when it is opened, it is held as it was rounded.
    let options = LoadOptions { dtype: Some(TorchDtype::BFloat16), ..LoadOptions::default() };
    let model = Model::from_pretrained_with(fixture("dinov3-vit"), &options).unwrap();
    assert!(model.linears().iter().all(|linear| linear.precision == Precision::Bf16));
}

/// Also at load, and far from the native grid, where angles and positions have to be exact.
#[test]
fn half_precision_at_load_keeps_the_direction_of_every_token() {
    for name in ["dinov2-with-registers", "dinov3-vit"] {
        let exact = Model::from_pretrained(fixture(name)).unwrap();
        for precision in [Precision::Bf16, Precision::F16] {
            let model = Model::from_pretrained_with(fixture(name), &with(precision)).unwrap();
            assert!(model.linears().iter().all(|linear| linear.precision == precision));
            let check = |got: ndarray::Array3<f32>, want: ndarray::Array3<f32>| {
                for (got, want) in got.lanes(Axis(2)).into_iter().zip(want.lanes(Axis(2))) {
                    let cosine = cosine(&got.to_vec(), &want.to_vec());
                    assert!(cosine >= HALF_TOKEN_COSINE, "{name} {precision}: {cosine}");
                }
            };
            for path in goldens(name) {
                let golden = Golden::open(&path).unwrap();
                let Some((_, want)) = golden.outputs().find(|(name, _)| *name == "last_hidden_state") else {
                    continue;
                };
                let got = model.forward(&Inputs::new(golden.pixel_values())).unwrap().last_hidden_state;
                check(got, want.into_dimensionality::<Ix3>().unwrap().to_owned());
            }
            let pixels = Array4::from_shape_vec((1, 3, 224, 8), hash32(2, 3 * 224 * 8)).unwrap();
            let run = |model: &Model| model.forward(&Inputs::new(pixels.view())).unwrap().last_hidden_state;
            check(run(&model), run(&exact));
        }
    }
}

/// The fixture with some elements of a weight set.
pub(crate) fn changed(name: &str, tensor: &str, value: f32) -> Checkpoint {
    let read = |file: &str| std::fs::read(fixture(name).join(file)).unwrap();
    let bytes = read("model.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors: Vec<_> = file
        .tensors()
        .into_iter()
        .map(|(name, view)| {
            let mut data = view.data().to_vec();
            if name == tensor {
                data[40..44].copy_from_slice(&value.to_le_bytes());
            }
            (name, view.dtype(), view.shape().to_vec(), data)
        })
        .collect();
    let views = tensors.iter().map(|(name, dtype, shape, data)| {
        (name.as_str(), TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    Checkpoint::from_bytes(&read("config.json"), None, serialize(views, None).unwrap()).unwrap()
}

#[test]
fn a_layer_that_f16_cannot_hold_stays_f32_and_is_told() {
    let tensor = "layer.0.attention.k_proj.weight";
    let checkpoint = changed("dinov3-vit", tensor, 1e6);
    let load = |precision| {
        let options = RunOptions { precision: Some(precision), ..RunOptions::default() };
        Model::from_checkpoint(&checkpoint, options).unwrap()
    };
    let model = load(Precision::F16);
    for linear in model.linears() {
        // q, k and v are packed as one.
        let with_it = ["q_proj", "k_proj", "v_proj"].iter().any(|part| linear.name.contains(part));
        let expected = match with_it && linear.name.starts_with("layer.0.") {
            true => (Precision::F32, Some(PrecisionNote::BeyondF16 { largest: 1e6 })),
            false => (Precision::F16, None),
        };
        assert_eq!((linear.precision, linear.note), expected, "{}", linear.name);
    }
    assert!(tokens(&model).iter().all(|value| value.is_finite()));
    // Written, that weight alone stays f32.
    let dir = TempDir::new().unwrap();
    let weights =
        quantize(&checkpoint, dir.path(), &QuantizeOptions::new(Precision::F16), &mut |_| {}).unwrap();
    let left: Vec<_> = weights.iter().filter(|weight| weight.precision == Precision::F32).collect();
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].name.as_str(), left[0].cosine, left[0].max_abs), (tensor, 1.0, 0.0));
    let again = Model::from_pretrained(dir.path()).unwrap();
    let notes = again.linears().iter().filter(|linear| linear.note == Some(PrecisionNote::MixedParts));
    assert_eq!(notes.count(), 3);
    // bf16 and int8 hold it.
    for precision in [Precision::Bf16, Precision::Int8] {
        assert!(load(precision).linears().iter().all(|linear| linear.precision == precision));
    }
}

#[test]
fn a_layer_that_is_not_finite_or_too_large_for_a_range_has_no_codes_and_stays_f32() {
    let tensor = "layer.1.mlp.down_proj.weight";
    for (value, precision) in [
        (f32::INFINITY, Precision::Int8),
        (-2e38, Precision::Int4 { group_size: 32 }),
        (f32::NAN, Precision::Int4A8 { group_size: 7 }),
    ] {
        let checkpoint = changed("dinov3-vit", tensor, value);
        let options = RunOptions { precision: Some(precision), ..RunOptions::default() };
        let model = Model::from_checkpoint(&checkpoint, options).unwrap();
        let left: Vec<_> =
            model.linears().iter().filter(|linear| linear.precision == Precision::F32).collect();
        assert_eq!(left.len(), 1);
        assert_eq!((left[0].name.as_str(), left[0].note), (tensor, Some(PrecisionNote::NotFinite)));
        let dir = TempDir::new().unwrap();
        let weights =
            quantize(&checkpoint, dir.path(), &QuantizeOptions::new(precision), &mut |_| {}).unwrap();
        let left: Vec<_> =
            weights.iter().filter(|weight| weight.note == Some(PrecisionNote::NotFinite)).collect();
        assert_eq!(left.len(), 1);
        assert!(Model::from_pretrained(dir.path()).is_ok());
    }
}

/// Groups that do not divide a row of 48.
#[test]
fn a_group_that_does_not_divide_the_layer_is_shorter_at_the_end_and_is_told() {
    let config = Dinov2Config {
        hidden_size: 48,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        mlp_ratio: 2,
        ..Dinov2Config::default()
    };
    let exact = Model::from_config(config, 7).unwrap();
    let want = tokens(&exact);
    for (group_size, shorter) in [(32, 16), (128, 48)] {
        for precision in [Precision::Int4 { group_size }, Precision::Int4A8 { group_size }] {
            let options = RunOptions { precision: Some(precision), ..RunOptions::default() };
            let model = Model::from_checkpoint(exact.checkpoint(), options).unwrap();
            for linear in model.linears() {
                // 48 or 96 inputs: 96 are three groups of 32.
                let inputs = linear.shape[1] % group_size;
                let note = (inputs > 0).then_some(PrecisionNote::ShorterGroup { inputs });
                assert_eq!((linear.precision, linear.note), (precision, note), "{}", linear.name);
                assert!(linear.shape[1] != 48 || inputs == shorter);
            }
            let got = tokens(&model);
            let cosine = cosine(&got, &want);
            assert!(cosine >= INT4_COSINE, "{precision} {group_size}: {cosine}");
            let dir = TempDir::new().unwrap();
            quantize(exact.checkpoint(), dir.path(), &QuantizeOptions::new(precision), &mut |_| {}).unwrap();
            let again = Model::from_pretrained(dir.path()).unwrap();
            assert_eq!(tokens(&again), got, "{precision} {group_size}");
            assert_eq!(again.linears(), model.linears());
        }
    }
}

#[test]
fn groups_of_no_inputs_and_of_more_than_a_file_may_have_are_an_error() {
    for (group_size, int8_activations) in [(0, false), (0, true), ((1 << 20) + 1, false), (usize::MAX, true)]
    {
        let precision = match int8_activations {
            true => Precision::Int4A8 { group_size },
            false => Precision::Int4 { group_size },
        };
        let error = Model::from_pretrained_with(fixture("dinov2"), &with(precision)).unwrap_err();
        assert!(matches!(error, Error::Model(ModelError::GroupSize { got }) if got == group_size), "{error}");
        let checkpoint = dinoxide::open(fixture("dinov2"), &LoadOptions::default()).unwrap();
        let dir = TempDir::new().unwrap();
        let error =
            quantize(&checkpoint, dir.path(), &QuantizeOptions::new(precision), &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::Model(ModelError::GroupSize { got }) if got == group_size), "{error}");
    }
}

/// 255 · 128 · 65,794 is beyond a 32-bit integer.
#[test]
fn a_layer_of_too_many_inputs_for_sums_of_bytes_stays_f32_and_is_told() {
    let inputs = 65_794;
    let config = DINOv3ViTConfig {
        hidden_size: 4,
        intermediate_size: inputs,
        num_hidden_layers: 1,
        num_attention_heads: 1,
        ..DINOv3ViTConfig::default()
    };
    let exact = Model::from_config(config, 7).unwrap();
    let options = RunOptions { precision: Some(Precision::Int8), ..RunOptions::default() };
    let model = Model::from_checkpoint(exact.checkpoint(), options).unwrap();
    let left: Vec<_> = model.linears().iter().filter(|linear| linear.precision != Precision::Int8).collect();
    let told = Some(PrecisionNote::TooManyInputs { inputs });
    assert_eq!((left.len(), left[0].precision, left[0].note), (1, Precision::F32, told));
    let dir = TempDir::new().unwrap();
    let weights =
        quantize(exact.checkpoint(), dir.path(), &QuantizeOptions::new(Precision::Int8), &mut |_| {})
            .unwrap();
    assert_eq!(weights.iter().filter(|weight| weight.note == told).count(), 1);
    assert_eq!(tokens(&Model::from_pretrained(dir.path()).unwrap()), tokens(&model));
}

/// The difference of two such weights may be no float.
#[test]
fn weights_beyond_half_the_range_of_floats_have_no_4_bit_codes_and_stay_f32() {
    let tensor = "layer.1.mlp.down_proj.weight";
    let checkpoint = changed("dinov3-vit", tensor, 3e38);
    for (precision, expected) in
        [(Precision::Int4 { group_size: 32 }, Precision::F32), (Precision::Int8, Precision::Int8)]
    {
        let options = RunOptions { precision: Some(precision), ..RunOptions::default() };
        let model = Model::from_checkpoint(&checkpoint, options).unwrap();
        let linear = model.linears().iter().find(|linear| linear.name == tensor).unwrap();
        assert_eq!(linear.precision, expected);
        let dir = TempDir::new().unwrap();
        quantize(&checkpoint, dir.path(), &QuantizeOptions::new(precision), &mut |_| {}).unwrap();
        assert!(Model::from_pretrained(dir.path()).is_ok());
    }
}
