//! A golden file: inputs, expected outputs, and where they came from. See [`crate::verify`].

use crate::{Error, verify::hash32};
use dinoxide_checkpoint::{Archive, Dtype, TensorView};
use ndarray::{Array4, ArrayD, ArrayView4, ArrayViewD, Ix4, IxDyn};

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

/// Floats that `hash32` inputs may ask for: 256 MiB, five pictures of 2048 × 2048.
const MAX_HASHED: usize = 1 << 26;

/// A golden, read into memory.
#[derive(Debug)]
pub struct Golden {
    path: PathBuf,
    metadata: HashMap<String, String>,
    pixel_values: Array4<f32>,
    outputs: BTreeMap<String, ArrayD<f32>>,
}

/// Inputs that a golden may hold beside the pixels.
const INPUTS_NOT_TAKEN: [&str; 3] = ["bool_masked_pos", "attention_mask", "labels"];

impl Golden {
    /// Reads a golden.
    ///
    /// # Errors
    /// A file that is no safetensors file, has no pixels, inputs that are not taken yet, no expected tensor, or
    /// tensors that are not f32.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let archive = Archive::open(path)?;
        let wrong = |reason: String| Error::Golden { path: path.to_owned(), reason };
        let metadata = archive.metadata().clone();
        let mut outputs = BTreeMap::new();
        for tensor in archive.tensors() {
            outputs.insert(tensor.name_in_file.to_owned(), array(&tensor).map_err(wrong)?);
        }
        let pixel_values = match (outputs.remove("pixel_values"), metadata.get("pixel_values")) {
            (Some(pixels), _) => pixels,
            (None, Some(spec)) => hashed_pixels(spec).map_err(wrong)?,
            (None, None) => return Err(wrong("has no `pixel_values`".to_owned())),
        };
        let shape = pixel_values.shape().to_vec();
        let pixel_values = pixel_values
            .into_dimensionality::<Ix4>()
            .map_err(|_| wrong(format!("`pixel_values` has shape {shape:?}, expected 4 axes")))?;
        if outputs.is_empty() {
            return Err(wrong("names no expected tensor".to_owned()));
        }
        Ok(Self { path: path.to_owned(), metadata, pixel_values, outputs })
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

    /// The inputs, [B, C, H, W].
    #[must_use]
    pub fn pixel_values(&self) -> ArrayView4<'_, f32> {
        self.pixel_values.view()
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

/// A tensor of the file as an array.
fn array(tensor: &TensorView<'_>) -> Result<ArrayD<f32>, String> {
    let name = tensor.name_in_file;
    if INPUTS_NOT_TAKEN.contains(&name) {
        return Err(format!("input `{name}` cannot be fed to the model yet"));
    }
    if tensor.dtype != Dtype::F32 {
        return Err(format!("tensor `{name}` is {:?}, expected F32", tensor.dtype));
    }
    let floats = tensor.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    ArrayD::from_shape_vec(IxDyn(tensor.shape), floats.collect())
        .map_err(|error| format!("tensor `{name}`: {error}"))
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
