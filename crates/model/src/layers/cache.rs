//! Remembers the last few results that depend on the grid only (resized position tables, rotary angles): pictures of one
//! size follow one another.

use crate::{ModelError, shape::Grid};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// Grids remembered. A caller that mixes more sizes than this recomputes, which costs less than a layer.
const CAPACITY: usize = 8;

/// What is remembered, the most recently used last.
type Entries<T> = Vec<(Grid, Arc<T>)>;

/// A small cache by grid, least recently used first out.
#[derive(Debug)]
pub(crate) struct GridCache<T> {
    entries: Mutex<Entries<T>>,
}

impl<T> Default for GridCache<T> {
    fn default() -> Self {
        Self { entries: Mutex::new(Vec::new()) }
    }
}

impl<T> GridCache<T> {
    /// The value for a grid, made by `make` when it is not remembered.
    pub(crate) fn get(
        &self,
        grid: Grid,
        make: impl FnOnce() -> Result<T, ModelError>,
    ) -> Result<Arc<T>, ModelError> {
        if let Some(value) = self.find(grid) {
            return Ok(value);
        }
        // Made outside the lock: two threads may both make it, and then agree to the bit.
        Ok(self.put(grid, Arc::new(make()?)))
    }

    /// What is remembered, unless another thread is at it. Nobody waits: in a forked process the lock may be held by a thread
    /// that is not there, for ever.
    fn entries(&self) -> Option<MutexGuard<'_, Entries<T>>> {
        match self.entries.try_lock() {
            Ok(entries) => Some(entries),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value of a grid, now the one most recently used.
    fn find(&self, grid: Grid) -> Option<Arc<T>> {
        let mut entries = self.entries()?;
        let place = entries.iter().position(|(key, _)| *key == grid)?;
        entries[place..].rotate_left(1);
        entries.last().map(|(_, value)| Arc::clone(value))
    }

    fn put(&self, grid: Grid, value: Arc<T>) -> Arc<T> {
        let Some(mut entries) = self.entries() else { return value };
        entries.retain(|(key, _)| *key != grid);
        if entries.len() == CAPACITY {
            entries.remove(0);
        }
        entries.push((grid, Arc::clone(&value)));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_made_once_until_it_is_the_least_recent() {
        let cache = GridCache::default();
        let grid = |rows| Grid { rows, cols: 1 };
        let get = |rows, value: usize| *cache.get(grid(rows), || Ok(value)).unwrap();
        assert_eq!(get(0, 1), 1);
        assert_eq!(get(0, 2), 1);
        (1..=CAPACITY).for_each(|rows| assert_eq!(get(rows, rows), rows));
        assert_eq!(get(0, 3), 3);
    }

    #[test]
    fn a_cache_that_is_held_is_not_waited_for() {
        let cache = GridCache::default();
        let get = |value: usize| *cache.get(Grid { rows: 1, cols: 1 }, || Ok(value)).unwrap();
        let held = cache.entries.lock().unwrap();
        assert_eq!((get(1), get(2)), (1, 2));
        drop(held);
        assert_eq!((get(3), get(4)), (3, 3));
    }
}
