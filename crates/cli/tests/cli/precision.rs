//! `--dtype` and `--group-size` of the commands that run a model, and what is told of them.

use crate::support::{lines, run, safetensors};
use serde_json::Value;

const PICTURE: &str = "pictures/rocket.jpg";

fn embedding(model: &str, options: &str) -> Vec<f32> {
    let words = format!("embed {PICTURE} -m {model} {options}");
    lines(&run(&words, &[]).ok()).remove(0).embedding
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    dinoxide_testkit::compare::cosine(a, b)
}

#[test]
fn every_precision_can_be_asked_and_changes_the_numbers_a_little() {
    let exact = embedding("builtin:tiny", "--dtype f32");
    assert_eq!(embedding("builtin:tiny", ""), exact);
    for (dtype, least) in [
        ("bf16", 0.9995),
        ("f16", 0.99999),
        ("int8", 0.999),
        ("int4", 0.9),
        ("int4-a8", 0.9),
        ("int4 --group-size 16", 0.95),
    ] {
        let got = embedding("builtin:tiny", &format!("--dtype {dtype}"));
        let cosine = cosine(&got, &exact);
        assert!(got != exact && cosine >= least, "{dtype}: {cosine}");
    }
    let groups = |size| embedding("builtin:tiny", &format!("--dtype int4 --group-size {size}"));
    assert_ne!(groups(16), groups(32));
}

#[test]
fn the_file_s_own_precision_is_taken_when_none_is_asked() {
    let told = |model: &str| run(&format!("embed {PICTURE} -v -m fixtures/{model}"), &[]).stderr;
    let layer = "encoder.layer.1.mlp.fc2.weight: ";
    assert!(told("dinov2-bf16").contains(&format!("{layer}bf16, 8.0 KiB in f32, ")));
    assert!(told("dinov2-f16").contains(&format!("{layer}f16, ")));
    assert!(told("dinov2-with-registers-int4").contains(&format!("{layer}int4, ")));
    assert!(told("dinov3-vit-int8").contains("layer.1.mlp.down_proj.weight: int8, "));
    assert!(!told("dinov2").contains("weight: "));
}

/// Groups of 128 are not those of the folder, whose codes are taken all the same.
#[test]
fn a_folder_in_4_bits_keeps_its_groups_without_a_warning() {
    let model = "fixtures/dinov2-with-registers-int4";
    assert_eq!(embedding(model, "--dtype int4"), embedding(model, ""));
    let told = run(&format!("embed {PICTURE} -v -m {model} --dtype int4-a8"), &[]);
    assert_eq!(told.code, Some(0));
    assert!(told.stderr.contains("mlp.fc1.weight: int4-a8, "), "{}", told.stderr);
    assert!(!told.stderr.contains("warning"), "{}", told.stderr);
}

#[test]
fn a_group_that_does_not_divide_a_layer_is_told() {
    let told = run(&format!("embed {PICTURE} -v -m builtin:tiny --dtype int4 --group-size 64"), &[]);
    assert_eq!(told.code, Some(0));
    assert!(
        told.stderr.contains("mlp.fc1.weight: int4, ")
            && told.stderr.contains(", the last group has 32 inputs"),
        "{}",
        told.stderr
    );
}

#[test]
fn a_group_size_without_groups_is_a_warning() {
    let warning = "warning: --group-size: no effect but with --dtype int4 or int4-a8\n";
    for dtype in ["auto", "int8"] {
        let got = run(&format!("embed {PICTURE} -m builtin:tiny --dtype {dtype} --group-size 32"), &[]);
        assert_eq!((got.code, got.stderr.as_str()), (Some(0), warning));
    }
}

