//! Reading tensors: dtypes, spellings, halves, shapes.
//!
//! Values are written as bytes by hand and must come back as the f32 that they stand for; a tensor asked for under another
//! shape, or of a dtype that is no float, is a typed error.

use dinoxide_checkpoint::{Checkpoint, CheckpointError, Dtype, layout};
use half::{bf16, f16};

use crate::support::{
    CLASSIFIER, CONVNEXT, DINOV2, DINOV2_SWIGLU, DINOV3_VIT, Weights, f32_bytes, open, parse, raw_file,
};

const NORM: &str = "layernorm.weight";
const FUSED: &str = "encoder.layer.0.mlp.weights_in.weight";

#[test]
fn every_tensor_of_every_family_is_read_by_its_canonical_name() {
    for config in [DINOV2, DINOV2_SWIGLU, CLASSIFIER, DINOV3_VIT, CONVNEXT] {
        let weights = Weights::of(config);
        let checkpoint = open(config, &weights).unwrap();
        let specs = layout::tensor_specs(&parse(config).unwrap());
        assert!(specs.len() > 10);
        for spec in &specs {
            let values = checkpoint.tensors().read_f32(&spec.name, &spec.shape).unwrap();
            assert_eq!(f32_bytes(&values), weights.0[&spec.name].2, "{}", spec.name);
        }
        assert_eq!(checkpoint.unexpected(), [] as [&str; 0]);
        assert_eq!(checkpoint.tensors().names().count(), weights.0.len());
        let bytes: usize = weights.0.values().map(|(_, _, bytes)| bytes.len()).sum();
        assert_eq!(checkpoint.total_bytes(), bytes as u64);
        assert_eq!(checkpoint.file_dtype(), Some(Dtype::F32));
        assert!(checkpoint.path().is_none());
    }
}

#[test]
fn half_precision_is_widened_exactly_also_where_the_data_is_not_aligned() {
    let numbers: Vec<f32> =
        (0..1100).map(|i| (i as f32 - 550.0) / 16.0).chain([f32::INFINITY, -0.0]).collect();
    let (halves, brains): (Vec<f16>, Vec<bf16>) =
        numbers.iter().map(|&v| (f16::from_f32(v), bf16::from_f32(v))).unzip();
    let f16_bytes: Vec<u8> = halves.iter().flat_map(|v| v.to_le_bytes()).collect();
    let bf16_bytes: Vec<u8> = brains.iter().flat_map(|v| v.to_le_bytes()).collect();
    let f16_values: Vec<f32> = halves.iter().map(|v| v.to_f32()).collect();
    let bf16_values: Vec<f32> = brains.iter().map(|v| v.to_f32()).collect();
    let stored = [
        (Dtype::F16, f16_bytes, f16_values),
        (Dtype::BF16, bf16_bytes, bf16_values),
        (Dtype::F32, f32_bytes(&numbers), numbers.clone()),
    ];
    for (dtype, bytes, expected) in stored {
        for pad in 0..4 {
            // Blanks at the end of the header move the data off any alignment.
            let header = format!(
                "{{\"extra\": {{\"dtype\": \"{dtype}\", \"shape\": [{}], \"data_offsets\": [0, {}]}}}}{}",
                numbers.len(),
                bytes.len(),
                " ".repeat(pad)
            );
            let mut file = raw_file(&header, 0);
            file.extend_from_slice(&bytes);
            let model = Weights::of(DINOV2);
            let dir = crate::support::folder(&[
                ("config.json", DINOV2.as_bytes()),
                ("a.safetensors", &file),
                ("b.safetensors", &model.bytes()),
            ]);
            let mut map: serde_json::Map<String, serde_json::Value> =
                model.0.keys().map(|name| (name.clone(), "b.safetensors".into())).collect();
            map.insert("extra".into(), "a.safetensors".into());
            let index = serde_json::json!({"weight_map": map}).to_string();
            std::fs::write(dir.path().join("model.safetensors.index.json"), index).unwrap();
            let checkpoint = Checkpoint::open(dir.path()).unwrap();
            let got = checkpoint.tensors().read_f32("extra", &[numbers.len()]).unwrap();
            assert_eq!(f32_bytes(&got), f32_bytes(&expected), "{dtype} {pad}");
        }
    }
}

#[test]
fn float64_is_rounded_to_f32() {
    let numbers = [1.0 / 3.0, -2.5, 1e300, f64::MIN_POSITIVE, 0.1, 1.0, 2.0, 3.0];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut weights = Weights::of(DINOV2);
    weights.0.insert(NORM.into(), (Dtype::F64, vec![8], bytes));
    let got = open(DINOV2, &weights).unwrap().tensors().read_f32(NORM, &[8]).unwrap();
    assert_eq!(got, [1.0 / 3.0, -2.5, f32::INFINITY, 0.0, 0.1, 1.0, 2.0, 3.0]);
}

