//! Fields that the configs of all families share: Transformers' `PreTrainedConfig`.
//!
//! `num_labels` is not stored: it is the length of `id2label`, whose keys are integers written as JSON strings. Nothing
//! given means two labels. A `num_labels` that disagrees with `id2label` replaces it by `LABEL_0`, `LABEL_1`, ….

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::error::CheckpointError;
use crate::json::{self, Fields};
use crate::limits::MAX_LABELS;

use super::Quantization;

/// Labels of a config that gives none.
const DEFAULT_NUM_LABELS: usize = 2;

/// What a dtype may be called, in messages.
const DTYPES: &str = "\"float32\", \"float16\", \"bfloat16\" or \"float64\"";

/// What a problem type may be called, in messages.
const PROBLEM_TYPES: &str = "\"regression\", \"single_label_classification\", \"multi_label_classification\"";

/// A number format that a config may ask the weights to be held in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TorchDtype {
    /// `float32`.
    Float32,
    /// `float16`.
    Float16,
    /// `bfloat16`.
    BFloat16,
    /// `float64`.
    Float64,
}

impl TorchDtype {
    /// torch's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float64 => "float64",
        }
    }

    /// The format of that name, with torch's aliases and an optional `torch.` before it.
    fn parse(value: &Value) -> Option<Self> {
        let name = value.as_str()?;
        match name.strip_prefix("torch.").unwrap_or(name) {
            "float32" | "float" => Some(Self::Float32),
            "float16" | "half" => Some(Self::Float16),
            "bfloat16" => Some(Self::BFloat16),
            "float64" | "double" => Some(Self::Float64),
            _ => None,
        }
    }
}

impl FromStr for TorchDtype {
    type Err = CheckpointError;

    /// By torch's name for it, or one of its aliases.
    fn from_str(name: &str) -> Result<Self, CheckpointError> {
        parse_named("dtype", name, DTYPES, Self::parse)
    }
}

/// A setting that is a name.
fn parse_named<T>(
    key: &str,
    name: &str,
    expected: &str,
    parse: impl Fn(&Value) -> Option<T>,
) -> Result<T, CheckpointError> {
    let value = Value::from(name);
    parse(&value).ok_or_else(|| CheckpointError::InvalidSetting {
        key: key.into(),
        expected: expected.into(),
        got: value.to_string(),
    })
}

/// What the numbers of the classifier mean; decides the loss and the pipeline's activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemType {
    /// `regression`.
    Regression,
    /// `single_label_classification`: exactly one label holds.
    SingleLabelClassification,
    /// `multi_label_classification`: any number of labels hold.
    MultiLabelClassification,
}

impl ProblemType {
    /// Transformers' name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::SingleLabelClassification => "single_label_classification",
            Self::MultiLabelClassification => "multi_label_classification",
        }
    }

    fn parse(value: &Value) -> Option<Self> {
        [Self::Regression, Self::SingleLabelClassification, Self::MultiLabelClassification]
            .into_iter()
            .find(|kind| value.as_str() == Some(kind.name()))
    }
}

impl FromStr for ProblemType {
    type Err = CheckpointError;

    /// By Transformers' name for it.
    fn from_str(name: &str) -> Result<Self, CheckpointError> {
        parse_named("problem_type", name, PROBLEM_TYPES, Self::parse)
    }
}

/// The fields that all families share.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonConfig {
    /// Class names of the model that was saved, such as `Dinov2ForImageClassification`.
    pub architectures: Vec<String>,
    /// The version that wrote the file.
    pub transformers_version: Option<String>,
    /// The weights' number format; the key `torch_dtype` is the older spelling, and loses against `dtype`.
    pub dtype: Option<TorchDtype>,
    /// Label index and label, in ascending order of the index.
    pub id2label: Vec<(i64, String)>,
    /// What the classifier's numbers mean, when the config says so.
    pub problem_type: Option<ProblemType>,
    /// Whether every forward returns all hidden states.
    pub output_hidden_states: bool,
    /// Whether every forward returns all attentions.
    pub output_attentions: bool,
    /// Whether outputs are named rather than a plain tuple.
    pub return_dict: bool,
    /// Whether the last of the hidden states is the normed one; `None` leaves it to the family.
    pub tie_last_hidden_states: Option<bool>,
    /// Stage names that replace the computed ones.
    pub stage_names: Option<Vec<String>>,
    /// Stages that a backbone returns, by name.
    pub out_features: Option<Vec<String>>,
    /// Stages that a backbone returns, by index; a negative one counts from the end.
    pub out_indices: Option<Vec<i64>>,
    /// The codes that the weights of linear layers are held in, where they are.
    pub quantization: Option<Quantization>,
    /// The object that the config was read from. `to_json` writes back its keys that are not known here.
    pub source: Map<String, Value>,
}

