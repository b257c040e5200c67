//! Page DINOv2 with registers, `Dinov2WithRegistersConfig`: a model with random weights is made of a config, and has it.
//!
//! The default config is of the size of dinov2-with-registers-base, 86 million weights; a number of layers may be given.
//! `cargo run --release -p dinoxide --example dinov2_with_registers_config [LAYERS]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{Dinov2WithRegistersConfig, Dinov2WithRegistersModel, Error};

fn main() -> Result<(), Error> {
    let mut configuration = Dinov2WithRegistersConfig::default();
    if let Some(layers) = std::env::args().nth(1).and_then(|layers| layers.parse().ok()) {
        configuration.base.num_hidden_layers = layers;
    }

    let seed = 0; // decides the weights
    let model = Dinov2WithRegistersModel::from_config(configuration, seed)?;

    let configuration = model.config();
    println!("{} layers", configuration.base.num_hidden_layers);
    println!("{} registers", configuration.num_register_tokens);
    Ok(())
}
