//! The rotary angles of a patch grid (DINOv3): axial, each axis normalised by its own patch count.
//!
//! Patch (i, j): y = 2(i + 0.5)/rows − 1, x = 2(j + 0.5)/cols − 1. With f_k = 1/θ^(4k/d), k = 0 … d/4−1:
//! angles = [2π·y·f_0 …, 2π·x·f_0 …], the whole repeated twice to length d. All in f32, 2π first.
//! In train mode the coordinates are first shifted, then stretched axis by axis, then stretched together, once a forward.

use crate::{
    ModelError,
    draws::{DrawPlace, Draws},
    layers::cache::GridCache,
    shape::Grid,
};
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
    augment: Augment,
    tables: GridCache<RopeTable>,
}

impl AxialRope {
    /// `head_dim` is a multiple of 4; `theta` is `config.rope_theta`.
    pub(crate) fn new(head_dim: usize, theta: f64, augment: Augment) -> Self {
        let exponent = |k: usize| (4.0 * k as f64 / head_dim as f64) as f32;
        let inv_freq = (0..head_dim / 4).map(|k| 1.0 / (theta as f32).powf(exponent(k))).collect();
        Self { inv_freq, augment, tables: GridCache::default() }
    }

    /// The table of a grid; in train mode, of its augmented coordinates.
    pub(crate) fn table(&self, grid: Grid, draws: Option<&dyn Draws>) -> Result<Arc<RopeTable>, ModelError> {
        match draws {
            Some(draws) => Ok(Arc::new(self.make(grid, &self.augment.draw(draws)?))),
            None => self.tables.get(grid, || Ok(self.make(grid, &[]))),
        }
    }

    /// The table of the coordinates (y, x) in −1 … 1, changed by `steps` one after the other.
    fn make(&self, grid: Grid, steps: &[Step]) -> RopeTable {
        let center = |i: usize, n: usize| 2.0 * ((i as f32 + 0.5) / n as f32) - 1.0;
        let augmented = |axis: usize, c: f32| {
            steps.iter().fold(c, |c, step| match step {
                Step::Add(by) => c + by[axis],
                Step::Multiply(by) => c * by[axis],
            })
        };
        let mut angles = Vec::with_capacity(grid.len() * self.inv_freq.len() * 4);
        for (row, col) in (0..grid.rows).flat_map(|row| (0..grid.cols).map(move |col| (row, col))) {
            let half = [augmented(0, center(row, grid.rows)), augmented(1, center(col, grid.cols))]
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

/// The augmentation of the coordinates in train mode: `pos_embed_shift`, `pos_embed_jitter`, `pos_embed_rescale`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Augment {
    pub(crate) shift: Option<f64>,
    pub(crate) jitter: Option<f64>,
    pub(crate) rescale: Option<f64>,
}

/// A change of the coordinates, with a number for each axis.
#[derive(Debug)]
enum Step {
    Add([f32; 2]),
    Multiply([f32; 2]),
}

impl Augment {
    /// The steps, drawn anew: shift in ±s; jitter, for each axis, and rescale, for both, in 1/r … r, log-uniform.
    ///
    /// # Errors
    /// s below 0, or r below 1: torch has no such uniform distribution either.
    fn draw(&self, draws: &dyn Draws) -> Result<Vec<Step>, ModelError> {
        let at_least = |key, least, value: Option<f64>| match value {
            Some(got) if got.is_nan() || got < least => Err(ModelError::Augmentation { key, least, got }),
            value => Ok(value),
        };
        let shift = at_least("pos_embed_shift", 0.0, self.shift)?;
        let jitter = at_least("pos_embed_jitter", 1.0, self.jitter)?;
        let rescale = at_least("pos_embed_rescale", 1.0, self.rescale)?;
        let two = |place, limit| {
            let mut numbers = [0.0; 2];
            draws.uniform(place, limit, &mut numbers);
            numbers
        };
        let one = |place, limit| {
            let mut number = [0.0];
            draws.uniform(place, limit, &mut number);
            number[0]
        };
        let shift = shift.map(|s| Step::Add(two(DrawPlace::RopeShift, s)));
        let jitter = jitter.map(|r| Step::Multiply(two(DrawPlace::RopeJitter, r.ln()).map(f32::exp)));
        let rescale = rescale.map(|r| Step::Multiply([one(DrawPlace::RopeRescale, r.ln()).exp(); 2]));
        Ok([shift, jitter, rescale].into_iter().flatten().collect())
    }
}
