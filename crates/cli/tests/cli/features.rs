//! `features`: every tensor, under Transformers' names, with Transformers' numbers.
//!
//! Goldens of the four families are fed through the command and compared tensor by tensor. What is written, how it is
//! stacked and what the metadata say is checked on photographs.

use crate::{
    goldens::assert_features,
    support::{Tensor, command, root, run, safetensors, tiny},
};
use std::collections::HashMap;

#[test]
fn every_tensor_is_what_transformers_gives() {
    for (fixture, golden, options) in [
        ("dinov2", "attentions", "--hidden-states --attentions"),
        ("dinov2-with-registers", "attentions", "--hidden-states --attentions"),
        ("dinov3-vit", "attentions", "--hidden-states --attentions"),
        ("dinov3-vit", "ragged", "--hidden-states"),
        ("dinov3-convnext", "70x45", "--hidden-states"),
        ("dinov2", "batch", ""),
    ] {
        assert_features(fixture, golden, options);
    }
}

fn names(tensors: &HashMap<String, Tensor>) -> Vec<&str> {
    let mut names: Vec<&str> = tensors.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn only_what_is_asked_for_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    let features = |options: &str| {
        run(&format!("features -q pictures/rocket.jpg -m fixtures/dinov2 --size 28 {options} -o"), &[&file])
            .ok();
        safetensors(&file).1
    };
    assert_eq!(names(&features("")), ["last_hidden_state", "pooler_output"]);
    assert_eq!(names(&features("--attn eager")), ["last_hidden_state", "pooler_output"]);
    let hidden = ["hidden_states.0", "hidden_states.1", "hidden_states.2"];
    assert_eq!(
        names(&features("--hidden-states")),
        [&hidden[..], &["last_hidden_state", "pooler_output"]].concat()
    );
    let attentions = features("--attentions");
    assert_eq!(names(&attentions), ["attentions.0", "attentions.1", "last_hidden_state", "pooler_output"]);
    assert_eq!(attentions["attentions.0"].shape, [1, 2, 50, 50]);
}

#[test]
fn hidden_states_may_be_chosen_and_those_that_there_are_not_are_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    let words = "features pictures/rocket.jpg -m fixtures/dinov2 --size 28";
    run(&format!("{words} -q --hidden-states=0,-1,2 -o"), &[&file]).ok();
    let got = safetensors(&file).1;
    assert_eq!(names(&got), ["hidden_states.0", "hidden_states.2", "last_hidden_state", "pooler_output"]);
    let got = run(&format!("{words} --hidden-states=3,-3 -o"), &[&file]);
    let told = "warning: --hidden-states: there is no hidden state 3, the model has 0 to 2 (-3 to -1)\n";
    assert_eq!((got.code, got.stderr), (Some(0), format!("{told}wrote 1 picture to {}\n", file.display())));
    assert!(safetensors(&file).1.contains_key("hidden_states.0"));
    let got = run(&format!("{words} --hidden-states=first -o"), &[&file]);
    let told = "error: invalid value 'first' for '--hidden-states[=<LIST>]': expected whole numbers, such as `0,-1`, or `all`\n";
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), told));
}

#[test]
fn eager_attention_is_the_same_whether_its_probabilities_are_kept_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let last = |options: &str| {
        let file = dir.path().join("f.safetensors");
        let words = format!("features -q pictures/rocket.jpg -m fixtures/dinov2 --size 28 {options} -o");
        run(&words, &[&file]).ok();
        safetensors(&file).1.remove("last_hidden_state").unwrap().values
    };
    assert_eq!(last("--attn eager"), last("--attentions"));
    assert_ne!(last("--attn eager"), last(""), "the sums of the two kinds are in other orders");
}

