//! The pictures that a command works on, or the tensors in their place.
//!
//! Names are taken as the system gives them, in any bytes. Whether they are files, folders or nothing, `crate::inputs` finds
//! out.

use clap::Args;
use std::path::PathBuf;

/// Pictures.
#[derive(Debug, Clone, Args)]
pub(crate) struct PictureArgs {
    /// Pictures, folders (recursive, sorted by name), or `-`: a list on stdin, one path a line
    ///
    /// In folders, files with an extension of a picture are taken (jpg, jpeg, png, webp, gif, bmp, tif, tiff, …); names
    /// that begin with a dot are not. A file that is named, here or on stdin, is always taken, and is read by its
    /// content whatever its name.
    #[arg(value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// The list on stdin is separated by NUL, as `find -print0` writes it (implies `-`)
    #[arg(short = '0', long = "null")]
    pub(crate) null: bool,

    /// Stop at the first picture that fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
}

/// Pictures, or tensors in their place.
#[derive(Debug, Clone, Args)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// Feed `pixel_values` [B, 3, H, W] (f32) of this file to the model, instead of pictures
    ///
    /// Also takes `pixel_values.0`, `pixel_values.1`, …, one [3, H, W] a picture, as `dinoxide preprocess` writes
    /// them for pictures of several sizes. In the same form, where given: `bool_masked_pos` [B, N] (patches that the mask
    /// token replaces) and `attention_mask` [B, S] (tokens that are attended to), of 0 and 1; and `labels` [B], [B, 1]
    /// or [B, labels], integers or f32.
    #[arg(long, value_name = "FILE.safetensors", conflicts_with_all = ["inputs", "null"])]
    pub(crate) pixel_values: Option<PathBuf>,
}
