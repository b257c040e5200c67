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
use crate::head::Head;
use crate::layout;
use crate::limits::MAX_JSON_BYTES;
use crate::loading::{self, LoadingInfo};
use crate::names::Convention;
use crate::near;
use crate::options::OpenOptions;
use crate::processor_config::{ProcessorConfig, ProcessorFile};
use crate::tensors::{Dtype, Tensors, torch_dtype};

/// The model's config.
pub(crate) const CONFIG_FILE: &str = "config.json";
/// What error messages call the parts of a checkpoint that is built into a binary.
const BUILT_IN: [&str; 3] =
    ["built-in config.json", "built-in preprocessor_config.json", "built-in model.safetensors"];

/// Config, processor config and tensors of one model. A clone shares the tensors.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    path: Option<PathBuf>,
    config: ModelConfig,
    processor: Result<Option<ProcessorFile>, CheckpointError>,
    tensors: Arc<Tensors>,
    head: Head,
    unexpected: Vec<String>,
    loading_info: LoadingInfo,
}

impl Checkpoint {
    /// Opens a folder with `config.json` and safetensors weights.
    ///
    /// # Errors
    /// No such folder, a file missing or damaged, a config out of bounds, weights that do not fit the config.
    pub fn open(dir: &Path) -> Result<Self, CheckpointError> {
        Self::open_with(dir, &OpenOptions::default())
    }

    /// Opens a folder with other settings, as another class, or with tensors made anew.
    ///
    /// # Errors
    /// As `open`, and: a setting that the config does not have, a classifier that is wanted and not there or of another
    /// number of labels, a classifier of DINOv3, which has none.
    pub fn open_with(dir: &Path, options: &OpenOptions) -> Result<Self, CheckpointError> {
        let config_path = dir.join(CONFIG_FILE);
        let config = ModelConfig::open(dir)?.with_overrides(&config_path, &options.overrides)?;
        let tensors = Tensors::open(dir, &config)?;
        let processor = ProcessorFile::open(dir, config.family());
        Self { path: Some(dir.into()), processor, ..Self::of_config(config) }.loaded(tensors, options)
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
        Self::from_bytes_with(config, processor, weights, &OpenOptions::default())
    }

    /// As `from_bytes`, with the options of `open_with`.
    ///
    /// # Errors
    /// As `open_with`, less the missing files.
    pub fn from_bytes_with(
        config: &[u8],
        processor: Option<&[u8]>,
        weights: impl Into<Cow<'static, [u8]>>,
        options: &OpenOptions,
    ) -> Result<Self, CheckpointError> {
        let [config_path, processor_path, weights_path] = BUILT_IN.map(Path::new);
        let config = ModelConfig::from_json_with(config_path, config, &options.overrides)?;
        let processor = processor
            .map(|bytes| ProcessorFile::from_json(processor_path, bytes, config.family()))
            .transpose();
        let tensors = Tensors::from_bytes(weights_path, weights.into(), &config)?;
        Self { processor, ..Self::of_config(config) }.loaded(tensors, options)
    }

    /// A checkpoint that never was a file.
    pub(crate) fn in_memory(config: ModelConfig, tensors: Tensors) -> Result<Self, CheckpointError> {
        Self::of_config(config).loaded(tensors, &OpenOptions::default())
    }

    /// As yet without tensors.
    fn of_config(config: ModelConfig) -> Self {
        Self {
            path: None,
            head: Head::of(&config),
            tensors: Arc::new(Tensors::empty(Path::new(""), Convention::hub(&config))),
            config,
            processor: Ok(None),
            unexpected: Vec::new(),
            loading_info: LoadingInfo::default(),
        }
    }

    /// With config and tensors made those of the class that is wanted.
    fn loaded(mut self, mut tensors: Tensors, options: &OpenOptions) -> Result<Self, CheckpointError> {
        if let Some(head) = options.wanted_head() {
            let class = head.require_class(self.config.family())?;
            self.config.common_mut().architectures = vec![class.to_owned()];
            self.head = head;
        }
        self.unexpected = check::unexpected(&self.config, &tensors);
        let first = tensors.float_dtype().and_then(torch_dtype);
        let dtype = options.dtype.or(self.config.common().dtype).or(first);
        self.loading_info = loading::reconcile(&self.config, self.head, &mut tensors, options)?;
        self.config.common_mut().dtype = dtype;
        tensors.set_dtype(dtype);
        self.tensors = Arc::new(tensors);
        Ok(self)
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
        Ok(self.processor_file()?.map(|file| &file.config))
    }

    /// The processor config with the object it was read from.
    pub(crate) fn processor_file(&self) -> Result<Option<&ProcessorFile>, CheckpointError> {
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

    /// The class that it was opened as.
    pub fn head(&self) -> Head {
        self.head
    }

    /// What was missing, left over or made anew, as Transformers reports it.
    pub fn loading_info(&self) -> &LoadingInfo {
        &self.loading_info
    }

    /// Names in the files that neither the model nor a classifier has a use for, as they stand there.
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
        self.tensors.contains(layout::CLASSIFIER_TENSORS[0])
    }

    /// Checks that a classifier is there, with as many labels as the config has.
    ///
    /// # Errors
    /// A family that has no such class; no classifier, another number of labels, another shape.
    pub fn check_classifier(&self) -> Result<(), CheckpointError> {
        Head::Classifier.require_class(self.config.family())?;
        let specs = layout::classifier_specs(&self.config);
        check::missing_classifier(&specs, &self.tensors, false)?;
        check::check_classifier_shapes(&specs, &self.tensors)
    }
}

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
        None => Err(near::folder_not_found(dir)),
        Some(metadata) if !metadata.is_dir() => Err(CheckpointError::NotAFolder { path: dir.into() }),
        Some(_) => Ok(()),
    }
}
