//! `verify`: a row a tensor, and an exit code that scripts can trust.
//!
//! Goldens of the fixtures pass; one that is changed by a known amount fails in the row of the changed tensor and in no
//! other.

use crate::{
    goldens::golden,
    support::{Run, root, run, safetensors, write_safetensors},
};
use ::safetensors::SafeTensors;
use std::{fs, path::Path};

/// Verifies a golden with its own fixture.
fn verify(golden: &Path, options: &str) -> Run {
    let fixture = golden.parent().unwrap();
    run(&format!("verify {options} -m"), &[fixture, golden])
}

#[test]
fn goldens_of_every_kind_pass() {
    for (fixture, names) in [
        ("dinov2", &["batch", "attentions"][..]),
        ("dinov2-with-registers", &["batch"]),
        ("dinov3-vit", &["batch"]),
        ("dinov3-convnext", &["batch"]),
        (
            "dinov2-backbone",
            &["backbone-every-raw-sequence", "attention-mask-empty", "attention-mask-empty-sdpa"],
        ),
        ("dinov2-with-registers-backbone", &["backbone-attention-mask", "masked-attention-mask"]),
        (
            "dinov3-vit-backbone",
            &["backbone-class-tokens-sequence", "backbone-hidden-list", "masked-half", "hidden-negative"],
        ),
        ("dinov3-convnext-backbone", &["backbone-every", "backbone-names", "hidden-order", "hidden-one"]),
        (
            "dinov2-classifier",
            &["batch", "labels-masked", "labels-all-ignored", "labels-zero", "labels-soft"],
        ),
        ("dinov2-regression", &["labels-whole", "labels-multi"]),
    ] {
        for name in names {
            let got = verify(&golden(fixture, name), "--atol 1e-5");
            assert_eq!(got.code, Some(0), "{fixture} {name} {}{}", got.stdout, got.stderr);
            assert!(got.stdout.lines().skip(1).all(|row| row.ends_with("  pass")), "{}", got.stdout);
            assert!(got.stderr.ends_with("within 1e-5\n"), "{}", got.stderr);
        }
    }
}

/// Every golden of the repository whose inputs can be fed.
#[test]
fn every_golden_passes() {
    let mut verified = 0;
    for fixture in fs::read_dir(root().join("fixtures")).unwrap() {
        let fixture = fixture.unwrap().path();
        if !fixture.join("config.json").exists() {
            continue;
        }
        for file in fs::read_dir(&fixture).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.starts_with("golden-") || name.starts_with("golden-train-") {
                continue;
            }
            // Of a checkpoint in codes, the golden is of the float model that they stand for.
            let codes = ["-int8", "-int4"].iter().any(|end| fixture.to_str().unwrap().ends_with(end));
            let got = verify(&path, if codes { "-q --atol 1e-5 --dtype f32" } else { "-q --atol 1e-5" });
            assert_eq!(got.code, Some(0), "{} {}{}", path.display(), got.stdout, got.stderr);
            verified += 1;
        }
    }
    assert!(verified > 200, "{verified}");
}

#[test]
fn a_golden_of_train_mode_says_that_it_cannot_be_fed() {
    for (fixture, name) in [("dinov2-backbone", "train-all"), ("dinov3-vit-backbone", "train-rope")] {
        let got = verify(&golden(fixture, name), "");
        assert_eq!((got.code, got.stdout.as_str()), (Some(1), ""));
        assert!(got.stderr.contains(": is of train mode: its random draws, `draws."), "{}", got.stderr);
    }
}

