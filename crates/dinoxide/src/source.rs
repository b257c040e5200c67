//! Finding a checkpoint: a folder, a hub id in the local cache, or the built-in one.

use crate::Error;
use dinoxide_checkpoint::{Checkpoint, hub};
use std::{ffi::OsStr, path::PathBuf};

/// The name of the built-in model.
///
/// A small DINOv2 with registers whose weights are **random**: it shows that an installation works, and serves tests and
/// first tries without a network. Its embeddings mean nothing.
pub const BUILTIN_TINY: &str = "builtin:tiny";

/// Where to look for a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Branch, tag or commit of a hub id; `main` when absent.
    pub revision: Option<String>,
    /// The hub cache; the standard one (`HF_HUB_CACHE`, `HF_HOME`, …) when absent.
    pub cache_dir: Option<PathBuf>,
    /// Look at the cache only, as `HF_HUB_OFFLINE=1` does.
    pub offline: bool,
}

/// Opens a checkpoint: a local folder, a hub id (`facebook/dinov2-small`) found in the Hugging Face cache, or
/// [`BUILTIN_TINY`].
///
/// # Errors
/// Nothing there, or something that is not a checkpoint of a known family.
pub fn open(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Checkpoint, Error> {
    let model = model.as_ref();
    if model == BUILTIN_TINY {
        return builtin_tiny();
    }
    let located = hub::locate(
        model,
        &hub::HubOptions {
            revision: options.revision.clone(),
            cache_dir: options.cache_dir.clone(),
            offline: options.offline,
            ..hub::HubOptions::default()
        },
    )?;
    Ok(Checkpoint::open(&located.dir)?)
}

fn builtin_tiny() -> Result<Checkpoint, Error> {
    let config = include_bytes!("../builtin/config.json");
    let processor = include_bytes!("../builtin/preprocessor_config.json");
    let weights: &'static [u8] = include_bytes!("../builtin/model.safetensors");
    Ok(Checkpoint::from_bytes(config, Some(processor), weights)?)
}
