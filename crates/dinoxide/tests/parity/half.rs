//! bf16 and f16 checkpoints, computed in f32, against the goldens of the f32 weights they were made from.

use crate::fixtures::{checkpoints, fixture, goldens, model};
use dinoxide::{Checkpoint, ContextOptions, Golden, Inputs, Isa, Model, hash32};
use dinoxide_testkit::{compare::cosine, tolerance::HALF_TOKEN_COSINE};
use half::f16;
use ndarray::{Array4, Axis, Ix3};
use safetensors::{Dtype, SafeTensors, serialize, tensor::TensorView};

#[test]
fn half_precision_weights_keep_the_direction_of_every_token() {
    let halves: Vec<_> = checkpoints().into_iter().filter(|name| name.ends_with("f16")).collect();
    assert!(halves.len() >= 8, "{halves:?}");
    for name in halves {
        for (isa, path) in Isa::available()
            .into_iter()
            .flat_map(|isa| goldens(&name).into_iter().map(move |path| (isa, path)))
        {
            let model = model(&name, isa, 2);
            let golden = Golden::open(&path).unwrap();
            let (_, want) = golden.outputs().find(|(name, _)| *name == "last_hidden_state").unwrap();
            let want = want.into_dimensionality::<Ix3>().unwrap();
            let got = model.forward(&Inputs::new(golden.pixel_values())).unwrap().last_hidden_state;
            assert_eq!(got.dim(), want.dim());
            for (got, want) in got.lanes(Axis(2)).into_iter().zip(want.lanes(Axis(2))) {
                let cosine = cosine(&got.to_vec(), &want.to_vec());
                assert!(cosine >= HALF_TOKEN_COSINE, "{name} {}: {cosine}", path.display());
            }
        }
    }
}

/// The fixture with an MLP weight of its first layer scaled, so that hidden values pass 1e5, which f16 cannot hold.
fn scaled(name: &str, tensor: &str, factor: f32) -> Model {
    let read = |file: &str| std::fs::read(fixture(name).join(file)).unwrap();
    let bytes = read("model.safetensors");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter().map(|(name, view)| {
        let mut data = view.data().to_vec();
        if name == tensor {
            assert_eq!(view.dtype(), Dtype::F16);
            for half in data.as_chunks_mut().0 {
                *half = f16::from_f32(f16::from_le_bytes(*half).to_f32() * factor).to_le_bytes();
            }
        }
        (name, view.dtype(), view.shape().to_vec(), data)
    });
    let tensors: Vec<_> = tensors.collect();
    let views = tensors.iter().map(|(name, dtype, shape, data)| {
        (name.as_str(), TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    let weights = serialize(views, None).unwrap();
    let checkpoint = Checkpoint::from_bytes(&read("config.json"), None, weights).unwrap();
    Model::from_checkpoint(&checkpoint, ContextOptions::default()).unwrap()
}

#[test]
fn values_beyond_f16_stay_finite_as_all_is_computed_in_f32() {
    for (name, tensor) in [
        ("dinov2-with-registers-f16", "encoder.layer.0.mlp.fc1.weight"),
        ("dinov3-vit-f16", "layer.0.mlp.up_proj.weight"),
    ] {
        let model = scaled(name, tensor, 40_000.0);
        // Far from the native grid, as angles and positions have to be exact there too.
        for (height, width) in [(28, 28), (224, 8)] {
            let pixels =
                Array4::from_shape_vec((1, 3, height, width), hash32(2, 3 * height * width)).unwrap();
            let outputs = model.forward(&Inputs::new(pixels.view()).with_hidden_states([1])).unwrap();
            let largest = outputs.hidden_states.unwrap()[1].iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            assert!(largest > 1e5 && largest.is_finite(), "{name}: {largest}");
            assert!(outputs.last_hidden_state.iter().all(|x| x.is_finite()), "{name}");
        }
    }
}
