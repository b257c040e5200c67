//! Page DINOv2, `Dinov2Config`: a model with random weights is made of a config, and has it.
//!
//! The default config is that of dinov2-base, 86 million weights; a number of layers may be given.
//! `cargo run --release -p dinoxide --example dinov2_config [LAYERS]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{Dinov2Config, Dinov2Model, Error};

fn main() -> Result<(), Error> {
    let mut configuration = Dinov2Config::default();
    if let Some(layers) = std::env::args().nth(1).and_then(|layers| layers.parse().ok()) {
        configuration.num_hidden_layers = layers;
    }

    let seed = 0; // decides the weights
    let model = Dinov2Model::from_config(configuration, seed)?;

    let configuration = model.config();
    println!("{} layers of width {}", configuration.num_hidden_layers, configuration.hidden_size);
    Ok(())
}
