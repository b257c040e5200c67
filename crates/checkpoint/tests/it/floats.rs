//! `Tensors::floats`: the file's own numbers of a tensor, part by part, where they need no conversion.
//!
//! Whatever the form, the numbers are those that `read_f32` gives, and the form is the file's own wherever that is possible.

use std::fs;

use dinoxide_checkpoint::config::TorchDtype;
use dinoxide_checkpoint::{
    Checkpoint, CheckpointError, Dtype, FloatPart, Floats, OpenOptions, SaveOptions, ShardSize, layout,
};
use half::{bf16, f16};

use crate::support::{DINOV2, Weights, checkpoint_folder, f32_bytes, fixtures, open, raw_file};

const NORM: &str = "layernorm.weight";
/// 1/3 is rounded by every format, 70,000 is beyond f16.
const NUMBERS: [f32; 8] = [1.0 / 3.0, -2.5, 0.0, -0.0, 70_000.0, 1e-6, 1.0, -3.75];

/// The numbers as f32, and the form of each part.
fn read(floats: &Floats<'_>) -> (Vec<f32>, Vec<&'static str>) {
    let mut numbers = Vec::new();
    let forms = floats.parts().iter().map(|part| match part {
        FloatPart::F32(part) => (numbers.extend(*part), "f32").1,
        FloatPart::Bf16(part) => (numbers.extend(part.iter().map(|x| x.to_f32())), "bf16").1,
        FloatPart::F16(part) => (numbers.extend(part.iter().map(|x| x.to_f32())), "f16").1,
        FloatPart::Converted(part) => (numbers.extend(part), "converted").1,
    });
    let forms = forms.collect();
    (numbers, forms)
}

fn form(checkpoint: &Checkpoint, name: &str, shape: &[usize]) -> Vec<&'static str> {
    let (numbers, forms) = read(&checkpoint.tensors().floats(name, shape).unwrap());
    let want = checkpoint.tensors().read_f32(name, shape).unwrap();
    assert_eq!(f32_bytes(&numbers), f32_bytes(&want), "{name}");
    forms
}

/// The numbers in a format, little-endian.
fn encoded(dtype: Dtype) -> Vec<u8> {
    let bytes = |x: &f32| match dtype {
        Dtype::F64 => f64::from(*x).to_le_bytes().to_vec(),
        Dtype::F32 => x.to_le_bytes().to_vec(),
        Dtype::BF16 => bf16::from_f32(*x).to_le_bytes().to_vec(),
        _ => f16::from_f32(*x).to_le_bytes().to_vec(),
    };
    NUMBERS.iter().flat_map(bytes).collect()
}

const FORMATS: [(Dtype, &str); 4] =
    [(Dtype::F32, "f32"), (Dtype::BF16, "bf16"), (Dtype::F16, "f16"), (Dtype::F64, "converted")];

#[test]
fn each_format_comes_as_the_file_has_it_and_f64_converted() {
    for (dtype, expected) in FORMATS {
        let mut weights = Weights::of(DINOV2);
        weights.0.insert(NORM.into(), (dtype, vec![8], encoded(dtype)));
        assert_eq!(form(&open(DINOV2, &weights).unwrap(), NORM, &[8]), [expected], "{dtype}");
    }
}

