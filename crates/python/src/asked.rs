//! What a forward is asked beside its pixels: masks, labels, outputs, train mode.

use crate::{error::exception, interrupt::Signals};
use dinoxide::{CheckpointError, Inputs, Labels, OutputHiddenStates, SeededDraws, config::ProblemType};
use numpy::{PyReadonlyArray2, PyReadonlyArray4, PyReadonlyArrayDyn};
use pyo3::prelude::*;

/// The loss that is asked for.
pub(crate) struct AskedLoss<'a> {
    pub(crate) labels: Labels<'a>,
    /// What Python's config says; where it says nothing, the labels decide.
    pub(crate) problem_type: Option<ProblemType>,
    pub(crate) num_items_in_batch: Option<usize>,
}

/// What a forward is asked beside its pixels, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked<'py> {
    #[pyo3(default)]
    bool_masked_pos: Option<PyReadonlyArray2<'py, bool>>,
    #[pyo3(default)]
    attention_mask: Option<PyReadonlyArray2<'py, bool>>,
    #[pyo3(default)]
    output_hidden_states: Option<StatesArg>,
    #[pyo3(default)]
    output_attentions: Option<bool>,
    eager: bool,
    #[pyo3(default)]
    labels: Option<LabelsArg<'py>>,
    #[pyo3(default)]
    problem_type: Option<String>,
    #[pyo3(default)]
    num_items_in_batch: Option<usize>,
    /// Train mode, with the draws of this seed.
    #[pyo3(default)]
    train_seed: Option<u64>,
}

#[derive(FromPyObject)]
enum StatesArg {
    All(bool),
    Places(Vec<i64>),
}

#[derive(FromPyObject)]
enum LabelsArg<'py> {
    Classes(PyReadonlyArrayDyn<'py, i64>),
    Values(PyReadonlyArrayDyn<'py, f32>),
}

impl<'py> Asked<'py> {
    /// The draws of train mode.
    pub(crate) fn draws(&self) -> Option<SeededDraws> {
        self.train_seed.map(SeededDraws)
    }

    /// The engine's inputs, with these pixels, draws and signals.
    pub(crate) fn inputs<'a>(
        &'a self,
        pixel_values: &'a PyReadonlyArray4<'py, f32>,
        draws: Option<&'a SeededDraws>,
        signals: &'a Signals,
    ) -> Inputs<'a> {
        let mut inputs = Inputs::new(pixel_values.as_array()).with_interrupt(signals);
        inputs.bool_masked_pos = self.bool_masked_pos.as_ref().map(|mask| mask.as_array());
        inputs.attention_mask = self.attention_mask.as_ref().map(|mask| mask.as_array());
        inputs.output_hidden_states = match &self.output_hidden_states {
            None => OutputHiddenStates::Config,
            Some(StatesArg::All(all)) => (*all).into(),
            Some(StatesArg::Places(places)) => places.clone().into(),
        };
        inputs.output_attentions = self.output_attentions;
        inputs.eager_attention = self.eager;
        inputs.train = draws.map(|draws| draws as _);
        inputs
    }

    /// The loss, where there are labels.
    pub(crate) fn loss(&self) -> PyResult<Option<AskedLoss<'_>>> {
        let Some(labels) = &self.labels else { return Ok(None) };
        let labels = match labels {
            LabelsArg::Classes(classes) => classes.as_array().into(),
            LabelsArg::Values(values) => values.as_array().into(),
        };
        let problem_type = self.problem_type.as_ref().map(|name| name.parse()).transpose();
        let problem_type = problem_type.map_err(|error: CheckpointError| exception(error))?;
        Ok(Some(AskedLoss { labels, problem_type, num_items_in_batch: self.num_items_in_batch }))
    }
}
