//! Finding a checkpoint: a folder, a hub id (downloaded when the local cache does not have it), or the built-in one.

use crate::{Error, Head, RunOptions, pretrained::Pretrained};
use dinoxide_checkpoint::{
    Checkpoint, CheckpointError, InitOptions, OpenOptions, ProcessorConfig,
    config::{ModelConfig, TorchDtype},
    hub,
};
use dinoxide_kernels::ContextOptions;
use dinoxide_model::Precision;
use serde_json::{Map, Value};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The name of the built-in model.
///
/// A small DINOv2 with registers whose weights are **random**: it shows that an installation works, and serves tests and
/// first tries without a network. Its embeddings mean nothing.
pub const BUILTIN_TINY: &str = "builtin:tiny";
/// Its files.
const BUILTIN_CONFIG: &[u8] = include_bytes!("../builtin/config.json");
const BUILTIN_PROCESSOR: &[u8] = include_bytes!("../builtin/preprocessor_config.json");
const BUILTIN_WEIGHTS: &[u8] = include_bytes!("../builtin/model.safetensors");

/// Where to look for a checkpoint, and how to open and run it.
///
/// ```
/// # use dinoxide::LoadOptions;
/// let options = LoadOptions { offline: true, ..LoadOptions::default() }.with("out_features", ["stage2", "stage12"].as_slice());
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// Branch, tag or commit of a hub id; `main` when absent.
    pub revision: Option<String>,
    /// The folder inside the repo, or inside a local folder, that holds the files.
    pub subfolder: Option<String>,
    /// The hub cache; the standard one (`HF_HUB_CACHE`, `HF_HOME`, …) when absent.
    pub cache_dir: Option<PathBuf>,
    /// Look at the cache only, as `HF_HUB_OFFLINE=1` does (`local_files_only`).
    pub offline: bool,
    /// The access token, for gated and private repos; that of `HF_TOKEN` or of `hf auth login` by default.
    pub token: hub::Token,
    /// Who hears how downloads go, and of warnings.
    pub progress: Option<Arc<dyn hub::Progress>>,
    /// Other values for keys of `config.json`: `num_labels`, `id2label`, `out_features`, `drop_path_rate`, …. See [`Self::with`].
    pub overrides: Map<String, Value>,
    /// The format that all weights are rounded to, and saved in, as in Transformers; linear layers are then held and computed in it
    /// (see [`Precision`]). When absent the config's, else the file's; the file's also where there is a `precision`.
    pub dtype: Option<TorchDtype>,
    /// What the weights of linear layers are held and multiplied in; when absent as the file holds them.
    pub precision: Option<Precision>,
    /// Make tensors of other shapes than the config asks for anew, instead of refusing them.
    pub ignore_mismatched_sizes: bool,
    /// Start a fresh classifier where the checkpoint has none.
    pub fresh_classifier: bool,
    /// Decides the numbers of what is made anew.
    pub seed: u64,
    /// Instruction set level and threads; the best and all when absent.
    pub context: ContextOptions,
}

impl LoadOptions {
    /// The same with another value for a key of `config.json`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.overrides.insert(key.to_owned(), value.into());
        self
    }

    /// For building what was opened.
    pub(crate) fn run(&self) -> RunOptions {
        RunOptions { context: self.context, precision: self.precision }
    }

    /// For opening as a class; without one, as the one that was saved.
    fn open_options(&self, head: Option<Head>) -> OpenOptions {
        OpenOptions {
            overrides: self.overrides.clone(),
            head,
            fresh_classifier: self.fresh_classifier,
            ignore_mismatched_sizes: self.ignore_mismatched_sizes,
            seed: self.seed,
            // A precision begins at the numbers of the file.
            dtype: self.dtype.or(self.precision.map(|_| TorchDtype::Float32)),
        }
    }
}

