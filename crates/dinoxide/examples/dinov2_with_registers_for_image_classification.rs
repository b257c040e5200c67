//! Page DINOv2 with registers, `Dinov2WithRegistersForImageClassification`: the likeliest class of a picture, and its name.
//!
//! The page opens facebook/dinov2-with-registers-base, which has no classifier: Transformers makes one of random numbers, with a
//! warning. Here that is an error, unless `LoadOptions::fresh_classifier` asks for it; so this opens a checkpoint that has one.
//! `cargo run --release -p dinoxide --example dinov2_with_registers_for_image_classification [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{AutoImageProcessor, Dinov2WithRegistersForImageClassification, Error, Inputs, load_image};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let id = args.next().unwrap_or_else(|| "facebook/dinov2-with-registers-base-imagenet1k-1-layer".into());
    let image = load_image(args.next().unwrap_or_else(|| "pictures/chelsea.png".into()))?;

    let image_processor = AutoImageProcessor::from_pretrained(&id)?;
    let model = Dinov2WithRegistersForImageClassification::from_pretrained(&id)?;

    let pixel_values = image_processor.preprocess(&[image])?;
    let logits = model.forward(&Inputs::new(pixel_values.view()))?; // 1000 classes of ImageNet
    let predicted_label = logits.argmax()[0];
    println!("{}", model.label(predicted_label).unwrap_or("without a name"));
    Ok(())
}