#[test]
fn other_number_formats_are_refused_when_such_a_tensor_is_read() {
    for (dtype, bytes) in [(Dtype::I64, 64), (Dtype::F8_E4M3, 8), (Dtype::BOOL, 8)] {
        let mut weights = Weights::of(DINOV2);
        weights.0.insert(NORM.into(), (dtype, vec![8], vec![0; bytes]));
        let checkpoint = open(DINOV2, &weights).unwrap();
        match checkpoint.tensors().read_f32(NORM, &[8]).unwrap_err() {
            CheckpointError::UnsupportedDtype { tensor, dtype: got, .. } => {
                assert_eq!((tensor.as_str(), got), (NORM, dtype.to_string()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_shape_that_differs_from_the_callers_is_refused_with_both() {
    let checkpoint = open(DINOV2, &Weights::of(DINOV2)).unwrap();
    for shape in [&[9][..], &[], &[2, 4], &[8, 1]] {
        match checkpoint.tensors().read_f32(NORM, shape).unwrap_err() {
            CheckpointError::TensorShape { tensor, expected, got, .. } => {
                assert_eq!((tensor.as_str(), &expected[..], &got[..]), (NORM, shape, &[8][..]));
            }
            other => panic!("{other:?}"),
        }
    }
    let missing = checkpoint.tensors().read_f32("no.such", &[1]);
    assert!(matches!(missing, Err(CheckpointError::TensorNotFound { .. })));
}

/// The names of Transformers 5's modules for a DINOv2 file.
fn module_name(name: &str) -> String {
    name.replace("attention.attention.query", "attention.q_proj")
        .replace("attention.attention.key", "attention.k_proj")
        .replace("attention.attention.value", "attention.v_proj")
        .replace("attention.output.dense", "attention.o_proj")
        .replace("mlp.weights_out", "mlp.down_proj")
}

/// Every fused SwiGLU input as its two halves.
fn split_swiglu(weights: Weights) -> Weights {
    let mut split = Weights(std::collections::BTreeMap::new());
    for (name, (dtype, shape, bytes)) in weights.0 {
        if !name.contains("weights_in") {
            split.0.insert(name, (dtype, shape, bytes));
            continue;
        }
        let mut half_shape = shape.clone();
        half_shape[0] /= 2;
        for (half, data) in ["gate_proj", "up_proj"].into_iter().zip(bytes.chunks(bytes.len() / 2)) {
            let name = name.replace("weights_in", half);
            split.0.insert(name, (dtype, half_shape.clone(), data.to_vec()));
        }
    }
    split
}

#[test]
fn swiglu_halves_are_joined_gate_first() {
    let fused = Weights::of(DINOV2_SWIGLU);
    for prefix in ["", "dinov2."] {
        let halves = split_swiglu(fused.clone()).renamed(|name| format!("{prefix}{}", module_name(name)));
        let checkpoint = open(DINOV2_SWIGLU, &halves).unwrap();
        let values = checkpoint.tensors().read_f32(FUSED, &[48, 8]).unwrap();
        assert_eq!(f32_bytes(&values), fused.0[FUSED].2);
        assert!(checkpoint.tensors().get(FUSED).is_none());
        let parts = checkpoint.tensors().parts(FUSED).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| part.name_in_file).collect();
        let layer = format!("{prefix}encoder.layer.0.mlp");
        assert_eq!(names, [format!("{layer}.gate_proj.weight"), format!("{layer}.up_proj.weight")]);
        assert!(checkpoint.unexpected().is_empty());
        let odd = checkpoint.tensors().read_f32(FUSED, &[49, 8]);
        assert!(matches!(odd, Err(CheckpointError::TensorShape { .. })), "{odd:?}");
    }
}

#[test]
fn task_prefixes_are_taken_off_and_the_classifier_is_kept_apart() {
    let prefixed = Weights::of(CLASSIFIER).renamed(|name| match name.starts_with("classifier") {
        true => name.to_owned(),
        false => format!("dinov2.{}", module_name(name)),
    });
    let checkpoint = open(CLASSIFIER, &prefixed).unwrap();
    let view = checkpoint.tensors().get("encoder.layer.1.attention.attention.key.bias").unwrap();
    assert_eq!(view.name_in_file, "dinov2.encoder.layer.1.attention.k_proj.bias");
    assert_eq!((view.dtype, view.shape, view.bytes.len()), (Dtype::F32, &[8][..], 32));
    assert_eq!(checkpoint.tensors().get("classifier.bias").unwrap().shape, [3]);
    assert!(checkpoint.unexpected().is_empty());
}

#[test]
fn a_tensor_stored_under_two_spellings_is_refused_with_both() {
    let (hub, module) =
        ("encoder.layer.0.attention.attention.query.bias", "encoder.layer.0.attention.q_proj.bias");
    match open(DINOV2, &Weights::of(DINOV2).with(module, &[8])).unwrap_err() {
        CheckpointError::DuplicateTensor(twice) => {
            assert_eq!(twice.tensor, hub);
            let mut names = [twice.first, twice.second];
            names.sort();
            assert_eq!(names, [hub, module]);
        }
        other => panic!("{other:?}"),
    }
    let half_and_whole = Weights::of(DINOV2_SWIGLU).with("encoder.layer.0.mlp.gate_proj.weight", &[24, 8]);
    assert!(matches!(open(DINOV2_SWIGLU, &half_and_whole), Err(CheckpointError::DuplicateTensor(_))));
}

#[test]
fn a_register_tensor_without_entries_loads_and_may_be_missing() {
    let weights = Weights::of(DINOV3_VIT);
    let checkpoint = open(DINOV3_VIT, &weights).unwrap();
    let registers = checkpoint.tensors().read_f32("embeddings.register_tokens", &[1, 0, 8]).unwrap();
    assert_eq!(registers, [] as [f32; 0]);
    open(DINOV3_VIT, &weights.without(&["embeddings.register_tokens"])).unwrap();
}

#[test]
fn names_that_the_model_has_no_use_for_are_reported_in_full() {
    let weights = Weights::of(DINOV2)
        .renamed(|name| format!("dinov2.{name}"))
        .with("dinov2.pooler.dense.weight", &[8, 8])
        .with("head.weight", &[1]);
    let checkpoint = open(DINOV2, &weights).unwrap();
    assert_eq!(checkpoint.unexpected(), ["head.weight", "dinov2.pooler.dense.weight"]);
}
