//! bf16 and f16 checkpoints, computed in f32, against the goldens of the f32 weights they were made from.

use crate::fixtures::{checkpoints, goldens, model};
use dinoxide::{Golden, Inputs, Isa};
use dinoxide_testkit::{compare::cosine, tolerance::HALF_TOKEN_COSINE};
use ndarray::{Axis, Ix3};

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
