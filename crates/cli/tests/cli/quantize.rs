//! `quantize`: the folder, the report, and what is refused.

use crate::support::{Run, command, lines, listing, root, run};
use serde_json::Value;
use std::{fs, path::Path};

/// Runs `quantize` quietly, with these words.
fn quantize(words: &str, dir: &Path) -> Run {
    let mut command = command();
    command.args(["quantize", "-q"]).args(words.split_whitespace()).arg("-o").arg(dir);
    command.output().unwrap().into()
}

fn report(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("quantization_report.json")).unwrap()).unwrap()
}

#[test]
fn a_quantised_folder_opens_like_any_other_and_gives_the_same_numbers_as_the_dtype() {
    let dir = tempfile::tempdir().unwrap();
    let embed = |options: &str, model: &Path| {
        let got = run(&format!("embed pictures/rocket.jpg {options} -m"), &[model]);
        lines(&got.ok()).remove(0).embedding
    };
    let tiny = Path::new("builtin:tiny");
    for (to, size) in
        [("bf16", 0.6), ("f16", 0.6), ("int8", 0.4), ("int4", 0.3), ("int4-a8 --group-size 32", 0.35)]
    {
        let out = dir.path().join(to.replace(' ', "_"));
        quantize(&format!("builtin:tiny --to {to} --no-compare"), &out).ok();
        let files =
            ["config.json", "model.safetensors", "preprocessor_config.json", "quantization_report.json"];
        assert_eq!(listing(&out), files);
        assert_eq!(embed("", &out), embed(&format!("--dtype {to}"), tiny), "{to}");
        let report = report(&out);
        let bytes = |key: &str| report[key].as_f64().unwrap();
        assert!(bytes("bytes_after") < size * bytes("bytes_before"), "{to}: {report}");
        let info: Value = serde_json::from_str(&run("info --json", &[&out]).ok()).unwrap();
        assert_eq!(info["precision"], to.split(' ').next().unwrap());
        assert_eq!(info["file_bytes"], report["bytes_after"]);
    }
    assert_eq!(listing(dir.path()).len(), 5, "nothing unfinished is left");
}

#[test]
fn the_report_is_a_row_a_weight_and_the_comparison_on_the_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let got = run("quantize builtin:tiny pictures/rocket.jpg pictures/coffee.jpg --to int8 -o", &[&out]);
    assert_eq!(got.code, Some(0), "{}", got.stderr);
    assert!(got.stderr.contains(&format!("wrote {}: 2.0 MiB became ", out.display())), "{}", got.stderr);
    let report = report(&out);
    assert_eq!((&report["precision"], &report["model"]), (&"int8".into(), &"builtin:tiny".into()));
    assert_eq!(report["pictures"], serde_json::json!(["pictures/rocket.jpg", "pictures/coffee.jpg"]));
    let weights = report["weights"].as_array().unwrap();
    assert_eq!(weights.len(), 4 * 6);
    for weight in weights {
        assert!(weight["cosine"].as_f64().unwrap() > 0.9999, "{weight}");
        let (n, k) = (weight["shape"][0].as_u64().unwrap(), weight["shape"][1].as_u64().unwrap());
        assert_eq!(weight["bytes_before"], 4 * n * k);
        assert_eq!(weight["bytes_after"], n * k + 4 * n);
        assert!(got.stdout.contains(weight["name"].as_str().unwrap()));
    }
    let comparison = &report["comparison"];
    assert_eq!((&comparison["pictures"], comparison["layers"].as_array().unwrap().len()), (&2.into(), 4));
    for of in ["cls", "patches"] {
        assert!(comparison[of]["median"].as_f64().unwrap() > 0.999, "{comparison}");
        assert!(comparison[of]["least"].as_f64().unwrap() > 0.99, "{comparison}");
        assert!(comparison[of]["max_abs"].as_f64().unwrap() > 0.0);
    }
    let headings = ["weight ", "against f32 ", "layer 4 ", "CLS ", "patches "];
    for heading in headings {
        assert!(got.stdout.lines().any(|line| line.starts_with(heading)), "{heading}: {}", got.stdout);
    }
}

#[test]
fn without_pictures_those_that_are_built_in_serve_and_json_is_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let stdout = quantize("builtin:tiny --to int4 --group-size 64 --json", &out).ok();
    let told: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(told, report(&out));
    assert_eq!((&told["group_size"], told["pictures"].as_array().unwrap().len()), (&64.into(), 3));
    // 96 inputs: a group of 64, and one of 32.
    assert_eq!(told["weights"][0]["note"], "the last group has 32 inputs");
    assert!(told["comparison"]["patches"]["median"].as_f64().unwrap() > 0.9);
}

