//! The extension module `dinoxide._native`: what of the engine Python cannot do itself, as thin classes over the crate `dinoxide`.
//!
//! The names of Transformers, keyword arguments, outputs as objects and tensors of other libraries are in the Python package beside
//! it (`python/dinoxide`). Here arrays are numpy's, options are dictionaries, configs are JSON. Whatever computes or reads files
//! releases the interpreter meanwhile.

#![allow(clippy::needless_pass_by_value)] // arguments come from Python by value

mod asked;
mod command;
mod config;
mod error;
mod hearer;
mod interrupt;
mod load;
mod net;
mod network;
mod outputs;
mod processor;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::config::{open_config, read_config, save_config};
    #[pymodule_export]
    use crate::network::Network;
    #[pymodule_export]
    use crate::processor::{Processor, load_image, open_processor};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
