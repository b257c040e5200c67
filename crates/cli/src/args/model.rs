//! Options of every command that opens or runs a model.
//!
//! They are groups that commands put together: where the model is, how it runs, what it sees of a picture. A command has only
//! the groups that mean something to it, so that no option is taken and ignored.

use super::{
    Attn, Colour, Dtype, InputArgs, Size,
    values::{at_least_zero, group_size},
};
use clap::Args;
use dinoxide::Precision;
use std::{ffi::OsString, path::PathBuf};

/// Where the model is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct SourceArgs {
    /// Folder, hub id (downloaded once), or `builtin:tiny` [env: DINOXIDE_MODEL] [default: facebook/dinov2-small]
    #[arg(short, long, value_name = "ID|DIR")]
    pub(crate) model: Option<OsString>,

    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Where files of a hub id are looked for.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct HubArgs {
    /// Branch, tag or commit of a hub id [default: main]
    #[arg(long, value_name = "REV")]
    pub(crate) revision: Option<String>,

    /// Folder inside the repo, or inside a local folder, that holds the files
    #[arg(long, value_name = "DIR")]
    pub(crate) subfolder: Option<String>,

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

    /// What the weights of linear layers are held and multiplied in: auto (the file's own), f32, bf16, f16, int8, int4, int4-a8
    #[arg(long, value_name = "DTYPE", default_value = "auto")]
    pub(crate) dtype: Dtype,

    /// Inputs of a group of int4 and int4-a8 [default: 128]
    #[arg(long, value_name = "N", value_parser = group_size, allow_negative_numbers = true)]
    pub(crate) group_size: Option<usize>,

    /// How attention is computed
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) attn: Attn,
}

impl ModelArgs {
    /// The precision that is asked, if one is.
    pub(crate) fn precision(&self) -> Option<Precision> {
        let in_groups = |precision: Precision| match self.group_size {
            Some(group_size) => precision.with_group_size(group_size),
            None => precision,
        };
        self.dtype.0.map(in_groups)
    }
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

    /// Put transparent pictures on this colour: white, black or '#rrggbb' [default: drop transparency, as Transformers does]
    #[arg(long, value_name = "COLOR")]
    pub(crate) background: Option<Colour>,

    /// Decode what is there of a file that is cut or damaged, with a warning that names it
    #[arg(long)]
    pub(crate) tolerant: bool,

    /// Most pixels of a picture file, for honest huge ones [default: 250000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_MAX_PIXELS))]
    pub(crate) max_pixels: Option<u64>,
}

/// Most that `--max-pixels` takes: 2⁴⁰, beyond any picture, and small enough to count its bytes.
const MAX_MAX_PIXELS: u64 = 1 << 40;

impl ProcessorArgs {
    /// The names of the options that were given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--size", self.size.is_some()),
            ("--no-crop", self.no_crop),
            ("--background", self.background.is_some()),
            ("--tolerant", self.tolerant),
            ("--max-pixels", self.max_pixels.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}

/// A run of a model over inputs.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,

    #[command(flatten)]
    pub(crate) model: ModelArgs,

    /// Pictures a forward; 0 chooses
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "Model", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) batch: usize,

    #[command(flatten)]
    pub(crate) processor: ProcessorArgs,
}
