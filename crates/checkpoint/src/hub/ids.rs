//! What can be a repo id, what a revision, and what a subfolder.
//!
//! They become parts of paths in the cache, so what could leave it (`..`, separators, a leading dot) is refused before a path is
//! made. Source: `utils/_validators.py` of huggingface_hub 2.4.0.

use std::ffi::OsStr;
use std::path::{Component, Path};

use super::error::HubError;
use crate::error::CheckpointError;

/// Characters of each half of a repo id.
const MAX_NAME_CHARS: usize = 96;
/// Bytes of a revision: the longest file name that file systems take.
const MAX_REVISION_BYTES: usize = 255;

/// How an address on the hub begins, as a browser shows it or without its scheme.
const ADDRESSES: [&str; 4] =
    ["https://huggingface.co/", "https://hf.co/", "http://huggingface.co/", "huggingface.co/"];

/// The repo of a page of the hub, such as `https://huggingface.co/org/name/tree/main`.
pub(crate) fn repo_of_address(text: &str) -> Option<&str> {
    let path = ADDRESSES.iter().find_map(|address| text.strip_prefix(address))?;
    let path = path.split(['?', '#']).next()?;
    let end = path.match_indices('/').nth(1).map_or(path.len(), |(end, _)| end);
    let repo = path[..end].trim_end_matches('/');
    repo_id(OsStr::new(repo)).is_ok().then_some(repo)
}

/// Whether a text can only be meant as a path: it begins as one, or has more parts than a repo id.
pub(super) fn is_path(model: &OsStr) -> bool {
    // What is not UTF-8 keeps its ASCII characters, and those alone decide.
    let text = model.to_string_lossy();
    if is_address(&text) {
        return false;
    }
    let begins = ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start));
    let parts = text.matches('/').count() > 1 || text.ends_with('/');
    begins || parts || text == "." || text == ".." || cfg!(windows) && text.contains('\\')
}

fn is_address(text: &str) -> bool {
    text.contains("://") || repo_of_address(text).is_some()
}

/// The text as a repo id: `name` or `org/name`, of letters, digits, `-`, `_` and `.`.
pub(super) fn repo_id(model: &OsStr) -> Result<&str, CheckpointError> {
    let refuse =
        |reason| Err(CheckpointError::InvalidModelId { id: model.to_string_lossy().into_owned(), reason });
    let Some(id) = model.to_str() else { return refuse("not valid UTF-8") };
    if id.is_empty() {
        return refuse("it is empty");
    }
    if is_address(id) {
        return refuse("it is an address");
    }
    let names: Vec<&str> = id.split('/').collect();
    if names.len() > 2 {
        return refuse("a repo id has at most one `/`");
    }
    if id.contains("--") || id.contains("..") {
        return refuse("a repo id has neither `--` nor `..`");
    }
    if id.ends_with(".git") {
        return refuse("a repo id does not end in `.git`");
    }
    if names.iter().all(|name| is_name(name)) {
        return Ok(id);
    }
    refuse(
        "a repo id is `name` or `org/name`, each of 1 to 96 letters, digits, `-`, `_`, `.`, not beginning or ending in `-` or `.`",
    )
}

fn is_name(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = name.as_bytes();
    bytes.len() <= MAX_NAME_CHARS
        && bytes.first().is_some_and(|&byte| word(byte))
        && bytes.last().is_some_and(|&byte| word(byte))
        && bytes.iter().all(|&byte| word(byte) || byte == b'-' || byte == b'.')
}

/// A revision becomes a path below `refs/`, so it must not leave that folder.
pub(super) fn check_revision(revision: &str) -> Result<(), CheckpointError> {
    let refuse = |reason| Err(CheckpointError::InvalidRevision { revision: revision.into(), reason });
    if revision.is_empty() {
        return refuse("it is empty");
    }
    if revision.len() > MAX_REVISION_BYTES {
        return refuse("it is too long");
    }
    if revision.contains(['\0', '\\'])
        || !Path::new(revision).components().all(|c| matches!(c, Component::Normal(_)))
    {
        return refuse("it would leave the cache");
    }
    Ok(())
}

/// A subfolder, without a `/` at its end; it must not lead out of where it is.
pub(super) fn subfolder(given: &str) -> Result<&str, HubError> {
    let folder = given.trim_end_matches('/');
    let plain = |part: &str| matches!(Path::new(part).components().next(), Some(Component::Normal(_)));
    match folder.is_empty() || folder.split('/').all(plain) && !folder.contains(['\\', '\0']) {
        true if !given.starts_with('/') => Ok(folder),
        _ => Err(HubError::InvalidSubfolder { subfolder: given.into() }),
    }
}
