//! What can be named: files of any name, folders, lists on stdin, models.
//!
//! A file of any name gives the same vector as under its plain name. Pipes are refused and not waited for. Models are named
//! by folder, by hub id in a hand-made cache, and by the environment.

use crate::support::{lines, root, run, tiny, with_stdin};
use std::{fs, path::Path};

#[test]
fn a_file_of_any_name_is_read_by_its_content() {
    let dir = tempfile::tempdir().unwrap();
    let photograph = root().join("pictures/rocket.jpg");
    let want = lines(&tiny("embed", &[&photograph]).ok()).remove(0).embedding;
    for name in
        ["no-extension", "really.png", "кот с пробелом 🐈.jpg", "-dash.jpg", "new\nline.jpg", "%s.jpg"]
    {
        let path = dir.path().join(name);
        fs::copy(&photograph, &path).unwrap();
        let rows = lines(&tiny("embed", &[&path]).ok());
        assert_eq!((rows[0].path.as_str(), &rows[0].embedding), (path.to_str().unwrap(), &want));
    }
}

#[cfg(unix)]
#[test]
fn bytes_that_are_no_text_are_a_name_like_any_other() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let dir = tempfile::tempdir().unwrap();
    let photograph = root().join("pictures/rocket.jpg");
    let want = lines(&tiny("embed", &[&photograph]).ok()).remove(0).embedding;
    let path = dir.path().join(OsStr::from_bytes(b"bad\xff.jpg"));
    fs::copy(&photograph, &path).unwrap();
    let shown = dir.path().join("bad\u{fffd}.jpg");
    let list = [path.as_os_str().as_bytes(), b"\0"].concat();
    let by_name = lines(&tiny("embed", &[&path]).ok());
    let by_folder = lines(&tiny("embed", &[dir.path()]).ok());
    let by_list = lines(&with_stdin("embed -0 -m builtin:tiny", &list).ok());
    for rows in [by_name, by_folder, by_list] {
        assert_eq!((rows[0].path.as_str(), &rows[0].embedding), (shown.to_str().unwrap(), &want));
    }
}

#[cfg(unix)]
#[test]
fn a_name_cannot_command_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a\u{1b}[31m\nerror: forged.jpg"), b"").unwrap();
    let got = run("embed -q -m builtin:tiny", &[dir.path()]);
    assert_eq!(
        got.stderr_in(dir.path()),
        "error: \"DIR/a\\u{1b}[31m\\nerror: forged.jpg\": the file is empty\n"
    );
}

#[test]
fn a_checkpoint_may_lie_in_a_folder_of_any_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("модель с пробелом 🦕");
    fs::create_dir(&folder).unwrap();
    for name in ["config.json", "preprocessor_config.json", "model.safetensors"] {
        fs::copy(root().join("fixtures/dinov2").join(name), folder.join(name)).unwrap();
    }
    let here = run("embed pictures/rocket.jpg -m", &[&folder]).ok();
    assert_eq!(here, run("embed pictures/rocket.jpg -m fixtures/dinov2", &[]).ok());
}

#[test]
fn a_list_on_stdin_takes_the_place_of_its_dash() {
    let list = b"pictures/rocket.jpg\n\npictures/camera.png\n";
    let got = with_stdin("embed -m builtin:tiny -q pictures/coffee.jpg - pictures/chelsea.png", list).ok();
    let paths: Vec<String> = lines(&got).into_iter().map(|row| row.path).collect();
    assert_eq!(
        paths,
        ["coffee.jpg", "rocket.jpg", "camera.png", "chelsea.png"].map(|name| format!("pictures/{name}"))
    );
}

#[test]
fn an_empty_list_is_an_error() {
    let got = with_stdin("embed -m builtin:tiny -", b"\n");
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.starts_with("error: no pictures: the list on stdin is empty\n"), "{}", got.stderr);
}

#[test]
fn a_folder_without_pictures_says_what_it_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("README.md"), "text").unwrap();
    let got = tiny("embed", &[dir.path()]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("hint: extensions taken: apng, bmp"), "{}", got.stderr);
}

