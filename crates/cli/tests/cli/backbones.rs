//! `features` as a backbone: feature maps and class tokens of chosen stages, against goldens of the four families.
//!
//! Stages may be named in any order, and an error about them names the option. What a family does not have is told before the
//! work.

use crate::{
    goldens::assert_features,
    support::{command, root, run, safetensors, tiny},
};
use ::safetensors::SafeTensors;
use std::{fs, path::Path};

const VITS: [&str; 3] = ["dinov2-backbone", "dinov2-with-registers-backbone", "dinov3-vit-backbone"];

#[test]
fn maps_of_chosen_stages_are_what_transformers_gives() {
    for fixture in VITS {
        for (name, options, stages) in [
            ("backbone-default", "--out-indices=-1", r#"["stage3"]"#),
            ("backbone-stem", "--out-features stem", r#"["stem"]"#),
            ("backbone-names", "--out-features stage1,stage2", r#"["stage1","stage2"]"#),
            ("backbone-names", "--out-features stage2,stage1", r#"["stage1","stage2"]"#),
            ("backbone-last-two", "--out-indices=-2,-1", r#"["stage2","stage3"]"#),
            ("backbone-last-two", "--out-indices -1,2", r#"["stage2","stage3"]"#),
            ("backbone-batch", "--out-indices 1,3", r#"["stage1","stage3"]"#),
            ("backbone-portrait", "--out-indices=-1,0", r#"["stem","stage3"]"#),
            (
                "backbone-every-raw",
                "--out-indices 0,1,2,3 --no-layernorm",
                r#"["stem","stage1","stage2","stage3"]"#,
            ),
            (
                "backbone-every-raw-sequence",
                "--out-indices 0,1,2,3 --no-layernorm --no-reshape",
                r#"["stem","stage1","stage2","stage3"]"#,
            ),
            (
                "backbone-every-sequence",
                "--out-indices 0,1,2,3 --no-reshape",
                r#"["stem","stage1","stage2","stage3"]"#,
            ),
        ] {
            let (metadata, got) = assert_features(fixture, name, options);
            assert_eq!(metadata["stages"], stages, "{fixture} {options}");
            assert!(got.keys().all(|name| name.starts_with("feature_maps.")), "{:?}", got.keys());
        }
    }
}

#[test]
fn a_backbone_gives_hidden_states_attentions_and_takes_masks() {
    for fixture in VITS {
        assert_features(fixture, "backbone-hidden", "--out-indices 2 --hidden-states --attentions");
        let (_, got) =
            assert_features(fixture, "backbone-hidden-list", "--out-indices 1,3 --hidden-states=-1,0");
        assert!(!got.contains_key("hidden_states.1"));
    }
    for fixture in &VITS[..2] {
        let options = "--out-indices 1,3 --hidden-states=1 --attentions";
        assert_features(fixture, "backbone-attention-mask", options);
    }
}

#[test]
fn class_tokens_are_those_of_dinov3() {
    let fixture = "dinov3-vit-backbone";
    assert_features(fixture, "backbone-class-tokens", "--out-indices 0,1,2,3 --class-token");
    assert_features(
        fixture,
        "backbone-class-tokens-raw",
        "--out-indices 0,1,2,3 --class-token --no-layernorm",
    );
    let sequence = "--out-indices 1,3 --class-token --no-layernorm --no-reshape";
    let (_, got) = assert_features(fixture, "backbone-class-tokens-sequence", sequence);
    assert_eq!(got.len(), 4);
    let refused = run(
        "features pictures/rocket.jpg pictures/coffee.jpg -m fixtures/dinov2 --class-token -o x.safetensors",
        &[],
    );
    let told = "error: --class-token: a dinov2 backbone gives no class tokens\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(1), told));
}

#[test]
fn a_convnext_gives_the_maps_of_its_stages() {
    let fixture = "dinov3-convnext-backbone";
    assert_features(fixture, "backbone-every", "--out-indices 0,1,2,3,4");
    assert_features(fixture, "backbone-names", "--out-features stage2,stage4");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    let words = format!("features pictures/rocket.jpg -m fixtures/{fixture} --size 64 --no-layernorm -o");
    let got = run(&words, &[&file]);
    assert_eq!(got.code, Some(0), "{}", got.stderr);
    assert!(
        got.stderr.starts_with("warning: --no-layernorm: no effect, a dinov3_convnext"),
        "{}",
        got.stderr
    );
}

/// As a ConvNeXt backbone is saved.
#[test]
fn a_backbone_without_final_norm_says_how_it_can_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = root().join("fixtures/dinov3-convnext-backbone");
    for name in ["config.json", "preprocessor_config.json"] {
        fs::copy(fixture.join(name), dir.path().join(name)).unwrap();
    }
    let config = fs::read_to_string(fixture.join("config.json")).unwrap();
    let config = config.replace("\"DINOv3ConvNextModel\"", "\"DINOv3ConvNextBackbone\"");
    fs::write(dir.path().join("config.json"), config).unwrap();
    let bytes = fs::read(fixture.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let body: Vec<_> =
        file.tensors().into_iter().filter(|(name, _)| !name.starts_with("layer_norm.")).collect();
    assert_eq!(body.len() + 2, file.len());
    fs::write(dir.path().join("model.safetensors"), ::safetensors::serialize(body, None).unwrap()).unwrap();
    let out = dir.path().join("x.safetensors");
    for words in ["embed".to_owned(), format!("features -o {}", out.display())] {
        let got = run(&format!("{words} pictures -m"), &[dir.path()]);
        assert_eq!(got.code, Some(1));
        assert!(got.stderr.starts_with("error: the checkpoint has no final norm"), "{}", got.stderr);
        assert!(
            got.stderr.ends_with("\nhint: `features --out-indices=-1` gives its feature maps\n"),
            "{}",
            got.stderr
        );
        assert_eq!((got.stderr.lines().count(), out.exists()), (2, false));
    }
    run(
        "features -q pictures/rocket.jpg --size 64 --out-indices=-1 -o",
        &[&out, Path::new("-m"), dir.path()],
    )
    .ok();
    assert_eq!(safetensors(&out).1["feature_maps.0"].shape, [1, 16, 2, 2]);
}

#[test]
fn without_a_choice_the_stages_are_the_configs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    tiny("features pictures/rocket.jpg pictures/coffee.jpg --no-reshape -o", &[&file]).ok();
    let (metadata, tensors) = safetensors(&file);
    assert_eq!((metadata["stages"].as_str(), metadata["grid"].as_str()), (r#"["stage4"]"#, "[16,16]"));
    assert_eq!(tensors["feature_maps.0"].shape, [2, 261, 96]);
}

#[test]
fn wrong_stages_are_told_with_the_option() {
    for (options, told) in [
        (
            "--out-features stage9",
            "--out-features: no stage `stage9`: the model has stem, stage1, stage2, stage3, stage4",
        ),
        (
            "--out-indices=5",
            "--out-indices: stage index 5 is out of range: the model has 5 stages, 0 is the stem",
        ),
        ("--out-indices=-6", "--out-indices: stage index -6 is out of range"),
        ("--out-indices=4,-1", "--out-indices: stage `stage4` is named twice in `out_indices`"),
        ("--out-indices=x", "invalid value 'x' for '--out-indices <N,…>': expected whole numbers"),
        (
            "--logits --out-features stem",
            "the argument '--logits' cannot be used with '--out-features <NAME,…>'",
        ),
        ("--logits --class-token", "the argument '--logits' cannot be used with '--class-token'"),
        ("--out-features stem --out-indices 0", "the argument '--out-features <NAME,…>' cannot be used with"),
    ] {
        let got = tiny(&format!("features pictures/rocket.jpg {options} -o"), &[Path::new("x.safetensors")]);
        assert_eq!(got.code, Some(1), "{options}");
        assert!(got.stderr.starts_with(&format!("error: {told}")), "{options}: {}", got.stderr);
    }
}

#[test]
fn names_of_stages_are_trimmed_and_numbers_have_their_own_option() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    let args = [
        "features",
        "-q",
        "-m",
        "builtin:tiny",
        "pictures/rocket.jpg",
        "--out-features",
        "stage1, stage3",
        "-o",
    ];
    let output = command().args(args).arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(safetensors(&file).0["stages"], r#"["stage1","stage3"]"#);
    let got = run("features -m builtin:tiny pictures/rocket.jpg --out-features 3,6 -o f.safetensors", &[]);
    let told = "error: invalid value '3' for '--out-features <NAME,…>': expected names, such as `stage2,stage4`; numbers go \
                to `--out-indices`\n";
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), told));
}
