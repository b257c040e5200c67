//! A golden file: inputs, expected outputs, and where they came from. See [`crate::verify()`].

use crate::{Error, Inputs, Labels, OutputHiddenStates, hash32};
use dinoxide_checkpoint::{Archive, Dtype, TensorView, config::ProblemType};
use ndarray::{Array2, Array4, ArrayD, ArrayView4, ArrayViewD, Ix2, Ix4, IxDyn};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

/// Floats that `hash32` inputs may ask for: 256 MiB, five pictures of 2048 × 2048.
const MAX_HASHED: usize = 1 << 26;

/// Starts the names of what was drawn in train mode.
const DRAWS: &str = "draws.";

/// A golden, read into memory.
#[derive(Debug)]
pub struct Golden {
    path: PathBuf,
    metadata: HashMap<String, String>,
    pixel_values: Array4<f32>,
    bool_masked_pos: Option<Array2<bool>>,
    attention_mask: Option<Array2<bool>>,
    labels: Option<GoldenLabels>,
    outputs: BTreeMap<String, ArrayD<f32>>,
    eager_attention: bool,
}

/// The labels of a golden.
#[derive(Debug)]
enum GoldenLabels {
    /// Integers.
    Classes(ArrayD<i64>),
    /// Floats.
    Values(ArrayD<f32>),
}

impl Golden {
    /// Reads a golden.
    ///
    /// # Errors
    /// A file that is no safetensors file, has no pixels, no expected tensor, or tensors of an unexpected type or shape.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let archive = Archive::open(path)?;
        Self::read(&archive).map_err(|reason| Error::Golden { path: path.to_owned(), reason })
    }

    fn read(archive: &Archive) -> Result<Self, String> {
        let metadata = archive.metadata().clone();
        let (mut outputs, mut masks, mut labels) = (BTreeMap::new(), BTreeMap::new(), None);
        for tensor in archive.tensors() {
            let name = tensor.name_in_file;
            if name.starts_with(DRAWS) {
                return Err(format!(
                    "is of train mode: its random draws, `{name}` and others, cannot be fed to a model that is compared"
                ));
            }
            match name {
                "bool_masked_pos" | "attention_mask" => {
                    masks.insert(name.to_owned(), mask(&tensor)?);
                }
                "labels" if tensor.dtype == Dtype::F32 => {
                    labels = Some(GoldenLabels::Values(floats(&tensor)?));
                }
                "labels" => labels = Some(GoldenLabels::Classes(integers(&tensor)?)),
                _ => {
                    outputs.insert(name.to_owned(), floats(&tensor)?);
                }
            }
        }
        let pixel_values = match (outputs.remove("pixel_values"), metadata.get("pixel_values")) {
            (Some(pixels), _) => pixels,
            (None, Some(spec)) => hashed_pixels(spec)?,
            (None, None) => return Err("has no `pixel_values`".to_owned()),
        };
        let shape = pixel_values.shape().to_vec();
        let pixel_values = pixel_values
            .into_dimensionality::<Ix4>()
            .map_err(|_| format!("`pixel_values` has shape {shape:?}, expected 4 axes"))?;
        if outputs.is_empty() {
            return Err("names no expected tensor".to_owned());
        }
        let (bool_masked_pos, attention_mask) =
            (masks.remove("bool_masked_pos"), masks.remove("attention_mask"));
        let eager_attention = metadata.get("attn_implementation").is_some_and(|name| name == "eager");
        Ok(Self {
            path: archive.path().to_owned(),
            metadata,
            pixel_values,
            bool_masked_pos,
            attention_mask,
            labels,
            outputs,
            eager_attention,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it came from: versions, model, seed.
    #[must_use]
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.metadata
    }

    /// The pixels, [B, C, H, W].
    #[must_use]
    pub fn pixel_values(&self) -> ArrayView4<'_, f32> {
        self.pixel_values.view()
    }

    /// All inputs of the model, asking for the outputs that are expected.
    ///
    /// # Errors
    /// Metadata that cannot be read.
    pub fn inputs(&self) -> Result<Inputs<'_>, Error> {
        let asks = |prefix: &str| self.outputs.keys().any(|name| name.starts_with(prefix));
        Ok(Inputs {
            bool_masked_pos: self.bool_masked_pos.as_ref().map(|mask| mask.view()),
            attention_mask: self.attention_mask.as_ref().map(|mask| mask.view()),
            output_hidden_states: match self.metadata_json::<OneOrMany>("output_hidden_states")? {
                Some(OneOrMany::One(place)) => [place].into(),
                Some(OneOrMany::Many(places)) => OutputHiddenStates::Only(places),
                None => asks("hidden_states.").into(),
            },
            output_attentions: Some(asks("attentions.")),
            eager_attention: self.eager_attention,
            ..Inputs::new(self.pixel_values())
        })
    }

    /// The labels.
    pub(crate) fn labels(&self) -> Option<Labels<'_>> {
        Some(match self.labels.as_ref()? {
            GoldenLabels::Classes(classes) => classes.view().into(),
            GoldenLabels::Values(values) => values.view().into(),
        })
    }

    /// The problem type that the config had.
    pub(crate) fn problem_type(&self) -> Option<ProblemType> {
        let all = [
            ProblemType::Regression,
            ProblemType::SingleLabelClassification,
            ProblemType::MultiLabelClassification,
        ];
        all.into_iter().find(|kind| self.metadata.get("problem_type").is_some_and(|name| name == kind.name()))
    }

    /// Keys of the config that were set before the model was loaded: a checkpoint to be compared is opened with them
    /// ([`LoadOptions::overrides`](crate::LoadOptions)).
    ///
    /// # Errors
    /// Metadata that cannot be read.
    pub fn overrides(&self) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
        Ok(self.metadata_json("options")?.unwrap_or_default())
    }

    fn metadata_json<T: for<'a> Deserialize<'a>>(&self, key: &str) -> Result<Option<T>, Error> {
        let parse = |text: &String| {
            serde_json::from_str(text).map_err(|error| Error::Golden {
                path: self.path.clone(),
                reason: format!("metadata `{key}` is `{text}`: {error}"),
            })
        };
        self.metadata.get(key).map(parse).transpose()
    }

    /// The same, to be run with the eager attention whatever it was made with.
    #[must_use]
    pub fn with_eager_attention(mut self) -> Self {
        self.eager_attention = true;
        self
    }

    /// The same without an expected tensor, for one that is not to be compared.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.outputs.remove(name);
        self
    }

    /// The expected outputs in order of their names, numbers at the end of names in order of their value.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, ArrayViewD<'_, f32>)> {
        let mut outputs: Vec<_> =
            self.outputs.iter().map(|(name, array)| (name.as_str(), array.view())).collect();
        outputs.sort_by_key(|(name, _)| {
            let (stem, number) = name.rsplit_once('.').unwrap_or((name, ""));
            (stem, number.parse::<usize>().ok())
        });
        outputs.into_iter()
    }
}

