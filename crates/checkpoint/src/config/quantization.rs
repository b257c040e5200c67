//! `quantization_config` of a `config.json`: in which codes the weights of the linear layers are held.
//!
//! The method is torchao's, as Transformers writes it: `{"quant_method": "torchao", "quant_type": {"default": {"_type", "_data"}}}`.
//! Read are `Int8WeightOnlyConfig` and `Int8DynamicActivationInt8WeightConfig`, one scale an output, and
//! `Int4WeightOnlyConfig` in plain packing. Whether activations are in 8 bits beside 4-bit weights torchao cannot say: the
//! config's own key `dinoxide_precision` does.
//! Source: `utils/quantization_config.py` of Transformers 5.24.0, `quant_api.py` of torchao 0.18.0.

use serde_json::{Map, Value, json};

use crate::error::CheckpointError;
use crate::json::{self, Fields};
use crate::limits::MAX_GROUP_SIZE;

/// The key of the object.
pub(crate) const QUANTIZATION_KEY: &str = "quantization_config";
/// The key that says what torchao's object cannot.
pub(crate) const PRECISION_KEY: &str = "dinoxide_precision";
/// The one method that is read.
const METHOD: &str = "torchao";
/// The one value of [`PRECISION_KEY`].
const INT4_A8: &str = "int4-a8";
/// torchao's classes of 8-bit weights.
const INT8_TYPES: [&str; 2] = ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"];
/// torchao's class of 4-bit weights.
const INT4_TYPE: &str = "Int4WeightOnlyConfig";
/// torchao's group size when none is given.
const DEFAULT_GROUP_SIZE: usize = 128;
/// How its codes must be packed.
const PACKING: &str = "PLAIN";

/// What the weights of linear layers are held in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantization {
    /// Signed bytes, one scale an output.
    Int8,
    /// 4 bits, a scale and a zero for each output and group of inputs.
    Int4 {
        /// Inputs of a group.
        group_size: usize,
        /// Whether the activations of these layers are to be in 8 bits as well.
        int8_activations: bool,
    },
}

impl Quantization {
    /// The object of a config, if it has one.
    pub(super) fn read(fields: &Fields<'_>) -> Result<Option<Self>, CheckpointError> {
        let Some(value) = fields.get(QUANTIZATION_KEY).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let map =
            value.as_object().ok_or_else(|| fields.invalid(QUANTIZATION_KEY, "an object or null", value))?;
        let method = map.get("quant_method").unwrap_or(&Value::Null);
        if method.as_str() != Some(METHOD) {
            return Err(CheckpointError::UnknownQuantMethod {
                path: fields.path().into(),
                got: json::describe(method),
                known: METHOD,
            });
        }
        Place { fields, map, path: QUANTIZATION_KEY.into() }.quant_type().map(Some)
    }

    /// The object, as Transformers writes it.
    pub(crate) fn to_json(self) -> Value {
        let quant_type = match self {
            Self::Int8 => json!({
                "_type": INT8_TYPES[1], "_version": 2,
                "_data": {
                    "act_mapping_type": {"_data": "SYMMETRIC", "_type": "MappingType"},
                    "granularity": {"_data": {"dim": -1}, "_type": "PerRow", "_version": 1},
                    "reduce_range": false, "set_inductor_config": true, "weight_only_decode": false,
                },
            }),
            Self::Int4 { group_size, .. } => json!({
                "_type": INT4_TYPE, "_version": 2,
                "_data": {
                    "group_size": group_size,
                    "int4_choose_qparams_algorithm": {"_data": "TINYGEMM", "_type": "Int4ChooseQParamsAlgorithm"},
                    "int4_packing_format": {"_data": PACKING, "_type": "Int4PackingFormat"},
                    "int4_tile_packed_ntile": 8, "set_inductor_config": true,
                },
            }),
        };
        json!({
            "include_input_output_embeddings": false, "modules_to_not_convert": null, "quant_method": METHOD,
            "quant_type": {"default": quant_type}, "untie_embedding_weights": false,
        })
    }

    /// Puts what it says into the object of a config, in place of what was there.
    pub(crate) fn put(this: Option<Self>, map: &mut Map<String, Value>) {
        map.remove(QUANTIZATION_KEY);
        map.remove(PRECISION_KEY);
        if let Some(quantization) = this {
            map.insert(QUANTIZATION_KEY.into(), quantization.to_json());
            if let Self::Int4 { int8_activations: true, .. } = quantization {
                map.insert(PRECISION_KEY.into(), INT4_A8.into());
            }
        }
    }
}

/// An object inside the config, with the way to it.
struct Place<'a> {
    fields: &'a Fields<'a>,
    map: &'a Map<String, Value>,
    path: String,
}

impl<'a> Place<'a> {
    fn get(&self, key: &str) -> &'a Value {
        self.map.get(key).unwrap_or(&Value::Null)
    }

    fn invalid(&self, key: &str, expected: impl Into<String>) -> CheckpointError {
        self.fields.invalid(&format!("{}.{key}", self.path), expected, self.get(key))
    }

    fn object(&self, key: &str) -> Result<Self, CheckpointError> {
        let map = self.get(key).as_object().ok_or_else(|| self.invalid(key, "an object"))?;
        Ok(Self { fields: self.fields, map, path: format!("{}.{key}", self.path) })
    }

    fn quant_type(&self) -> Result<Quantization, CheckpointError> {
        let default = self.object("quant_type")?.object("default")?;
        let data = default.object("_data")?;
        match default.get("_type").as_str() {
            Some(name) if INT8_TYPES.contains(&name) => data.int8(),
            Some(INT4_TYPE) => data.int4(),
            _ => Err(default.invalid("_type", format!("{} or \"{INT4_TYPE}\"", quoted(&INT8_TYPES)))),
        }
    }

    fn int8(&self) -> Result<Quantization, CheckpointError> {
        if !self.get("group_size").is_null() {
            return Err(self.invalid("group_size", "null, as one scale an output is read"));
        }
        let granularity = self.get("granularity");
        let per_row = granularity.get("_type").is_none_or(|name| name == "PerRow");
        match granularity.is_null() || per_row && !granularity.is_array() {
            true => Ok(Quantization::Int8),
            false => Err(self.invalid("granularity", "PerRow")),
        }
    }

    fn int4(&self) -> Result<Quantization, CheckpointError> {
        let packing = self.get("int4_packing_format");
        let name = packing.get("_data").unwrap_or(packing);
        if !name.is_null() && name.as_str().is_none_or(|name| !name.eq_ignore_ascii_case(PACKING)) {
            return Err(self.invalid("int4_packing_format", format!("\"{PACKING}\"")));
        }
        let group_size = match self.get("group_size") {
            Value::Null => DEFAULT_GROUP_SIZE,
            value => json::int(value, &(1..=MAX_GROUP_SIZE)).ok_or_else(|| {
                self.invalid("group_size", format!("a whole number from 1 to {MAX_GROUP_SIZE}"))
            })?,
        };
        let expected = || format!("\"{INT4_A8}\"");
        let activations = |value: &Value| (value.as_str() == Some(INT4_A8)).then_some(());
        let int8_activations = self.fields.nullable(PRECISION_KEY, None, expected, activations)?.is_some();
        Ok(Quantization::Int4 { group_size, int8_activations })
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
