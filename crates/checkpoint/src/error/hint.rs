//! What a user can do about each error.
//!
//! A hint names a command or a place, in words that fit any program over this crate; where nothing can be done but to read the
//! message, there is none.

use std::path::Path;

use super::{CheckpointError, LayoutMismatch};
use crate::hub;

impl CheckpointError {
    /// One sentence about what to do, when there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InvalidModelId { .. } | Self::FolderNotFound { .. } => {
                Some("give an existing folder, or a repo id such as `facebook/dinov2-small`".into())
            }
            Self::InvalidRevision { .. } => Some("give a branch, a tag or a full commit hash".into()),
            Self::NotAFolder { .. } => {
                Some("give the folder that holds config.json and model.safetensors".into())
            }
            Self::NoCacheFolder { .. } => Some("set HF_HOME, or give the cache folder".into()),
            Self::NotInCache(missing) => Some(not_in_cache(&missing.repo, missing.offline)),
            Self::Hub(error) => error.hint(),
            Self::NoConfig { path } | Self::NoProcessor { path } => unfinished_download(path),
            Self::NoWeights { path, other, .. } => no_weights(path, other.as_deref()),
            Self::MissingShard { .. } | Self::Truncated { .. } | Self::EmptyFile { .. } => {
                Some("the download is probably unfinished: fetch the file again".into())
            }
            Self::LfsPointer { .. } => {
                Some("run `git lfs pull` in the folder, or download the file itself".into())
            }
            Self::NoProcessorType { .. } => Some(
                "add the key: \"BitImageProcessor\" for DINOv2, \"DINOv3ViTImageProcessor\" for DINOv3"
                    .into(),
            ),
            Self::TensorNotInShard { .. } => {
                Some("index and shards are of different downloads: fetch all of them again".into())
            }
            Self::Layout(mismatch) => layout(mismatch),
            Self::UnsupportedDtype { .. } => Some("save the model as float32, float16 or bfloat16".into()),
            Self::NoClassifier { .. } => Some(
                "use a checkpoint with a classifier, such as `facebook/dinov2-small-imagenet1k-1-layer`"
                    .into(),
            ),
            Self::LabelCount { .. } => Some("correct `id2label` in config.json".into()),
            _ => None,
        }
    }
}

fn not_in_cache(repo: &str, offline: bool) -> String {
    match offline {
        true => format!(
            "offline mode is on (--offline, HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE): download `{repo}` without it, or give a \
             local folder"
        ),
        false => format!("download it with `hf download {repo}`, or give a local folder"),
    }
}

/// A folder inside the hub's cache that lacks a file is most likely half a download.
fn unfinished_download(folder: &Path) -> Option<String> {
    let repo = hub::repo_of_snapshot(folder)?;
    Some(format!("the download of `{repo}` is incomplete: finish it with `hf download {repo}`"))
}

fn no_weights(folder: &Path, other: Option<&str>) -> Option<String> {
    match other {
        Some(name) => Some(format!(
            "`{name}` must be converted to safetensors first: with Python's transformers, load the model and call \
             `model.save_pretrained(folder, safe_serialization=True)`"
        )),
        None => unfinished_download(folder),
    }
}

fn layout(mismatch: &LayoutMismatch) -> Option<String> {
    if let Some(kernel) = &mismatch.patch_kernel {
        return Some(format!("set `patch_size` in config.json to {}", kernel.kernel.json()));
    }
    let table = mismatch.position_table.as_ref()?;
    let patches = table.got.saturating_sub(1);
    let side = patches.isqrt();
    (side > 0 && side * side == patches).then(|| {
        let (height, width) = (side * table.patch_size.height, side * table.patch_size.width);
        let size = crate::config::Size2 { height, width };
        format!("set `image_size` in config.json to {}", size.json())
    })
}