impl Default for CommonConfig {
    fn default() -> Self {
        Self {
            architectures: Vec::new(),
            transformers_version: None,
            dtype: None,
            id2label: generic_labels(DEFAULT_NUM_LABELS),
            problem_type: None,
            output_hidden_states: false,
            output_attentions: false,
            return_dict: true,
            tie_last_hidden_states: None,
            stage_names: None,
            out_features: None,
            out_indices: None,
            quantization: None,
            source: Map::new(),
        }
    }
}

impl CommonConfig {
    /// How many labels a classifier has.
    pub fn num_labels(&self) -> usize {
        self.id2label.len()
    }

    /// The label of output `index`, if the config has one for it.
    pub fn label(&self, index: usize) -> Option<&str> {
        let id = i64::try_from(index).ok()?;
        let place = self.id2label.binary_search_by_key(&id, |(key, _)| *key).ok()?;
        self.id2label.get(place).map(|(_, label)| label.as_str())
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, CheckpointError> {
        let config = Self {
            architectures: fields.nullable_texts("architectures")?.unwrap_or_default(),
            transformers_version: fields.nullable_text("transformers_version")?,
            dtype: read_dtype(fields)?,
            id2label: read_labels(fields)?,
            problem_type: read_problem_type(fields)?,
            output_hidden_states: fields.flag_or_off("output_hidden_states", false)?,
            output_attentions: fields.flag_or_off("output_attentions", false)?,
            return_dict: fields.flag_or_off("return_dict", true)?,
            tie_last_hidden_states: fields.nullable(
                "tie_last_hidden_states",
                None,
                || "true, false".into(),
                Value::as_bool,
            )?,
            stage_names: fields.nullable_texts("stage_names")?,
            out_features: fields.nullable_texts("out_features")?,
            out_indices: fields.nullable_signed_ints("out_indices")?,
            quantization: Quantization::read(fields)?,
            source: Map::new(),
        };
        if config.problem_type == Some(ProblemType::SingleLabelClassification) && config.num_labels() == 1 {
            return Err(fields.refuse(
                "problem_type",
                "\"regression\" or \"multi_label_classification\" when there is one label",
                "\"single_label_classification\"",
            ));
        }
        Ok(config)
    }
}

fn read_dtype(fields: &Fields<'_>) -> Result<Option<TorchDtype>, CheckpointError> {
    let expected = || DTYPES.into();
    match fields.nullable("dtype", None, expected, TorchDtype::parse)? {
        Some(dtype) => Ok(Some(dtype)),
        None => fields.nullable("torch_dtype", None, expected, TorchDtype::parse),
    }
}

fn read_problem_type(fields: &Fields<'_>) -> Result<Option<ProblemType>, CheckpointError> {
    let expected = || PROBLEM_TYPES.into();
    fields.nullable("problem_type", None, expected, ProblemType::parse)
}

fn read_labels(fields: &Fields<'_>) -> Result<Vec<(i64, String)>, CheckpointError> {
    let num_labels = match fields.get("num_labels") {
        None => None,
        Some(_) => Some(fields.int("num_labels", DEFAULT_NUM_LABELS, 0..=MAX_LABELS)?),
    };
    let given = fields.nullable("id2label", None, labels_expected, parse_labels)?;
    match (given, num_labels) {
        (Some(labels), None) => Ok(labels),
        (Some(labels), Some(count)) if labels.len() == count => Ok(labels),
        (_, count) => Ok(generic_labels(count.unwrap_or(DEFAULT_NUM_LABELS))),
    }
}

fn labels_expected() -> String {
    format!("an object of at most {MAX_LABELS} integer keys and string labels")
}

/// JSON keys are strings, so "10" would come before "2": the keys are sorted as integers.
fn parse_labels(value: &Value) -> Option<Vec<(i64, String)>> {
    let map = value.as_object().filter(|map| map.len() <= MAX_LABELS)?;
    let mut labels = map
        .iter()
        .map(|(key, label)| Some((key.trim().parse().ok()?, json::text(label)?)))
        .collect::<Option<Vec<(i64, String)>>>()?;
    labels.sort_by_key(|(id, _)| *id);
    labels.dedup_by_key(|(id, _)| *id);
    Some(labels)
}

/// `LABEL_0` … `LABEL_{count-1}`.
fn generic_labels(count: usize) -> Vec<(i64, String)> {
    (0..).zip(0..count).map(|(id, index)| (id, format!("LABEL_{index}"))).collect()
}
