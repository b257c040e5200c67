//! Hugging Face checkpoints for dinoxide: configs, tensors, the hub.
//!
//! A checkpoint is a folder: `config.json`, perhaps `preprocessor_config.json`, and safetensors weights. `hub::fetch`
//! finds or downloads the folder, `Checkpoint::open` opens it, `Tensors::read_f32` reads a tensor by its canonical name:
//!
//! ```no_run
//! use dinoxide_checkpoint::{Checkpoint, hub};
//!
//! # fn main() -> Result<(), dinoxide_checkpoint::CheckpointError> {
//! let located = hub::fetch("facebook/dinov2-small", &hub::HubOptions::default())?;
//! let checkpoint = Checkpoint::open(&located.dir)?;
//! let width = checkpoint.config().hidden_size();
//! let cls = checkpoint.tensors().read_f32("embeddings.cls_token", &[1, 1, width])?;
//! # Ok(()) }
//! ```
//!
//! `Checkpoint::open_with` opens with other settings or as another class, `Checkpoint::initialize` makes fresh weights, and
//! `Checkpoint::save_pretrained` writes what Transformers reads. Weights may also be files of `torch.save`, and may have
//! Transformers 5's, Facebook's original or timm's names: see `loading_info` for what was not used.
//!
//! Everything in those files is untrusted: sizes meet `limits` before memory is taken, and nothing here panics on them.

mod check;
mod checkpoint;
pub mod config;
mod error;
mod files;
mod fresh;
mod head;
pub mod hub;
mod json;
pub mod layout;
pub mod limits;
mod loading;
mod names;
mod near;
mod options;
pub mod processor_config;
mod save;
mod tensors;

pub use checkpoint::Checkpoint;
pub use config::ModelConfig;
pub use error::{
    CheckpointError, DuplicateTensor, LayoutMismatch, MissingTensor, NotInCache, PatchKernelMismatch,
    PositionTableMismatch, QuantizedWeight, ShapeMismatch,
};
pub use fresh::InitOptions;
pub use head::Head;
pub use layout::TensorSpec;
pub use loading::{LoadingInfo, MismatchedKey};
pub use options::OpenOptions;
pub use processor_config::ProcessorConfig;
pub use save::{Quantizer, SaveOptions, ShardSize};
pub use tensors::{
    Archive, Dtype, FloatPart, Floats, Numbers, QuantizedTensor, Storage, TensorView, Tensors,
};
