//! A model, backbone or classifier: open, make anew, run, save.

use crate::{
    asked::Asked,
    config,
    error::exception,
    interrupt::Signals,
    load::{OpenOptions, context},
    net::Net,
    outputs::IntoDict,
};
use dinoxide::{
    Checkpoint, Error, Head, InitOptions, LinearPrecision, SaveOptions, ShardSize, TensorSpec, layout,
};
use numpy::PyReadonlyArray4;
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{
    path::PathBuf,
    process,
    sync::{Mutex, MutexGuard},
};

/// A model, backbone or classifier with its weights and threads.
#[pyclass(frozen, module = "dinoxide._native")]
#[derive(Debug)]
pub(crate) struct Network {
    held: Mutex<Held>,
}

/// The threads belong to one process: after a fork the child needs its own.
#[derive(Debug)]
struct Held {
    net: Net,
    process: u32,
}

impl Network {
    fn new(net: Net) -> Self {
        Self { held: Mutex::new(Held { net, process: process::id() }) }
    }

    fn held(&self) -> PyResult<MutexGuard<'_, Held>> {
        self.held.lock().map_err(|_| PyRuntimeError::new_err("an earlier call failed midway"))
    }

    /// The net as it is, for what needs no threads. Nothing of Python runs while it is held: whoever came to wait for it would wait
    /// with the interpreter, and for ever.
    fn shown(&self) -> PyResult<Net> {
        Ok(self.held()?.net.clone())
    }

    /// The net, with threads of this process. The interpreter is held all the while, so that no fork comes between.
    fn net(&self) -> PyResult<Net> {
        let mut held = self.held()?;
        if held.process != process::id() {
            let own = held.net.with_own_threads(None).map_err(exception)?;
            held.net = own;
            held.process = process::id();
        }
        Ok(held.net.clone())
    }
}

#[pymethods]
impl Network {
    /// Opens a checkpoint as a class: `head` is `model`, `backbone` or `classifier`. Gives the network and warnings.
    #[staticmethod]
    fn from_pretrained(
        py: Python<'_>,
        source: PathBuf,
        head: &str,
        options: OpenOptions,
    ) -> PyResult<(Self, Vec<String>)> {
        let head = parse_head(head)?;
        options.open(py, |options| Ok(Self::new(Net::from_pretrained(source.as_os_str(), head, options)?)))
    }

    /// Fresh random weights for a config (JSON).
    #[staticmethod]
    #[pyo3(signature = (config, head, seed, num_threads=None))]
    fn from_config(
        py: Python<'_>,
        config: &str,
        head: &str,
        seed: u64,
        num_threads: Option<usize>,
    ) -> PyResult<Self> {
        let head = parse_head(head)?;
        let config = config::parse(config)?;
        let options = context(None, num_threads)?;
        let net = py.detach(|| {
            let checkpoint = Checkpoint::initialize(config, &InitOptions { seed, head })?;
            Net::from_checkpoint(&checkpoint, options)
        });
        Ok(Self::new(net.map_err(exception)?))
    }

