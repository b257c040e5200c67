//! Transformers' pipelines: `image-classification` and `image-feature-extraction`, from picture files to what people read.
//!
//! Source: `pipelines/image_classification.py`, `pipelines/image_feature_extraction.py` of Transformers 5.24.

use crate::{
    Error, FileOptions, ImageClassifier, ImageProcessor, LoadOptions, Model, files, pretrained::Pretrained,
    source,
};
use dinoxide_checkpoint::config::{CommonConfig, ProblemType};
use dinoxide_image::Picture;
use ndarray::{Array2, Array3, Axis};
use std::{cmp::Ordering, ffi::OsStr, path::Path};

/// A model with its processor, for one task.
///
/// ```
/// # fn main() -> Result<(), dinoxide::Error> {
/// # let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pictures/chelsea.png");
/// let extract = dinoxide::Pipeline::image_feature_extraction("builtin:tiny")?;
/// let tokens = extract.features(picture)?; // [1, S, D]
/// let pooled = extract.pooled(picture)?; // [1, D]
/// # assert_eq!(tokens.shape()[2], pooled.ncols());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Pipeline<T> {
    /// The model.
    pub model: T,
    /// Its processor.
    pub processor: ImageProcessor,
}

impl<T: Pretrained> Pipeline<T> {
    fn open(model: &OsStr, options: &LoadOptions) -> Result<Self, Error> {
        let checkpoint = source::open_as(Some(T::HEAD), model, options)?;
        let processor = ImageProcessor::from_checkpoint(&checkpoint)?;
        Ok(Self { model: T::from_checkpoint(&checkpoint, options.run())?, processor })
    }

    /// The outputs for one picture file, read as Transformers' `load_image` does: turned upright, alpha dropped.
    fn run_file(&self, path: &Path) -> Result<T::Outputs, Error> {
        let pixels = self.processor.open(path)?.insert_axis(Axis(0));
        self.model.run(&FileOptions::plain().inputs(pixels.view()))
    }

    fn run_picture(&self, picture: &Picture) -> Result<T::Outputs, Error> {
        let pixels = self.processor.process(picture)?.insert_axis(Axis(0));
        self.model.run(&FileOptions::plain().inputs(pixels.view()))
    }

    /// What `map` makes of the outputs of each picture file, in order; a bad picture is an error of its own.
    fn run_files<P: AsRef<Path> + Sync, U>(
        &self,
        paths: &[P],
        map: impl Fn(T::Outputs) -> U,
    ) -> Vec<Result<U, Error>> {
        let map = |outputs| T::into_items(outputs).into_iter().map(&map).collect();
        let results = files::run_files_mapped(&self.model, &self.processor, FileOptions::plain(), paths, map);
        results.map(|(_, result)| result).collect()
    }
}

/// A label and its score.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// `id2label` of the class.
    pub label: String,
    /// What the function made of its logit.
    pub score: f32,
}

/// What makes scores of logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionToApply {
    /// Of all logits: they add up to 1.
    Softmax,
    /// Of each logit: from 0 to 1.
    Sigmoid,
    /// The logits as they are.
    None,
}

impl FunctionToApply {
    /// The default: none for regression, sigmoid for several labels or one, else softmax.
    #[must_use]
    pub fn of(config: &CommonConfig) -> Self {
        match (config.problem_type, config.num_labels()) {
            (Some(ProblemType::Regression), _) => Self::None,
            (Some(ProblemType::MultiLabelClassification), _) | (_, 1) => Self::Sigmoid,
            _ => Self::Softmax,
        }
    }
}

/// How logits become predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassifyOptions {
    /// Most labels a picture, those of the highest scores.
    pub top_k: usize,
    /// Instead of the default of the config.
    pub function_to_apply: Option<FunctionToApply>,
}

impl Default for ClassifyOptions {
    /// Five labels.
    fn default() -> Self {
        Self { top_k: 5, function_to_apply: None }
    }
}

impl ClassifyOptions {
    /// The predictions for the logits of one picture, highest score first; equal ones in order of their classes.
    #[must_use]
    pub fn predictions(&self, config: &CommonConfig, logits: &[f32]) -> Vec<Prediction> {
        let function = self.function_to_apply.unwrap_or_else(|| FunctionToApply::of(config));
        let scores = scores(function, logits);
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| higher_first(scores[a], scores[b]));
        let prediction = |class: usize| Prediction {
            label: config.label(class).map_or_else(|| format!("LABEL_{class}"), str::to_owned),
            score: scores[class],
        };
        order.into_iter().take(self.top_k).map(prediction).collect()
    }
}

/// From the highest score to the lowest; what is not a number comes last, so that the order is a total one.
fn higher_first(a: f32, b: f32) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn scores(function: FunctionToApply, logits: &[f32]) -> Vec<f32> {
    match function {
        FunctionToApply::None => logits.to_vec(),
        FunctionToApply::Sigmoid => {
            logits.iter().map(|&x| (1.0 / (1.0 + (-f64::from(x)).exp())) as f32).collect()
        }
        FunctionToApply::Softmax => {
            let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let exps: Vec<f64> = logits.iter().map(|&x| f64::from(x - largest).exp()).collect();
            let total: f64 = exps.iter().sum();
            exps.iter().map(|e| (e / total) as f32).collect()
        }
    }
}

