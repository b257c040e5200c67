//! Which file of a folder holds the processor config, and its object as it was read.
//!
//! A `processor_config.json` with an `image_processor` entry shadows `preprocessor_config.json`. The object is kept, so that
//! keys that are not known here are saved with the rest.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ProcessorConfig;
use crate::checkpoint::check_folder;
use crate::config::Family;
use crate::error::CheckpointError;
use crate::files;
use crate::json::{self, Fields};
use crate::limits::MAX_JSON_BYTES;

/// The image processor's config.
pub(crate) const PREPROCESSOR_FILE: &str = "preprocessor_config.json";
/// A multi-modal processor's config, whose entry for images wins.
const PROCESSOR_FILE: &str = "processor_config.json";
/// That entry.
const IMAGE_PROCESSOR_KEY: &str = "image_processor";

/// A file and its object.
type FileObject = (PathBuf, Map<String, Value>);

/// A processor config and the object that it was read from.
#[derive(Debug, Clone)]
pub(crate) struct ProcessorFile {
    pub(crate) config: ProcessorConfig,
    pub(crate) source: Map<String, Value>,
}

impl ProcessorFile {
    /// That of a folder, if it has one.
    pub(crate) fn open(dir: &Path, family: Family) -> Result<Option<Self>, CheckpointError> {
        match open_object(dir)? {
            Some((path, source)) => Self::read(&path, source, family).map(Some),
            None => Ok(None),
        }
    }

    /// That of a file's bytes; `path` serves error messages only.
    pub(crate) fn from_json(path: &Path, bytes: &[u8], family: Family) -> Result<Self, CheckpointError> {
        let map = json::object(path, bytes)?;
        let nested = nested(path, &map)?.cloned();
        Self::read(path, nested.unwrap_or(map), family)
    }

    fn read(path: &Path, source: Map<String, Value>, family: Family) -> Result<Self, CheckpointError> {
        Ok(Self { config: ProcessorConfig::read(path, &source, Some(family))?, source })
    }
}

/// The file that counts and its object for images.
pub(super) fn open_object(dir: &Path) -> Result<Option<FileObject>, CheckpointError> {
    check_folder(dir)?;
    let shadow = dir.join(PROCESSOR_FILE);
    if let Some(bytes) = files::read_small(&shadow, MAX_JSON_BYTES)? {
        let map = json::object(&shadow, &bytes)?;
        if let Some(nested) = nested(&shadow, &map)?.cloned() {
            return Ok(Some((shadow, nested)));
        }
    }
    let path = dir.join(PREPROCESSOR_FILE);
    let Some(bytes) = files::read_small(&path, MAX_JSON_BYTES)? else { return Ok(None) };
    let map = json::object(&path, &bytes)?;
    let nested = nested(&path, &map)?.cloned();
    Ok(Some((path, nested.unwrap_or(map))))
}

/// The entry for images of a `processor_config.json`; `null` counts as none.
pub(super) fn nested<'a>(
    path: &Path,
    map: &'a Map<String, Value>,
) -> Result<Option<&'a Map<String, Value>>, CheckpointError> {
    match map.get(IMAGE_PROCESSOR_KEY) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(nested)) => Ok(Some(nested)),
        Some(other) => Err(Fields::new(path, map).invalid(IMAGE_PROCESSOR_KEY, "an object", other)),
    }
}
