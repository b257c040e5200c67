//! One bad picture loses only itself; every error says what, where and what to do; exit codes tell whose fault it is.
//!
//! stderr is compared as a whole where it can be: an error is one line, a hint is one line, and nothing else is there but
//! the summary.

use crate::support::{command, lines, mixed_folder, root, run, tiny};
use std::fs;

const BAD: &str = "\
error: DIR/b-empty.jpg: the file is empty
error: DIR/d-text.jpg: not a picture in a known format (JPEG, PNG, WebP, GIF, BMP, TIFF); it looks like text
error: DIR/e-cut.png: PNG: the file is cut off: the data ends before the picture does
";

#[test]
fn a_folder_with_bad_files_loses_only_those() {
    let dir = mixed_folder();
    let got = run("embed -m builtin:tiny", &[dir.path()]);
    assert_eq!(got.code, Some(1));
    assert_eq!(got.stderr_in(dir.path()), format!("{BAD}3 of 6 pictures failed\n"));
    let rows = lines(&got.stdout);
    let good = ["a-good.png", "c-good.jpg", "f-good.jpg"].map(|name| dir.path().join(name));
    assert_eq!(rows.len(), 3);
    for (row, path) in rows.iter().zip(&good) {
        assert_eq!(lines(&tiny("embed", &[path]).ok()), std::slice::from_ref(row));
    }
}

#[test]
fn quiet_still_tells_errors() {
    let dir = mixed_folder();
    let got = run("embed -q -m builtin:tiny", &[dir.path()]);
    assert_eq!((got.code, got.stderr_in(dir.path())), (Some(1), BAD.to_owned()));
}

#[test]
fn fail_fast_stops_at_the_first() {
    let dir = mixed_folder();
    let got = run("embed --fail-fast -m builtin:tiny", &[dir.path()]);
    assert_eq!(got.code, Some(1));
    let first = BAD.lines().next().unwrap();
    let note = "stopped at the first picture that failed, the rest was left";
    assert_eq!(got.stderr_in(dir.path()), format!("{first}\n{note}\n"));
    assert_eq!(lines(&got.stdout).len(), 1);
}

#[test]
fn the_other_commands_lose_only_bad_files_too() {
    let dir = mixed_folder();
    let out = tempfile::tempdir().unwrap();
    for command in ["features", "preprocess"] {
        let file = out.path().join(command).with_extension("safetensors");
        let got = run(&format!("{command} -m builtin:tiny -o"), &[&file, dir.path()]);
        assert_eq!(got.code, Some(1));
        let note = format!("wrote 3 pictures to {}\n3 of 6 pictures failed\n", file.display());
        assert_eq!(got.stderr_in(dir.path()), format!("{BAD}{note}"));
        assert!(file.exists());
    }
}

#[test]
fn a_wrong_command_line_is_one_line_and_a_hint() {
    for (words, stderr) in [
        ("", "error: no command given\nhint: `dinoxide --help` lists the commands\n"),
        ("embd x", "error: unrecognized subcommand 'embd'\nhint: a similar subcommand exists: 'embed'\n"),
        (
            "features x",
            "error: the following required arguments were not provided: --output <FILE>\n\
             hint: usage: dinoxide features --output <FILE> <INPUT>...\n",
        ),
        (
            "embed x --size big",
            "error: invalid value 'big' for '--size <N|HxW>': expected a side or HEIGHTxWIDTH in pixels, each from 1 to \
             16384, such as 224 or 224x448\n",
        ),
        (
            "embed x --batch -1",
            "error: invalid value '-1' for '--batch <N>': expected a whole number, 0 or more\n",
        ),
        ("embed x --threads many", "error: --threads: `many` is no number from 0 (all cores) to 1024\n"),
        (
            "embed",
            "error: no pictures: none were named\nhint: name pictures or folders, or `-` for a list on stdin\n",
        ),
    ] {
        let got = run(words, &[]);
        assert_eq!((got.code, got.stdout.as_str()), (Some(1), ""), "{words}");
        assert_eq!(got.stderr, stderr, "{words}");
    }
}

#[test]
fn a_model_that_is_not_there_says_how_to_get_it_and_names_the_built_in_one() {
    let got = run("embed pictures", &[]);
    assert_eq!((got.code, got.stdout.as_str()), (Some(1), ""));
    let (error, hint) = got.stderr.split_once('\n').unwrap();
    assert!(error.starts_with("error: cannot reach 127.0.0.1:0 for `facebook/dinov2-small`: "), "{error}");
    assert!(hint.starts_with("hint: ") && hint.contains("hf download facebook/dinov2-small"), "{hint}");
    assert!(hint.contains("builtin:tiny"), "{hint}");
}

#[test]
fn a_folder_that_is_no_checkpoint_is_named() {
    let got = run("info pictures", &[]);
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), "error: no `config.json` in `pictures`\n"));
}

#[test]
fn a_missing_picture_is_named_and_the_rest_goes_on() {
    let got = run("embed -m builtin:tiny no/such.jpg pictures/rocket.jpg", &[]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.starts_with("error: no/such.jpg: "), "{}", got.stderr);
    assert!(got.stderr.ends_with("1 of 2 pictures failed\n"), "{}", got.stderr);
    assert_eq!(lines(&got.stdout).len(), 1);
}