    /// Runs on `pixel_values` [B, C, H, W]; gives a dictionary of arrays under Transformers' names.
    fn forward<'py>(
        &self,
        py: Python<'py>,
        pixel_values: PyReadonlyArray4<'py, f32>,
        asked: Asked<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let net = self.net()?;
        let (draws, signals) = (asked.draws(), Signals::new());
        let inputs = asked.inputs(&pixel_values, draws.as_ref(), &signals);
        let loss = asked.loss()?;
        let outcome = py.detach(|| net.run(&inputs, loss.as_ref()));
        match signals.take_raised() {
            Some(raised) => Err(raised),
            None => outcome.map_err(exception)?.into_dict(py),
        }
    }

    /// Writes config, weights and processor config to a folder: the checkpoint's weights, or codes of them where the model was opened
    /// so.
    #[pyo3(signature = (dir, max_shard_size=None))]
    fn save_pretrained(&self, py: Python<'_>, dir: PathBuf, max_shard_size: Option<&str>) -> PyResult<()> {
        let net = self.shown()?;
        let max_shard_size = max_shard_size.map(str::parse::<ShardSize>).transpose();
        let max_shard_size =
            max_shard_size.map_err(|error| exception(Error::from(error)))?.unwrap_or_default();
        py.detach(|| net.save(&dir, SaveOptions { max_shard_size })).map_err(exception)
    }

    /// The config as `config.json` has it.
    #[getter]
    fn config(&self) -> PyResult<String> {
        Ok(self.shown()?.model().config().to_json())
    }

    /// `missing_keys`, `unexpected_keys` and `mismatched_keys` of loading.
    #[getter]
    fn loading_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let net = self.shown()?;
        let info = net.model().checkpoint().loading_info();
        let dict = PyDict::new(py);
        dict.set_item("missing_keys", &info.missing_keys)?;
        dict.set_item("unexpected_keys", &info.unexpected_keys)?;
        let mismatched = info.mismatched_keys.iter();
        let shape = |shape: &[usize]| PyTuple::new(py, shape);
        let mismatched: Vec<_> = mismatched
            .map(|key| Ok((&key.name, shape(&key.file_shape)?, shape(&key.model_shape)?)))
            .collect::<PyResult<_>>()?;
        dict.set_item("mismatched_keys", mismatched)?;
        Ok(dict)
    }

    /// For each linear layer: its name, what its weight is held in, and why, where that is not what was asked.
    #[getter]
    fn linears(&self) -> PyResult<Vec<(String, String, Option<String>)>> {
        let net = self.shown()?;
        let mut all: Vec<&LinearPrecision> = net.model().linears().iter().collect();
        if let Net::Classifier(classifier) = &net {
            all.extend(classifier.linear());
        }
        Ok(all.into_iter().map(linear).collect())
    }

    /// Threads that a forward runs on, of which the calling one is one.
    #[getter]
    fn num_threads(&self) -> PyResult<usize> {
        Ok(self.shown()?.model().context().threads())
    }

    /// Runs on so many threads from the next forward on.
    fn set_num_threads(&self, num_threads: usize) -> PyResult<()> {
        let own = self.net()?.with_own_threads(Some(num_threads)).map_err(exception)?;
        self.held()?.net = own;
        Ok(())
    }

    /// The level of instructions in use.
    #[getter]
    fn isa(&self) -> PyResult<String> {
        Ok(self.shown()?.model().context().isa().name().to_owned())
    }

    /// How many numbers the weights are.
    #[getter]
    fn num_parameters(&self) -> PyResult<u64> {
        let net = self.shown()?;
        let checkpoint = net.model().checkpoint();
        let specs = layout::model_specs(checkpoint.config(), checkpoint.head());
        Ok(specs.iter().map(TensorSpec::elements).sum())
    }

    /// The channels of every stage.
    #[getter]
    fn num_features(&self) -> PyResult<Vec<usize>> {
        Ok(self.shown()?.model().config().num_features())
    }

    /// The same weights and threads, until one of the two is given other threads or stages.
    fn share(&self) -> PyResult<Self> {
        Ok(Self::new(self.net()?))
    }

    /// Chooses other stages of a backbone, by name, by place, or by both.
    #[pyo3(signature = (out_features, out_indices))]
    fn select_stages(
        &self,
        out_features: Option<Vec<String>>,
        out_indices: Option<Vec<i64>>,
    ) -> PyResult<()> {
        let Net::Backbone(backbone) = self.net()? else {
            return Err(PyValueError::new_err("only a backbone has stages to choose"));
        };
        let chosen = backbone.with_stages(out_features.as_deref(), out_indices.as_deref());
        self.held()?.net = Net::Backbone(chosen.map_err(exception)?);
        Ok(())
    }

    /// Bytes of the weights in memory.
    #[getter]
    fn weight_bytes(&self) -> PyResult<usize> {
        Ok(self.shown()?.model().weight_bytes())
    }
}

fn linear(linear: &LinearPrecision) -> (String, String, Option<String>) {
    let note = linear.note.as_ref().map(ToString::to_string);
    (linear.name.clone(), linear.precision.to_string(), note)
}

fn parse_head(head: &str) -> PyResult<Head> {
    match head {
        "model" => Ok(Head::Bare),
        "backbone" => Ok(Head::Backbone),
        "classifier" => Ok(Head::Classifier),
        _ => Err(PyValueError::new_err(format!("unknown head `{head}`"))),
    }
}
