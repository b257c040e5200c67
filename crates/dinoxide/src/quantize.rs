//! Checkpoints in lower precision: written as a folder that opens like any other, and compared with what they were made of.
//!
//! ```
//! use dinoxide::{Context, Checkpoint, Model, Precision, QuantizeOptions, Reference, quantize};
//! # fn main() -> Result<(), dinoxide::Error> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let dir = dir.path().join("tiny-int8");
//! # let pixels = dinoxide::ndarray::Array3::zeros((3, 56, 56));
//! let checkpoint = dinoxide::open("builtin:tiny", &Default::default())?;
//! let weights = quantize(&checkpoint, &dir, &QuantizeOptions::new(Precision::Int8), &mut |_| {})?;
//! assert!(weights.iter().all(|weight| weight.cosine > 0.9999));
//!
//! let reference = Reference::record(&Model::from_pretrained("builtin:tiny")?, vec![pixels])?;
//! let comparison = reference.compare(&Model::from_pretrained(&dir)?)?;
//! assert!(comparison.cls.least > 0.99);
//! # Ok(())
//! # }
//! ```

use crate::{Error, HiddenStates, Inputs, Model, Outputs, SaveOptions};
use dinoxide_checkpoint::{Checkpoint, Storage};
use dinoxide_kernels::{Context, ContextOptions};
use dinoxide_model::{Precision, QuantizedLinear};
use ndarray::{Array3, ArrayView1, ArrayViewD, Axis};
use serde::Serialize;
use std::path::Path;

/// How a checkpoint is quantised.
#[derive(Debug, Clone, Copy)]
pub struct QuantizeOptions {
    /// What the weights of linear layers are written in.
    pub precision: Precision,
    /// How files are written.
    pub save: SaveOptions,
    /// Instruction set and threads.
    pub context: ContextOptions,
}

impl QuantizeOptions {
    /// To this precision, with all defaults.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        Self { precision, save: SaveOptions::default(), context: ContextOptions::default() }
    }
}

/// Writes `checkpoint` to a folder with the weights of its linear layers in another precision, everything else in f32. Memory holds
/// one weight at a time. `done` hears of each weight; all of them are given back.
///
/// The weights are those that the checkpoint gives: one that was opened with a `dtype` gives rounded ones.
///
/// # Errors
/// A checkpoint whose weights are in codes already, groups of no inputs, a tensor that cannot be read, a place that cannot be written.
pub fn quantize(
    checkpoint: &Checkpoint,
    dir: impl AsRef<Path>,
    options: &QuantizeOptions,
    done: &mut dyn FnMut(&QuantizedLinear),
) -> Result<Vec<QuantizedLinear>, Error> {
    let tensors = checkpoint.tensors();
    // Of some files only their own metadata tells.
    let in_codes = |name| matches!(tensors.storage(name), Some(Storage::Int8 | Storage::Int4 { .. }));
    if checkpoint.config().common().quantization.is_some() || tensors.names().any(in_codes) {
        return Err(Error::AlreadyQuantized { path: tensors.path().to_owned() });
    }
    let ctx = Context::new(options.context)?;
    let place = (dir.as_ref(), &options.save);
    Ok(dinoxide_model::quantize(&ctx, checkpoint, options.precision, place, done)?)
}

/// What a model gives for some pictures, for another precision of it to be compared with.
#[derive(Debug)]
pub struct Reference {
    pixels: Vec<Array3<f32>>,
    outputs: Vec<Outputs>,
}

/// How close vectors are to those of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Similarity {
    /// The median of their cosines.
    pub median: f64,
    /// The least of them.
    pub least: f64,
    /// Largest absolute difference of an element.
    pub max_abs: f32,
}

/// How close a model is to a reference, over all its pictures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Pictures.
    pub pictures: usize,
    /// The tokens after each layer (of a ConvNeXt: the places after each stage), before the final norm.
    pub layers: Vec<Similarity>,
    /// `pooler_output`: the CLS token after the final norm (of a ConvNeXt: the pooled vector).
    pub cls: Similarity,
    /// The patches of `last_hidden_state`.
    pub patches: Similarity,
}

impl Reference {
    /// Runs a model on pictures as its processor gives them, [C, H, W]; all outputs are kept: `(L + 2)·S·D` floats a picture.
    ///
    /// # Errors
    /// As [`Model::forward`].
    pub fn record(model: &Model, pixels: Vec<Array3<f32>>) -> Result<Self, Error> {
        let outputs = pixels.iter().map(|pixels| run(model, pixels)).collect::<Result<_, _>>()?;
        Ok(Self { pixels, outputs })
    }

