//! A model that also says how large the pictures were that it saw.
//!
//! Outputs know the grid of patches, but not the pixels under it: those at the right and at the bottom that fill no patch are not seen.

use dinoxide::{Error, Inputs, Model, Runner};

/// Runs as what it holds does.
pub(super) struct Measured<'a, R>(pub(super) &'a R);

/// Outputs, and the [height, width] of their `pixel_values`.
#[derive(Debug)]
pub(super) struct WithPixels<T> {
    pub(super) outputs: T,
    pub(super) pixels: [usize; 2],
}

impl<R: Runner> Runner for Measured<'_, R> {
    type Outputs = WithPixels<R::Outputs>;

    fn base(&self) -> &Model {
        self.0.base()
    }

    fn run(&self, inputs: &Inputs<'_>) -> Result<Self::Outputs, Error> {
        let (_, _, height, width) = inputs.pixel_values.dim();
        Ok(WithPixels { outputs: self.0.run(inputs)?, pixels: [height, width] })
    }

    fn into_items(WithPixels { outputs, pixels }: Self::Outputs) -> Vec<Self::Outputs> {
        R::into_items(outputs).into_iter().map(|outputs| WithPixels { outputs, pixels }).collect()
    }
}
