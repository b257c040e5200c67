//! The tensors of a checkpoint, by canonical name, over one or several mapped safetensors files.
//!
//! Whatever spelling a file uses, tensors are asked for by their bare hub name (see `names`, `layout`). Nothing is
//! copied until a tensor is read. DINOv2's SwiGLU input may lie in two halves in the file; `read_f32` joins them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{CheckpointError, DuplicateTensor};
use crate::files::Bytes;
use crate::layout::TensorSpec;
use crate::names::{Convention, Part};

mod archive;
mod convert;
mod header;
mod open;

pub use archive::Archive;
pub use safetensors::Dtype;

/// The tensors of a checkpoint.
pub struct Tensors {
    /// The file, or the folder of several: for error messages.
    root: PathBuf,
    convention: Convention,
    files: Vec<TensorFile>,
    /// Parts in row order, by canonical name.
    entries: BTreeMap<String, Vec<Stored>>,
}

/// One safetensors file.
struct TensorFile {
    path: PathBuf,
    bytes: Bytes,
}

/// A tensor as a file stores it.
pub(crate) struct Stored {
    file: usize,
    pub(crate) name_in_file: String,
    dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    range: Range<usize>,
    pub(crate) part: Part,
}

impl Stored {
    /// The shape that this part needs for the whole to have `shape`.
    pub(crate) fn expected(&self, shape: &[usize]) -> Vec<usize> {
        let mut expected = shape.to_vec();
        if let Some(rows) = expected.first_mut() {
            *rows /= self.part.count;
        }
        expected
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
    /// The tensor, when the file has it in one piece; see `parts` for one that may lie in several.
    pub fn get(&self, name: &str) -> Option<TensorView<'_>> {
        match self.complete(name)? {
            [stored] => Some(self.view(stored)),
            _ => None,
        }
    }

    /// The pieces of the tensor, in row order: one, or the two halves of a SwiGLU input. `None` when one is missing.
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

    /// The tensor's numbers as f32, row-major; `shape` is the shape that the caller needs.
    ///
    /// # Errors
    /// No such tensor, another shape, a dtype other than F32, F16 and BF16.
    pub fn read_f32(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, CheckpointError> {
        let parts = self.complete(name).ok_or_else(|| CheckpointError::TensorNotFound {
            path: self.root.clone(),
            tensor: name.into(),
        })?;
        // All checks before memory is taken; the sum cannot overflow, as every part lies in a mapped file.
        let mut elements = 0;
        for stored in parts {
            elements += self.check_part(stored, shape)?;
        }
        let mut values = Vec::with_capacity(elements);
        for stored in parts {
            convert::append_f32(self.view(stored), &mut values)?;
        }
        Ok(values)
    }

    /// How many numbers the part has, when it fits `shape` and can be read.
    fn check_part(&self, stored: &Stored, shape: &[usize]) -> Result<usize, CheckpointError> {
        let view = self.view(stored);
        let expected = stored.expected(shape);
        if view.shape != expected || shape.first().is_some_and(|rows| rows % stored.part.count != 0) {
            return Err(CheckpointError::TensorShape {
                path: view.file.into(),
                tensor: view.name_in_file.into(),
                expected,
                got: view.shape.to_vec(),
            });
        }
        let width = convert::width(view)?;
        Ok(view.bytes.len() / width)
    }

    /// Bytes of all tensors.
    pub fn total_bytes(&self) -> u64 {
        self.stored().map(|stored| stored.range.len() as u64).sum()
    }

    /// The dtype of the first floating-point tensor: what Transformers' `dtype="auto"` falls back to.
    pub fn float_dtype(&self) -> Option<Dtype> {
        let floats = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16];
        self.stored()
            .filter(|stored| floats.contains(&stored.dtype))
            .min_by_key(|stored| (stored.file, stored.range.start))
            .map(|stored| stored.dtype)
    }

    /// The file, or the folder of several.
    pub fn path(&self) -> &Path {
        &self.root
    }

    fn stored(&self) -> impl Iterator<Item = &Stored> {
        self.entries.values().flatten()
    }

