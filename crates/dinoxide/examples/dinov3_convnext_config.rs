//! Page DINOv3, `DINOv3ConvNextConfig`: a model with random weights is made of a config, and has it.
//!
//! The default config is of the size of dinov3-convnext-tiny, 28 million weights; a number of blocks for each of its stages may be given.
//! `cargo run --release -p dinoxide --example dinov3_convnext_config [BLOCKS]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{DINOv3ConvNextConfig, DINOv3ConvNextModel, Error};

fn main() -> Result<(), Error> {
    let mut config = DINOv3ConvNextConfig::default();
    if let Some(blocks) = std::env::args().nth(1).and_then(|blocks| blocks.parse().ok()) {
        config.depths.fill(blocks);
    }

    let seed = 0; // decides the weights
    let model = DINOv3ConvNextModel::from_config(config, seed)?;

    let config = model.config();
    println!("{:?} blocks of width {:?}", config.depths, config.hidden_sizes);
    Ok(())
}
