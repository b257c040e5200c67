//! Checkpoints in codes: those of torchao against the float models they stand for, and our own, written and opened again.

use crate::fixtures::{checkpoints, fixture, goldens};
use dinoxide::{
    ContextOptions, Error, Golden, ImageClassifier, Inputs, Isa, LoadOptions, Model, Precision,
    QuantizeOptions, RunOptions, SaveOptions, ShardSize, config::TorchDtype, hash32, quantize, verify,
};
use dinoxide_testkit::{
    compare::cosine,
    tolerance::{INT8_TOKEN_COSINE, TINY_MODEL_MAX_ABS},
};
use ndarray::{Array4, Axis, Ix3};
use tempfile::TempDir;

/// The four families; SwiGLU, whose input is one tensor here and two modules there; a classifier.
const SOURCES: [&str; 6] = [
    "dinov2-swiglu",
    "dinov2-classifier",
    "dinov2-with-registers",
    "dinov3-vit",
    "dinov3-vit-gated",
    "dinov3-convnext",
];
const PRECISIONS: [Precision; 6] = [
    Precision::Bf16,
    Precision::F16,
    Precision::Int8,
    Precision::Int4 { group_size: 16 },
    Precision::Int4 { group_size: 128 },
    Precision::Int4A8 { group_size: 32 },
];

fn quantized_fixtures() -> Vec<String> {
    let names: Vec<_> =
        checkpoints().into_iter().filter(|name| name.ends_with("int8") || name.ends_with("int4")).collect();
    assert!(names.len() >= 4, "{names:?}");
    names
}

fn with(precision: Option<Precision>) -> LoadOptions {
    LoadOptions { precision, ..LoadOptions::default() }
}

fn pixels() -> Array4<f32> {
    Array4::from_shape_vec((1, 3, 64, 64), hash32(8, 3 * 64 * 64)).unwrap()
}

/// The bits of what a model gives: tokens, or of a classifier, logits.
fn bits(name: &str, place: &std::path::Path, precision: Option<Precision>) -> Vec<u32> {
    let (pixels, options) = (pixels(), with(precision));
    let inputs = Inputs::new(pixels.view());
    let values: Vec<f32> = match name.contains("classifier") {
        true => {
            let classifier = ImageClassifier::from_pretrained_with(place, &options).unwrap();
            classifier.forward(&inputs).unwrap().logits.into_iter().collect()
        }
        false => {
            let model = Model::from_pretrained_with(place, &options).unwrap();
            model.forward(&inputs).unwrap().last_hidden_state.into_iter().collect()
        }
    };
    values.into_iter().map(f32::to_bits).collect()
}

/// In f32, a checkpoint in codes is the float model that they stand for.
#[test]
fn torchao_s_checkpoints_widened_are_the_float_models_they_stand_for() {
    for name in quantized_fixtures() {
        for isa in Isa::available() {
            let context = ContextOptions { isa: Some(isa), threads: Some(2) };
            let options = LoadOptions { context, ..with(Some(Precision::F32)) };
            // As it was saved: with its classifier, where it has one.
            let checkpoint = dinoxide::open(fixture(&name), &options).unwrap();
            let run = RunOptions { context, precision: options.precision };
            let model = Model::from_checkpoint(&checkpoint, run).unwrap();
            assert!(model.linears().iter().all(|linear| linear.precision == Precision::F32));
            for path in goldens(&name) {
                let rows = verify(&model, &Golden::open(&path).unwrap()).unwrap();
                let failed: Vec<_> = rows.iter().filter(|row| !row.passes(TINY_MODEL_MAX_ABS)).collect();
                assert!(failed.is_empty(), "{name} {isa}: {failed:?}");
            }
        }
    }
}

/// As they are, also with activations in 8 bits, every token keeps its direction.
#[test]
fn torchao_s_checkpoints_as_they_are_keep_the_direction_of_every_token() {
    for name in quantized_fixtures() {
        let model = Model::from_pretrained(fixture(&name)).unwrap();
        let held = if name.ends_with("int8") { "int8" } else { "int4" };
        assert!(model.linears().iter().all(|linear| linear.precision.name() == held), "{name}");
        for path in goldens(&name) {
            let golden = Golden::open(&path).unwrap();
            let (last, want) =
                golden.outputs().filter(|(name, _)| name.starts_with("hidden_states.")).last().unwrap();
            let place: usize = last.strip_prefix("hidden_states.").unwrap().parse().unwrap();
            let want = want.into_dimensionality::<Ix3>().unwrap();
            let inputs = Inputs::new(golden.pixel_values()).with_hidden_states(true);
            let got = model.forward(&inputs).unwrap().hidden_states.unwrap()[place].clone();
            let got = got.into_dimensionality::<Ix3>().unwrap();
            for (got, want) in got.lanes(Axis(2)).into_iter().zip(want.lanes(Axis(2))) {
                let cosine = cosine(&got.to_vec(), &want.to_vec());
                assert!(cosine >= INT8_TOKEN_COSINE, "{name}: {cosine}");
            }
        }
    }
}