    /// Canonical names and what files hold of each.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &[Stored])> {
        self.entries.iter().map(|(name, parts)| (name.as_str(), parts.as_slice()))
    }

    /// What files hold of a tensor, all parts or not.
    pub(crate) fn entry(&self, name: &str) -> Option<&[Stored]> {
        self.entries.get(name).map(Vec::as_slice)
    }

    pub(crate) fn convention(&self) -> Convention {
        self.convention
    }

    fn complete(&self, name: &str) -> Option<&[Stored]> {
        let parts = self.entry(name)?;
        parts.first().filter(|first| first.part.count == parts.len()).map(|_| parts)
    }

    fn view<'a>(&'a self, stored: &'a Stored) -> TensorView<'a> {
        let file = &self.files[stored.file];
        TensorView {
            name_in_file: &stored.name_in_file,
            file: &file.path,
            dtype: stored.dtype,
            shape: &stored.shape,
            // The header was checked against the file's length when it was opened.
            bytes: &file.bytes[stored.range.clone()],
        }
    }

    /// Adds the tensors of a file that `wanted` accepts by their names in it.
    fn add(&mut self, file: TensorFile, wanted: impl Fn(&str) -> bool) -> Result<(), CheckpointError> {
        let headers = header::read(&file.path, &file.bytes)?;
        let index = self.files.len();
        self.files.push(file);
        for header in headers.into_iter().filter(|header| wanted(&header.name)) {
            let place = self.convention.place(&header.name);
            self.insert(
                place.name,
                Stored {
                    file: index,
                    name_in_file: header.name,
                    dtype: header.dtype,
                    shape: header.shape,
                    range: header.range,
                    part: place.part,
                },
            )?;
        }
        Ok(())
    }

    fn insert(&mut self, name: String, stored: Stored) -> Result<(), CheckpointError> {
        match self.entries.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(vec![stored]);
            }
            Entry::Occupied(mut occupied) => {
                let clash = |old: &&Stored| {
                    old.part.count != stored.part.count || old.part.index == stored.part.index
                };
                if let Some(old) = occupied.get().iter().find(clash) {
                    return Err(CheckpointError::DuplicateTensor(Box::new(DuplicateTensor {
                        tensor: occupied.key().clone(),
                        first: old.name_in_file.clone(),
                        first_file: self.files[old.file].path.clone(),
                        second: stored.name_in_file,
                        second_file: self.files[stored.file].path.clone(),
                    })));
                }
                let parts = occupied.get_mut();
                parts.push(stored);
                parts.sort_by_key(|stored| stored.part.index);
            }
        }
        Ok(())
    }

    /// No tensors yet.
    /// Puts f32 numbers in memory under a canonical name; `spec`'s shape is theirs.
    pub(crate) fn add_values(&mut self, spec: TensorSpec, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let stored = Stored {
            file: self.files.len(),
            name_in_file: spec.name.clone(),
            dtype: Dtype::F32,
            shape: spec.shape,
            range: 0..bytes.len(),
            part: Part::WHOLE,
        };
        self.files.push(TensorFile { path: self.root.clone(), bytes: Bytes::Held(bytes.into()) });
        self.entries.insert(spec.name, vec![stored]);
    }

    /// No tensors yet.
    pub(crate) fn empty(root: &Path, convention: Convention) -> Self {
        Self { root: root.into(), convention, files: Vec::new(), entries: BTreeMap::new() }
    }

    /// The tensors of a safetensors file held in memory; `path` serves error messages only.
    pub(crate) fn from_bytes(
        path: &Path,
        bytes: Cow<'static, [u8]>,
        convention: Convention,
    ) -> Result<Self, CheckpointError> {
        if bytes.is_empty() {
            return Err(CheckpointError::EmptyFile { path: path.into() });
        }
        crate::files::refuse_pointer(path, &bytes)?;
        let mut tensors = Self::empty(path, convention);
        tensors.add(TensorFile { path: path.into(), bytes: Bytes::Held(bytes) }, |_| true)?;
        Ok(tensors)
    }
}

impl std::fmt::Debug for Tensors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tensors").field("path", &self.root).field("tensors", &self.entries.len()).finish()
    }
}