#[test]
fn a_size_that_no_picture_could_have_is_one_error_before_the_work() {
    let told = "error: --size: a picture of 5x5 pixels is too small, the model needs at least 14x14\n";
    for options in ["", "--no-crop"] {
        let got = run(&format!("embed -m builtin:tiny pictures --size 5 {options}"), &[]);
        assert_eq!((got.code, got.stdout.as_str(), got.stderr.as_str()), (Some(1), "", told));
    }
    let got = run("embed -m fixtures/dinov3-convnext pictures --size 31x40", &[]);
    let told = "error: --size: a picture of 31x40 pixels is too small, the model needs at least 32x32\n";
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), told));
}

#[test]
fn a_picture_that_the_model_cannot_take_is_named() {
    // The long side becomes 5: of a picture of 600x400 the short one is then smaller than a patch.
    let size = r#"{"shortest_edge": 5, "longest_edge": 5}"#;
    let processor = format!(
        r#"{{"image_processor_type": "BitImageProcessor", "do_center_crop": false, "size": {size}}}"#
    );
    let dir = tempfile::tempdir().unwrap();
    for name in ["config.json", "model.safetensors"] {
        fs::copy(root().join("fixtures/dinov3-vit").join(name), dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("preprocessor_config.json"), processor).unwrap();
    let got = run("embed -q pictures/coffee.jpg pictures/camera.png -m", &[dir.path()]);
    assert_eq!(got.code, Some(1));
    let told = "a picture of 3x5 pixels is too small, the model needs at least 4x4";
    assert_eq!(got.stderr, format!("error: pictures/coffee.jpg: {told}\n"));
    assert_eq!(lines(&got.stdout).len(), 1);
}

#[test]
fn a_name_that_is_almost_a_models_says_which_was_meant() {
    for (name, meant) in [("builtin:tinny", "builtin:tiny"), ("dinov2-small", "facebook/dinov2-small")] {
        let got = run(&format!("info --offline {name}"), &[]);
        assert_eq!(got.code, Some(1));
        assert!(got.stderr.contains(&format!("`{name}`")), "{}", got.stderr);
        assert!(got.stderr.ends_with(&format!("\nhint: did you mean `{meant}`?\n")), "{}", got.stderr);
    }
}

#[test]
fn the_environment_is_blamed_where_it_is_at_fault() {
    let output = command().args(["cpu"]).env("DINOXIDE_ISA", "sse9").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: DINOXIDE_ISA: `sse9` cannot be used"), "{stderr}");
}

#[test]
fn a_file_that_is_no_tensor_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("x.safetensors");
    fs::write(&file, "no tensors here").unwrap();
    let got = tiny("features -o /no/such/folder/out.safetensors --pixel-values", &[&file]);
    assert_eq!(got.code, Some(1));
    let told =
        "error: DIR/x.safetensors: is no safetensors file\nhint: for pictures leave out `--pixel-values`\n";
    assert_eq!(got.stderr_in(dir.path()), told);
    let got = tiny("embed --pixel-values pictures/rocket.jpg", &[]);
    let told =
        "error: pictures/rocket.jpg: is no safetensors file\nhint: for pictures leave out `--pixel-values`\n";
    assert_eq!((got.code, got.stderr.as_str()), (Some(1), told));
    // A damaged file of the right kind keeps its reason.
    fs::write(&file, [&u64::MAX.to_le_bytes()[..], b"{}"].concat()).unwrap();
    let got = tiny("embed --pixel-values", &[&file]);
    assert!(got.stderr.contains("not a valid safetensors file: a header of "), "{}", got.stderr);
}

#[cfg(unix)]
#[test]
fn a_tensor_file_that_is_missing_is_told_as_a_picture_is() {
    for words in ["embed --pixel-values no/such.safetensors", "embed no/such.jpg"] {
        let got = tiny(words, &[]);
        assert_eq!(got.code, Some(1));
        assert!(got.stderr.contains("No such file or directory"), "{}", got.stderr);
    }
}

#[test]
fn a_size_of_too_many_pixels_is_one_error_before_the_work() {
    for options in ["", "--no-crop"] {
        let got = run(&format!("embed -m builtin:tiny pictures --size 14000 {options}"), &[]);
        let told =
            "error: --size: `14000x14000` is 196000000 pixels, the most are 67108864, such as 8192x8192\n";
        assert_eq!((got.code, got.stdout.as_str(), got.stderr.as_str()), (Some(1), "", told));
    }
}

/// Messages have no other form than the two kinds of line, whatever the pictures are.
#[test]
fn no_awkward_picture_makes_the_command_panic() {
    let got = run("embed -m builtin:tiny fixtures/pictures", &[]);
    assert_eq!(got.code, Some(1));
    let (summary, errors): (Vec<&str>, Vec<&str>) =
        got.stderr.lines().partition(|line| line.ends_with("pictures failed"));
    assert_eq!(summary.len(), 1);
    for line in errors {
        assert!(line.starts_with("error: fixtures/pictures/") || line.starts_with("hint: "), "{line}");
    }
}
