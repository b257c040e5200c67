//! Page DINOv2, second example: the same by hand, with processor, model, logits and the name of the likeliest class.
//!
//! `cargo run --release -p dinoxide --example dinov2_image_classification [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{AutoImageProcessor, AutoModelForImageClassification, Error, Inputs, load_image};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let id = args.next().unwrap_or_else(|| "facebook/dinov2-small-imagenet1k-1-layer".into());
    let image = load_image(args.next().unwrap_or_else(|| "pictures/chelsea.png".into()))?;

    let processor = AutoImageProcessor::from_pretrained(&id)?;
    let model = AutoModelForImageClassification::from_pretrained(&id)?;

    let pixel_values = processor.preprocess(&[image])?;
    let outputs = model.forward(&Inputs::new(pixel_values.view()))?;
    let predicted_class = outputs.argmax()[0];
    println!("Predicted class: {}", model.label(predicted_class).unwrap_or("without a name"));
    Ok(())
}
