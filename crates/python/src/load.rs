//! The options of `from_pretrained`, as a dictionary, and what they stand for in the engine.

use crate::{error::exception, hearer::Hearer};
use dinoxide::{ContextOptions, Error, LoadOptions, Precision, hub};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{path::PathBuf, sync::Arc};

/// How to open a checkpoint. What is absent has the engine's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OpenOptions {
    #[pyo3(default)]
    revision: Option<String>,
    #[pyo3(default)]
    subfolder: Option<String>,
    #[pyo3(default)]
    cache_dir: Option<PathBuf>,
    #[pyo3(default)]
    local_files_only: bool,
    /// Absent: that of the environment; `false`: none.
    #[pyo3(default)]
    token: Option<TokenArg>,
    /// A JSON object: other values for keys of `config.json`.
    #[pyo3(default)]
    overrides: Option<String>,
    /// A name of a torch dtype.
    #[pyo3(default)]
    dtype: Option<String>,
    /// A name of a [`Precision`].
    #[pyo3(default)]
    precision: Option<String>,
    #[pyo3(default)]
    group_size: Option<usize>,
    #[pyo3(default)]
    ignore_mismatched_sizes: bool,
    #[pyo3(default)]
    fresh_classifier: bool,
    seed: u64,
    #[pyo3(default)]
    num_threads: Option<usize>,
    /// A level of instructions, such as `avx2`.
    #[pyo3(default)]
    isa: Option<String>,
}

/// `token=` of `from_pretrained`.
#[derive(FromPyObject)]
enum TokenArg {
    Implicit(bool),
    Given(String),
}

impl OpenOptions {
    /// Opens something with them, without the interpreter; gives it and the warnings on the way. Ctrl-C ends downloads.
    pub(crate) fn open<T: Send>(
        self,
        py: Python<'_>,
        open: impl FnOnce(&LoadOptions) -> Result<T, Error> + Send,
    ) -> PyResult<(T, Vec<String>)> {
        let hearer = Arc::new(Hearer::new());
        let options = self.load_options(&hearer)?;
        let opened = py.detach(|| open(&options));
        hearer.finish(opened.map_err(exception))
    }

    /// The engine's options; `hearer` is told of downloads.
    fn load_options(self, hearer: &Arc<Hearer>) -> PyResult<LoadOptions> {
        let overrides = self.overrides.map_or_else(|| Ok(Default::default()), |text| object(&text))?;
        let dtype = self.dtype.map(|name| torch_dtype(&name)).transpose()?;
        let precision = self.precision.map(|name| name.parse::<Precision>()).transpose();
        let mut precision = precision.map_err(|error| PyValueError::new_err(error.to_string()))?;
        if let Some(group_size) = self.group_size {
            precision = precision.map(|precision| precision.with_group_size(group_size));
        }
        let progress: Arc<dyn hub::Progress> = Arc::clone(hearer) as _;
        Ok(LoadOptions {
            revision: self.revision,
            subfolder: self.subfolder,
            cache_dir: self.cache_dir,
            offline: self.local_files_only,
            token: match self.token {
                None | Some(TokenArg::Implicit(true)) => hub::Token::Implicit,
                Some(TokenArg::Implicit(false)) => hub::Token::None,
                Some(TokenArg::Given(token)) => hub::Token::given(token),
            },
            progress: Some(progress),
            overrides,
            dtype,
            precision,
            ignore_mismatched_sizes: self.ignore_mismatched_sizes,
            fresh_classifier: self.fresh_classifier,
            seed: self.seed,
            context: context(self.isa.as_deref(), self.num_threads)?,
        })
    }
}

/// Instruction set and threads; 0 threads count as none named.
pub(crate) fn context(isa: Option<&str>, threads: Option<usize>) -> PyResult<ContextOptions> {
    let isa = isa.map(str::parse).transpose().map_err(|error: dinoxide::KernelError| exception(error))?;
    Ok(ContextOptions { isa, threads })
}

/// A JSON object.
pub(crate) fn object(text: &str) -> PyResult<serde_json::Map<String, serde_json::Value>> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn torch_dtype(name: &str) -> PyResult<dinoxide::config::TorchDtype> {
    name.parse().map_err(|error: dinoxide::CheckpointError| exception(error))
}
