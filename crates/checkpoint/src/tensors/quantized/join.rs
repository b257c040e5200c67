//! From the three tensors of a weight in codes to one: `X._weight_qdata`, `X._weight_scale` and `X._weight_zero_point` are `X.weight`.
//!
//! Which class a weight is of, and in which groups, is told by the file's metadata under the name of the module's parameter
//! (`{"_type": "Int4Tensor", "_data": {"block_size": [1, 128], "shape": [384, 384]}}`), else by the config. Dtypes and shapes are checked
//! here, before anything is read: what is joined is as long as its shape says.
//! Source: `flatten_tensor_state_dict` in `prototype/safetensors/safetensors_support.py` of torchao 0.18.0.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::{CODES, Ranges, SCALES, Storage, ZEROS, is_float};
use crate::config::{ModelConfig, Quantization};
use crate::error::{CheckpointError, DuplicateTensor, QuantizedWeight};
use crate::json;
use crate::limits::MAX_GROUP_SIZE;
use crate::names::{Convention, Role};
use crate::tensors::{Dtype, Source, Tensors};

/// What stands between a module and the piece of its weight.
const WEIGHT: &str = "_weight_";
/// torchao's classes.
const INT8_CLASS: &str = "Int8Tensor";
const INT4_CLASS: &str = "Int4Tensor";
/// A tensor of no class of its own.
const PLAIN_CLASS: &str = "Tensor";

/// The tensors of a weight, by what they are.
type Pieces = BTreeMap<String, Source>;
/// What the metadata says, by canonical name and part.
type Classes = HashMap<(String, (usize, usize)), Value>;

/// `X.weight` and the piece, of a name `X._weight_piece`.
fn split(name: &str) -> Option<(String, &str)> {
    let (module, leaf) = name.rsplit_once('.')?;
    Some((format!("{module}.weight"), leaf.strip_prefix(WEIGHT)?))
}

impl Tensors {
    /// Puts one source in the place of the pieces of each weight.
    pub(in crate::tensors) fn join_quantized(&mut self, config: &ModelConfig) -> Result<(), CheckpointError> {
        let metadata = std::mem::take(&mut self.metadata);
        if !self.sources.iter().any(|source| split(&source.name).is_some()) {
            return Ok(());
        }
        let mut weights: BTreeMap<String, Pieces> = BTreeMap::new();
        let mut plain = Vec::new();
        for source in std::mem::take(&mut self.sources) {
            let Some((weight, piece)) = split(&source.name) else {
                plain.push(source);
                continue;
            };
            let (piece, pieces) = (piece.to_owned(), weights.entry(weight).or_default());
            if let Some(first) = pieces.get(&piece) {
                return Err(self.twice(first, &source));
            }
            pieces.insert(piece, source);
        }
        let classes = classes(self.convention, &metadata);
        for (name, pieces) in weights {
            let class = place(self.convention, &name).and_then(|place| classes.get(&place));
            plain.push(self.joined(&name, pieces, class, config)?);
        }
        self.sources = plain;
        Ok(())
    }

    fn twice(&self, first: &Source, second: &Source) -> CheckpointError {
        CheckpointError::DuplicateTensor(Box::new(DuplicateTensor {
            tensor: first.name.clone(),
            first: first.name.clone(),
            first_file: self.files[first.file].path.clone(),
            second: second.name.clone(),
            second_file: self.files[second.file].path.clone(),
        }))
    }

    fn joined(
        &self,
        name: &str,
        mut pieces: Pieces,
        class: Option<&Value>,
        config: &ModelConfig,
    ) -> Result<Source, CheckpointError> {
        let file = pieces.values().next().map_or(0, |source| source.file);
        let weight = Weight { tensors: self, name, file };
        let storage = weight.storage(class, config)?;
        let (codes, scales) = (weight.take(&mut pieces, CODES)?, weight.take(&mut pieces, SCALES)?);
        let zeros = match storage {
            Storage::Int4 { .. } => Some(weight.take(&mut pieces, ZEROS)?),
            _ => pieces.remove(ZEROS),
        };
        if let Some(other) = pieces.keys().next() {
            return Err(weight.wrong("pieces", format!("{CODES}, {SCALES}, {ZEROS}"), other));
        }
        let [rows, columns] = weight.check_codes(&codes, storage, class)?;
        weight.check_ranges(storage, [rows, columns], &scales, zeros.as_ref())?;
        let quantized = Some(Box::new(Ranges { storage, scales, zeros }));
        Ok(Source { name: name.to_owned(), shape: vec![rows, columns], quantized, ..codes })
    }
}

/// A weight that is put together, for errors.
struct Weight<'a> {
    tensors: &'a Tensors,
    name: &'a str,
    file: usize,
}

