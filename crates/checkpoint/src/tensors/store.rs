//! How tensors get into a checkpoint: from the headers of files, by their names; from memory, when they are fresh.
//!
//! Headers of all files are read first, then the convention of their names is told from all of them together, and then
//! each tensor gets its place. A canonical tensor that two files' tensors claim is an error.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::{Dtype, Source, Stored, TensorFile, Tensors, header};
use crate::config::{ModelConfig, TorchDtype};
use crate::error::{CheckpointError, DuplicateTensor, QuantizedWeight};
use crate::files::{self, Bytes};
use crate::layout::TensorSpec;
use crate::names::{Convention, Place, Role};

impl Tensors {
    /// No tensors yet.
    pub(crate) fn empty(root: &Path, convention: Convention) -> Self {
        Self {
            root: root.into(),
            convention,
            files: Vec::new(),
            sources: Vec::new(),
            metadata: HashMap::new(),
            entries: BTreeMap::new(),
            dtype: None,
        }
    }

    /// The tensors of a safetensors file held in memory; `path` serves error messages only.
    pub(crate) fn from_bytes(
        path: &Path,
        bytes: Cow<'static, [u8]>,
        config: &ModelConfig,
    ) -> Result<Self, CheckpointError> {
        if bytes.is_empty() {
            return Err(CheckpointError::EmptyFile { path: path.into() });
        }
        files::refuse_pointer(path, &bytes)?;
        let mut tensors = Self::empty(path, Convention::hub(config));
        tensors.add(TensorFile { path: path.into(), bytes: Bytes::Held(bytes) }, |_| true)?;
        tensors.place_all(config)?;
        Ok(tensors)
    }

    /// Adds the tensors of a file that `wanted` accepts by their names in it; `place_all` follows.
    pub(super) fn add(
        &mut self,
        file: TensorFile,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), CheckpointError> {
        let (metadata, headers) = header::read(&file.path, &file.bytes)?;
        self.metadata.extend(metadata);
        let index = self.files.len();
        self.files.push(file);
        let wanted = headers.into_iter().filter(|header| wanted(&header.name));
        self.sources.extend(wanted.map(|header| Source {
            file: index,
            name: header.name,
            dtype: header.dtype,
            shape: header.shape,
            range: header.range,
            quantized: None,
        }));
        Ok(())
    }

    /// Tells the convention of the names and gives every tensor its place.
    pub(super) fn place_all(&mut self, config: &ModelConfig) -> Result<(), CheckpointError> {
        self.convention = Convention::detect(config, self.sources.iter().map(|source| source.name.as_str()));
        self.join_quantized(config)?;
        for index in 0..self.sources.len() {
            for place in self.convention.places(&self.sources[index].name) {
                self.insert(index, place)?;
            }
        }
        Ok(())
    }

    /// The format to round to from now on.
    pub(crate) fn set_dtype(&mut self, dtype: Option<TorchDtype>) {
        self.dtype = dtype;
    }

    /// Puts f32 numbers in memory under a canonical name, in place of what was there; `spec`'s shape is theirs.
    pub(crate) fn put(&mut self, spec: TensorSpec, values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let range = 0..bytes.len();
        let source = Source {
            file: self.files.len(),
            name: spec.name.clone(),
            dtype: Dtype::F32,
            shape: spec.shape.clone(),
            range: range.clone(),
            quantized: None,
        };
        let stored = Stored { source: self.sources.len(), role: Role::Whole, shape: spec.shape, range };
        self.files.push(TensorFile { path: self.root.clone(), bytes: Bytes::Held(bytes.into()) });
        self.sources.push(source);
        self.entries.insert(spec.name, vec![stored]);
    }

    /// Forgets a tensor.
    pub(crate) fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }

    fn insert(&mut self, index: usize, place: Place) -> Result<(), CheckpointError> {
        let source = &self.sources[index];
        if source.quantized.is_some() && !matches!(place.role, Role::Whole | Role::Part { .. }) {
            return Err(QuantizedWeight {
                path: self.files[source.file].path.clone(),
                tensor: source.name.clone(),
                what: "its name",
                expected: "one of Transformers'".into(),
                got: "one of another project".into(),
            }
            .into());
        }
        let (shape, group, groups) = place.role.cut(&source.shape);
        let length = source.range.len() / groups;
        let start = source.range.start + group * length;
        let stored = Stored { source: index, role: place.role, shape, range: start..start + length };
        match self.entries.entry(place.name) {
            Entry::Vacant(vacant) => {
                vacant.insert(vec![stored]);
            }
            Entry::Occupied(mut occupied) => {
                let (part, count) = stored.role.part();
                let clash = |old: &&Stored| old.role.part().1 != count || old.role.part().0 == part;
                if let Some(old) = occupied.get().iter().find(clash) {
                    let (first, second) = (&self.sources[old.source], source);
                    return Err(CheckpointError::DuplicateTensor(Box::new(DuplicateTensor {
                        tensor: occupied.key().clone(),
                        first: first.name.clone(),
                        first_file: self.files[first.file].path.clone(),
                        second: second.name.clone(),
                        second_file: self.files[second.file].path.clone(),
                    })));
                }
                let parts = occupied.get_mut();
                parts.push(stored);
                parts.sort_by_key(|stored| stored.role.part().0);
            }
        }
        Ok(())
    }
}
