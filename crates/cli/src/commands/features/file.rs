//! The file that `features` writes: tensors picture by picture, and metadata.

use crate::{
    cleanup::Cleanup,
    commands::forward::Picture,
    error::CliError,
    output::{About, TensorWriter},
};
use dinoxide::{Grid, HiddenStates};
use ndarray::{Array, Array4, Dimension};
use std::path::Path;

/// Tensors of pictures, and what is known of all of them.
pub(super) struct FeatureFile {
    writer: TensorWriter,
    model: String,
    grids: Vec<[usize; 2]>,
    pixels: Vec<[usize; 2]>,
    /// JSON, where the model runs as a backbone.
    pub(super) stages: Option<String>,
}

impl FeatureFile {
    pub(super) fn create(target: &Path, about: &About) -> Result<Self, CliError> {
        let writer = TensorWriter::create(target, about.planned, &Cleanup::on_interrupt())?;
        Ok(Self { writer, model: about.model.clone(), grids: Vec::new(), pixels: Vec::new(), stages: None })
    }

    /// Begins the next picture.
    pub(super) fn picture(&mut self, picture: Picture<'_>, grid: Grid) {
        self.writer.picture(picture.label);
        self.pixels.push(picture.pixels);
        self.grids.push([grid.rows, grid.cols]);
    }

    /// Adds a tensor of the picture (a batch of one), without the batch axis.
    pub(super) fn push<D: Dimension>(&mut self, name: &str, array: &Array<f32, D>) -> Result<(), CliError> {
        let values = array.as_standard_layout();
        let shape = array.shape().get(1..).unwrap_or_default();
        self.writer.push(name, shape, values.as_slice().unwrap_or_default())
    }

    /// Adds tensors of the picture, `NAME.0`, `NAME.1`, ….
    pub(super) fn push_all<D: Dimension>(
        &mut self,
        name: &str,
        arrays: &[Array<f32, D>],
    ) -> Result<(), CliError> {
        arrays.iter().enumerate().try_for_each(|(i, array)| self.push(&format!("{name}.{i}"), array))
    }

    /// Adds what a forward gives on request: hidden states, each under its place, and attentions.
    pub(super) fn push_recorded(
        &mut self,
        hidden_states: Option<&HiddenStates>,
        attentions: Option<&[Array4<f32>]>,
    ) -> Result<(), CliError> {
        for (i, state) in hidden_states.into_iter().flat_map(HiddenStates::iter) {
            self.push(&format!("hidden_states.{i}"), state)?;
        }
        self.push_all("attentions", attentions.unwrap_or_default())
    }

    /// Adds the loss of all pictures.
    pub(super) fn push_loss(&mut self, loss: f32) -> Result<(), CliError> {
        self.writer.push_whole("loss", &[], &[loss])
    }

    /// Puts the file in its place.
    pub(super) fn finish(self) -> Result<(), CliError> {
        let mut metadata = vec![
            ("model", self.model),
            ("grid", sides_json(&self.grids)),
            ("pixels", sides_json(&self.pixels)),
        ];
        metadata.extend(self.stages.map(|stages| ("stages", stages)));
        self.writer.finish(&metadata)
    }
}

/// `[rows, cols]`, or `[height, width]`, where it is the same for all pictures, else a list with one of them a picture.
fn sides_json(sides: &[[usize; 2]]) -> String {
    match sides {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => serde_json::json!(first).to_string(),
        _ => serde_json::json!(sides).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_grid_stands_for_all_where_they_are_the_same() {
        assert_eq!(sides_json(&[[16, 16], [16, 16]]), "[16,16]");
        assert_eq!(sides_json(&[[16, 16], [2, 3]]), "[[16,16],[2,3]]");
    }
}
