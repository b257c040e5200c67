//! A repo's folder in the cache that Hugging Face's tools share, as it is written.
//!
//! `models--org--name/` holds `blobs/<etag>` (contents), `snapshots/<commit>/<file>` (relative links to blobs; the file itself where
//! links cannot be made), `refs/<revision>` (a commit) and `.no_exist/<commit>/<file>` (empty: known to be absent). A file is
//! written beside its place and renamed. `.locks/models--org--name/<etag>.lock` is locked (`flock` on Unix) while a
//! blob is made, by Python's tools too. Source: `file_download.py`, `utils/_fixes.py` of huggingface_hub 2.4.0.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;

use super::cache;
use super::error::HubError;
use super::progress::{POLL, Progress, pause};

/// Tells backup tools that the folder can be made again (<https://bford.info/cachedir/>).
const CACHE_TAG: (&str, &str) = (
    "CACHEDIR.TAG",
    "Signature: 8a477f597d28d172789f06886806bc55\n\
     # This file is a cache directory tag created by huggingface_hub.\n\
     # For information about cache directory tags, see:\n\
     #\thttps://bford.info/cachedir/\n",
);

/// How a link is made: its text, then its place.
type Link = fn(&Path, &Path) -> io::Result<()>;

/// One repo in one cache.
#[derive(Debug)]
pub(super) struct Store {
    root: PathBuf,
    name: String,
    link: Link,
}

/// A blob's lock; it ends with the value, or with the process.
#[derive(Debug)]
pub(super) struct Lock(Option<File>);

impl Lock {
    /// Whether others are really kept out; some file systems have no locks.
    pub(super) fn excludes(&self) -> bool {
        self.0.is_some()
    }
}

impl Store {
    pub(super) fn new(root: &Path, repo: &str) -> Self {
        Self { root: root.into(), name: cache::folder_name(repo), link: symlink }
    }

    fn folder(&self) -> PathBuf {
        self.root.join(&self.name)
    }