#[test]
fn what_is_quantised_opens_to_the_same_bits_as_the_original_in_that_precision() {
    for name in SOURCES {
        for precision in PRECISIONS {
            let checkpoint = dinoxide::open(fixture(name), &with(Some(Precision::F32))).unwrap();
            let dir = TempDir::new().unwrap();
            let mut told = 0;
            let options = QuantizeOptions::new(precision);
            let weights = quantize(&checkpoint, dir.path(), &options, &mut |_| told += 1).unwrap();
            assert_eq!(told, weights.len(), "{name} {precision}");
            let want = bits(name, &fixture(name), Some(precision));
            assert_eq!(bits(name, dir.path(), None), want, "{name} {precision}");
            // And once more: saved as it is, in shards.
            let again = TempDir::new().unwrap();
            let reopened = dinoxide::open(dir.path(), &LoadOptions::default()).unwrap();
            let save = SaveOptions { max_shard_size: ShardSize::from_bytes(3000) };
            reopened.save_pretrained(again.path(), &save).unwrap();
            assert!(again.path().join("model.safetensors.index.json").is_file());
            if precision.group_size().is_some() || precision == Precision::Int8 {
                assert_eq!(bits(name, again.path(), None), want, "{name} {precision}, saved again");
            }
        }
    }
}

#[test]
fn the_report_of_a_weight_is_of_what_was_written() {
    let checkpoint = dinoxide::open(fixture("dinov3-vit"), &with(Some(Precision::F32))).unwrap();
    let before = checkpoint.total_bytes();
    let cosines = [
        (Precision::Bf16, 0.99999),
        (Precision::F16, 0.9999999),
        (Precision::Int8, 0.9999),
        (Precision::Int4 { group_size: 32 }, 0.98),
    ];
    for (precision, least) in cosines {
        let dir = TempDir::new().unwrap();
        let weights =
            quantize(&checkpoint, dir.path(), &QuantizeOptions::new(precision), &mut |_| {}).unwrap();
        let made = dinoxide::open(dir.path(), &LoadOptions::default()).unwrap();
        // Per weight as in the files, but for int8's zeros, a byte an output.
        let zeros =
            if precision == Precision::Int8 { weights.iter().map(|weight| weight.shape[0]).sum() } else { 0 };
        let saved: u64 = weights.iter().map(|weight| weight.bytes_before - weight.bytes_after).sum();
        assert_eq!(before - saved + zeros as u64, made.total_bytes(), "{precision}");
        for weight in weights {
            assert_eq!((weight.precision, weight.note), (precision, None));
            let read =
                |of: &dinoxide::Checkpoint| of.tensors().read_f32(&weight.name, &weight.shape).unwrap();
            let (want, got) = (read(&checkpoint), read(&made));
            let largest = want.iter().zip(&got).map(|(want, got)| (want - got).abs()).fold(0.0, f32::max);
            assert_eq!(weight.max_abs, largest, "{precision} {}", weight.name);
            assert!((weight.cosine - cosine(&want, &got)).abs() < 1e-9);
            assert!(weight.cosine < 1.0 && weight.cosine >= least, "{precision} {}", weight.cosine);
        }
    }
}

#[test]
fn what_is_in_codes_already_is_not_quantised_again() {
    let checkpoint = dinoxide::open(fixture("dinov3-vit-int8"), &LoadOptions::default()).unwrap();
    let dir = TempDir::new().unwrap();
    let options = QuantizeOptions::new(Precision::Int4 { group_size: 32 });
    let error = quantize(&checkpoint, dir.path(), &options, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::AlreadyQuantized { .. }), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// `quantization_config` is gone, and the file's own metadata tells what the codes are.
#[test]
fn codes_that_only_the_file_tells_of_are_not_quantised_again_either() {
    let source = fixture("dinov2-with-registers-int4");
    let dir = TempDir::new().unwrap();
    std::fs::copy(source.join("model.safetensors"), dir.path().join("model.safetensors")).unwrap();
    let mut config: serde_json::Value =
        serde_json::from_slice(&std::fs::read(source.join("config.json")).unwrap()).unwrap();
    config.as_object_mut().unwrap().remove("quantization_config").unwrap();
    std::fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    let checkpoint = dinoxide::open(dir.path(), &LoadOptions::default()).unwrap();
    let target = TempDir::new().unwrap();
    let options = QuantizeOptions::new(Precision::Int8);
    let error = quantize(&checkpoint, target.path(), &options, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::AlreadyQuantized { .. }), "{error}");
}

/// Made anew in other groups they would lose twice.
#[test]
fn codes_of_a_file_keep_their_groups_whatever_groups_are_asked() {
    let name = "dinov2-with-registers-int4";
    let held = Model::from_pretrained(fixture(name)).unwrap().linears()[0].precision;
    assert!(held.group_size().is_some_and(|group_size| group_size < 128), "{held:?}");
    let asked = Precision::Int4 { group_size: 128 };
    let model = Model::from_pretrained_with(fixture(name), &with(Some(asked))).unwrap();
    assert!(model.linears().iter().all(|linear| linear.precision == held));
    assert_eq!(bits(name, &fixture(name), Some(asked)), bits(name, &fixture(name), None));
}

#[test]
fn a_folder_for_activations_in_8_bits_says_so() {
    let checkpoint = dinoxide::open(fixture("dinov2-with-registers"), &with(Some(Precision::F32))).unwrap();
    let dir = TempDir::new().unwrap();
    let precision = Precision::Int4A8 { group_size: 32 };
    quantize(&checkpoint, dir.path(), &QuantizeOptions::new(precision), &mut |_| {}).unwrap();
    let model = Model::from_pretrained(dir.path()).unwrap();
    assert!(model.linears().iter().all(|linear| linear.precision == precision));
    assert_eq!(model.config().common().dtype, Some(TorchDtype::Float32));
    // Codes of 4 bits serve as those of either kind.
    let floats = RunOptions { precision: Some(Precision::Int4 { group_size: 32 }), ..RunOptions::default() };
    let model = Model::from_checkpoint(model.checkpoint(), floats).unwrap();
    assert!(model.linears().iter().all(|linear| linear.precision.name() == "int4"));
}
