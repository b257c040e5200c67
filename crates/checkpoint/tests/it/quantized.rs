//! Checkpoints in codes: torchao's own, hostile ones, and what is saved of them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use dinoxide_checkpoint::config::{Quantization, TorchDtype};
use dinoxide_checkpoint::{
    Checkpoint, CheckpointError, Dtype, QuantizedTensor, SaveOptions, Storage, TensorSpec, layout,
};
use safetensors::SafeTensors;
use safetensors::tensor::{TensorView, serialize};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{fixtures, folder};

const INT8: &str = "dinov2-classifier-int8";
const INT4: &str = "dinov2-classifier-int4";
const ALL: [&str; 4] = [INT8, INT4, "dinov3-vit-int8", "dinov2-with-registers-int4"];
/// A weight of both checkpoints, as its file and as we call it.
const MODULE: &str = "dinov2.encoder.layer.0.mlp.fc1";
const WEIGHT: &str = "encoder.layer.0.mlp.fc1.weight";

/// A checkpoint's two files, to be changed.
struct Files {
    config: Value,
    metadata: HashMap<String, String>,
    tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Files {
    fn of(fixture: &str) -> Self {
        let dir = fixtures().join(fixture);
        let bytes = fs::read(dir.join("model.safetensors")).unwrap();
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file
            .tensors()
            .into_iter()
            .map(|(name, view)| (name, (view.dtype(), view.shape().to_vec(), view.data().to_vec())));
        Self {
            config: serde_json::from_slice(&fs::read(dir.join("config.json")).unwrap()).unwrap(),
            metadata: header.metadata().clone().unwrap(),
            tensors: tensors.collect(),
        }
    }

    fn open(&self) -> Result<Checkpoint, CheckpointError> {
        let views = self.tensors.iter().map(|(name, (dtype, shape, bytes))| {
            (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        });
        let weights = serialize(views, Some(self.metadata.clone())).unwrap();
        Checkpoint::from_bytes(&serde_json::to_vec(&self.config).unwrap(), None, weights)
    }

    fn piece(&mut self, piece: &str) -> &mut (Dtype, Vec<usize>, Vec<u8>) {
        self.tensors.get_mut(&format!("{MODULE}._weight_{piece}")).unwrap()
    }

    /// The class that the metadata gives the weight.
    fn class(&mut self, change: impl FnOnce(&mut Value)) {
        let text = self.metadata.get_mut(&format!("{MODULE}.weight")).unwrap();
        let mut class = serde_json::from_str(text).unwrap();
        change(&mut class);
        *text = class.to_string();
    }
}

fn linear_weights(checkpoint: &Checkpoint) -> Vec<(String, Vec<usize>)> {
    let specs = layout::model_specs(checkpoint.config(), checkpoint.head()).into_iter();
    specs.filter(TensorSpec::is_linear_weight).map(|spec| (spec.name, spec.shape)).collect()
}

fn codes(checkpoint: &Checkpoint) -> Vec<Vec<QuantizedTensor>> {
    let read = |(name, shape): (String, Vec<usize>)| {
        checkpoint.tensors().quantized(&name, &shape).unwrap().unwrap_or_else(|| panic!("{name}: no codes"))
    };
    linear_weights(checkpoint).into_iter().map(read).collect()
}

#[test]
fn every_linear_weight_of_a_checkpoint_by_torchao_is_read_in_its_codes() {
    for fixture in ALL {
        let checkpoint = Checkpoint::open(&fixtures().join(fixture)).unwrap();
        let (tensors, config) = (checkpoint.tensors(), checkpoint.config().common());
        let storage = match config.quantization.unwrap() {
            Quantization::Int8 => Storage::Int8,
            Quantization::Int4 { group_size, int8_activations } => {
                assert!(!int8_activations);
                Storage::Int4 { group_size }
            }
        };
        for (name, shape) in linear_weights(&checkpoint) {
            assert_eq!(tensors.storage(&name), Some(storage), "{fixture} {name}");
            let parts = tensors.quantized(&name, &shape).unwrap().unwrap();
            // What it stands for is what a reader of floats gets.
            let floats: Vec<f32> = parts.iter().flat_map(QuantizedTensor::dequantize).collect();
            assert_eq!(*tensors.numbers(&name, &shape).unwrap(), floats, "{fixture} {name}");
        }
        let norm = "encoder.layer.0.norm1.weight";
        if tensors.contains(norm) {
            let dtype = config.dtype.unwrap();
            assert_eq!(tensors.storage(norm), Some(Storage::Float(dtype)), "{fixture}");
            assert!(tensors.quantized(norm, &[32]).unwrap().is_none());
        }
        assert!(checkpoint.loading_info().unexpected_keys.is_empty(), "{fixture}");
        assert_eq!(checkpoint.unexpected(), [""; 0], "{fixture}");
        let file = fs::metadata(fixtures().join(fixture).join("model.safetensors")).unwrap().len();
        assert!(checkpoint.total_bytes() < file && checkpoint.total_bytes() > file / 4, "{fixture}");
    }
}

#[test]
fn without_metadata_the_config_tells_the_class() {
    for fixture in [INT8, INT4] {
        let mut files = Files::of(fixture);
        let want = codes(&files.open().unwrap());
        files.metadata.clear();
        assert_eq!(codes(&files.open().unwrap()), want);
        files.config.as_object_mut().unwrap().remove("quantization_config");
        let error = files.open().unwrap_err().to_string();
        assert!(
            error.contains("its class must be in the metadata or in `quantization_config`, got none"),
            "{error}"
        );
    }
}

/// Changes something, opens the checkpoint and reads the weight; the message.
fn refused(fixture: &str, change: impl FnOnce(&mut Files)) -> String {
    let mut files = Files::of(fixture);
    change(&mut files);
    let result = files.open().and_then(|checkpoint| {
        checkpoint.tensors().numbers(WEIGHT, &[64, 32]).map(drop)?;
        checkpoint.tensors().quantized(WEIGHT, &[64, 32]).map(drop)
    });
    let error = result.unwrap_err();
    assert!(matches!(error, CheckpointError::QuantizedWeight(_)), "{error:?}");
    error.to_string()
}

fn f32s(bytes: &mut [u8], index: usize, value: f32) {
    bytes[4 * index..][..4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn codes_that_do_not_fit_are_refused_with_the_weight_what_was_expected_and_what_is_there() {
    type Change = fn(&mut Files);
    let cases: [(&str, Change, &str); 18] = [
        (
            INT8,
            |f| drop(f.tensors.remove(&format!("{MODULE}._weight_scale"))),
            "scale must be a tensor, got none",
        ),
        (
            INT8,
            |f| drop(f.tensors.remove(&format!("{MODULE}._weight_qdata"))),
            "qdata must be a tensor, got none",
        ),
        (
            INT4,
            |f| drop(f.tensors.remove(&format!("{MODULE}._weight_zero_point"))),
            "zero_point must be a tensor, got none",
        ),
        (INT8, |f| f.piece("scale").1 = vec![1, 64], "scales must be of shape [64, 1], got [1, 64]"),
        (INT4, |f| f.piece("scale").1 = vec![64, 2], "scales must be of shape [2, 64], got [64, 2]"),
        (INT4, |f| f.piece("zero_point").1 = vec![128], "zeros must be of shape [2, 64], got [128]"),
        (
            INT8,
            |f| *f.piece("scale") = (Dtype::I8, vec![64, 1], vec![1; 64]),
            "scales must be F32, F16 or BF16, got I8",
        ),
        (INT8, |f| f.piece("qdata").0 = Dtype::U8, "the dtype of codes must be I8, got U8"),
        (INT4, |f| f.piece("qdata").1 = vec![1024], "the shape of codes must be two axes, got [1024]"),
        (
            INT8,
            |f| f32s(&mut f.piece("scale").2, 3, f32::NAN),
            "scales must be finite numbers, scales not negative, got NaN at 3",
        ),
        (INT8, |f| f32s(&mut f.piece("scale").2, 0, -1.0), "got -1 at 0"),
        (INT4, |f| f32s(&mut f.piece("scale").2, 127, f32::INFINITY), "got inf at 127"),
        (
            INT4,
            |f| f32s(&mut f.piece("zero_point").2, 1, f32::NEG_INFINITY),
            "zeros must be finite numbers, scales not negative, got -inf at 1",
        ),
        (
            INT8,
            |f| f.piece("zero_point").2[5] = 255,
            "zero points must be 0, as int8 is symmetric here, got -1 at 5",
        ),
        (
            INT4,
            |f| f.class(|class| class["_data"]["block_size"] = json!([1, 0])),
            "block_size must be [1, a whole number from 1 to 1048576]",
        ),
        (
            INT4,
            |f| f.class(|class| class["_data"]["block_size"] = json!([1, 1_u64 << 40])),
            "block_size must be",
        ),
        (
            INT4,
            |f| f.class(|class| class["_data"]["shape"] = json!([64, 34])),
            "shape must be [64, 32], as of codes",
        ),
        (
            INT8,
            |f| f.class(|class| class["_type"] = json!("Float8Tensor")),
            "its class must be \"Int8Tensor\" or \"Int4Tensor\", got \"Float8Tensor\"",
        ),
    ];
    for (fixture, change, told) in cases {
        let error = refused(fixture, change);
        assert!(error.starts_with(&format!("quantised weight `{MODULE}.weight` in ")), "{error}");
        assert!(error.contains(told), "{error}\n{told}");
    }
    let error = refused(INT8, |files| {
        let scale = files.piece("scale").clone();
        files.tensors.insert(format!("{MODULE}._weight_act_pre_scale"), scale);
    });
    assert!(error.contains("pieces must be qdata, scale, zero_point, got act_pre_scale"), "{error}");
}

#[test]
fn a_weight_in_codes_and_in_floats_and_one_of_another_shape_are_refused() {
    let mut files = Files::of(INT8);
    files.tensors.insert(format!("{MODULE}.weight"), (Dtype::F32, vec![64, 32], vec![0; 4 * 64 * 32]));
    assert!(matches!(files.open().unwrap_err(), CheckpointError::DuplicateTensor(_)));
    let mut files = Files::of(INT8);
    let (_, shape, bytes) = files.piece("qdata");
    (*shape, *bytes) = (vec![64, 16], vec![0; 64 * 16]);
    assert!(matches!(files.open().unwrap_err(), CheckpointError::Layout(_)));
}

/// torchao's int8 uses −128 in every row whose least weight is its largest.
#[test]
fn the_least_code_of_a_byte_is_a_code() {
    let checkpoint = Checkpoint::open(&fixtures().join(INT8)).unwrap();
    let least = codes(&checkpoint).into_iter().flatten().flat_map(|tensor| match tensor {
        QuantizedTensor::Int8 { codes, .. } => codes,
        QuantizedTensor::Int4 { .. } => Vec::new(),
    });
    assert_eq!(least.min(), Some(-128));
}

#[test]
fn a_config_of_another_method_is_refused() {
    for method in [json!("bitsandbytes"), json!("gptq"), json!("fp8"), json!(null), json!(7)] {
        let mut files = Files::of(INT8);
        files.config["quantization_config"]["quant_method"] = method.clone();
        let error = files.open().unwrap_err();
        assert!(matches!(error, CheckpointError::UnknownQuantMethod { .. }), "{error:?}");
        assert!(error.to_string().ends_with(&format!("must be \"torchao\", got {method}")), "{error}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn a_config_of_another_form_of_codes_is_refused_with_its_key() {
    let data = "/quantization_config/quant_type/default/_data";
    type Change = fn(&mut Value);
    let cases: [(&str, Change, &str); 9] = [
        (INT4, |data| data["group_size"] = json!(0), "_data.group_size` in"),
        (
            INT4,
            |data| data["group_size"] = json!(1_u64 << 40),
            "a whole number from 1 to 1048576, got 1099511627776",
        ),
        (INT4, |data| data["group_size"] = json!("32"), "_data.group_size` in"),
        (INT4, |data| data["int4_packing_format"]["_data"] = json!("TILE_PACKED_TO_4D"), "must be \"PLAIN\""),
        (INT4, |data| data["int4_packing_format"] = json!(4), "must be \"PLAIN\""),
        (INT8, |data| data["group_size"] = json!(32), "must be null"),
        (INT8, |data| data["granularity"]["_type"] = json!("PerTensor"), "must be PerRow"),
        (INT8, |data| data["granularity"] = json!(["PerRow", "PerRow"]), "must be PerRow"),
        (INT8, |data| *data = json!([]), "must be an object"),
    ];
    for (fixture, change, told) in cases {
        let mut files = Files::of(fixture);
        change(files.config.pointer_mut(data).unwrap());
        let error = files.open().unwrap_err().to_string();
        assert!(
            error.contains("quantization_config.quant_type.default._data") && error.contains(told),
            "{error}"
        );
    }
    for (key, value, told) in [
        ("quantization_config", json!("int8"), "must be an object or null"),
        ("dinoxide_precision", json!("int4-a16"), "must be \"int4-a8\" or null"),
    ] {
        let mut files = Files::of(INT4);
        files.config[key] = value;
        let error = files.open().unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let mut files = Files::of(INT4);
    files.config["quantization_config"]["quant_type"]["default"]["_type"] = json!("Float8WeightOnlyConfig");
    let error = files.open().unwrap_err().to_string();
    assert!(
        error.contains("\"Int8WeightOnlyConfig\", \"Int8DynamicActivationInt8WeightConfig\" or"),
        "{error}"
    );
}

fn saved(checkpoint: &Checkpoint, shard: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let options = SaveOptions { max_shard_size: shard.parse().unwrap() };
    checkpoint.save_pretrained(dir.path(), &options).unwrap();
    dir
}

#[test]
fn what_is_saved_has_the_same_codes_scales_and_zeros() {
    for fixture in ALL {
        let checkpoint = Checkpoint::open(&fixtures().join(fixture)).unwrap();
        for shard in ["50GB", "3KB"] {
            let dir = saved(&checkpoint, shard);
            assert_eq!(dir.path().join("model.safetensors.index.json").is_file(), shard == "3KB");
            let again = Checkpoint::open(dir.path()).unwrap();
            assert_eq!(codes(&again), codes(&checkpoint), "{fixture} {shard}");
            assert_eq!(again.config().common().quantization, checkpoint.config().common().quantization);
            let norm =
                layout::tensor_specs(again.config()).into_iter().find(|spec| spec.shape.len() == 1).unwrap();
            let read =
                |checkpoint: &Checkpoint| checkpoint.tensors().read_f32(&norm.name, &norm.shape).unwrap();
            assert_eq!(read(&again), read(&checkpoint));
        }
    }
}

/// The names and metadata that Transformers looks for.
#[test]
fn what_is_saved_is_named_as_torchao_names_it() {
    let ours = saved(&Checkpoint::open(&fixtures().join(INT4)).unwrap(), "50GB");
    let header = |dir: &Path| {
        let bytes = fs::read(dir.join("model.safetensors")).unwrap();
        let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let shapes: BTreeMap<String, (Dtype, Vec<usize>)> = file
            .tensors()
            .into_iter()
            .map(|(name, view)| (name, (view.dtype(), view.shape().to_vec())))
            .collect();
        (shapes, metadata.metadata().clone().unwrap())
    };
    let ((ours, our_classes), (theirs, their_classes)) =
        (header(ours.path()), header(&fixtures().join(INT4)));
    assert_eq!(ours, theirs);
    let names: Vec<String> = serde_json::from_str(&our_classes["tensor_names"]).unwrap();
    assert_eq!(names.len(), 13);
    for name in names {
        let class =
            |classes: &HashMap<String, String>| -> Value { serde_json::from_str(&classes[&name]).unwrap() };
        assert_eq!(class(&our_classes), class(&their_classes), "{name}");
    }
    assert_eq!(our_classes["format"], "pt");
}

#[test]
fn a_dtype_rounds_no_codes() {
    let mut files = Files::of(INT4);
    let want = codes(&files.open().unwrap());
    files.config["dtype"] = json!("float16");
    let checkpoint = files.open().unwrap();
    assert_eq!(checkpoint.tensors().dtype(), Some(TorchDtype::Float16));
    assert_eq!(codes(&checkpoint), want);
    let floats: Vec<f32> = want[0].iter().flat_map(QuantizedTensor::dequantize).collect();
    let (name, shape) = &linear_weights(&checkpoint)[0];
    assert_eq!(checkpoint.tensors().read_f32(name, shape).unwrap(), floats);
}

#[test]
fn an_empty_folder_of_codes_is_no_panic() {
    let dir = folder(&[(
        "config.json",
        br#"{"model_type": "dinov2", "quantization_config": {"quant_method": "torchao"}}"#,
    )]);
    let error = Checkpoint::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("`quantization_config.quant_type` in"), "{error}");
}