#[test]
fn every_kind_of_picture_in_a_folder_is_taken() {
    let rows = lines(&run("embed -q -m builtin:tiny fixtures/pictures", &[]).stdout);
    for extension in ["jpg", "png", "webp", "gif", "bmp", "tif"] {
        assert!(rows.iter().any(|row| row.path.ends_with(extension)), "{extension}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_back_is_left_out_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(root().join("pictures/rocket.jpg"), dir.path().join("a.jpg")).unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
    let got = run("embed -m builtin:tiny", &[dir.path()]);
    assert_eq!(got.code, Some(0));
    assert_eq!(got.stderr_in(dir.path()), "warning: DIR/loop: left out, it links back to DIR\n");
    assert_eq!(lines(&got.stdout).len(), 1);
}

#[test]
fn a_model_may_be_named_by_the_environment() {
    let command = |model: &str| {
        let mut command = crate::support::command();
        command.args(["embed", "pictures/rocket.jpg"]).env("DINOXIDE_MODEL", model);
        command.output().unwrap()
    };
    let named = String::from_utf8(command("builtin:tiny").stdout).unwrap();
    assert_eq!(named, tiny("embed", &[Path::new("pictures/rocket.jpg")]).ok());
    let empty = command("");
    assert!(String::from_utf8(empty.stderr).unwrap().contains("facebook/dinov2-small"));
}

/// The hub's own layout: `refs/main` names a commit, whose snapshot links to blobs.
#[cfg(unix)]
#[test]
fn a_hub_id_is_found_in_the_cache_online_or_not() {
    use std::os::unix::fs::symlink;
    let cache = tempfile::tempdir().unwrap();
    let repo = cache.path().join("models--someone--tiny");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for folder in ["refs", "blobs", &format!("snapshots/{commit}")] {
        fs::create_dir_all(repo.join(folder)).unwrap();
    }
    fs::write(repo.join("refs/main"), commit).unwrap();
    for (blob, name) in ["config.json", "preprocessor_config.json", "model.safetensors"].iter().enumerate() {
        fs::copy(root().join("fixtures/dinov2").join(name), repo.join(format!("blobs/{blob}"))).unwrap();
        symlink(format!("../../blobs/{blob}"), repo.join("snapshots").join(commit).join(name)).unwrap();
    }
    let want = run("embed pictures/rocket.jpg -m fixtures/dinov2", &[]).ok();
    for options in ["", "--offline", "--revision main --offline", &format!("--revision {commit}")] {
        let words = format!("embed pictures/rocket.jpg -m someone/tiny {options} --cache-dir");
        assert_eq!(run(&words, &[cache.path()]).stdout, want, "{options}");
    }
    let got = run("embed pictures/rocket.jpg -m someone/other --offline --cache-dir", &[cache.path()]);
    assert_eq!(got.code, Some(1));
    assert!(got.stderr.contains("someone/other") && got.stderr.contains("--offline"), "{}", got.stderr);
}

/// A pipe that nobody writes to: to open it would be to wait for ever.
#[cfg(unix)]
fn pipe(dir: &Path, name: &str) -> std::path::PathBuf {
    let path = dir.join(name);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let tensors = pipe(dir.path(), "p.safetensors");
    for words in
        ["embed -m builtin:tiny --pixel-values", "features -m builtin:tiny -o x.safetensors --pixel-values"]
    {
        let got = run(words, &[&tensors]);
        let told = "error: `DIR/p.safetensors` is not a regular file\n";
        assert_eq!((got.code, got.stderr_in(dir.path()).as_str()), (Some(1), told));
    }
    let golden = run("verify -m fixtures/dinov2", &[&tensors]);
    assert_eq!(golden.code, Some(1));
    assert_eq!(golden.stderr_in(dir.path()), "error: `DIR/p.safetensors` is not a regular file\n");
    let picture = pipe(dir.path(), "p.jpg");
    let got = run("embed -q -m builtin:tiny pictures/rocket.jpg", &[&picture]);
    assert_eq!((got.code, lines(&got.stdout).len()), (Some(1), 1));
    assert!(got.stderr_in(dir.path()).starts_with("error: DIR/p.jpg: "), "{}", got.stderr);
    // A folder's pictures are its files.
    fs::remove_file(&tensors).unwrap();
    fs::copy(root().join("pictures/rocket.jpg"), dir.path().join("a.jpg")).unwrap();
    assert_eq!(lines(&tiny("embed", &[dir.path()]).ok()).len(), 1);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_checkpoints_folder_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["config.json", "preprocessor_config.json", "model.safetensors"] {
        fs::copy(root().join("fixtures/dinov2").join(name), dir.path().join(name)).unwrap();
    }
    pipe(dir.path(), "README.md");
    assert!(run("info", &[dir.path()]).ok().contains("apache-2.0"));
    fs::remove_file(dir.path().join("config.json")).unwrap();
    pipe(dir.path(), "config.json");
    assert_eq!(run("info", &[dir.path()]).code, Some(1));
}

#[test]
fn a_revision_of_what_has_none_is_a_warning() {
    for model in ["fixtures/dinov2", "builtin:tiny"] {
        let got = run(&format!("embed pictures/rocket.jpg --revision v2 -m {model}"), &[]);
        let told =
            format!("warning: --revision v2: has no effect, `{model}` is not looked up in the hub's cache\n");
        assert_eq!((got.code, got.stderr), (Some(0), told));
    }
}

#[test]
fn options_for_pictures_are_a_warning_where_tensors_are_fed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pixels.safetensors");
    tiny("preprocess pictures/rocket.jpg -o", &[&file]).ok();
    let got = run("embed -m builtin:tiny --size 112 --no-crop --background white --pixel-values", &[&file]);
    let told = "warning: --size, --no-crop, --background: no effect with --pixel-values, which are used as they are\n";
    assert_eq!((got.code, got.stderr.as_str()), (Some(0), told));
    assert_eq!(got.stdout, tiny("embed --pixel-values", &[&file]).ok());
}