/// Opens a checkpoint: a local folder, a hub id (`facebook/dinov2-small`), or [`BUILTIN_TINY`].
///
/// What the Hugging Face cache does not have of a hub id is downloaded into it. When the hub cannot be reached and the cache has the
/// model, the cache serves, and [`LoadOptions::progress`] hears a warning.
///
/// # Errors
/// Nothing there, a download that fails, or something that is not a checkpoint of a known family.
pub fn open(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Checkpoint, Error> {
    open_as(None, model, options)
}

/// Opens a checkpoint as a class.
pub(crate) fn open_as(
    head: Option<Head>,
    model: impl AsRef<OsStr>,
    options: &LoadOptions,
) -> Result<Checkpoint, Error> {
    let model = model.as_ref();
    let open_options = options.open_options(head);
    if model == BUILTIN_TINY {
        return builtin_tiny(&open_options);
    }
    let located = hub::fetch(model, &hub_options(options))?;
    tell(options, &located);
    Ok(Checkpoint::open_with(&located.dir, &open_options)?)
}

/// The config of a checkpoint, without its weights.
pub(crate) fn config(model: &OsStr, options: &LoadOptions) -> Result<ModelConfig, Error> {
    let path = Path::new("config.json");
    Ok(match config_folder(model, options)? {
        Some(dir) => ModelConfig::open(&dir)?.with_overrides(&dir.join(path), &options.overrides)?,
        None => ModelConfig::from_json_with(path, BUILTIN_CONFIG, &options.overrides)?,
    })
}

/// The processor config of a checkpoint, without its weights.
pub(crate) fn processor_config(model: &OsStr, options: &LoadOptions) -> Result<ProcessorConfig, Error> {
    let Some(dir) = config_folder(model, options)? else {
        return Ok(ProcessorConfig::from_json(
            Path::new("preprocessor_config.json"),
            BUILTIN_PROCESSOR,
            None,
        )?);
    };
    // The family serves files that name no type; a processor needs no model beside it.
    let family = ModelConfig::open(&dir).ok().map(|config| config.family());
    Ok(ProcessorConfig::open(&dir, family)?.ok_or(CheckpointError::NoProcessor { path: dir })?)
}

/// The object of a checkpoint's processor file as it is, keys that are not known here included, with the name of the class as
/// `image_processor_type`.
pub(crate) fn processor_object(model: &OsStr, options: &LoadOptions) -> Result<Map<String, Value>, Error> {
    let Some(dir) = config_folder(model, options)? else {
        return Ok(serde_json::from_slice(BUILTIN_PROCESSOR).unwrap_or_default());
    };
    let family = ModelConfig::open(&dir).ok().map(|config| config.family());
    let (kind, mut object) =
        ProcessorConfig::open_object(&dir, family)?.ok_or(CheckpointError::NoProcessor { path: dir })?;
    object.insert("image_processor_type".to_owned(), kind.name().into());
    Ok(object)
}

/// The folder of a checkpoint's configs; nothing for the built-in one.
fn config_folder(model: &OsStr, options: &LoadOptions) -> Result<Option<PathBuf>, Error> {
    if model == BUILTIN_TINY {
        return Ok(None);
    }
    let hub_options = hub::HubOptions { weights: false, ..hub_options(options) };
    let located = hub::fetch(model, &hub_options)?;
    tell(options, &located);
    Ok(Some(located.dir))
}

/// Passes warnings on to who listens.
fn tell(options: &LoadOptions, located: &hub::Located) {
    if let Some(progress) = &options.progress {
        located.warnings.iter().for_each(|warning| progress.warn(warning));
    }
}

fn hub_options(options: &LoadOptions) -> hub::HubOptions {
    hub::HubOptions {
        revision: options.revision.clone(),
        subfolder: options.subfolder.clone(),
        cache_dir: options.cache_dir.clone(),
        offline: options.offline,
        token: options.token.clone(),
        progress: options.progress.clone(),
        ..hub::HubOptions::default()
    }
}

/// Fresh random weights of a config.
pub(crate) fn fresh<T: Pretrained>(config: ModelConfig, seed: u64) -> Result<T, Error> {
    let checkpoint = Checkpoint::initialize(config, &InitOptions { seed, head: T::HEAD })?;
    T::from_checkpoint(&checkpoint, RunOptions::default())
}

fn builtin_tiny(options: &OpenOptions) -> Result<Checkpoint, Error> {
    Ok(Checkpoint::from_bytes_with(BUILTIN_CONFIG, Some(BUILTIN_PROCESSOR), BUILTIN_WEIGHTS, options)?)
}
