//! Unfinished folders whose process was killed: no handler ran, so they stayed, gigabytes under a hidden name.
//!
//! Whoever makes a folder holds a lock on it (`flock`, which ends with the process, however that ends). One of our names that can be
//! locked is nobody's, and is removed. Where folders cannot be locked (Windows), none is.

use super::folder::{PREFIX, SUFFIX};
use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Locks a folder that was just made, for as long as the file is open. Nothing where folders cannot be locked.
///
/// # Errors
/// It was taken for a leftover before it was locked, and is gone.
pub(super) fn hold(folder: &Path) -> io::Result<Option<File>> {
    let Ok(file) = File::open(folder) else {
        return if folder.is_dir() { Ok(None) } else { Err(io::ErrorKind::NotFound.into()) };
    };
    // Another process that holds it is about to remove it.
    let held = match file.try_lock() {
        Ok(()) => Some(file),
        Err(fs::TryLockError::WouldBlock) => return Err(io::ErrorKind::NotFound.into()),
        Err(fs::TryLockError::Error(_)) => None,
    };
    if folder.is_dir() { Ok(held) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Removes the unfinished folders in `parent` that nobody holds. What cannot be removed stays.
pub(super) fn remove(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        // A link is none of ours, whatever it leads to.
        if ours && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let Ok(file) = File::open(entry.path()) else { continue };
            if file.try_lock().is_ok() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (held, left) =
            (dir.path().join(".dinoxide-a.unfinished"), dir.path().join(".dinoxide-b.unfinished"));
        let others =
            ["dinoxide-c.unfinished", ".dinoxide-d", ".other-e.unfinished"].map(|name| dir.path().join(name));
        for folder in [&held, &left].into_iter().chain(&others) {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("model.safetensors"), b"half").unwrap();
        }
        let (file, link) =
            (dir.path().join(".dinoxide-f.unfinished"), dir.path().join(".dinoxide-g.unfinished"));
        fs::write(&file, b"of another command").unwrap();
        std::os::unix::fs::symlink(&others[0], &link).unwrap();
        let lock = hold(&held).unwrap().unwrap();
        remove(dir.path());
        assert!(held.join("model.safetensors").exists() && !left.exists());
        assert!(
            file.exists()
                && link.exists()
                && others.iter().all(|other| other.join("model.safetensors").exists())
        );
        drop(lock);
        remove(dir.path());
        assert!(!held.exists());
    }

    #[test]
    fn what_another_is_about_to_remove_cannot_be_held() {
        let dir = tempfile::tempdir().unwrap();
        let _theirs = hold(dir.path()).unwrap();
        assert_eq!(hold(dir.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(hold(&dir.path().join("gone")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
