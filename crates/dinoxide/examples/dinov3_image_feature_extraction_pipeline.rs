//! Page DINOv3, first example: the pipeline `image-feature-extraction` gives the tokens of a picture.
//!
//! `cargo run --release -p dinoxide --example dinov3_image_feature_extraction_pipeline [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{Error, Pipeline, ndarray::s};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let model = args.next().unwrap_or_else(|| "facebook/dinov3-vits16-pretrain-lvd1689m".into());
    let picture = args.next().unwrap_or_else(|| "pictures/chelsea.png".into());

    let pipe = Pipeline::image_feature_extraction(model)?;
    let tokens = pipe.features(picture)?; // CLS, registers, patches: [1, 1 + 4 + 196, 384]
    println!("tokens: {:?}, first values {:.6}", tokens.shape(), tokens.slice(s![0, 0, ..4]));
    Ok(())
}
