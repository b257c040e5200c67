//! Fresh weights for a config, by the rules of each family's `_init_weights`.
//!
//! ```text
//! biases, mask token      0          weights of norms   1          layer scale, gamma   the config's value
//! registers of DINOv2     0          everything else    N(0, initializer_range²)
//! ```
//! The normal distribution is cut to [-2, 2] except in ConvNeXt. A tensor's numbers come from its own ChaCha8 stream, made
//! of the seed and its canonical name: they depend neither on the other tensors nor on the number of threads.
//! Source: `_init_weights` of each `modeling_*.py` and of `modeling_utils.py`, Transformers 5.24.0.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::checkpoint::Checkpoint;
use crate::config::{ModelConfig, TorchDtype};
use crate::error::CheckpointError;
use crate::head::Head;
use crate::layout::{self, TensorSpec};
use crate::limits::MAX_FRESH_PARAMETERS;
use crate::names::Convention;
use crate::tensors::Tensors;

mod normal;

use normal::{Normal, Stream};

/// What error messages call the place of fresh weights.
pub(crate) const FRESH_PATH: &str = "fresh weights";

/// How to make a fresh checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InitOptions {
    /// Decides all random numbers: equal seeds give equal weights.
    pub seed: u64,
    /// The class to make.
    pub head: Head,
}

impl Checkpoint {
    /// A checkpoint of fresh f32 weights in memory, as Transformers fills a model that is made from a config alone. Its
    /// config names the class in `architectures` and `float32` as dtype. The numbers are drawn from the same distributions
    /// as Transformers', not from the same generator.
    ///
    /// # Errors
    /// A config that could not be read from a file; a classifier of DINOv3, which has none; sizes beyond
    /// `limits::MAX_FRESH_PARAMETERS`.
    pub fn initialize(mut config: ModelConfig, options: &InitOptions) -> Result<Self, CheckpointError> {
        config.check(Path::new(FRESH_PATH))?;
        let class = options.head.require_class(config.family())?;
        let common = config.common_mut();
        common.architectures = vec![class.to_owned()];
        common.dtype = Some(TorchDtype::Float32);
        let specs = layout::model_specs(&config, options.head);
        let mut tensors = Tensors::empty(Path::new(FRESH_PATH), Convention::hub(&config));
        for (spec, values) in fill(&config, specs, options.seed)? {
            tensors.put(spec, &values);
        }
        Self::in_memory(config, tensors)
    }
}

/// Fresh numbers for each of the tensors, made on all processors.
pub(crate) fn fill(
    config: &ModelConfig,
    specs: Vec<TensorSpec>,
    seed: u64,
) -> Result<Vec<(TensorSpec, Vec<f32>)>, CheckpointError> {
    let count = specs.iter().fold(0, |sum: u64, spec| sum.saturating_add(spec.elements()));
    if count > MAX_FRESH_PARAMETERS {
        return Err(CheckpointError::TooManyParameters { count, limit: MAX_FRESH_PARAMETERS });
    }
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let values = fill_on(threads, config, &specs, seed);
    Ok(specs.into_iter().zip(values).collect())
}

fn fill_on(threads: usize, config: &ModelConfig, specs: &[TensorSpec], seed: u64) -> Vec<Vec<f32>> {
    let (next, filled) = (AtomicUsize::new(0), Mutex::new(vec![Vec::new(); specs.len()]));
    let work = || {
        while let Some((index, spec)) = take(&next, specs) {
            let values = values(config, spec, seed);
            filled.lock().unwrap_or_else(PoisonError::into_inner)[index] = values;
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(specs.len()) {
            scope.spawn(work);
        }
        work();
    });
    filled.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The next tensor that no thread has taken.
fn take<'a>(next: &AtomicUsize, specs: &'a [TensorSpec]) -> Option<(usize, &'a TensorSpec)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    specs.get(index).map(|spec| (index, spec))
}

/// The numbers of one tensor.
fn values(config: &ModelConfig, spec: &TensorSpec, seed: u64) -> Vec<f32> {
    // At most `MAX_FRESH_PARAMETERS`, checked before.
    let count = spec.elements() as usize;
    match rule(config, spec) {
        Rule::Constant(value) => vec![value; count],
        Rule::Random(normal) => {
            let mut stream = Stream::new(seed, &spec.name);
            (0..count).map(|_| normal.sample(&mut stream)).collect()
        }
    }
}

/// How a tensor is filled.
enum Rule {
    Constant(f32),
    Random(Normal),
}

/// The rule for a tensor, by its canonical name.
fn rule(config: &ModelConfig, spec: &TensorSpec) -> Rule {
    let leaf = spec.name.rsplit('.').next().unwrap_or_default();
    match leaf {
        "bias" | "mask_token" => Rule::Constant(0.0),
        // One axis: the weight of a norm.
        "weight" if spec.shape.len() == 1 => Rule::Constant(1.0),
        "lambda1" | "gamma" => Rule::Constant(layer_scale(config)),
        "register_tokens" if matches!(config, ModelConfig::Dinov2WithRegisters(_)) => Rule::Constant(0.0),
        _ => Rule::Random(normal(config)),
    }
}

fn layer_scale(config: &ModelConfig) -> f32 {
    let value = match config {
        ModelConfig::Dinov2(config) => config.layerscale_value,
        ModelConfig::Dinov2WithRegisters(config) => config.base.layerscale_value,
        ModelConfig::DINOv3Vit(config) => config.layerscale_value,
        ModelConfig::DINOv3ConvNext(config) => config.layer_scale_init_value,
    };
    value as f32
}

fn normal(config: &ModelConfig) -> Normal {
    match config {
        ModelConfig::Dinov2(config) => Normal::truncated(config.initializer_range),
        ModelConfig::Dinov2WithRegisters(config) => Normal::truncated(config.base.initializer_range),
        ModelConfig::DINOv3Vit(config) => Normal::truncated(config.initializer_range),
        ModelConfig::DINOv3ConvNext(config) => Normal::whole(config.initializer_range),
    }
}

#[cfg(test)]
mod tests;
