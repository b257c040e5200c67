//! How picture files are read: transparency, files that are cut, and files that are huge.
//!
//! Transparency is dropped as Transformers does, or put on a colour. A cut file is an error, or with `--tolerant` a picture
//! and a warning. The limit of pixels is an option.

use crate::support::{Tensor, lines, root, run, safetensors};
use std::{fs, path::Path};

/// ImageNet's mean and standard deviation, which the built-in model's processor has.
const STATISTICS: [(f32, f32); 3] = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];

fn preprocessed(options: &str, picture: &Path) -> Tensor {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.safetensors");
    run(&format!("preprocess -q -m builtin:tiny {options} -o"), &[&file, picture]).ok();
    safetensors(&file).1.remove("pixel_values").unwrap()
}

/// Whether all pixels are this colour, 0 to 255.
fn is_all(picture: &Tensor, colour: [u8; 3]) -> bool {
    let planes = picture.values.chunks(224 * 224);
    let expected = colour.iter().zip(STATISTICS).map(|(&c, (mean, std))| (f32::from(c) / 255.0 - mean) / std);
    planes.zip(expected).all(|(plane, value)| plane.iter().all(|v| (v - value).abs() < 1e-5))
}

/// Red everywhere, and transparent everywhere.
fn invisible_red() -> std::path::PathBuf {
    root().join("crates/image/tests/data/png-hidden-red.png")
}

#[test]
fn transparency_shows_the_hidden_colour_or_the_background() {
    for (options, colour) in [
        ("", [255, 0, 0]),
        ("--background white", [255; 3]),
        ("--background black", [0; 3]),
        ("--background #0a80ff", [10, 128, 255]),
    ] {
        assert!(is_all(&preprocessed(options, &invisible_red()), colour), "{options}");
    }
}

#[test]
fn every_command_over_pictures_puts_them_on_the_background() {
    let dir = tempfile::tempdir().unwrap();
    let (pixels, features) = (dir.path().join("p.safetensors"), dir.path().join("f.safetensors"));
    let white = "-q -m builtin:tiny --background white";
    run(&format!("preprocess {white} -o"), &[&pixels, &invisible_red()]).ok();
    let want = lines(&run("embed -q -m builtin:tiny --pixel-values", &[&pixels]).ok()).remove(0).embedding;
    let embedded = lines(&run(&format!("embed {white}"), &[&invisible_red()]).ok()).remove(0).embedding;
    run(&format!("features {white} -o"), &[&features, &invisible_red()]).ok();
    assert_eq!((&embedded, &safetensors(&features).1["pooler_output"].values), (&want, &want));
}

#[test]
fn a_background_that_is_no_colour_is_refused() {
    let got = run("embed x --background red", &[]);
    assert_eq!(got.code, Some(1));
    let told =
        "error: invalid value 'red' for '--background <COLOR>': expected `white`, `black` or `#rrggbb`\n";
    assert_eq!(got.stderr, told);
}

#[test]
fn a_cut_file_is_used_as_far_as_it_goes_where_that_is_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let whole = fs::read(root().join("pictures/rocket.jpg")).unwrap();
    fs::write(dir.path().join("a.jpg"), &whole[..whole.len() / 2]).unwrap();
    fs::copy(root().join("pictures/coffee.jpg"), dir.path().join("b.jpg")).unwrap();
    fs::write(dir.path().join("c.jpg"), "text").unwrap();
    let strict = run("embed -m builtin:tiny", &[dir.path()]);
    assert_eq!((strict.code, lines(&strict.stdout).len()), (Some(1), 1));
    assert!(strict.stderr_in(dir.path()).starts_with("error: DIR/a.jpg: JPEG: the file is cut off: "));
    let got = run("embed -m builtin:tiny --tolerant", &[dir.path()]);
    let (warning, rest) = got.stderr.split_once('\n').unwrap();
    let told = warning.replace(&dir.path().display().to_string(), "DIR");
    assert!(told.starts_with("warning: DIR/a.jpg: JPEG: the file is cut off: "), "{told}");
    assert!(told.ends_with("; what is there of it was used"), "{told}");
    assert!(rest.starts_with("error: ") && rest.ends_with("1 of 3 pictures failed\n"), "{rest}");
    let rows = lines(&got.stdout);
    let names: Vec<&str> = rows.iter().map(|row| row.path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["a.jpg", "b.jpg"]);
    assert_eq!(rows[1..], lines(&strict.stdout));
}

/// The upper part of a picture is in the first half of its file.
#[test]
fn what_is_there_of_a_cut_file_is_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.jpg");
    let original = root().join("pictures/rocket.jpg");
    let whole = fs::read(&original).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let out = dir.path().join("p.safetensors");
    let got = run("preprocess -m builtin:tiny --tolerant -o", &[&out, &cut]);
    assert_eq!(got.code, Some(0));
    assert!(got.stderr.starts_with("warning: ") && got.stderr.lines().count() == 2, "{}", got.stderr);
    let (part, full) = (safetensors(&out).1.remove("pixel_values").unwrap(), preprocessed("", &original));
    let rows = 40 * 224;
    assert_eq!(part.values[..rows], full.values[..rows]);
    assert_ne!(part.values, full.values);
}

#[test]
fn features_and_embed_see_the_same_of_a_cut_file() {
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.png");
    fs::write(&cut, &fs::read(root().join("pictures/chelsea.png")).unwrap()[..90_000]).unwrap();
    let file = dir.path().join("f.safetensors");
    let features = run("features -q -m builtin:tiny --tolerant -o", &[&file, &cut]);
    assert_eq!((features.code, features.stderr.as_str()), (Some(0), ""), "-q leaves warnings out");
    let embedded = lines(&run("embed -q -m builtin:tiny --tolerant", &[&cut]).ok()).remove(0).embedding;
    assert_eq!(safetensors(&file).1["pooler_output"].values, embedded);
}

#[test]
fn the_limit_of_pixels_is_the_users() {
    let words = |n: u64| format!("embed -m builtin:tiny pictures/rocket.jpg --max-pixels {n}");
    // 640x427.
    assert_eq!(run(&words(273_280), &[]).code, Some(0));
    let got = run(&words(273_279), &[]);
    assert_eq!(got.code, Some(1));
    let hint = "hint: `--max-pixels 273280` lets it through, if you trust it and have the memory\n";
    assert!(
        got.stderr.starts_with("error: pictures/rocket.jpg: ") && got.stderr.contains(hint),
        "{}",
        got.stderr
    );
    for wrong in ["0", "-1", "many", "99999999999999999999"] {
        assert_eq!(run(&format!("embed x --max-pixels={wrong}"), &[]).code, Some(1), "{wrong}");
    }
}