impl Pipeline<ImageClassifier> {
    /// `pipeline("image-classification", model)`.
    ///
    /// # Errors
    /// As [`ImageClassifier::from_pretrained`]; no processor.
    pub fn image_classification(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::open(model.as_ref(), &LoadOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`Self::image_classification`].
    pub fn image_classification_with(model: impl AsRef<OsStr>, options: &LoadOptions) -> Result<Self, Error> {
        Self::open(model.as_ref(), options)
    }

    /// The labels of a picture file, highest score first.
    ///
    /// # Errors
    /// A file that is no picture, or one that the model cannot take.
    pub fn classify(
        &self,
        path: impl AsRef<Path>,
        options: &ClassifyOptions,
    ) -> Result<Vec<Prediction>, Error> {
        Ok(self.predictions(&self.run_file(path.as_ref())?.logits, options))
    }

    /// The labels of a decoded picture.
    ///
    /// # Errors
    /// A picture that the processor or the model cannot take.
    pub fn classify_picture(
        &self,
        picture: &Picture,
        options: &ClassifyOptions,
    ) -> Result<Vec<Prediction>, Error> {
        Ok(self.predictions(&self.run_picture(picture)?.logits, options))
    }

    /// The labels of each of many picture files, in order, in batches.
    pub fn classify_files<P: AsRef<Path> + Sync>(
        &self,
        paths: &[P],
        options: &ClassifyOptions,
    ) -> Vec<Result<Vec<Prediction>, Error>> {
        self.run_files(paths, |outputs| self.predictions(&outputs.logits, options))
    }

    /// The predictions for the logits [1, labels] of a picture.
    fn predictions(&self, logits: &Array2<f32>, options: &ClassifyOptions) -> Vec<Prediction> {
        let logits: Vec<f32> = logits.iter().copied().collect();
        options.predictions(self.model.config().common(), &logits)
    }
}

impl Pipeline<Model> {
    /// `pipeline("image-feature-extraction", model)`.
    ///
    /// # Errors
    /// As [`Model::from_pretrained`]; no processor.
    pub fn image_feature_extraction(model: impl AsRef<OsStr>) -> Result<Self, Error> {
        Self::open(model.as_ref(), &LoadOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`Self::image_feature_extraction`].
    pub fn image_feature_extraction_with(
        model: impl AsRef<OsStr>,
        options: &LoadOptions,
    ) -> Result<Self, Error> {
        Self::open(model.as_ref(), options)
    }

    /// `last_hidden_state` [1, S, D] of a picture file: CLS, registers, patches, after the final norm.
    ///
    /// # Errors
    /// A file that is no picture, or one that the model cannot take.
    pub fn features(&self, path: impl AsRef<Path>) -> Result<Array3<f32>, Error> {
        Ok(self.run_file(path.as_ref())?.last_hidden_state)
    }

    /// `pooler_output` [1, D] of a picture file (`pool=True`).
    ///
    /// # Errors
    /// As [`Self::features`].
    pub fn pooled(&self, path: impl AsRef<Path>) -> Result<Array2<f32>, Error> {
        Ok(self.run_file(path.as_ref())?.pooler_output)
    }

    /// `last_hidden_state` [1, S, D] of a decoded picture.
    ///
    /// # Errors
    /// A picture that the processor or the model cannot take.
    pub fn features_of_picture(&self, picture: &Picture) -> Result<Array3<f32>, Error> {
        Ok(self.run_picture(picture)?.last_hidden_state)
    }

    /// `last_hidden_state` [1, S, D] of each of many picture files, in order, in batches.
    pub fn features_of_files<P: AsRef<Path> + Sync>(&self, paths: &[P]) -> Vec<Result<Array3<f32>, Error>> {
        self.run_files(paths, |outputs| outputs.last_hidden_state)
    }

    /// `pooler_output` [1, D] of each of many picture files, in order, in batches.
    pub fn pooled_of_files<P: AsRef<Path> + Sync>(&self, paths: &[P]) -> Vec<Result<Array2<f32>, Error>> {
        self.run_files(paths, |outputs| outputs.pooler_output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(options: ClassifyOptions, logits: &[f32]) -> Vec<String> {
        let config = CommonConfig::default();
        options.predictions(&config, logits).into_iter().map(|p| p.label).collect()
    }

    #[test]
    fn equal_scores_stay_in_the_order_of_their_classes_and_top_k_cuts() {
        let options = ClassifyOptions { top_k: 3, ..ClassifyOptions::default() };
        assert_eq!(labels(options, &[0.0, 2.0, 2.0, 1.0]), ["LABEL_1", "LABEL_2", "LABEL_3"]);
        assert!(labels(ClassifyOptions { top_k: 0, ..options }, &[0.0]).is_empty());
        assert_eq!(labels(ClassifyOptions { top_k: 9, ..options }, &[f32::NAN, 1.0]).len(), 2);
    }

    #[test]
    fn scores_that_are_not_numbers_come_last() {
        let function_to_apply = Some(FunctionToApply::None);
        let logits: Vec<f32> =
            (0..200_u16).map(|i| if i % 7 == 3 { f32::NAN } else { f32::from(i * 37 % 101) }).collect();
        let predictions =
            ClassifyOptions { top_k: 200, function_to_apply }.predictions(&CommonConfig::default(), &logits);
        let numbers = logits.iter().filter(|logit| !logit.is_nan()).count();
        assert!(predictions[..numbers].is_sorted_by(|a, b| a.score >= b.score));
        assert!(predictions[numbers..].iter().all(|prediction| prediction.score.is_nan()));
    }
}