impl Weight<'_> {
    fn wrong(
        &self,
        what: &'static str,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> CheckpointError {
        QuantizedWeight {
            path: self.tensors.files[self.file].path.clone(),
            tensor: self.name.to_owned(),
            what,
            expected: expected.into(),
            got: got.into(),
        }
        .into()
    }

    /// By the metadata's class, else by the config.
    fn storage(&self, class: Option<&Value>, config: &ModelConfig) -> Result<Storage, CheckpointError> {
        let Some(class) = class else {
            return match config.common().quantization {
                Some(Quantization::Int8) => Ok(Storage::Int8),
                Some(Quantization::Int4 { group_size, .. }) => Ok(Storage::Int4 { group_size }),
                None => Err(self.wrong("its class", "in the metadata or in `quantization_config`", "none")),
            };
        };
        match class.get("_type").and_then(Value::as_str) {
            Some(INT8_CLASS) => Ok(Storage::Int8),
            Some(INT4_CLASS) => {
                let block = data(class, "block_size");
                let sizes = json::list(block, |side| json::int(side, &(1..=MAX_GROUP_SIZE)));
                match sizes.as_deref() {
                    Some([1, group_size]) => Ok(Storage::Int4 { group_size: *group_size }),
                    _ => {
                        let expected = format!("[1, a whole number from 1 to {MAX_GROUP_SIZE}]");
                        Err(self.wrong("block_size", expected, json::describe(block)))
                    }
                }
            }
            _ => {
                let got = json::describe(class.get("_type").unwrap_or(&Value::Null));
                Err(self.wrong("its class", format!("\"{INT8_CLASS}\" or \"{INT4_CLASS}\""), got))
            }
        }
    }

    fn take(&self, pieces: &mut Pieces, piece: &'static str) -> Result<Source, CheckpointError> {
        pieces.remove(piece).ok_or_else(|| self.wrong(piece, "a tensor", "none"))
    }

    /// The weight's shape, by that of its codes.
    fn check_codes(
        &self,
        codes: &Source,
        storage: Storage,
        class: Option<&Value>,
    ) -> Result<[usize; 2], CheckpointError> {
        let is_int4 = matches!(storage, Storage::Int4 { .. });
        if codes.dtype != Dtype::I8 && !(is_int4 && codes.dtype == Dtype::U8) {
            return Err(self.wrong("the dtype of codes", "I8", codes.dtype.to_string()));
        }
        let [rows, bytes] = codes.shape[..] else {
            return Err(self.wrong("the shape of codes", "two axes", format!("{:?}", codes.shape)));
        };
        if !is_int4 {
            return Ok([rows, bytes]);
        }
        // At most a file's bytes; an odd number of inputs leaves half a byte.
        let even = bytes.saturating_mul(2);
        let Some(shape) = class.map(|class| data(class, "shape")).filter(|shape| !shape.is_null()) else {
            return Ok([rows, even]);
        };
        let sides = json::list(shape, |side| json::int(side, &(0..=even.max(rows))));
        match sides.as_deref() {
            Some([n, k]) if *n == rows && k.div_ceil(2) == bytes => Ok([*n, *k]),
            _ => Err(self.wrong("shape", format!("[{rows}, {even}], as of codes"), json::describe(shape))),
        }
    }

    /// Dtype and shape of scales and zeros.
    fn check_ranges(
        &self,
        storage: Storage,
        [rows, columns]: [usize; 2],
        scales: &Source,
        zeros: Option<&Source>,
    ) -> Result<(), CheckpointError> {
        let (shape, zero_dtype) = match storage {
            Storage::Int4 { group_size } => (vec![columns.div_ceil(group_size), rows], None),
            _ => (vec![rows, 1], Some(Dtype::I8)),
        };
        let check = |what: &'static str, piece: &Source, dtype: Option<Dtype>| {
            let fits = dtype.map_or(is_float(piece.dtype), |dtype| piece.dtype == dtype);
            if !fits {
                let expected = dtype.map_or("F32, F16 or BF16".to_owned(), |dtype| dtype.to_string());
                return Err(self.wrong(what, expected, piece.dtype.to_string()));
            }
            match piece.shape == shape {
                true => Ok(()),
                false => Err(self.wrong(what, format!("of shape {shape:?}"), format!("{:?}", piece.shape))),
            }
        };
        check("scales", scales, None)?;
        zeros.map_or(Ok(()), |zeros| check("zeros", zeros, zero_dtype))
    }
}

/// An entry of a class's attributes.
fn data<'a>(class: &'a Value, key: &str) -> &'a Value {
    class.get("_data").and_then(|data| data.get(key)).unwrap_or(&Value::Null)
}

/// The canonical name and part that a file's name stands for, where it stands for one whole or part.
fn place(convention: Convention, name: &str) -> Option<(String, (usize, usize))> {
    let mut places = convention.places(name).into_iter();
    let place = places.next().filter(|place| matches!(place.role, Role::Whole | Role::Part { .. }))?;
    places.next().is_none().then(|| (place.name, place.role.part()))
}

/// What the metadata says of parameters that are of a class of their own.
fn classes(convention: Convention, metadata: &HashMap<String, String>) -> Classes {
    let class = |(name, text): (&String, &String)| {
        let value: Value = serde_json::from_str(text).ok().filter(|_| name.ends_with(".weight"))?;
        let plain = value.get("_type").is_none_or(|class| class == PLAIN_CLASS);
        (!plain).then_some((place(convention, name)?, value))
    };
    metadata.iter().filter_map(class).collect()
}
