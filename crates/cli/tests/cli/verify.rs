//! `verify`: a row a tensor, and an exit code that scripts can trust.
//!
//! Goldens of the fixtures pass; one that is changed by a known amount fails in the row of the changed tensor and in no
//! other.

use crate::support::{root, run, safetensors, write_safetensors};

#[test]
fn goldens_of_every_family_pass() {
    for fixture in ["dinov2", "dinov2-with-registers", "dinov3-vit", "dinov3-convnext"] {
        let golden = format!("fixtures/{fixture}/golden-batch.safetensors");
        let got = run(&format!("verify {golden} -m fixtures/{fixture} --atol 1e-5"), &[]);
        assert_eq!(got.code, Some(0), "{}", got.stdout);
        assert!(got.stdout.lines().skip(1).all(|row| row.ends_with("  pass")), "{}", got.stdout);
        assert!(got.stderr.ends_with("within 1e-5\n"), "{}", got.stderr);
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

#[test]
fn attention_that_the_golden_chooses_is_told() {
    let got = run("verify fixtures/dinov2/golden-small.safetensors -m fixtures/dinov2 --attn eager", &[]);
    assert_eq!(got.code, Some(0));
    assert!(got.stderr.starts_with("warning: --attn eager: no effect"), "{}", got.stderr);
}
