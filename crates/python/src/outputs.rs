//! What a forward gave, as a dictionary of numpy's arrays, which own the engine's memory: nothing is copied.

use dinoxide::{BackboneOutputs, HiddenStates, ImageClassifierOutputs, Outputs, ndarray::Array};
use numpy::{IntoPyArray, PyArrayDyn};
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

/// A result, and what Python sees of it.
pub(crate) trait IntoDict {
    /// As a dictionary under Transformers' names; what was not asked for is absent.
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>>;
}

impl IntoDict for Outputs {
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("last_hidden_state", array(py, self.last_hidden_state))?;
        dict.set_item("pooler_output", array(py, self.pooler_output))?;
        put_states(&dict, self.hidden_states)?;
        put_all(&dict, "attentions", self.attentions)?;
        Ok(dict)
    }
}

impl IntoDict for BackboneOutputs {
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        put_all(&dict, "feature_maps", Some(self.feature_maps))?;
        put_all(&dict, "cls_tokens", self.cls_tokens)?;
        put_states(&dict, self.hidden_states)?;
        put_all(&dict, "attentions", self.attentions)?;
        Ok(dict)
    }
}

impl IntoDict for ImageClassifierOutputs {
    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        if let Some(loss) = self.loss {
            dict.set_item("loss", loss)?;
        }
        dict.set_item("logits", array(py, self.logits))?;
        put_states(&dict, self.base.hidden_states)?;
        put_all(&dict, "attentions", self.base.attentions)?;
        Ok(dict)
    }
}

fn array<D: dinoxide::ndarray::Dimension>(
    py: Python<'_>,
    array: Array<f32, D>,
) -> Bound<'_, PyArrayDyn<f32>> {
    array.into_dyn().into_pyarray(py)
}

/// Those that were asked for, in the order of their places.
fn put_states(dict: &Bound<'_, PyDict>, states: Option<HiddenStates>) -> PyResult<()> {
    let states = states.map(|states| states.into_states().map(|(_, state)| state).collect());
    put_all(dict, "hidden_states", states)
}

fn put_all<D: dinoxide::ndarray::Dimension>(
    dict: &Bound<'_, PyDict>,
    key: &str,
    arrays: Option<Vec<Array<f32, D>>>,
) -> PyResult<()> {
    let Some(arrays) = arrays else { return Ok(()) };
    let py = dict.py();
    dict.set_item(key, PyTuple::new(py, arrays.into_iter().map(|one| array(py, one)))?)
}
