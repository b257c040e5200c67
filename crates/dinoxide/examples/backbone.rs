//! What `apply_layernorm`, `reshape_hidden_states` and `out_features` of the pages' configs are for: a model as the backbone of a detector
//! or of a segmenter, which gives feature maps of chosen stages. Any family will do.
//!
//! `cargo run --release -p dinoxide --example backbone [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{AutoBackbone, AutoImageProcessor, Error, Inputs, LoadOptions, load_image};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let id = args.next().unwrap_or_else(|| "facebook/dinov3-convnext-tiny-pretrain-lvd1689m".into());
    let image = load_image(args.next().unwrap_or_else(|| "pictures/chelsea.png".into()))?;

    let processor = AutoImageProcessor::from_pretrained(&id)?;
    let options = LoadOptions::default().with("out_features", ["stage1", "stage2"].as_slice());
    let backbone = AutoBackbone::from_pretrained_with(&id, &options)?;

    let pixel_values = processor.preprocess(&[image])?;
    let outputs = backbone.forward(&Inputs::new(pixel_values.view()))?;
    for (stage, map) in backbone.stages().iter().zip(&outputs.feature_maps) {
        println!("{}: {:?}", stage.name, map.shape()); // stage1: [1, 96, 56, 56], …
    }
    Ok(())
}
