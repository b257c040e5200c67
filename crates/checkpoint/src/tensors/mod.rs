//! The tensors of a checkpoint, by canonical name, over one or several mapped safetensors files.
//!
//! Whatever spelling a file uses, tensors are asked for by their bare hub name (see `names`, `layout`). Nothing is
//! copied until a tensor is read. A file may hold a tensor in halves, or several in one; `read_f32` joins and cuts.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::config::TorchDtype;
use crate::error::CheckpointError;
use crate::files::Bytes;
use crate::names::{Convention, Role};

mod archive;
mod convert;
mod encode;
mod header;
mod numbers;
mod open;
mod pickle;
mod pickle_size;
mod quantized;
mod store;

pub use archive::Archive;
pub(crate) use encode::{file_dtype, torch_dtype};
pub use numbers::{FloatPart, Floats, Numbers};
pub(crate) use open::{INDEX_FILE, OTHER_FORMATS, SINGLE_FILE, WEIGHTS, shard_names};
pub(crate) use quantized::{CODES, Ranges, SCALES, ZEROS};
pub use quantized::{QuantizedTensor, Storage};
pub use safetensors::Dtype;

/// The tensors of a checkpoint.
pub struct Tensors {
    /// The file, or the folder of several: for error messages.
    root: PathBuf,
    convention: Convention,
    files: Vec<TensorFile>,
    sources: Vec<Source>,
    /// What files say of themselves, until it is known which of their tensors are a weight's codes and scales.
    metadata: HashMap<String, String>,
    /// Parts in row order, by canonical name.
    entries: BTreeMap<String, Vec<Stored>>,
    /// The format that numbers are rounded to when they are read.
    dtype: Option<TorchDtype>,
}

/// One safetensors file.
struct TensorFile {
    path: PathBuf,
    bytes: Bytes,
}

/// A tensor of a file, or the codes of one with their scales and zeros.
#[derive(Debug)]
pub(crate) struct Source {
    file: usize,
    pub(crate) name: String,
    dtype: Dtype,
    /// Of codes, that of the weight they stand for.
    pub(crate) shape: Vec<usize>,
    range: Range<usize>,
    /// Where it is held in codes.
    pub(crate) quantized: Option<Box<Ranges>>,
}

/// What a file holds of a canonical tensor.
#[derive(Debug)]
pub(crate) struct Stored {
    source: usize,
    pub(crate) role: Role,
    /// The shape of what is taken out of the source.
    shape: Vec<usize>,
    range: Range<usize>,
}

impl Stored {
    /// The shape of what is taken out of the file's tensor.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }
}

/// A tensor as it lies in its file.
#[derive(Debug, Clone, Copy)]
pub struct TensorView<'a> {
    /// Its name in the file.
    pub name_in_file: &'a str,
    /// The file.
    pub file: &'a Path,
    /// The number format.
    pub dtype: Dtype,
    /// The shape.
    pub shape: &'a [usize],
    /// The numbers, little-endian, row-major; not necessarily aligned.
    pub bytes: &'a [u8],
}