#[test]
fn what_is_not_aligned_is_converted() {
    for ((dtype, aligned), pad) in FORMATS.into_iter().flat_map(|format| (0..4).map(move |pad| (format, pad)))
    {
        let data = encoded(dtype);
        let tensor = format!(r#"{{"dtype": "{dtype}", "shape": [8], "data_offsets": [0, {}]}}"#, data.len());
        let header = format!(r#"{{"{NORM}": {tensor}}}"#);
        // Blanks after the header, as many as move the data off its alignment.
        let blanks = " ".repeat((8 - (8 + header.len()) % 8) % 8 + pad);
        let mut file = raw_file(&(header + &blanks), 0);
        file.extend(data);
        let dir = checkpoint_folder(DINOV2, &Weights::of(DINOV2).without(&[NORM]));
        fs::rename(dir.path().join("model.safetensors"), dir.path().join("rest.safetensors")).unwrap();
        fs::write(dir.path().join("norm.safetensors"), file).unwrap();
        let mut map: serde_json::Map<String, serde_json::Value> =
            Weights::of(DINOV2).0.into_keys().map(|name| (name, "rest.safetensors".into())).collect();
        map.insert(NORM.into(), "norm.safetensors".into());
        let index = serde_json::json!({"weight_map": map}).to_string();
        fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
        let width = if dtype == Dtype::F32 { 4 } else { 2 };
        let expected = if pad % width == 0 { aligned } else { "converted" };
        let checkpoint = Checkpoint::open(dir.path()).unwrap();
        assert_eq!(form(&checkpoint, NORM, &[8]), [expected], "{dtype} {pad}");
    }
}

#[test]
fn what_has_to_be_rounded_is_converted_and_what_is_so_already_is_not() {
    for (dtype, own) in FORMATS {
        let mut weights = Weights::of(DINOV2);
        weights.0.insert(NORM.into(), (dtype, vec![8], encoded(dtype)));
        let dir = checkpoint_folder(DINOV2, &weights);
        for (asked, name) in [
            (TorchDtype::Float32, own),
            (TorchDtype::BFloat16, "bf16"),
            (TorchDtype::Float16, "f16"),
            (TorchDtype::Float64, own),
        ] {
            let options = OpenOptions { dtype: Some(asked), ..OpenOptions::default() };
            let checkpoint = Checkpoint::open_with(dir.path(), &options).unwrap();
            let expected = if own == name { own } else { "converted" };
            assert_eq!(form(&checkpoint, NORM, &[8]), [expected], "{dtype} as {asked:?}");
        }
    }
}

/// SwiGLU inputs in two modules, a position table without its first row, codes of both kinds; in one file and in shards.
#[test]
fn parts_come_one_after_the_other_from_any_layout_and_codes_as_what_they_stand_for() {
    let cases = [
        ("dinov2-swiglu-v5-names", "encoder.layer.0.mlp.weights_in.weight", &["f32", "f32"][..]),
        ("dinov2-with-registers-swiglu-timm-names", "embeddings.position_embeddings", &["converted"]),
        ("dinov3-vit-bf16", "layer.0.mlp.up_proj.weight", &["bf16"]),
        ("dinov3-vit-int8", "layer.0.mlp.up_proj.weight", &["converted"]),
        ("dinov2-with-registers-int4", "encoder.layer.0.mlp.fc1.weight", &["converted"]),
    ];
    for (fixture, tensor, expected) in cases {
        let whole = Checkpoint::open(&fixtures().join(fixture)).unwrap();
        let dir = tempfile::tempdir().unwrap();
        whole
            .save_pretrained(dir.path(), &SaveOptions { max_shard_size: ShardSize::from_bytes(4000) })
            .unwrap();
        let shards = Checkpoint::open(dir.path()).unwrap();
        assert!(dir.path().join("model.safetensors.index.json").is_file());
        for checkpoint in [&whole, &shards] {
            for spec in layout::model_specs(checkpoint.config(), checkpoint.head()) {
                if checkpoint.tensors().contains(&spec.name) {
                    form(checkpoint, &spec.name, &spec.shape);
                }
            }
        }
        let specs = layout::tensor_specs(whole.config());
        let shape = &specs.iter().find(|spec| spec.name == tensor).unwrap().shape;
        assert_eq!(form(&whole, tensor, shape), expected, "{fixture}");
    }
}

#[test]
fn no_such_tensor_and_another_shape_are_refused() {
    let checkpoint = open(DINOV2, &Weights::of(DINOV2)).unwrap();
    let error = |name: &str, shape: &[usize]| checkpoint.tensors().floats(name, shape).unwrap_err();
    assert!(matches!(error("no.such", &[8]), CheckpointError::TensorNotFound { .. }));
    assert!(matches!(error(NORM, &[9]), CheckpointError::TensorShape { .. }));
}
