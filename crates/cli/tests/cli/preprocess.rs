//! `preprocess`: what the model would see.
//!
//! Shapes, statistics and padding are checked here, and that what is written can be fed back; the values of pixels are held
//! against Transformers in the library's tests.

use crate::support::{Tensor, lines, root, run, safetensors, tiny};
use std::{fs, path::Path};

#[test]
fn pictures_of_one_size_are_one_tensor() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.safetensors");
    tiny("preprocess pictures -o", &[&file]).ok();
    let (metadata, tensors) = safetensors(&file);
    assert_eq!(tensors.len(), 1);
    assert_eq!(tensors["pixel_values"].shape, [6, 3, 224, 224]);
    let paths: Vec<String> = serde_json::from_str(&metadata["paths"]).unwrap();
    assert_eq!((paths.len(), paths[5].as_str()), (6, "pictures/rocket.jpg"));
    assert_eq!(metadata["model"], "builtin:tiny");
}

#[test]
fn pixels_are_normalised_by_the_checkpoints_own_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.safetensors");
    tiny("preprocess pictures/camera.png -o", &[&file]).ok();
    let (_, tensors) = safetensors(&file);
    let channels: Vec<&[f32]> = tensors["pixel_values"].values.chunks(224 * 224).collect();
    // A grey picture: the three channels are one picture under three normalisations, ImageNet's.
    let raw = |c: usize, i: usize| channels[c][i] * [0.229, 0.224, 0.225][c] + [0.485, 0.456, 0.406][c];
    for i in (0..224 * 224).step_by(97) {
        assert!((raw(0, i) - raw(1, i)).abs() < 1e-6 && (raw(0, i) - raw(2, i)).abs() < 1e-6, "{i}");
        assert!((-1e-6..=1.000_001).contains(&raw(0, i)), "{i}");
    }
}

#[test]
fn pictures_of_several_sizes_are_one_tensor_each_and_feed_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.safetensors");
    tiny("preprocess pictures --no-crop -o", &[&file]).ok();
    let (_, tensors) = safetensors(&file);
    assert_eq!(tensors.len(), 6);
    assert_eq!(tensors["pixel_values.5"].shape, [3, 224, 335]);
    let fed = lines(&tiny("embed --pixel-values", &[&file]).ok());
    let direct = lines(&tiny("embed pictures --no-crop", &[]).ok());
    let vectors =
        |rows: &[crate::support::Line]| rows.iter().map(|row| row.embedding.clone()).collect::<Vec<_>>();
    assert_eq!(vectors(&fed), vectors(&direct));
}

#[test]
fn a_size_beyond_the_limits_is_told_before_memory_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.safetensors");
    let got = tiny("preprocess pictures/rocket.jpg --size 16385 -o", &[&file]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("'--size <N|HxW>'"), "{}", got.stderr);
    let got = tiny("preprocess pictures/rocket.jpg -o", &[&file, Path::new("--pixel-values"), &file]);
    assert_eq!(got.code, Some(1), "tensors need no processing");
}

/// `do_pad` without `pad_size`, and nothing that makes all pictures one size.
#[test]
fn a_processor_that_pads_takes_all_pictures_as_one_batch() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["config.json", "model.safetensors"] {
        fs::copy(root().join("fixtures/dinov2").join(name), dir.path().join(name)).unwrap();
    }
    let config = fs::read_to_string(root().join("fixtures/dinov2/preprocessor_config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["do_center_crop"] = false.into();
    config["size"] = serde_json::json!({ "shortest_edge": 28 });
    let processed = |do_pad: bool, pictures: &str| {
        let mut config = config.clone();
        config["do_pad"] = do_pad.into();
        fs::write(dir.path().join("preprocessor_config.json"), config.to_string()).unwrap();
        let file = dir.path().join("p.safetensors");
        run(&format!("preprocess -q {pictures} -m"), &[dir.path(), Path::new("-o"), &file]).ok();
        safetensors(&file).1
    };
    // 512x512 and 640x427: 28x28 and 28x41 (height first).
    let pictures = "pictures/camera.png pictures/rocket.jpg";
    let (padded, plain) = (processed(true, pictures), processed(false, pictures));
    assert_eq!(padded["pixel_values"].shape, [2, 3, 28, 41]);
    let row = |tensor: &Tensor, index: usize| {
        let width = *tensor.shape.last().unwrap();
        tensor.values[index * width..][..width].to_vec()
    };
    for index in 0..3 * 28 {
        let expected = [row(&plain["pixel_values.0"], index), vec![0.0; 13]].concat();
        assert_eq!(row(&padded["pixel_values"], index), expected, "{index}");
        assert_eq!(row(&padded["pixel_values"], 3 * 28 + index), row(&plain["pixel_values.1"], index));
    }
}
