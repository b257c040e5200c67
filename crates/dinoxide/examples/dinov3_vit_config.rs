//! Page DINOv3, `DINOv3ViTConfig`: a model with random weights is made of a config, and has it.
//!
//! The default config is of the size of dinov3-vits16, 21 million weights; a number of layers may be given.
//! `cargo run --release -p dinoxide --example dinov3_vit_config [LAYERS]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{DINOv3ViTConfig, DINOv3ViTModel, Error};

fn main() -> Result<(), Error> {
    let mut config = DINOv3ViTConfig::default();
    if let Some(layers) = std::env::args().nth(1).and_then(|layers| layers.parse().ok()) {
        config.num_hidden_layers = layers;
    }

    let seed = 0; // decides the weights
    let model = DINOv3ViTModel::from_config(config, seed)?;

    let config = model.config();
    println!("{} layers of width {}", config.num_hidden_layers, config.hidden_size);
    Ok(())
}