impl Tensors {
    /// The tensor, when the file has it whole and in one piece; see `parts` for one that may lie in several.
    pub fn get(&self, name: &str) -> Option<TensorView<'_>> {
        match self.complete(name)? {
            [stored] if stored.role != Role::AfterFirst => Some(self.view(stored)),
            _ => None,
        }
    }

    /// The pieces of the tensor that files hold, in row order: one, or the two halves of a SwiGLU input. `None` when one is
    /// missing. Zeros that a file leaves out (timm's first position) are in none of them.
    pub fn parts(&self, name: &str) -> Option<Vec<TensorView<'_>>> {
        Some(self.complete(name)?.iter().map(|stored| self.view(stored)).collect())
    }

    /// Whether the whole tensor is there.
    pub fn contains(&self, name: &str) -> bool {
        self.complete(name).is_some()
    }

    /// Canonical names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The tensor's numbers as f32, row-major, rounded to the checkpoint's dtype; `shape` is the shape that the caller needs.
    ///
    /// # Errors
    /// No such tensor, another shape, a dtype other than F32, F16 and BF16.
    pub fn read_f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, CheckpointError> {
        Ok(self.numbers(name, shape)?.into_vec())
    }

    /// Whether numbers are rounded to the checkpoint's dtype: they are, where the files hold another; what codes stand for is not.
    fn rounds(&self, parts: &[Stored]) -> bool {
        let wide = [TorchDtype::Float32, TorchDtype::Float64];
        let codes = parts.iter().any(|stored| self.source(stored).quantized.is_some());
        self.dtype
            .is_some_and(|dtype| !codes && !wide.contains(&dtype) && !self.all_are(parts, file_dtype(dtype)))
    }

    /// Whether all parts are in this format.
    fn all_are(&self, parts: &[Stored], dtype: Dtype) -> bool {
        parts.iter().all(|stored| self.source(stored).dtype == dtype)
    }

    /// How many numbers the part has, when it fits `shape` and can be read.
    fn check_part(&self, stored: &Stored, shape: &[usize]) -> Result<usize, CheckpointError> {
        let source = self.source(stored);
        if !stored.role.fits(shape, &source.shape) {
            return Err(CheckpointError::TensorShape {
                path: self.files[source.file].path.clone(),
                tensor: source.name.clone(),
                expected: stored.role.expected(shape),
                got: source.shape.clone(),
            });
        }
        if source.quantized.is_some() {
            // Twice the codes at most.
            return Ok(source.shape.iter().product());
        }
        let view = self.view(stored);
        Ok(view.bytes.len() / convert::width(view)?)
    }

    /// The format that `read_f32` rounds to; `None` leaves numbers as files have them.
    pub fn dtype(&self) -> Option<TorchDtype> {
        self.dtype
    }

    /// Bytes of all tensors in the files.
    pub fn total_bytes(&self) -> u64 {
        let ranges = |source: &Source| source.quantized.as_ref().map_or(0, |ranges| ranges.bytes());
        self.sources.iter().map(|source| (source.range.len() + ranges(source)) as u64).sum()
    }

    /// The dtype of the first floating-point tensor: what Transformers' `dtype="auto"` falls back to.
    pub fn float_dtype(&self) -> Option<Dtype> {
        let floats = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16];
        self.sources
            .iter()
            .filter(|source| floats.contains(&source.dtype))
            .min_by_key(|source| (source.file, source.range.start))
            .map(|source| source.dtype)
    }

    /// The file, or the folder of several.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Canonical names and what files hold of each.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &[Stored])> {
        self.entries.iter().map(|(name, parts)| (name.as_str(), parts.as_slice()))
    }

    /// What files hold of a tensor.
    pub(crate) fn entry(&self, name: &str) -> Option<&[Stored]> {
        self.entries.get(name).map(Vec::as_slice)
    }

    /// The file's tensor that something is taken out of.
    pub(crate) fn source(&self, stored: &Stored) -> &Source {
        &self.sources[stored.source]
    }

    /// How names are spelled in the files.
    pub(crate) fn convention(&self) -> Convention {
        self.convention
    }

    fn complete(&self, name: &str) -> Option<&[Stored]> {
        let parts = self.entry(name)?;
        parts.first().filter(|first| first.role.part().1 == parts.len()).map(|_| parts)
    }

    fn require(&self, name: &str) -> Result<&[Stored], CheckpointError> {
        let missing = || CheckpointError::TensorNotFound { path: self.root.clone(), tensor: name.into() };
        self.complete(name).ok_or_else(missing)
    }

    fn view<'a>(&'a self, stored: &'a Stored) -> TensorView<'a> {
        let source = self.source(stored);
        let file = &self.files[source.file];
        TensorView {
            name_in_file: &source.name,
            file: &file.path,
            dtype: source.dtype,
            shape: &stored.shape,
            // The header was checked against the file's length when it was opened.
            bytes: &file.bytes[stored.range.clone()],
        }
    }
}

/// Zeros before the numbers of the files: the first entry of a table [1, n, D] that a file leaves out.
fn leading_zeros(parts: &[Stored], shape: &[usize]) -> usize {
    match (parts, shape) {
        ([Stored { role: Role::AfterFirst, .. }], [_, _, width]) => *width,
        _ => 0,
    }
}

impl std::fmt::Debug for Tensors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tensors").field("path", &self.root).field("tensors", &self.entries.len()).finish()
    }
}
