//! Models whose linear layers are multiplied in f16: by the processor where it has instructions for that, else step by step as it
//! would, to the same bits.

use crate::{
    fixtures::{fixture, goldens},
    precision::changed,
};
use dinoxide::{
    Checkpoint, Context, ContextOptions, Golden, Inputs, LoadOptions, Precision, PrecisionNote, hash32,
};
use dinoxide_model::Model;
use dinoxide_testkit::{compare::cosine, tolerance::F16_TOKEN_COSINE};
use ndarray::{Array3, Array4, Axis, s};

/// A model in f16 and what runs it.
struct Halves {
    ctx: Context,
    model: Model,
}

impl Halves {
    fn new(checkpoint: &Checkpoint, threads: usize) -> Self {
        let options = ContextOptions { threads: Some(threads), ..ContextOptions::default() };
        let ctx = Context::new(options).unwrap().multiplying_f16(true);
        let model = Model::load(&ctx, checkpoint, Some(Precision::F16)).unwrap();
        Self { ctx, model }
    }

    fn run(&self, pixels: &Array4<f32>) -> Array3<f32> {
        self.model.forward(&self.ctx, &Inputs::new(pixels.view())).unwrap().last_hidden_state
    }
}

fn exact(checkpoint: &Checkpoint, pixels: &Array4<f32>) -> Array3<f32> {
    let options = dinoxide::RunOptions { precision: Some(Precision::F32), ..Default::default() };
    let model = dinoxide::Model::from_checkpoint(checkpoint, options).unwrap();
    model.forward(&Inputs::new(pixels.view())).unwrap().last_hidden_state
}

fn open(name: &str) -> Checkpoint {
    dinoxide::open(fixture(name), &LoadOptions::default()).unwrap()
}

fn pixels(batch: usize, height: usize, width: usize) -> Array4<f32> {
    let len = batch * 3 * height * width;
    Array4::from_shape_vec((batch, 3, height, width), hash32(2, len)).unwrap()
}

fn assert_direction(got: &Array3<f32>, want: &Array3<f32>, what: &str) {
    for (got, want) in got.lanes(Axis(2)).into_iter().zip(want.lanes(Axis(2))) {
        let cosine = cosine(&got.to_vec(), &want.to_vec());
        assert!(cosine >= F16_TOKEN_COSINE, "{what}: {cosine}");
    }
}

#[test]
fn products_of_f16_keep_the_direction_of_every_token() {
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext"] {
        let checkpoint = open(name);
        let halves = Halves::new(&checkpoint, 2);
        assert!(halves.model.linears().iter().all(|l| l.precision == Precision::F16 && l.note.is_none()));
        let golden = Golden::open(&goldens(name)[0]).unwrap();
        for pixels in [golden.pixel_values().to_owned(), pixels(1, 64, 32)] {
            let want = exact(&checkpoint, &pixels);
            let got = halves.run(&pixels);
            assert!(got != want, "{name} is rounded");
            assert_direction(&got, &want, name);
        }
    }
}

#[test]
fn a_picture_is_what_it_is_alone_on_any_number_of_threads() {
    for name in ["dinov3-vit", "dinov3-convnext"] {
        let checkpoint = open(name);
        let batch = pixels(3, 32, 32);
        let want = Halves::new(&checkpoint, 1).run(&batch);
        let halves = Halves::new(&checkpoint, 3);
        assert_eq!(halves.run(&batch), want, "{name}");
        let alone = halves.run(&batch.slice(s![1..2, .., .., ..]).to_owned());
        assert_eq!(alone, want.slice(s![1..2, .., ..]), "{name}");
    }
}

/// In a row of the MLP, one activation far beyond f16 beside small ones.
#[test]
fn activations_beyond_f16_fit() {
    for value in [1e5, 1e15] {
        let checkpoint = changed("dinov3-vit", "layer.0.mlp.up_proj.bias", value);
        let pixels = pixels(1, 32, 32);
        let got = Halves::new(&checkpoint, 2).run(&pixels);
        let want = exact(&checkpoint, &pixels);
        assert!(got.iter().all(|x| x.is_finite()), "{value:e}");
        assert_direction(&got, &want, &format!("{value:e}"));
    }
}

#[test]
fn a_layer_of_large_weights_is_multiplied_in_f32_and_is_told() {
    let tensor = "layer.1.mlp.down_proj.weight";
    let checkpoint = changed("dinov3-vit", tensor, -65.0);
    let halves = Halves::new(&checkpoint, 2);
    let noted: Vec<_> = halves.model.linears().iter().filter(|linear| linear.note.is_some()).collect();
    assert_eq!(noted.len(), 1);
    let told = Some(PrecisionNote::MultipliedInF32 { largest: 65.0 });
    assert_eq!((noted[0].name.as_str(), noted[0].precision, noted[0].note), (tensor, Precision::F16, told));
    // Where all is widened, nothing is to be told.
    let ctx = Context::new(ContextOptions::default()).unwrap().multiplying_f16(false);
    let model = Model::load(&ctx, &checkpoint, Some(Precision::F16)).unwrap();
    assert!(model.linears().iter().all(|linear| linear.note.is_none()));
}
