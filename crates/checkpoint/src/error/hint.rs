//! What a user can do about each error.
//!
//! A hint names a command or a place, in words that fit any program over this crate; where nothing can be done but to read the
//! message, there is none.

use std::path::Path;

use super::{CheckpointError, LayoutMismatch};
use crate::hub;

/// What a model is named by.
const FOLDER_OR_REPO: &str = "give an existing folder, or a repo id such as `facebook/dinov2-small`";

impl CheckpointError {
    /// One sentence about what to do, when there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InvalidModelId { id, .. } => Some(match hub::repo_of_address(id) {
                Some(repo) => format!("give the repo id: `{repo}`"),
                None => FOLDER_OR_REPO.into(),
            }),
            Self::FolderNotFound { near: Some(near), .. } => {
                Some(format!("did you mean `{}`?", near.display()))
            }
            Self::FolderNotFound { .. } => Some(FOLDER_OR_REPO.into()),
            Self::UnknownSetting { near, .. } => near.as_ref().map(|near| format!("did you mean `{near}`?")),
            Self::InvalidRevision { .. } => Some("give a branch, a tag or a full commit hash".into()),
            Self::NotAFolder { path } => Some(not_a_folder(path)),
            Self::UnreadablePickle { path, .. } => Some(convert(path)),
            Self::NoCacheFolder { repo, .. } => {
                Some(format!("set HF_HOME, or give the cache folder; {}", hub::no_folder(repo)))
            }
            Self::NotInCache(missing) => Some(not_in_cache(&missing.repo, missing.offline)),
            Self::Hub(error) => error.hint(),
            Self::NoConfig { path } | Self::NoProcessor { path } => unfinished_download(path),
            Self::NoWeights { path, several, other, .. } => no_weights(path, several, other.as_deref()),
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
            Self::UnknownQuantMethod { .. } => Some(
                "take the checkpoint that it was made of, and quantise it here: `dinoxide quantize`".into(),
            ),
            Self::TensorNotInShard { .. } => {
                Some("index and shards are of different downloads: fetch all of them again".into())
            }
            Self::Layout(mismatch) => layout(mismatch),
            Self::UnsupportedDtype { .. } => Some("save the model as float32, float16 or bfloat16".into()),
            Self::NoClassifier { .. } | Self::NoClassifierClass { .. } => Some(
                "use a checkpoint with a classifier, such as `facebook/dinov2-small-imagenet1k-1-layer`"
                    .into(),
            ),
            Self::LabelCount { .. } => Some("correct `id2label` in config.json".into()),
            _ => None,
        }
    }
}

fn not_in_cache(repo: &str, offline: bool) -> String {
    let what_to_do = match offline {
        true => format!(
            "offline mode is on (--offline, HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE): download `{repo}` without it, or give a \
             local folder"
        ),
        false => format!("download it with `hf download {repo}`, or give a local folder"),
    };
    format!("{what_to_do}; {}", hub::no_folder(repo))
}

/// A folder inside the hub's cache that lacks a file is most likely half a download.
fn unfinished_download(folder: &Path) -> Option<String> {
    let repo = hub::repo_of_snapshot(folder)?;
    Some(format!("the download of `{repo}` is incomplete: finish it with `hf download {repo}`"))
}

fn no_weights(folder: &Path, several: &[String], other: Option<&str>) -> Option<String> {
    if !several.is_empty() {
        return Some(format!("leave one of {} in the folder", several.join(", ")));
    }
    match other {
        Some(name) => Some(format!(
            "`{name}` must be converted first: with version 4 of Python's transformers, load it with `from_tf=True` or \
             `from_flax=True` and save it with `save_pretrained`"
        )),
        None => unfinished_download(folder),
    }
}

/// Endings of weights that users give in place of a folder.
const WEIGHTS_ENDINGS: [&str; 4] = ["pth", "pt", "bin", "safetensors"];

fn not_a_folder(path: &Path) -> String {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match WEIGHTS_ENDINGS.contains(&ending) {
        true => {
            "put the weights into a folder with the model's config.json from the hub, and give the folder"
                .into()
        }
        false => "give the folder that holds config.json and model.safetensors".into(),
    }
}

/// A command that makes safetensors of a flat dictionary of tensors.
fn convert(path: &Path) -> String {
    // A strange name could end the command's string and begin another command.
    let plain =
        |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).filter(plain);
    let name = name.unwrap_or_else(|| "FILE".into());
    format!(
        "convert it in its folder: python -c \"import torch, safetensors.torch as s; s.save_file({{k: \
         v.clone().contiguous() for k, v in torch.load('{name}', map_location='cpu', weights_only=True).items()}}, \
         'model.safetensors', {{'format': 'pt'}})\""
    )
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
