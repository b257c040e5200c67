//! Options of every command that opens or runs a model.

use super::{Attn, Dtype, Size};
use clap::Args;
use std::{ffi::OsString, path::PathBuf};

/// Where the model is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SourceArgs {
    /// Folder, hub id in the local cache, or `builtin:tiny` [env: DINOXIDE_MODEL] [default: facebook/dinov2-small]
    #[arg(short, long, value_name = "ID|DIR")]
    pub(crate) model: Option<OsString>,

    /// Branch, tag or commit of a hub id [default: main]
    #[arg(long, value_name = "REV")]
    pub(crate) revision: Option<String>,

    /// The hub's cache folder [default: $HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// Never go online: look at the cache only
    #[arg(long)]
    pub(crate) offline: bool,
}

/// How the model runs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,

    /// What to compute in: `auto` (the file's own; f16 and bf16 files as f32) or `f32`
    #[arg(long, value_name = "DTYPE", default_value = "auto")]
    pub(crate) dtype: Dtype,

    /// How attention is computed
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) attn: Attn,
}

/// What the model sees of a picture.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct ProcessorArgs {
    /// What the model sees, in pixels: a side or HEIGHTxWIDTH [default: the checkpoint's]
    ///
    /// A processor with a crop crops to it, after a resize that keeps the checkpoint's ratio (DINOv2: the short side
    /// becomes 256/224 of the size's short side); one without a crop resizes to it.
    #[arg(long, value_name = "N|HxW")]
    pub(crate) size: Option<Size>,

    /// No crop: the short side becomes the size, the aspect is kept
    #[arg(long)]
    pub(crate) no_crop: bool,
}
