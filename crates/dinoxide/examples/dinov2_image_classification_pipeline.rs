//! Page DINOv2, first example: the pipeline `image-classification` names what is in a picture.
//!
//! `cargo run --release -p dinoxide --example dinov2_image_classification_pipeline [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{ClassifyOptions, Error, Pipeline};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let model = args.next().unwrap_or_else(|| "facebook/dinov2-small-imagenet1k-1-layer".into());
    let picture = args.next().unwrap_or_else(|| "pictures/chelsea.png".into());

    let pipe = Pipeline::image_classification(model)?;
    for prediction in pipe.classify(picture, &ClassifyOptions::default())? {
        println!("{}: {:.6}", prediction.label, prediction.score);
    }
    Ok(())
}
