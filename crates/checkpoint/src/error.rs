//! Everything that can go wrong with a checkpoint, sorted by whose fault it is.
//!
//! First what the caller asked for, then where the files are, then what the files hold, then what a reader asked of
//! them. A message says what and where; `CheckpointError::hint` says what to do. Sources are shared (`Arc`), so
//! that an error found while opening can be handed out again later.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::hub::HubError;

mod details;
mod hint;
mod mismatch;

pub use details::{DuplicateTensor, NotInCache, QuantizedWeight};
pub use mismatch::{
    LayoutMismatch, MissingTensor, PatchKernelMismatch, PositionTableMismatch, ShapeMismatch,
};

/// Why a checkpoint could not be found, opened or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    // What the caller asked for.
    /// The text is neither an existing folder nor something that can be a repo id.
    #[error("`{id}` is neither a folder nor a repo id: {reason}")]
    InvalidModelId {
        /// What was given.
        id: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// The revision cannot name a branch, a tag or a commit.
    #[error("`{revision}` is not a revision: {reason}")]
    InvalidRevision {
        /// What was given.
        revision: String,
        /// Which rule it breaks.
        reason: &'static str,
    },
    /// A stage name that the model does not have.
    #[error("no stage `{name}`: the model has {}", .known.join(", "))]
    UnknownStage {
        /// The name asked for.
        name: String,
        /// The model's stage names.
        known: Vec<String>,
    },
    /// A stage index outside the model's stages.
    #[error("stage index {index} is out of range: the model has {stages} stages, 0 is the stem")]
    StageOutOfRange {
        /// The index asked for.
        index: i64,
        /// How many stages there are, the stem included.
        stages: usize,
    },
    /// A stage named twice; `-1` and the last index are the same stage.
    #[error("stage `{name}` is named twice in `{key}`")]
    DuplicateStage {
        /// `out_features` or `out_indices`.
        key: &'static str,
        /// The stage's name.
        name: String,
    },
    /// Stages that are not in ascending order.
    #[error("`{key}` must follow the order of the stages: expected [{expected}], got [{got}]")]
    StageOrder {
        /// `out_features` or `out_indices`.
        key: &'static str,
        /// The same stages in order.
        expected: String,
        /// What was given.
        got: String,
    },
    /// `out_features` and `out_indices` name different stages.
    #[error("`out_features` [{features}] and `out_indices` [{indices}] name different stages")]
    StagesDisagree {
        /// The names given.
        features: String,
        /// The indices given.
        indices: String,
    },
    /// A setting that the config of the family does not have.
    #[error("`{key}` is not a setting of a {model_type} config")]
    UnknownSetting {
        /// The key given.
        key: String,
        /// The family.
        model_type: &'static str,
        /// A setting with nearly that name.
        near: Option<String>,
    },
    /// A value for a setting that has a wrong type or is out of range.
    #[error("`{key}` must be {expected}, got {got}")]
    InvalidSetting {
        /// The setting.
        key: String,
        /// What fits.
        expected: String,
        /// What was given.
        got: String,
    },
    /// Settings that were put over a config do not fit it, though the config alone is sound.
    #[error("the override of {} does not fit the model's config", quoted(.keys))]
    Override {
        /// The settings; all that were given, where no single one is at fault.
        keys: Vec<String>,
        /// Which rule they break.
        #[source]
        source: Box<CheckpointError>,
    },
    /// The text is not a size of a file.
    #[error("`{text}` is not a size: expected a number with TB, GB, MB or KB, such as 5GB")]
    InvalidSize {
        /// What was given.
        text: String,
    },
    /// A classifier was asked of a family that has none in Transformers.
    #[error("`{model_type}` has no classifier: only dinov2 and dinov2_with_registers have one")]
    NoClassifierClass {
        /// The family.
        model_type: &'static str,
    },
    /// A fresh model would be larger than any that is known.
    #[error("a fresh model of {count} parameters is more than the limit of {limit}")]
    TooManyParameters {
        /// How many parameters the config asks for.
        count: u64,
        /// The limit.
        limit: u64,
    },

    // Where the files are.
    /// The folder does not exist.
    #[error("no folder `{}`", .path.display())]
    FolderNotFound {
        /// The folder.
        path: PathBuf,
        /// A folder beside it with nearly that name.
        near: Option<PathBuf>,
    },
    /// The path is a file, not a folder.
    #[error("`{}` is not a folder", .path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// There is no place to look for the hub's cache.
    #[error("no cache folder for `{repo}`: none of {} is set", .looked_at.join(", "))]
    NoCacheFolder {
        /// The repo asked for.
        repo: String,
        /// The environment variables that would name one.
        looked_at: Vec<&'static str>,
    },
    /// The repo, the revision or the file is not in the hub's cache.
    #[error(transparent)]
    NotInCache(Box<NotInCache>),
    /// The model cannot be had from the hub.
    #[error(transparent)]
    Hub(Box<HubError>),
    /// The folder has no `config.json`.
    #[error("no `config.json` in `{}`", .path.display())]
    NoConfig {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no processor config.
    #[error("no `preprocessor_config.json` in `{}`", .path.display())]
    NoProcessor {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no weights.
    #[error("no weights in `{}`: looked for {}", .path.display(), .looked_for.join(", "))]
    NoWeights {
        /// The folder.
        path: PathBuf,
        /// The names looked for.
        looked_for: Vec<&'static str>,
        /// Files of `torch.save` that are there, when there are several.
        several: Vec<String>,
        /// A weights file of another format that is there.
        other: Option<String>,
    },
    /// The index names shards that are not there.
    #[error("missing {} of `{}`: {}", if .missing.len() == 1 { "a shard" } else { "shards" }, .index.display(), .missing.join(", "))]
    MissingShard {
        /// The index file.
        index: PathBuf,
        /// The names of the shards that are not there.
        missing: Vec<String>,
    },
    /// The operating system refused.
    #[error("cannot read `{}`", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The operating system refused to write.
    #[error("cannot write `{}`", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },

    // What the files hold.
    /// A directory, pipe or device stands where a file should.
    #[error("`{}` is not a regular file", .path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file has no bytes.
    #[error("`{}` is empty", .path.display())]
    EmptyFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is larger than any honest file of its kind.
    #[error("`{}` has {size} bytes, more than the limit of {limit}", .path.display())]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file is a Git LFS pointer: the text that stands for a file that was not fetched.
    #[error("`{}` is a Git LFS pointer, not the file itself", .path.display())]
    LfsPointer {
        /// The file.
        path: PathBuf,
    },
    /// The file is not JSON.
    #[error("`{}` is not valid JSON", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The file is JSON, but not an object.
    #[error("`{}` must hold a JSON object, got {got}", .path.display())]
    NotAnObject {
        /// The file.
        path: PathBuf,
        /// What it holds.
        got: String,
    },
    /// A field has a wrong type or a value out of range.
    #[error("`{key}` in `{}` must be {expected}, got {got}", .path.display())]
    InvalidField {
        /// The file.
        path: PathBuf,
        /// The field.
        key: String,
        /// What fits.
        expected: String,
        /// What is there.
        got: String,
    },
    /// The config's own `out_features` or `out_indices` do not fit its stages.
    #[error("the stages named in `{}` do not fit the model", .path.display())]
    ConfigStages {
        /// The file.
        path: PathBuf,
        /// Which rule they break.
        #[source]
        source: Box<CheckpointError>,
    },
    /// The config does not say which family it is.
    #[error("no `model_type` in `{}`: expected one of {}", .path.display(), .known.join(", "))]
    NoModelType {
        /// The file.
        path: PathBuf,
        /// The families that can be run.
        known: Vec<&'static str>,
    },
    /// The config is of another family.
    #[error("unknown `model_type` {got} in `{}`: expected one of {}", .path.display(), .known.join(", "))]
    UnknownModelType {
        /// The file.
        path: PathBuf,
        /// The value found.
        got: String,
        /// The families that can be run.
        known: Vec<&'static str>,
    },
    /// The weights are quantised by a method that cannot be read.
    #[error("`quant_method` of `quantization_config` in `{}` must be \"{known}\", got {got}", .path.display())]
    UnknownQuantMethod {
        /// The file.
        path: PathBuf,
        /// The value found.
        got: String,
        /// The method that can be read.
        known: &'static str,
    },
    /// The processor config names no type, and the family has no default one.
    #[error("no `image_processor_type` in `{}`: expected one of {}", .path.display(), .known.join(", "))]
    NoProcessorType {
        /// The file.
        path: PathBuf,
        /// The types that can be run.
        known: Vec<&'static str>,
    },
    /// The processor config is of another type.
    #[error("unknown `image_processor_type` {got} in `{}`: expected one of {}", .path.display(), .known.join(", "))]
    UnknownProcessorType {
        /// The file.
        path: PathBuf,
        /// The value found.
        got: String,
        /// The types that can be run.
        known: Vec<&'static str>,
    },
    /// The processor has a step switched on and not the value it needs.
    #[error("`{step}` is on, but `{missing}` is not set")]
    ProcessorNeeds {
        /// The step.
        step: &'static str,
        /// The value it needs.
        missing: &'static str,
    },
    /// The index names a shard outside the folder.
    #[error("`{}` names a file outside its folder: `{name}`", .index.display())]
    UnsafeShardName {
        /// The index file.
        index: PathBuf,
        /// The name found.
        name: String,
    },
    /// The index names more shards than are opened.
    #[error("`{}` names {count} shards, more than the limit of {limit}", .index.display())]
    TooManyShards {
        /// The index file.
        index: PathBuf,
        /// How many it names.
        count: usize,
        /// How many are allowed.
        limit: usize,
    },
    /// The index places a tensor in a shard that does not have it.
    #[error("`{}` says that `{tensor}` is in `{shard}`, but it is not", .index.display())]
    TensorNotInShard {
        /// The index file.
        index: PathBuf,
        /// The tensor.
        tensor: String,
        /// The shard.
        shard: String,
    },
    /// A safetensors file ends before its data does.
    #[error("`{}` is truncated: {expected} bytes expected, {got} found", .path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The size its header speaks of, in bytes.
        expected: u64,
        /// Its size, in bytes.
        got: u64,
    },
    /// A safetensors header is not what the format allows.
    #[error("`{}` is not a valid safetensors file: {reason}", .path.display())]
    InvalidHeader {
        /// The file.
        path: PathBuf,
        /// Which rule it breaks.
        reason: String,
    },
    /// A file of `torch.save` that cannot be read without running code, or is damaged.
    #[error("cannot read `{}` as a file of torch.save: {reason}", .path.display())]
    UnreadablePickle {
        /// The file.
        path: PathBuf,
        /// What the reader found.
        reason: String,
    },
    /// One tensor is stored twice, under two spellings of its name or in two shards.
    #[error(transparent)]
    DuplicateTensor(Box<DuplicateTensor>),
    /// A weight in codes is not what its format allows.
    #[error(transparent)]
    QuantizedWeight(Box<QuantizedWeight>),
    /// The weights do not fit the config: every missing and misshapen tensor.
    #[error(transparent)]
    Layout(Box<LayoutMismatch>),

    // What a reader asked of the files.
    /// The checkpoint has no such tensor.
    #[error("no tensor `{tensor}` in `{}`", .path.display())]
    TensorNotFound {
        /// The file or folder.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
    /// A tensor has another shape than the reader needs.
    #[error("tensor `{tensor}` in `{}` has shape {got:?}, expected {expected:?}", .path.display())]
    TensorShape {
        /// The file.
        path: PathBuf,
        /// The tensor's name in the file.
        tensor: String,
        /// The shape needed.
        expected: Vec<usize>,
        /// The shape found.
        got: Vec<usize>,
    },
    /// A tensor has a number format that cannot be read as floats.
    #[error("tensor `{tensor}` in `{}` has dtype {dtype}: only F32, F16 and BF16 can be read", .path.display())]
    UnsupportedDtype {
        /// The file.
        path: PathBuf,
        /// The tensor's name in the file.
        tensor: String,
        /// The dtype in the header.
        dtype: String,
    },
    /// A classifier was asked of a checkpoint that has none.
    #[error("`{}` has no classifier: its weights end at the backbone", .path.display())]
    NoClassifier {
        /// The file or folder.
        path: PathBuf,
    },
    /// The classifier has another number of labels than the config.
    #[error("the classifier in `{}` has {weights} labels, but the config has {config}", .path.display())]
    LabelCount {
        /// The file.
        path: PathBuf,
        /// Labels of the config.
        config: usize,
        /// Rows of the classifier's weight.
        weights: usize,
    },
}

fn quoted(keys: &[String]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

impl From<QuantizedWeight> for CheckpointError {
    fn from(error: QuantizedWeight) -> Self {
        Self::QuantizedWeight(Box::new(error))
    }
}

impl From<HubError> for CheckpointError {
    fn from(error: HubError) -> Self {
        Self::Hub(Box::new(error))
    }
}