#[test]
fn classifiers_features_and_goldens_take_a_precision() {
    let dir = tempfile::tempdir().unwrap();
    let classify = |dtype: &str| {
        run(&format!("classify {PICTURE} -m fixtures/dinov2-classifier --dtype {dtype}"), &[]).ok()
    };
    assert_ne!(classify("int8"), classify("f32"));
    let tensor = |name: &str, options: &str| {
        let out = dir.path().join("out.safetensors");
        run(&format!("features {PICTURE} -q {options} -o"), &[&out]).ok();
        safetensors(&out).1.remove(name).unwrap().values
    };
    for (name, options) in [
        ("last_hidden_state", "-m builtin:tiny"),
        ("logits", "-m fixtures/dinov2-classifier --logits"),
        ("feature_maps.0", "-m fixtures/dinov3-convnext --out-indices=-1"),
    ] {
        let exact = tensor(name, &format!("{options} --dtype f32"));
        let int8 = tensor(name, &format!("{options} --dtype int8"));
        assert!(int8 != exact && cosine(&int8, &exact) > 0.99, "{name}");
    }
    let verify = |dtype: &str| {
        let words = "verify fixtures/dinov2-classifier-int8/golden-quantized.safetensors -q --atol 1e-5";
        run(&format!("{words} -m fixtures/dinov2-classifier-int8 --dtype {dtype}"), &[]).code
    };
    assert_eq!((verify("f32"), verify("int4")), (Some(0), Some(1)));
}

#[test]
fn bench_runs_each_precision_once() {
    let words = "bench -m builtin:tiny --size 28 --rounds 1 --dtype auto,f32,int8,int4,int4-a8,bf16,int8";
    let rows: Vec<Value> =
        run(words, &[]).ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let dtypes: Vec<_> = rows.iter().map(|row| row["dtype"].as_str().unwrap()).collect();
    assert_eq!(dtypes, ["f32", "int8", "int4", "int4-a8", "bf16"]);
    let row = run("bench -m fixtures/dinov3-vit-int8 --size 28 --rounds 1", &[]).ok();
    assert!(row.contains(r#""dtype":"int8""#), "{row}");
}

#[test]
fn info_tells_the_precision_and_its_memory() {
    let info = |fixture: &str| -> Value {
        serde_json::from_str(&run(&format!("info --json fixtures/{fixture}"), &[]).ok()).unwrap()
    };
    let memory = |fixture: &str| info(fixture)["picture"]["weight_bytes"].as_u64().unwrap();
    let (exact, half, int8, int4) = (
        memory("dinov2-with-registers"),
        memory("dinov2-with-registers-bf16"),
        memory("dinov3-vit-int8"),
        info("dinov2-with-registers-int4"),
    );
    // 2 layers of 4·32·32 + 2·32·64 weights.
    let linears = 2 * (4 * 32 * 32 + 2 * 32 * 64);
    assert_eq!(exact - half, 2 * linears);
    assert!(memory("dinov3-vit") - int8 > 2 * linears);
    assert_eq!((&int4["precision"], &int4["group_size"]), (&"int4".into(), &32.into()));
    assert_eq!(info("dinov2")["precision"], "f32");
    let table = run("info fixtures/dinov2-classifier-int4", &[]).ok();
    assert!(table.contains("dtype        f32, linear layers int4 in groups of 16, "), "{table}");
    assert!(table.contains(" of weights (int4), "), "{table}");
}

#[test]
fn a_wrong_precision_or_group_is_one_line() {
    for (words, stderr) in [
        (
            "embed x --dtype fp8",
            "error: invalid value 'fp8' for '--dtype <DTYPE>': expected `auto`, `f32`, `bf16`, `f16`, `int8`, `int4` or `int4-a8`\n",
        ),
        (
            "embed x --dtype int4 --group-size 0",
            "error: invalid value '0' for '--group-size <N>': expected a whole number from 1 to 1048576\n",
        ),
        (
            "bench --dtype f32,int3",
            "error: invalid value 'int3' for '--dtype <DTYPE,…>': expected `auto`, `f32`, `bf16`, `f16`, `int8`, `int4` or `int4-a8`\n",
        ),
    ] {
        let got = run(words, &[]);
        assert_eq!((got.code, got.stderr.as_str()), (Some(1), stderr), "{words}");
    }
}
