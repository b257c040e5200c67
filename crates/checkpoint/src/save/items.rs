//! What is written of each tensor: one tensor of floats, or codes, scales and zeros.
//!
//! A weight in codes is what torchao writes: `X._weight_qdata`, `X._weight_scale`, `X._weight_zero_point`, and a line of metadata
//! under its parameter's name. A fused SwiGLU input is two modules to Transformers, and is written as two.
//! Source: `flatten_tensor_state_dict` in `prototype/safetensors/safetensors_support.py` of torchao 0.18.0.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::shards;
use crate::layout::TensorSpec;
use crate::tensors::{CODES, Dtype, SCALES, Storage, ZEROS, file_dtype};

/// Starts the name of a module's parameter.
const WEIGHT: &str = "weight";

/// A tensor to be written, or a part of one.
pub(super) struct Item {
    pub(super) spec: TensorSpec,
    pub(super) storage: Storage,
    /// Which of how many equal parts it is, by rows.
    pub(super) part: (usize, usize),
    /// The parameter's name in Transformers.
    parameter: String,
    pub(super) pieces: Vec<Piece>,
}

/// A tensor of the file.
pub(super) struct Piece {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
}

/// What a piece is to its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Floats,
    Codes,
    Scales,
    Zeros,
}

/// What a tensor is called: in the file, and by Transformers' modules.
pub(super) struct Names {
    pub(super) file: String,
    pub(super) parameters: Vec<String>,
}

impl Item {
    /// The items of a tensor; several where Transformers has several modules, and codes are written.
    pub(super) fn of(spec: &TensorSpec, storage: Storage, names: Names) -> Vec<Self> {
        let Names { file, parameters } = names;
        if let Storage::Float(dtype) = storage {
            let kind = Kind::Floats;
            let (dtype, shape) = (file_dtype(dtype), spec.shape.clone());
            let pieces = vec![Piece { name: file, kind, dtype, shape }];
            let parameter = parameters.into_iter().next().unwrap_or_default();
            return vec![Self { spec: spec.clone(), storage, part: (0, 1), parameter, pieces }];
        }
        let count = parameters.len();
        let [rows, columns] = matrix(spec);
        let item = |(index, parameter): (usize, String)| {
            let weight = if count == 1 { &file } else { &parameter };
            let pieces = pieces(weight, storage, [rows / count.max(1), columns]);
            Self { spec: spec.clone(), storage, part: (index, count), parameter, pieces }
        };
        parameters.into_iter().enumerate().map(item).collect()
    }

    /// What it is sorted by.
    pub(super) fn key(&self) -> Vec<shards::Key> {
        shards::natural_key(&self.parameter)
    }

    /// Bytes in the file.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().fold(0, |sum: u64, piece| sum.saturating_add(piece.bytes()))
    }

    /// Numbers of the model.
    pub(super) fn elements(&self) -> u64 {
        self.spec.elements() / self.part.1.max(1) as u64
    }

    /// torchao's class of the parameter and its attributes, where it has one.
    fn class(&self) -> Option<Value> {
        let [rows, columns] = matrix(&self.spec);
        match self.storage {
            Storage::Float(_) => None,
            Storage::Int8 => Some(json!({
                "_type": "Int8Tensor",
                "_data": {
                    "act_quant_kwargs": {"_type": "QuantizeTensorToInt8Kwargs", "_data": {
                        "granularity": {"_type": "PerRow", "_data": {"dim": -1}},
                        "mapping_type": {"_type": "MappingType", "_data": "SYMMETRIC"}, "reduce_range": false,
                    }},
                    "reduce_range": false, "block_size": [1, columns],
                    "dtype": {"_type": "torch.dtype", "_data": "float32"},
                },
                "_tensor_data_names": [CODES, SCALES, ZEROS],
            })),
            Storage::Int4 { group_size } => Some(json!({
                "_type": "Int4Tensor",
                "_data": {
                    "activation_dtype": {"_type": "torch.dtype", "_data": "bfloat16"},
                    "block_size": [1, group_size], "shape": [rows / self.part.1.max(1), columns],
                },
                "_tensor_data_names": [CODES, SCALES, ZEROS],
            })),
        }
    }
}

impl Piece {
    pub(super) fn bytes(&self) -> u64 {
        let elements = self.shape.iter().fold(1, |product: u64, &side| product.saturating_mul(side as u64));
        elements.saturating_mul(self.dtype.bitsize() as u64 / 8)
    }
}

/// Outputs and inputs of a weight.
fn matrix(spec: &TensorSpec) -> [usize; 2] {
    match spec.shape[..] {
        [rows, columns] => [rows, columns],
        _ => [0, 0],
    }
}

/// Codes, scales and zeros of the weight that is called so.
fn pieces(weight: &str, storage: Storage, [rows, columns]: [usize; 2]) -> Vec<Piece> {
    let module = weight.strip_suffix(WEIGHT).unwrap_or(weight);
    let (codes, ranges, zeros) = match storage {
        Storage::Int4 { group_size } => {
            ([rows, columns.div_ceil(2)], [columns.div_ceil(group_size), rows], Dtype::F32)
        }
        _ => ([rows, columns], [rows, 1], Dtype::I8),
    };
    let piece = |(kind, name, dtype, shape): (Kind, &str, Dtype, [usize; 2])| Piece {
        name: format!("{module}_{WEIGHT}_{name}"),
        kind,
        dtype,
        shape: shape.to_vec(),
    };
    [
        (Kind::Codes, CODES, Dtype::I8, codes),
        (Kind::Scales, SCALES, Dtype::F32, ranges),
        (Kind::Zeros, ZEROS, zeros, ranges),
    ]
    .map(piece)
    .into()
}

/// The metadata of every file: what Transformers expects, and the classes of all weights in codes, since it keeps the last
/// file's list of names only.
pub(super) fn metadata<'a>(items: impl Iterator<Item = &'a Item>) -> HashMap<String, String> {
    let mut metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let mut names = Vec::new();
    for item in items {
        if let Some(class) = item.class() {
            names.push(item.parameter.clone());
            metadata.insert(item.parameter.clone(), class.to_string());
        }
    }
    if !names.is_empty() {
        metadata.insert("tensor_names".into(), json!(names).to_string());
    }
    metadata
}