#[test]
fn a_row_names_tensor_shape_difference_cosine_and_result() {
    let got = run("verify -q fixtures/dinov2/golden-small.safetensors -m fixtures/dinov2", &[]).ok();
    let head: Vec<&str> =
        got.lines().next().unwrap().split("  ").map(str::trim).filter(|s| !s.is_empty()).collect();
    assert_eq!(head, ["tensor", "shape", "max abs", "cosine", "result"]);
    let row = got.lines().find(|row| row.starts_with("pooler_output")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!((cells.len(), cells[1], cells[4]), (5, "[1, 32]", "pass"));
    assert!(cells[2].parse::<f32>().unwrap() <= 1e-4 && cells[3].parse::<f64>().unwrap() > 0.999_99, "{row}");
}

#[test]
fn one_wrong_tensor_fails_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("golden.safetensors");
    let (about, tensors) = safetensors(&root().join("fixtures/dinov2/golden-small.safetensors"));
    let spec = about["pixel_values"].strip_prefix("hash32:").unwrap();
    let (seed, shape) = spec.split_once(':').unwrap();
    let shape: Vec<usize> = shape.split(',').map(|n| n.parse().unwrap()).collect();
    let pixels = dinoxide::hash32(seed.parse().unwrap(), shape.iter().product());
    let (last, mut pooled) = (tensors["last_hidden_state"].clone(), tensors["pooler_output"].clone());
    pooled.values[3] += 0.01;
    let files = [
        ("pixel_values", &shape[..], &pixels[..]),
        ("last_hidden_state", &last.shape, &last.values),
        ("pooler_output", &pooled.shape, &pooled.values),
    ];
    write_safetensors(&file, &files);
    let got = run("verify -m fixtures/dinov2", &[&file]);
    assert_eq!(got.code, Some(1));
    let results: Vec<&str> =
        got.stdout.lines().skip(1).map(|row| row.split_whitespace().last().unwrap()).collect();
    assert_eq!(results, ["pass", "FAIL"]);
    assert_eq!(got.stderr, "1 of 2 tensors not within 1e-4\n");
    assert_eq!(run("verify -q -m fixtures/dinov2 --atol 0.1", &[&file]).code, Some(0));
}

#[test]
fn the_wrong_model_fails_by_shape() {
    let got = run("verify fixtures/dinov2/golden-batch.safetensors -m fixtures/dinov2-swiglu", &[]);
    assert_eq!(got.code, Some(1));
    assert!(got.stdout.contains(", got ["), "{}", got.stdout);
}

#[test]
fn what_is_no_golden_is_named() {
    let got = run("verify fixtures/README.md -m fixtures/dinov2", &[]);
    assert_eq!(got.code, Some(1));
    assert!(
        got.stderr.starts_with("error: `fixtures/README.md` is not a valid safetensors file: "),
        "{}",
        got.stderr
    );
}

/// One byte of a golden of each kind is another.
#[test]
fn a_changed_golden_of_every_kind_fails() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("golden.safetensors");
    for (fixture, name, tensor) in [
        ("dinov2-classifier", "labels-single", "loss"),
        ("dinov2-classifier", "labels-masked", "logits"),
        ("dinov3-vit-backbone", "backbone-class-tokens", "cls_tokens.2"),
        ("dinov2-backbone", "backbone-names", "feature_maps.1"),
        ("dinov2-backbone", "hidden-list", "hidden_states.0"),
    ] {
        let mut bytes = fs::read(golden(fixture, name)).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let place = tensors.tensor(tensor).unwrap().data().as_ptr() as usize - bytes.as_ptr() as usize;
        bytes[place + 2] ^= 0x40; // a quarter of the value or more
        fs::write(&file, bytes).unwrap();
        let got = run(&format!("verify -m fixtures/{fixture}"), &[&file]);
        assert_eq!(got.code, Some(1), "{name} {}", got.stdout);
        let failed: Vec<&str> = got
            .stdout
            .lines()
            .filter(|row| row.ends_with("FAIL"))
            .filter_map(|row| row.split(' ').next())
            .collect();
        assert_eq!(failed, [tensor], "{name}");
    }
}

/// In the golden nothing of a picture is attended to, where the two kinds of attention differ.
#[test]
fn eager_attention_runs_when_it_is_asked_for_whatever_the_golden_says() {
    let golden = golden("dinov2-backbone", "attention-mask-empty-sdpa");
    assert_eq!(verify(&golden, "").code, Some(0));
    let got = verify(&golden, "--attn eager");
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), "2 of 2 tensors not within 1e-4\n"));
}

#[test]
fn a_golden_of_another_model_is_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    let batch = golden("dinov2", "batch");
    let got = run("verify -m fixtures/dinov3-vit", &[&batch]);
    let told =
        "the golden looks made by another model: its `model_type` is `dinov2`, this one's is `dinov3_vit`";
    let warning = |golden: &Path, told: &str| format!("warning: {}: {told}\n", golden.display());
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.starts_with(&warning(&batch, told)), "{}", got.stderr);
    assert_eq!(got.stderr.matches("warning").count(), 1, "{}", got.stderr);
    // Without a name the shapes tell.
    let nameless = dir.path().join("g.safetensors");
    let pixels = vec![0.0; 3 * 28 * 28];
    write_safetensors(
        &nameless,
        &[("pixel_values", &[1, 3, 28, 28], &pixels), ("pooler_output", &[1, 7], &[0.0; 7])],
    );
    let got = run("verify -m builtin:tiny", &[&nameless]);
    let told = "the golden looks made by another model: no tensor has the shape that this one gives";
    assert!(got.stderr.starts_with(&warning(&nameless, told)), "{}", got.stderr);
}
