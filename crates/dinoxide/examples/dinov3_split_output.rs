//! Page DINOv3, the note: the tokens of `last_hidden_state` are CLS, one vector for the whole picture; the registers, which hold what
//! concerns no single patch; and one for each patch, which are put back into the grid that they came from.
//!
//! `cargo run --release -p dinoxide --example dinov3_split_output [MODEL [PICTURE]]`

#![allow(clippy::print_stdout)] // what an example is for

use dinoxide::{AutoImageProcessor, DINOv3ViTModel, Error, Inputs, load_image, ndarray::s};

fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let id = args.next().unwrap_or_else(|| "facebook/dinov3-vits16-pretrain-lvd1689m".into());
    let image = load_image(args.next().unwrap_or_else(|| "pictures/chelsea.png".into()))?;
    println!("Image size: {} {}", image.pixels.height, image.pixels.width);

    let processor = AutoImageProcessor::from_pretrained(&id)?;
    let model = DINOv3ViTModel::from_pretrained(&id)?;
    let (patch_size, registers) = (model.config().patch_size, model.config().num_register_tokens);
    println!("Patch size: {}", patch_size.height); // 16
    println!("Num register tokens: {registers}"); // 4

    let pixel_values = processor.preprocess(&[image])?;
    println!("Preprocessed image size: {:?}", pixel_values.shape()); // [1, 3, 224, 224]
    let (batch_size, _rgb, img_height, img_width) = pixel_values.dim();
    let (rows, columns) = (img_height / patch_size.height, img_width / patch_size.width);

    let outputs = model.forward(&Inputs::new(pixel_values.view()))?;
    let last_hidden_state = &outputs.last_hidden_state;
    println!("last_hidden_state: {:?}", last_hidden_state.shape()); // [1, 1 + 4 + 196, 384]
    let tokens = 1 + registers + rows * columns;
    assert_eq!(last_hidden_state.dim(), (batch_size, tokens, model.config().hidden_size));

    let cls_token = last_hidden_state.slice(s![.., 0, ..]); // [1, 384]
    let register_tokens = last_hidden_state.slice(s![.., 1..1 + registers, ..]); // [1, 4, 384]
    let patch_features = outputs.patch_features(); // channels first: [1, 384, 14, 14]
    println!("CLS: {:?}, first values {:.6}", cls_token.shape(), cls_token.slice(s![0, ..4]));
    println!("registers: {:?}", register_tokens.shape());
    println!("patch features: {:?}", patch_features.shape());
    Ok(())
}
