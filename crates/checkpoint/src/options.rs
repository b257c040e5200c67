//! How to open a checkpoint: what Transformers' `from_pretrained` takes as keyword arguments.

use serde_json::{Map, Value};

use crate::config::TorchDtype;
use crate::head::Head;

/// How to open a checkpoint. The default opens it as the class that it was saved as.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpenOptions {
    /// Other values for keys of config.json: `num_labels`, `id2label`, `out_features`, `image_size`, ….
    pub overrides: Map<String, Value>,
    /// The class to open as; `None` takes the one in `architectures`, and asks nothing of its classifier.
    pub head: Option<Head>,
    /// Whether a classifier is wanted and is made anew where the files have none.
    pub fresh_classifier: bool,
    /// Whether tensors of other shapes than the config asks for are made anew, instead of being an error.
    pub ignore_mismatched_sizes: bool,
    /// Decides the numbers of what is made anew.
    pub seed: u64,
    /// The format that weights are rounded to when they are read, and saved in; arithmetic is f32 all the same. `None` is
    /// Transformers' `"auto"`: the config's, else that of the first floating-point tensor.
    pub dtype: Option<TorchDtype>,
}

impl OpenOptions {
    /// The class to open as, when it is not the one that was saved.
    pub(crate) fn wanted_head(&self) -> Option<Head> {
        self.head.or(self.fresh_classifier.then_some(Head::Classifier))
    }
}