    /// Runs another model on the same pictures.
    ///
    /// # Errors
    /// As [`Model::forward`].
    pub fn compare(&self, model: &Model) -> Result<Comparison, Error> {
        let (mut layers, mut cls, mut patches) = (Vec::new(), Differences::default(), Differences::default());
        for (pixels, want) in self.pixels.iter().zip(&self.outputs) {
            let got = run(model, pixels)?;
            cls.add(&want.pooler_output.view().into_dyn(), &got.pooler_output.view().into_dyn(), 1);
            let tokens = |outputs: &Outputs| {
                outputs.last_hidden_state.slice_axis(Axis(1), (outputs.prefix..).into()).to_owned()
            };
            patches.add(&tokens(want).view().into_dyn(), &tokens(&got).view().into_dyn(), 2);
            let states = want.hidden_states.iter().flat_map(HiddenStates::iter);
            // The first is what goes in.
            for (place, want) in states.filter(|(place, _)| *place > 0) {
                let Some(got) = got.hidden_states.as_ref().and_then(|states| states.get(place)) else {
                    continue;
                };
                layers.resize_with(layers.len().max(place), Differences::default);
                // Tokens [B, S, D]; a map [B, C, H, W].
                let axis = if want.ndim() == 4 { 1 } else { 2 };
                layers[place - 1].add(&want.view(), &got.view(), axis);
            }
        }
        let layers = layers.into_iter().map(Differences::finish).collect();
        Ok(Comparison { pictures: self.pixels.len(), layers, cls: cls.finish(), patches: patches.finish() })
    }
}

fn run(model: &Model, pixels: &Array3<f32>) -> Result<Outputs, Error> {
    model.forward(&Inputs::new(pixels.view().insert_axis(Axis(0))).with_hidden_states(true))
}

/// Differences of vectors, as they come.
#[derive(Debug, Default)]
struct Differences {
    cosines: Vec<f64>,
    max_abs: f32,
}

impl Differences {
    /// Adds the vectors along `axis` of two arrays of one shape.
    fn add(&mut self, want: &ArrayViewD<'_, f32>, got: &ArrayViewD<'_, f32>, axis: usize) {
        for (want, got) in want.lanes(Axis(axis)).into_iter().zip(got.lanes(Axis(axis))) {
            self.cosines.push(cosine(&want, &got));
            let differences = want.iter().zip(got).map(|(want, got)| (want - got).abs());
            self.max_abs = differences.fold(self.max_abs, |most, difference| {
                // One that is no number is the largest.
                if difference.is_nan() { f32::INFINITY } else { most.max(difference) }
            });
        }
    }

    fn finish(mut self) -> Similarity {
        self.cosines.sort_by(f64::total_cmp);
        let median = self.cosines.get(self.cosines.len() / 2).copied().unwrap_or(1.0);
        Similarity { median, least: self.cosines.first().copied().unwrap_or(1.0), max_abs: self.max_abs }
    }
}

/// The cosine of two vectors; that of two vectors of zeros is 1, and of one that is not finite 0.
fn cosine(want: &ArrayView1<'_, f32>, got: &ArrayView1<'_, f32>) -> f64 {
    let sum = |a: &ArrayView1<'_, f32>, b: &ArrayView1<'_, f32>| -> f64 {
        a.iter().zip(b.iter()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let (want_square, got_square) = (sum(want, want), sum(got, got));
    let norm = (want_square * got_square).sqrt();
    match norm > 0.0 && norm.is_finite() {
        true => sum(want, got) / norm,
        false => f64::from(u8::from(want_square == 0.0 && got_square == 0.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunOptions;
    use ndarray::{arr1, arr2};

    #[test]
    fn similarity_is_of_the_median_and_the_least_vector() {
        let want = arr2(&[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]);
        let got = arr2(&[[2.0, 0.0], [0.0, 3.0], [0.5, 0.0]]);
        let mut differences = Differences::default();
        differences.add(&want.view().into_dyn(), &got.view().into_dyn(), 1);
        assert_eq!(differences.finish(), Similarity { median: 1.0, least: 0.0, max_abs: 3.0 });
    }

    #[test]
    fn what_is_no_number_is_the_worst() {
        let (zeros, nan) = (arr1(&[0.0, 0.0]), arr1(&[f32::NAN, 0.0]));
        assert_eq!((cosine(&zeros.view(), &zeros.view()), cosine(&zeros.view(), &nan.view())), (1.0, 0.0));
        let mut differences = Differences::default();
        differences.add(&zeros.view().into_dyn(), &nan.view().into_dyn(), 0);
        assert_eq!(differences.max_abs, f32::INFINITY);
    }

    #[test]
    fn a_model_is_close_to_itself() {
        let model = Model::from_pretrained(crate::BUILTIN_TINY).unwrap();
        let pixels = Array3::from_shape_fn((3, 42, 42), |(c, y, x)| (c * 7 + y * 3 + x) as f32 % 5.0 - 2.0);
        let reference = Reference::record(&model, vec![pixels]).unwrap();
        let exact = RunOptions { precision: Some(Precision::F32), ..RunOptions::default() };
        let comparison =
            reference.compare(&Model::from_checkpoint(model.checkpoint(), exact).unwrap()).unwrap();
        assert_eq!((comparison.pictures, comparison.cls.max_abs, comparison.patches.max_abs), (1, 0.0, 0.0));
        assert!(comparison.layers.len() > 1 && comparison.layers.iter().all(|layer| layer.max_abs == 0.0));
    }
}