#[test]
fn pictures_of_one_size_are_stacked() {
    let dir = tempfile::tempdir().unwrap();
    let (together, alone) = (dir.path().join("f.safetensors"), dir.path().join("g.safetensors"));
    tiny("features pictures/rocket.jpg pictures/coffee.jpg -o", &[&together]).ok();
    tiny("features pictures/coffee.jpg -o", &[&alone]).ok();
    let (metadata, tensors) = safetensors(&together);
    assert_eq!(tensors["last_hidden_state"].shape, [2, 261, 96]);
    assert_eq!(
        tensors["last_hidden_state"].values[261 * 96..],
        safetensors(&alone).1["last_hidden_state"].values
    );
    assert_eq!(metadata["paths"], r#"["pictures/rocket.jpg", "pictures/coffee.jpg"]"#);
    assert_eq!((metadata["grid"].as_str(), metadata["model"].as_str()), ("[16,16]", "builtin:tiny"));
}

#[test]
fn pictures_of_several_sizes_are_one_tensor_each() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    // 512x512 and 640x427.
    tiny("features pictures/camera.png pictures/rocket.jpg --no-crop --hidden-states -o", &[&file]).ok();
    let (metadata, tensors) = safetensors(&file);
    assert_eq!(tensors["last_hidden_state.0"].shape, [261, 96]);
    assert_eq!(tensors["last_hidden_state.1"].shape, [5 + 16 * 23, 96]);
    assert_eq!(tensors["hidden_states.4.1"].shape, [5 + 16 * 23, 96]);
    assert_eq!(tensors["pooler_output"].shape, [2, 96]);
    assert_eq!(metadata["grid"], "[[16,16],[16,23]]");
}

#[test]
fn a_convnext_has_no_attentions_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    let got = run("features -q pictures -m fixtures/dinov3-convnext --attentions -o", &[&file]);
    let told = "error: --attentions: a dinov3_convnext model has no attentions\n";
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), told));
    assert!(!file.exists());
}

#[test]
fn the_output_must_be_named_as_what_it_is() {
    let got = tiny("features pictures/rocket.jpg -o f.npy", &[]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.ends_with("hint: use one of .safetensors\n"), "{}", got.stderr);
}

#[test]
fn values_after_a_space_are_not_taken_for_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    for (words, input, meant) in [
        ("--hidden-states 3,6", "3,6", "--hidden-states=3,6"),
        ("--hidden-states 3, 6", "3,", "--hidden-states=3,6"),
        ("--out-features stage6 stage3", "stage3", "--out-features=stage6,stage3"),
        ("--out-features stem, stage3", "stage3", "--out-features=stem,stage3"),
        ("--out-indices 3 6", "6", "--out-indices=3,6"),
    ] {
        let got = tiny(&format!("features pictures/rocket.jpg {words} -o"), &[&file]);
        let told =
            format!("error: {input}: there is no such picture or folder\nhint: did you mean `{meant}`?\n");
        assert_eq!((got.code, got.stderr), (Some(1), told), "{words}");
        assert!(!file.exists());
    }
    // Without the option it is a name like any other.
    let got = tiny("features 3,6 pictures/rocket.jpg -o", &[&file]);
    assert!(got.stderr.starts_with("error: 3,6: cannot read the file"), "{}", got.stderr);
    assert!(file.exists());
}

#[test]
fn a_picture_that_is_called_as_a_number_is_taken_beside_hidden_states() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(root().join("pictures/rocket.jpg"), dir.path().join("3")).unwrap();
    let words = "features -q -m builtin:tiny --size 28 --hidden-states -o f.safetensors 3";
    let output = command().current_dir(dir.path()).args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(safetensors(&dir.path().join("f.safetensors")).0["paths"], r#"["3"]"#);
}

#[test]
fn the_pixels_that_the_model_saw_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (file, fed) = (dir.path().join("f.safetensors"), dir.path().join("p.safetensors"));
    tiny("features pictures/camera.png pictures/rocket.jpg --size 30x45 -o", &[&file]).ok();
    let metadata = safetensors(&file).0;
    assert_eq!((metadata["grid"].as_str(), metadata["pixels"].as_str()), ("[2,3]", "[30,45]"));
    tiny(
        "features pictures/camera.png pictures/rocket.jpg --no-crop --size 32 --out-indices=-1 -o",
        &[&file],
    )
    .ok();
    assert_eq!(safetensors(&file).0["pixels"], "[[32,32],[32,47]]");
    tiny("preprocess pictures/camera.png pictures/rocket.jpg --no-crop --size 32 -o", &[&fed]).ok();
    tiny("features -o", &[&file, "--pixel-values".as_ref(), &fed]).ok();
    assert_eq!(safetensors(&file).0["pixels"], "[[32,32],[32,47]]");
}
