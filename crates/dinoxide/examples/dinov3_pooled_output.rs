//! Page DINOv3, second example: one vector of a picture, `pooler_output`, with processor and model by hand. Any family will do.
//!
//! `cargo run --release -p dinoxide --example dinov3_pooled_output [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{AutoImageProcessor, AutoModel, Error, Inputs, load_image, ndarray::s};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let id = args.next().unwrap_or_else(|| "facebook/dinov3-vits16-pretrain-lvd1689m".into());
    let image = load_image(args.next().unwrap_or_else(|| "pictures/chelsea.png".into()))?;

    let processor = AutoImageProcessor::from_pretrained(&id)?;
    let model = AutoModel::from_pretrained(&id)?;

    let pixel_values = processor.preprocess(&[image])?;
    let outputs = model.forward(&Inputs::new(pixel_values.view()))?;
    let pooled_output = outputs.pooler_output;
    println!("Pooled output shape: {:?}", pooled_output.shape());
    println!("First values: {:.6}", pooled_output.slice(s![0, ..4]));
    Ok(())
}
