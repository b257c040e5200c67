//! A checkpoint: config, processor config and tensors of one model, compared with each other when opened.
//!
//! `open` reads the JSON files and maps the weights; no tensor is read. The processor config is optional, and a broken one
//! is reported only to those who ask for it: a model can be fed with ready tensors.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check;
use crate::config::ModelConfig;
use crate::error::CheckpointError;
use crate::files;
use crate::layout;
use crate::limits::MAX_JSON_BYTES;
use crate::names::Convention;
use crate::processor_config::ProcessorConfig;
use crate::tensors::{Dtype, Tensors};

/// The model's config.
const CONFIG_FILE: &str = "config.json";
/// What error messages call the parts of a checkpoint that is built into a binary.
const BUILT_IN: [&str; 3] =
    ["built-in config.json", "built-in preprocessor_config.json", "built-in model.safetensors"];

/// Config, processor config and tensors of one model. A clone shares the tensors.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    path: Option<PathBuf>,
    config: ModelConfig,
    processor: Result<Option<ProcessorConfig>, CheckpointError>,
    tensors: Arc<Tensors>,
    unexpected: Vec<String>,
}

impl Checkpoint {
    /// Opens a folder with `config.json` and safetensors weights.
    ///
    /// # Errors
    /// No such folder, a file missing or damaged, a config out of bounds, weights that do not fit the config.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        let config = ModelConfig::open(dir)?;
        let tensors = Tensors::open(dir, Convention::Hub(config.family()))?;
        let processor = ProcessorConfig::open(dir, Some(config.family()));
        Self::assemble(Some(dir.into()), config, processor, tensors)
    }

    /// A checkpoint whose files are in memory, such as `include_bytes!` of a binary that carries its model.
    ///
    /// # Errors
    /// As `open`, less the missing files.
    pub fn from_bytes(
        config: &[u8],
        processor: Option<&[u8]>,
        weights: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Self, CheckpointError> {
        let [config_path, processor_path, weights_path] = BUILT_IN.map(Path::new);
        let config = ModelConfig::from_json(config_path, config)?;
        let family = config.family();
        let processor = processor
            .map(|bytes| ProcessorConfig::from_json(processor_path, bytes, Some(family)))
            .transpose();
        let tensors = Tensors::from_bytes(weights_path, weights.into(), Convention::Hub(family))?;
        Self::assemble(None, config, processor, tensors)
    }

    /// A checkpoint that never was a file.
    pub(crate) fn in_memory(config: ModelConfig, tensors: Tensors) -> Result<Self, CheckpointError> {
        Self::assemble(None, config, Ok(None), tensors)
    }

    fn assemble(
        path: Option<PathBuf>,
        config: ModelConfig,
        processor: Result<Option<ProcessorConfig>, CheckpointError>,
        tensors: Tensors,
    ) -> Result<Self, CheckpointError> {
        check::check_layout(&config, &tensors)?;
        let unexpected = check::unexpected(&config, &tensors);
        Ok(Self { path, config, processor, tensors: Arc::new(tensors), unexpected })
    }

    /// The model's config.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The processor config, when the checkpoint has one.
    ///
    /// # Errors
    /// There is one, and it is damaged or of an unknown type.
    pub fn processor(&self) -> Result<Option<&ProcessorConfig>, CheckpointError> {
        self.processor.as_ref().map(Option::as_ref).map_err(Clone::clone)
    }

    /// The processor config, which the caller cannot do without.
    ///
    /// # Errors
    /// As `processor`, and when there is none.
    pub fn require_processor(&self) -> Result<&ProcessorConfig, CheckpointError> {
        self.processor()?.ok_or_else(|| CheckpointError::NoProcessor {
            path: self.path.clone().unwrap_or_else(|| BUILT_IN[1].into()),
        })
    }

    /// The tensors, by canonical name.
    pub fn tensors(&self) -> &Tensors {
        &self.tensors
    }

    /// The folder, unless the checkpoint is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Names in the files that the model has no use for.
    pub fn unexpected(&self) -> &[String] {
        &self.unexpected
    }

    /// The dtype of the first floating-point tensor.
    pub fn file_dtype(&self) -> Option<Dtype> {
        self.tensors.float_dtype()
    }

    /// Bytes of all tensors.
    pub fn total_bytes(&self) -> u64 {
        self.tensors.total_bytes()
    }

    /// Whether the files hold a classifier's weight.
    pub fn has_classifier(&self) -> bool {
        self.tensors.contains(CLASSIFIER_WEIGHT)
    }

    /// Checks that a classifier is there, with as many labels as the config has.
    ///
    /// # Errors
    /// No classifier, another number of labels, another shape.
    pub fn check_classifier(&self) -> Result<(), CheckpointError> {
        let specs = layout::classifier_specs(&self.config);
        let path = || self.tensors.path().to_path_buf();
        if specs.is_empty() && self.config.common().num_labels() > 0 {
            return Err(CheckpointError::NoClassifier { path: path() });
        }
        for spec in specs {
            let view =
                self.tensors.get(&spec.name).ok_or_else(|| CheckpointError::NoClassifier { path: path() })?;
            let (config, weights) = (spec.shape[0], view.shape.first().copied().unwrap_or(0));
            if view.shape.len() == spec.shape.len() && config != weights {
                return Err(CheckpointError::LabelCount { path: path(), config, weights });
            }
            if view.shape != spec.shape {
                return Err(CheckpointError::TensorShape {
                    path: view.file.into(),
                    tensor: view.name_in_file.into(),
                    expected: spec.shape,
                    got: view.shape.to_vec(),
                });
            }
        }
        Ok(())
    }
}

/// The classifier's weight.
const CLASSIFIER_WEIGHT: &str = "classifier.weight";

impl ModelConfig {
    /// Reads the `config.json` of a folder.
    ///
    /// # Errors
    /// No such folder, no such file, and whatever `from_json` refuses.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        check_folder(dir)?;
        let path = dir.join(CONFIG_FILE);
        let bytes = files::read_small(&path, MAX_JSON_BYTES)?
            .ok_or_else(|| CheckpointError::NoConfig { path: dir.into() })?;
        Self::from_json(&path, &bytes)
    }
}

/// The path must be a folder.
pub(crate) fn check_folder(dir: &Path) -> Result<(), CheckpointError> {
    match files::metadata(dir)? {
        None => Err(CheckpointError::FolderNotFound { path: dir.into() }),
        Some(metadata) if !metadata.is_dir() => Err(CheckpointError::NotAFolder { path: dir.into() }),
        Some(_) => Ok(()),
    }
}
