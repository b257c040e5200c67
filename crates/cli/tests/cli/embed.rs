//! `embed`: the right vectors, whatever is asked of them.
//!
//! Vectors of the photographs are compared with Transformers' own, from file to vector. Pooling, normalisation, batches, threads
//! and sizes are checked against each other.

use crate::support::{Line, lines, root, run, safetensors, tiny, write_safetensors};
use dinoxide_testkit::tolerance::JPEG_TO_EMBEDDING_COSINE;
use std::path::Path;

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn norm(vector: &[f32]) -> f64 {
    vector.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn photographs_become_the_vectors_that_transformers_gives() {
    let (_, golden) = safetensors(&root().join("fixtures/end_to_end/pooler_output.safetensors"));
    for fixture in
        ["dinov2-518", "dinov2-with-registers-518", "dinov3-vit-16", "dinov3-vit", "dinov3-convnext"]
    {
        let rows = lines(&run(&format!("embed pictures -m fixtures/{fixture}"), &[]).ok());
        assert_eq!(rows.len(), 6);
        for Line { path, embedding } in rows {
            let want = &golden[&path.replace("pictures", fixture)].values;
            let cosine = cosine(&embedding, want);
            assert!(cosine >= JPEG_TO_EMBEDDING_COSINE, "{fixture} {path}: {cosine}");
        }
    }
}

#[test]
fn a_vector_does_not_depend_on_its_company_nor_on_threads() {
    let together = lines(&tiny("embed pictures", &[]).ok());
    let paths: Vec<&str> = together.iter().map(|row| row.path.as_str()).collect();
    let names = ["astronaut.jpg", "camera.png", "chelsea.png", "coffee.jpg", "retina.jpg", "rocket.jpg"];
    assert_eq!(paths, names.map(|name| format!("pictures/{name}")));
    for row in &together {
        assert_eq!(lines(&tiny("embed", &[Path::new(&row.path)]).ok()), std::slice::from_ref(row));
    }
    for options in ["--threads 1", "--threads 2 --batch 4", "--batch 1"] {
        assert_eq!(lines(&tiny(&format!("embed pictures {options}"), &[]).ok()), together, "{options}");
    }
}

#[test]
fn cls_and_mean_are_the_halves_of_both() {
    let vector = |pool: &str| {
        lines(&tiny(&format!("embed pictures/rocket.jpg --pool {pool}"), &[]).ok()).remove(0).embedding
    };
    assert_eq!(vector("cls+mean"), [vector("cls"), vector("mean")].concat());
    assert_ne!(vector("cls"), vector("mean"));
}

#[test]
fn the_mean_is_over_the_patches_of_features() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    tiny("features pictures/rocket.jpg -o", &[&file]).ok();
    let (_, tensors) = safetensors(&file);
    let (tokens, width) = (&tensors["last_hidden_state"].values, tensors["last_hidden_state"].shape[2]);
    let patches: Vec<&[f32]> = tokens.chunks(width).skip(5).collect();
    assert_eq!(patches.len(), 256);
    let mean = lines(&tiny("embed pictures/rocket.jpg --pool mean", &[]).ok()).remove(0).embedding;
    for (i, got) in mean.iter().enumerate() {
        let want = patches.iter().map(|patch| f64::from(patch[i])).sum::<f64>() / 256.0;
        assert!((f64::from(*got) - want).abs() < 1e-6, "{i}: {got} {want}");
    }
}

#[test]
fn normalized_vectors_have_length_one_and_the_same_direction() {
    let plain = lines(&tiny("embed pictures", &[]).ok());
    for (plain, unit) in plain.iter().zip(lines(&tiny("embed pictures --normalize", &[]).ok())) {
        assert!((norm(&unit.embedding) - 1.0).abs() < 1e-6);
        assert!((norm(&plain.embedding) - 1.0).abs() > 0.1);
        assert!(cosine(&plain.embedding, &unit.embedding) > 0.999_999);
    }
}

#[test]
fn eager_attention_gives_nearly_the_same_vectors() {
    let sdpa = lines(&tiny("embed pictures/rocket.jpg", &[]).ok()).remove(0).embedding;
    let eager = lines(&tiny("embed pictures/rocket.jpg --attn eager", &[]).ok()).remove(0).embedding;
    let apart = sdpa.iter().zip(&eager).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart <= dinoxide_testkit::tolerance::TINY_MODEL_MAX_ABS, "{apart}");
    run("embed pictures/rocket.jpg -m fixtures/dinov3-convnext --attn eager", &[]).ok();
}

#[test]
fn tensors_can_stand_for_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pixels.safetensors");
    tiny("preprocess pictures -o", &[&file]).ok();
    let from_tensors = lines(&tiny("embed --pixel-values", &[&file]).ok());
    let from_pictures = lines(&tiny("embed pictures", &[]).ok());
    for (i, (tensor, picture)) in from_tensors.iter().zip(&from_pictures).enumerate() {
        assert_eq!(tensor.embedding, picture.embedding);
        assert_eq!(tensor.path, format!("{}#{i}", file.display()));
    }
    assert_eq!(from_tensors.len(), 6);
}

#[test]
fn tensors_of_another_number_of_channels_are_the_users_mistake() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pixels.safetensors");
    write_safetensors(&file, &[("pixel_values", &[1, 4, 14, 14], &[0.5; 784])]);
    let got = tiny("embed --pixel-values", &[&file]);
    assert_eq!(got.code, Some(1));
    let told = "error: DIR/pixels.safetensors#0: pixel_values has 4 channels, the model expects 3\n";
    assert_eq!(got.stderr_in(dir.path()), told);
}

#[test]
fn the_size_is_what_the_model_sees() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f.safetensors");
    for (options, grid) in [
        ("", "[16,16]"),
        ("--size 112", "[8,8]"),
        ("--size 70x140", "[5,10]"),
        // 640x427: the short side becomes 224, the long one 335.
        ("--no-crop", "[16,23]"),
        ("--size 112 --no-crop", "[8,11]"),
    ] {
        tiny(&format!("features pictures/rocket.jpg {options} -o"), &[&file]).ok();
        assert_eq!(safetensors(&file).0["grid"], grid, "{options}");
    }
}

#[test]
fn values_that_are_not_finite_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("nan.safetensors");
    crate::support::write_safetensors(&file, &[("pixel_values", &[1, 3, 14, 14], &[f32::NAN; 588])]);
    let got = crate::support::run("embed -m builtin:tiny --pixel-values", &[&file]);
    assert_eq!(got.code, Some(0));
    assert!(got.stderr.contains("#0: the model gave values that are not finite"), "{}", got.stderr);
}
