//! The rotary angles of a patch grid (DINOv3): axial, each axis normalised by its own patch count.
//!
//! Patch (i, j): y = 2(i + 0.5)/rows − 1, x = 2(j + 0.5)/cols − 1. With f_k = 1/θ^(4k/d), k = 0 … d/4−1:
//! angles = [2π·y·f_0 …, 2π·x·f_0 …], the whole repeated twice to length d. All in f32, 2π first.

use crate::{ModelError, layers::cache::GridCache, shape::Grid};
use std::sync::Arc;

/// cos and sin of every patch: [rows·cols, d] each.
#[derive(Debug)]
pub(crate) struct RopeTable {
    pub(crate) cos: Vec<f32>,
    pub(crate) sin: Vec<f32>,
}

/// Makes, and remembers, the tables.
#[derive(Debug)]
pub(crate) struct AxialRope {
    /// [d/4].
    inv_freq: Vec<f32>,
    tables: GridCache<RopeTable>,
}

impl AxialRope {
    /// `head_dim` is a multiple of 4; `theta` is `config.rope_theta`.
    pub(crate) fn new(head_dim: usize, theta: f64) -> Self {
        let exponent = |k: usize| (4.0 * k as f64 / head_dim as f64) as f32;
        let inv_freq = (0..head_dim / 4).map(|k| 1.0 / (theta as f32).powf(exponent(k))).collect();
        Self { inv_freq, tables: GridCache::default() }
    }

    /// The table of a grid.
    pub(crate) fn table(&self, grid: Grid) -> Result<Arc<RopeTable>, ModelError> {
        self.tables.get(grid, || Ok(self.make(grid)))
    }

    fn make(&self, grid: Grid) -> RopeTable {
        let coordinate = |i: usize, n: usize| 2.0 * ((i as f32 + 0.5) / n as f32) - 1.0;
        let mut angles = Vec::with_capacity(grid.len() * self.inv_freq.len() * 4);
        for (row, col) in (0..grid.rows).flat_map(|row| (0..grid.cols).map(move |col| (row, col))) {
            let half = [coordinate(row, grid.rows), coordinate(col, grid.cols)]
                .map(|c| 2.0 * std::f32::consts::PI * c)
                .into_iter()
                .flat_map(|turn| self.inv_freq.iter().map(move |f| turn * f));
            angles.extend(half.clone().chain(half));
        }
        RopeTable {
            cos: angles.iter().map(|a: &f32| a.cos()).collect(),
            sin: angles.iter().map(|a| a.sin()).collect(),
        }
    }
}