    /// A commit's folder.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder().join(cache::SNAPSHOTS).join(commit)
    }

    /// Where a blob is.
    pub(super) fn blob(&self, etag: &str) -> PathBuf {
        self.folder().join("blobs").join(etag)
    }

    /// Where a blob's bytes gather. Who keeps nobody out gathers for itself.
    pub(super) fn partial(&self, etag: &str, lock: &Lock) -> PathBuf {
        let own = if lock.excludes() { String::new() } else { own_ending() };
        self.folder().join("blobs").join(format!("{etag}{own}.incomplete"))
    }

    /// Whether a commit's file is there; a link to nowhere does not count.
    pub(super) fn has(&self, commit: &str, file: &str) -> bool {
        self.snapshot(commit).join(file).is_file()
    }

    /// Whether it is known that the commit does not have the file.
    pub(super) fn is_absent(&self, commit: &str, file: &str) -> bool {
        self.absence(commit, file).exists()
    }

    fn absence(&self, commit: &str, file: &str) -> PathBuf {
        self.folder().join(".no_exist").join(commit).join(file)
    }

    /// Notes that the commit does not have the file.
    pub(super) fn mark_absent(&self, commit: &str, file: &str) -> Result<(), HubError> {
        let path = self.absence(commit, file);
        create_parent(&path)?;
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| HubError::write(&path, error))?;
        Ok(())
    }

    /// Notes the commit that a revision stands for.
    pub(super) fn write_ref(&self, revision: &str, commit: &str) -> Result<(), HubError> {
        let path = self.folder().join(cache::REFS).join(revision);
        if revision == commit || fs::read(&path).is_ok_and(|known| known == commit.as_bytes()) {
            return Ok(());
        }
        create_parent(&path)?;
        replace(&path, commit.as_bytes()).map_err(|error| HubError::write(&path, error))
    }

    /// Makes the folders for a blob and marks the cache as one.
    pub(super) fn prepare(&self, etag: &str) -> Result<(), HubError> {
        create_parent(&self.blob(etag))?;
        let (name, text) = CACHE_TAG;
        let tag = self.root.join(name);
        if !tag.exists() {
            // A courtesy to others: the cache works without.
            let _ = fs::write(tag, text);
        }
        Ok(())
    }

    /// Locks the blob of a file, against other threads and processes. `progress` is told when another has it, and may stop the
    /// wait, which has no end of its own.
    pub(super) fn lock(&self, etag: &str, file: &str, progress: &dyn Progress) -> Result<Lock, HubError> {
        let path = self.root.join(".locks").join(&self.name).join(format!("{etag}.lock"));
        create_parent(&path)?;
        let failed = |error| HubError::write(&path, error);
        let handle = open_lock(&path).map_err(failed)?;
        let mut told = false;
        loop {
            match handle.try_lock() {
                Ok(()) => return Ok(Lock(Some(handle))),
                Err(TryLockError::WouldBlock) if told => {}
                Err(TryLockError::WouldBlock) => {
                    progress.wait(file);
                    told = true;
                }
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => {
                    return Ok(Lock(None));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            if pause(progress, POLL) {
                return Err(HubError::Stopped { file: file.into() });
            }
        }
    }

    /// Puts a blob into a commit's folder. Where links cannot be made, a blob that is `new` moves there; an older one may
    /// serve other commits, and is copied.
    pub(super) fn place(&self, commit: &str, file: &str, etag: &str, new: bool) -> Result<(), HubError> {
        let pointer = self.snapshot(commit).join(file);
        let failed = |error| HubError::write(&pointer, error);
        create_parent(&pointer)?;
        match fs::remove_file(&pointer) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let up = "../".repeat(2 + file.matches('/').count());
        match (self.link)(Path::new(&format!("{up}blobs/{etag}")), &pointer) {
            Ok(()) => return Ok(()),
            // Another process, where locks do not work.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && pointer.is_file() => return Ok(()),
            Err(_) => {}
        }
        let blob = self.blob(etag);
        if new {
            return fs::rename(&blob, &pointer).map_err(failed);
        }
        let beside = beside(&pointer);
        fs::copy(&blob, &beside).and_then(|_| fs::rename(&beside, &pointer)).map_err(|error| {
            let _ = fs::remove_file(&beside);
            failed(error)
        })
    }
}

/// A lock file that all users of a shared cache can lock.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o664);
    match options.open(path) {
        // Another user's: reading it is enough to lock it.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && path.exists() => File::open(path),
        result => result,
    }
}

fn create_parent(path: &Path) -> Result<(), HubError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| HubError::write(parent, error))
}

/// What no other thread or process ends a name with.
fn own_ending() -> String {
    let thread = format!("{:?}", thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    format!(".{}-{thread}", std::process::id())
}

/// A name beside a path that no other thread or process uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(own_ending());
    name.push(".tmp");
    name.into()
}

/// Writes a small file beside its place, then renames it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = beside(path);
    fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(unix)]
fn symlink(text: &Path, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(text, place)
}

#[cfg(windows)]
fn symlink(text: &Path, place: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(text, place)
}