/// A ConvNeXt as a backbone is saved: without its final norm.
fn backbone_without_norm() -> tempfile::TempDir {
    let (source, dir) = (root().join("fixtures/dinov3-convnext"), tempfile::tempdir().unwrap());
    let config = fs::read_to_string(source.join("config.json")).unwrap();
    let config = config.replace("DINOv3ConvNextModel", "DINOv3ConvNextBackbone");
    fs::write(dir.path().join("config.json"), config).unwrap();
    fs::copy(source.join("preprocessor_config.json"), dir.path().join("preprocessor_config.json")).unwrap();
    let bytes = fs::read(source.join("model.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let kept = file.tensors().into_iter().filter(|(name, _)| !name.starts_with("layer_norm."));
    fs::write(dir.path().join("model.safetensors"), safetensors::serialize(kept, None).unwrap()).unwrap();
    dir
}

#[test]
fn what_cannot_be_compared_is_written_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let backbone = backbone_without_norm();
    let out = dir.path().join("backbone");
    let got = run("quantize --to int8 -o", &[&out, backbone.path()]);
    assert_eq!(got.code, Some(0), "{}", got.stderr);
    let why = "the models were not compared: the checkpoint has no final norm";
    assert!(got.stderr.contains(why), "{}", got.stderr);
    assert!(report(&out)["not_compared"].as_str().unwrap().starts_with("the checkpoint has no final norm"));
    // Pictures have three channels.
    let out = dir.path().join("four");
    let got = run("quantize --to int8 -o", &[&out, &root().join("fixtures/dinov2-4-channels")]);
    assert_eq!(got.code, Some(0), "{}", got.stderr);
    let why = "pixel_values has 3 channels, the model expects 4";
    assert_eq!(report(&out)["not_compared"], why);
    assert!(got.stderr.contains(why), "{}", got.stderr);
    // Pictures of which one is none.
    let text = dir.path().join("text.jpg");
    fs::write(&text, "This is no picture.").unwrap();
    let out = dir.path().join("one");
    let got = run("quantize builtin:tiny pictures/rocket.jpg --to int8 -o", &[&out, &text]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("text.jpg"), "{}", got.stderr);
    assert_eq!(report(&out)["comparison"]["pictures"], 1);
    let out = dir.path().join("none");
    let got = run("quantize builtin:tiny --to int8 -o", &[&out, &text]);
    assert_eq!((got.code, &report(&out)["not_compared"]), (Some(1), &"no picture could be read".into()));
}

#[test]
fn classifiers_keep_their_classifier_and_shards_their_size() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    quantize("fixtures/dinov2-classifier --to int8 --no-compare --max-shard-size 10KB", &out).ok();
    assert!(out.join("model.safetensors.index.json").is_file());
    let names = report(&out)["weights"]
        .as_array()
        .unwrap()
        .iter()
        .map(|weight| weight["name"].clone())
        .collect::<Vec<_>>();
    assert!(names.contains(&"classifier.weight".into()), "{names:?}");
    let labels = |model: &Path, dtype: &str| {
        run(&format!("classify pictures/rocket.jpg --dtype {dtype} -m"), &[model]).ok()
    };
    assert_eq!(labels(&out, "auto"), labels(Path::new("fixtures/dinov2-classifier"), "int8"));
}

#[test]
fn what_is_there_is_not_overwritten_and_failures_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let full = dir.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("x"), "x").unwrap();
    let got = run("quantize builtin:tiny --to int8 -o", &[&full]);
    let expected = "error: DIR/full: is there already, and is not an empty folder\n\
         hint: name another folder, or remove this one\n";
    assert_eq!((got.code, got.stderr_in(dir.path())), (Some(1), expected.to_owned()));
    let out = dir.path().join("out");
    let got = run("quantize fixtures/dinov3-vit-int8 --to int4 -o", &[&out]);
    assert_eq!(got.code, Some(1));
    assert!(
        got.stderr.ends_with("is quantised already\nhint: take the checkpoint that it was made of\n"),
        "{}",
        got.stderr
    );
    let got = run("quantize no/such/model --to int4 -o", &[&out]);
    assert_eq!(got.code, Some(1));
    assert_eq!(listing(dir.path()), ["full"]);
    assert_eq!(listing(&full), ["x"]);
    let got = run("quantize builtin:tiny --to int8 -o", &[&dir.path().join("no/such")]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("no/such: cannot be written"), "{}", got.stderr);
}

#[test]
fn a_wrong_command_line_is_one_line() {
    for (words, stderr) in [
        (
            "quantize builtin:tiny --to f32 -o x",
            "error: invalid value 'f32' for '--to <DTYPE>': expected `bf16`, `f16`, `int8`, `int4` or `int4-a8`\n",
        ),
        (
            "quantize builtin:tiny --to int4 --group-size -1 -o x",
            "error: invalid value '-1' for '--group-size <N>': expected a whole number from 1 to 1048576\n",
        ),
        (
            "quantize builtin:tiny --to int8 --max-shard-size big -o x",
            "error: --max-shard-size: `big` is not a size: expected a number with TB, GB, MB or KB, such as 5GB\n",
        ),
    ] {
        let got = run(words, &[]);
        assert_eq!((got.code, got.stderr.as_str()), (Some(1), stderr), "{words}");
    }
    let got = quantize(
        "builtin:tiny pictures/rocket.jpg --to int8 --no-compare --group-size 3",
        &tempfile::tempdir().unwrap().path().join("x"),
    );
    assert_eq!((got.code, got.stderr.as_str()), (Some(0), ""));
    let dir = tempfile::tempdir().unwrap();
    let got = run(
        "quantize builtin:tiny pictures/rocket.jpg --to int8 --no-compare --group-size 3 -o",
        &[&dir.path().join("x")],
    );
    assert!(got.stderr.contains("warning: --group-size: no effect with --to int8\n"), "{}", got.stderr);
    assert!(got.stderr.contains("warning: --no-compare: the pictures are not looked at\n"), "{}", got.stderr);
}

/// As after `kill -9`; that of a process which still runs is locked.
#[cfg(unix)]
#[test]
fn what_a_killed_process_left_is_removed_by_the_next_and_what_another_works_on_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let left = [dir.path().join(".dinoxide-a.unfinished"), out.join(".dinoxide-b.unfinished")];
    let running = dir.path().join(".dinoxide-c.unfinished");
    for folder in left.iter().chain([&running]) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("model.safetensors"), b"half").unwrap();
    }
    let lock = fs::File::open(&running).unwrap();
    lock.try_lock().unwrap();
    quantize("builtin:tiny --to int8 --no-compare", &out).ok();
    assert_eq!(listing(dir.path()), [".dinoxide-c.unfinished", "out"]);
    assert_eq!(listing(&out).len(), 4);
    assert_eq!(listing(&running), ["model.safetensors"]);
}