/// A whole number, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(i64),
    Many(Vec<i64>),
}

/// A tensor of f32.
fn floats(tensor: &TensorView<'_>) -> Result<ArrayD<f32>, String> {
    if tensor.dtype != Dtype::F32 {
        return Err(format!("tensor `{}` is {:?}, expected F32", tensor.name_in_file, tensor.dtype));
    }
    let floats = tensor.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    shaped(tensor, floats.collect())
}

/// A tensor of integers.
fn integers(tensor: &TensorView<'_>) -> Result<ArrayD<i64>, String> {
    let values = match tensor.dtype {
        Dtype::I64 => tensor.bytes.as_chunks().0.iter().map(|b| i64::from_le_bytes(*b)).collect(),
        Dtype::I32 => tensor.bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b).into()).collect(),
        Dtype::U8 | Dtype::BOOL => tensor.bytes.iter().map(|&b| b.into()).collect(),
        other => return Err(format!("tensor `{}` is {other:?}, expected integers", tensor.name_in_file)),
    };
    shaped(tensor, values)
}

/// A mask of two axes: what is not 0 is true.
fn mask(tensor: &TensorView<'_>) -> Result<Array2<bool>, String> {
    let mask = match tensor.dtype {
        Dtype::F32 => floats(tensor)?.mapv(|value| value != 0.0),
        _ => integers(tensor)?.mapv(|value| value != 0),
    };
    let wrong = || format!("`{}` has shape {:?}, expected 2 axes", tensor.name_in_file, tensor.shape);
    mask.into_dimensionality::<Ix2>().map_err(|_| wrong())
}

fn shaped<T>(tensor: &TensorView<'_>, values: Vec<T>) -> Result<ArrayD<T>, String> {
    ArrayD::from_shape_vec(IxDyn(tensor.shape), values)
        .map_err(|error| format!("tensor `{}`: {error}", tensor.name_in_file))
}

/// Pixels from `hash32:SEED:B,C,H,W`.
fn hashed_pixels(spec: &str) -> Result<ArrayD<f32>, String> {
    let parse = || {
        let (seed, shape) = spec.strip_prefix("hash32:")?.split_once(':')?;
        let shape: Vec<usize> = shape.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        let len =
            shape.iter().try_fold(1_usize, |len, &n| len.checked_mul(n)).filter(|&len| len <= MAX_HASHED)?;
        ArrayD::from_shape_vec(IxDyn(&shape), hash32(seed.parse().ok()?, len)).ok()
    };
    parse().ok_or_else(|| {
        format!("metadata `pixel_values` is `{spec}`, expected `hash32:SEED:B,C,H,W` of at most {MAX_HASHED} values")
    })
}
