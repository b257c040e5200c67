//! Saving a config, or a processor config, alone.

use std::fs;
use std::path::Path;

use super::write;
use crate::checkpoint::CONFIG_FILE;
use crate::config::ModelConfig;
use crate::error::CheckpointError;
use crate::files;
use crate::processor_config::{PREPROCESSOR_FILE, ProcessorConfig};

impl ModelConfig {
    /// Writes `config.json` to a folder, which is made where there is none.
    ///
    /// # Errors
    /// The folder's path is a file, or a place that cannot be written.
    pub fn save_pretrained(&self, dir: &Path) -> Result<(), CheckpointError> {
        make_folder(dir)?;
        write::text(&dir.join(CONFIG_FILE), &self.to_json())
    }
}

impl ProcessorConfig {
    /// Writes `preprocessor_config.json` to a folder, which is made where there is none.
    ///
    /// # Errors
    /// The folder's path is a file, or a place that cannot be written.
    pub fn save_pretrained(&self, dir: &Path) -> Result<(), CheckpointError> {
        make_folder(dir)?;
        write::text(&dir.join(PREPROCESSOR_FILE), &self.to_json())
    }
}

/// Makes a folder where there is none.
pub(super) fn make_folder(dir: &Path) -> Result<(), CheckpointError> {
    match files::metadata(dir)? {
        Some(metadata) if !metadata.is_dir() => Err(CheckpointError::NotAFolder { path: dir.into() }),
        _ => fs::create_dir_all(dir).map_err(|error| write::error(dir, error)),
    }
}
