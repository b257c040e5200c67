//! Unfinished files and folders, so that Ctrl-C leaves none behind.
//!
//! The signal handler removes those that are registered and ends the process. While a file is being made, or put in its
//! place together with another, the handler waits, so that none is made unseen and no pair is torn apart.

use crate::exit::INTERRUPTED;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The unfinished files and folders of this process. Clones share one list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cleanup(Arc<Mutex<Vec<PathBuf>>>);

impl Cleanup {
    /// Removes the registered files and exits when the process is interrupted (SIGINT, SIGTERM, SIGHUP). Where no
    /// handler can be installed, the system's own way of ending stays.
    pub(crate) fn on_interrupt() -> Self {
        let cleanup = Self::default();
        let files = cleanup.clone();
        let _ = ctrlc::set_handler(move || {
            // The lock is kept until the process is gone, so that no new file can be made meanwhile.
            let paths = files.lock();
            for path in paths.iter() {
                let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
            }
            std::process::exit(INTERRUPTED);
        });
        cleanup
    }

    /// Makes a file and registers it, without a moment in which an interrupt would leave it.
    pub(crate) fn create<T, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
        path: impl Fn(&T) -> &Path,
    ) -> Result<T, E> {
        let mut paths = self.lock();
        let file = make()?;
        paths.push(path(&file).to_owned());
        Ok(file)
    }

    /// Runs `work` without an interrupt in between: it waits until the end. `work` must not make or forget files.
    pub(crate) fn uninterrupted<T>(&self, work: impl FnOnce() -> T) -> T {
        let _paths = self.lock();
        work()
    }

    /// Forgets a file that is in its place: its unfinished name is gone, so an interrupt just before this removes nothing.
    pub(crate) fn forget(&self, path: &Path) {
        self.lock().retain(|registered| registered != path);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        // A list of paths is whole even after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
