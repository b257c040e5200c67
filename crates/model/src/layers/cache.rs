//! Remembers the last few results that depend on the grid only (resized position tables, rotary angles): pictures of one
//! size follow one another.

use crate::{ModelError, shape::Grid};
use std::sync::{Arc, Mutex, PoisonError};

/// Grids remembered. A caller that mixes more sizes than this recomputes, which costs less than a layer.
const CAPACITY: usize = 8;

/// A small cache by grid, least recently used first out.
#[derive(Debug)]
pub(crate) struct GridCache<T> {
    entries: Mutex<Vec<(Grid, Arc<T>)>>,
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

    /// The value of a grid, now the one most recently used.
    fn find(&self, grid: Grid) -> Option<Arc<T>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let place = entries.iter().position(|(key, _)| *key == grid)?;
        entries[place..].rotate_left(1);
        entries.last().map(|(_, value)| Arc::clone(value))
    }

    fn put(&self, grid: Grid, value: Arc<T>) -> Arc<T> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
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
}
