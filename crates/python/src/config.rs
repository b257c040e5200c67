//! Configs as JSON: read by the engine's rules, which are Transformers'.

use crate::{
    error::exception,
    load::{OpenOptions, object},
};
use dinoxide::{Error, ModelConfig, PreTrainedConfig};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// What error messages call a config that is in no file.
const NO_FILE: &str = "config";

/// A config by its JSON, `model_type` included.
pub(crate) fn parse(text: &str) -> PyResult<ModelConfig> {
    ModelConfig::from_json(Path::new(NO_FILE), text.as_bytes()).map_err(|error| exception(Error::from(error)))
}

/// Holds a config (JSON) to the rules, with other values for some of its keys (a JSON object), and gives it as `config.json` would.
#[pyfunction]
#[pyo3(signature = (config, overrides=None))]
pub(crate) fn read_config(config: &str, overrides: Option<&str>) -> PyResult<String> {
    let mut config = parse(config)?;
    if let Some(overrides) = overrides {
        config = config
            .with_overrides(Path::new(NO_FILE), &object(overrides)?)
            .map_err(|error| exception(Error::from(error)))?;
    }
    Ok(config.to_json())
}

/// The config of a checkpoint, without its weights, as JSON; and warnings.
#[pyfunction]
pub(crate) fn open_config(
    py: Python<'_>,
    source: PathBuf,
    options: OpenOptions,
) -> PyResult<(String, Vec<String>)> {
    options.open(py, |options| Ok(ModelConfig::from_pretrained_with(&source, options)?.to_json()))
}

/// Writes a config (JSON) as `config.json` to a folder.
#[pyfunction]
pub(crate) fn save_config(py: Python<'_>, config: &str, dir: PathBuf) -> PyResult<()> {
    let config = parse(config)?;
    py.detach(|| PreTrainedConfig::save_pretrained(&config, &dir)).map_err(exception)
}