#[cfg(not(any(unix, windows)))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn store(link: Link) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store { link, ..Store::new(dir.path(), "org/name") };
        store.prepare("etag").unwrap();
        fs::write(store.blob("etag"), "content").unwrap();
        (dir, store)
    }

    fn no_link(_: &Path, _: &Path) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    #[cfg(unix)]
    #[test]
    fn a_snapshot_links_to_blobs_by_relative_paths() {
        let (_dir, store) = store(symlink);
        for (file, link) in
            [("config.json", "../../blobs/etag"), ("a/b/config.json", "../../../../blobs/etag")]
        {
            store.place(COMMIT, file, "etag", true).unwrap();
            let pointer = store.snapshot(COMMIT).join(file);
            assert_eq!(fs::read_link(&pointer).unwrap(), Path::new(link));
            assert_eq!(fs::read(&pointer).unwrap(), b"content");
        }
    }

    #[test]
    fn without_links_a_new_blob_moves_and_an_older_one_is_copied() {
        let (_dir, store) = store(no_link);
        store.place(COMMIT, "old.json", "etag", false).unwrap();
        assert!(store.blob("etag").exists());
        store.place(COMMIT, "new.json", "etag", true).unwrap();
        assert!(!store.blob("etag").exists());
        for file in ["old.json", "new.json"] {
            let pointer = store.snapshot(COMMIT).join(file);
            assert!(!pointer.is_symlink());
            assert_eq!(fs::read(pointer).unwrap(), b"content");
        }
        assert_eq!(fs::read_dir(store.snapshot(COMMIT)).unwrap().count(), 2);
    }

    #[test]
    fn references_are_replaced_and_may_have_slashes() {
        let (_dir, store) = store(symlink);
        for commit in ["first", "second", "second"] {
            store.write_ref("refs/pr/3", commit).unwrap();
            assert_eq!(fs::read(store.folder().join("refs/refs/pr/3")).unwrap(), commit.as_bytes());
        }
        assert_eq!(fs::read_dir(store.folder().join("refs/refs/pr")).unwrap().count(), 1);
        store.write_ref(COMMIT, COMMIT).unwrap();
        assert!(!store.folder().join("refs").join(COMMIT).exists());
    }

    #[test]
    fn absence_is_noted_for_one_commit() {
        let (_dir, store) = store(symlink);
        store.mark_absent(COMMIT, "sub/x.json").unwrap();
        assert!(store.is_absent(COMMIT, "sub/x.json"));
        assert!(!store.is_absent(COMMIT, "x.json") && !store.is_absent("other", "sub/x.json"));
    }

    /// Tells that it waits, and may want to stop.
    #[derive(Debug)]
    struct Waits {
        told: std::sync::mpsc::SyncSender<String>,
        stopped: bool,
    }

    impl Progress for Waits {
        fn start(&self, _: &str, _: Option<u64>, _: u64) {}
        fn wait(&self, file: &str) {
            self.told.send(file.into()).unwrap();
        }
        fn advance(&self, _: u64) {}
        fn finish(&self) {}
        fn is_stopped(&self) -> bool {
            self.stopped
        }
    }

    #[test]
    fn a_lock_that_another_has_is_waited_for_unless_that_is_stopped() {
        let (_dir, store) = store(symlink);
        let (told, waited) = std::sync::mpsc::sync_channel(1);
        let mut waits = Waits { told, stopped: true };
        let held = store.lock("etag", "x.json", &waits).unwrap();
        assert!(held.excludes() && waited.try_recv().is_err());
        let stopped = store.lock("etag", "x.json", &waits).unwrap_err();
        assert!(matches!(stopped, HubError::Stopped { file } if file == "x.json"));
        assert_eq!(waited.recv().unwrap(), "x.json");
        waits.stopped = false;
        thread::scope(|scope| {
            let other = scope.spawn(|| store.lock("etag", "x.json", &waits).unwrap().excludes());
            waited.recv().unwrap();
            drop(held);
            assert!(other.join().unwrap());
        });
    }

    #[test]
    fn a_cache_that_cannot_be_made_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::new(&file.join("cache"), "org/name").prepare("etag").unwrap_err();
        assert!(matches!(error, HubError::Write { .. }));
        assert!(error.to_string().contains("file"), "{error}");
        assert!(error.hint().unwrap().contains("--cache-dir"));
    }

    #[test]
    fn threads_that_write_one_ref_do_not_get_in_each_others_way() {
        let (_dir, store) = store(symlink);
        thread::scope(|scope| {
            let write = || (0..50).try_for_each(|i| store.write_ref("main", &format!("{i:040}")));
            let threads = [(); 4].map(|()| scope.spawn(write));
            threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        });
    }
}
