//! What a mistyped name was meant to be: the nearest of the names that there are.
//!
//! Near is a Levenshtein distance of at most two: characters put in, left out or exchanged. Of several the nearest is meant, and of
//! equally near ones the first. A folder's parent is read for [`MAX_ENTRIES`] entries and no further, since a hint is not worth more.

use std::path::{Path, PathBuf};

use crate::error::CheckpointError;

/// Most slips that a name may have.
const MAX_DISTANCE: usize = 2;
/// Entries of a parent folder that are looked at.
const MAX_ENTRIES: usize = 1000;
/// Bytes of a name that is compared; file systems have none longer.
const MAX_NAME_BYTES: usize = 255;

/// The nearest of `names`, when one is near. A name of two characters or fewer is near to nothing: any other would do.
pub(crate) fn nearest<T: AsRef<str>>(given: &str, names: impl IntoIterator<Item = T>) -> Option<T> {
    if given.len() > MAX_NAME_BYTES || given.chars().count() <= MAX_DISTANCE {
        return None;
    }
    let near = |name: T| {
        let far = name.as_ref().len() > MAX_NAME_BYTES || name.as_ref().chars().count() <= MAX_DISTANCE;
        let distance = if far { usize::MAX } else { distance(given, name.as_ref()) };
        (distance <= MAX_DISTANCE).then_some((distance, name))
    };
    names.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// The Levenshtein distance, row by row of the table.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = exchanged.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The error for a folder that is not there, with the folder beside it that may be meant.
pub(crate) fn folder_not_found(path: &Path) -> CheckpointError {
    CheckpointError::FolderNotFound { path: path.into(), near: near_folder(path) }
}

fn near_folder(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent()?;
    let looked_at = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let entries = std::fs::read_dir(looked_at).ok()?.take(MAX_ENTRIES).flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // The order of a folder's entries is the file system's; the hint must not be.
    names.sort();
    nearest(name, names).map(|name| parent.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_what_is_put_in_left_out_and_exchanged() {
        for (a, b, expected) in [
            ("kitten", "sitting", 3),
            ("abc", "abc", 0),
            ("", "ab", 2),
            ("ab", "", 2),
            ("stage1", "stage2", 1),
            ("für", "fur", 1),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }

    #[test]
    fn the_nearest_name_is_meant_and_a_far_one_is_not() {
        let names = ["out_indices", "out_features", "image_size"];
        assert_eq!(nearest("out_feature", names), Some("out_features"));
        assert_eq!(nearest("outfeatures", names), Some("out_features"));
        assert_eq!(nearest("imagesizes", names), Some("image_size"));
        assert_eq!(nearest("depths", names), None);
        assert_eq!(nearest("abcd", ["abxx", "abcx", "abcy"]), Some("abcx"));
        assert_eq!(nearest("ab", ["abc", "xy"]), None);
    }

    #[test]
    fn a_folder_beside_the_missing_one_is_named_and_a_file_is_not() {
        let dir = tempfile::TempDir::new().unwrap();
        std::fs::write(dir.path().join("dinov2-smal"), b"").unwrap();
        assert_eq!(near_folder(&dir.path().join("dinov2-smll")), None);
        std::fs::create_dir(dir.path().join("dinov2-small")).unwrap();
        std::fs::create_dir(dir.path().join("dinov2-small-old")).unwrap();
        assert_eq!(near_folder(&dir.path().join("dinov2-smll")), Some(dir.path().join("dinov2-small")));
        assert_eq!(near_folder(&dir.path().join("other")), None);
        assert_eq!(near_folder(&dir.path().join("nowhere/dinov2-small")), None);
    }
}
