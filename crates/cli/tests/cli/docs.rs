//! Every command of `docs/cli.md`, of the pages on parity, precision and Python and of the readme runs as it stands there.
//!
//! The ```sh blocks of a page run in one shell, in a folder that has the repository's pictures and fixtures, with the built command
//! on the PATH. A page that shows what does not work fails here.

#![cfg(unix)]

use crate::support::{command, root};
use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

/// The contents of the ```sh blocks, in order.
fn shell_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some(script), line) => {
                script.push_str(line);
                script.push('\n');
            }
            (None, _) => {}
        }
    }
    assert!(block.is_none(), "a block has no end");
    blocks
}

/// Runs blocks in one shell, in a folder where `pictures` and `fixtures` are the repository's, with the binary on the PATH.
fn run_blocks(dir: &Path, blocks: &[String], variables: &[(&str, &Path)]) {
    for name in ["pictures", "fixtures"] {
        symlink(root().join(name), dir.join(name)).unwrap();
    }
    let built = Path::new(env!("CARGO_BIN_EXE_dinoxide")).parent().unwrap();
    let path = format!("{}:{}", built.display(), std::env::var("PATH").unwrap());
    let script = format!("set -eu\n{}", blocks.join("\n"));
    let mut shell = Command::new("sh");
    for (name, value) in command().get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.envs(variables.iter().copied()).env("PATH", path);
    let output = shell.args(["-c", &script]).current_dir(dir).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error:"), "{stderr}");
}

#[test]
fn every_command_of_the_documentation_runs() {
    let blocks = shell_blocks(&fs::read_to_string(root().join("docs/cli.md")).unwrap());
    assert!(blocks.len() >= 8, "a block a command at least");
    run_blocks(tempfile::tempdir().unwrap().path(), &blocks, &[]);
}

#[test]
fn every_command_of_the_page_on_python_runs() {
    let blocks = shell_blocks(&fs::read_to_string(root().join("docs/python.md")).unwrap());
    assert!(!blocks.is_empty());
    run_blocks(tempfile::tempdir().unwrap().path(), &blocks, &[]);
}

#[test]
fn every_command_of_the_page_on_precision_runs() {
    let blocks = shell_blocks(&fs::read_to_string(root().join("docs/quantization.md")).unwrap());
    assert!(!blocks.is_empty());
    run_blocks(tempfile::tempdir().unwrap().path(), &blocks, &[]);
}

/// The parity page verifies checkpoints of true size, made outside the repository: a fixture stands in for one.
#[test]
fn every_command_of_the_parity_page_runs() {
    let blocks = shell_blocks(&fs::read_to_string(root().join("docs/parity.md")).unwrap());
    assert!(!blocks.is_empty());
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("true-size")).unwrap();
    symlink(root().join("fixtures/dinov2"), dir.path().join("true-size/dinov2-small")).unwrap();
    run_blocks(dir.path(), &blocks, &[]);
}

/// The readme's commands name public models: a cache holds fixtures under their names. Its `cargo` commands are run by `.ci/run`.
#[test]
fn every_command_of_the_readme_runs() {
    let blocks = shell_blocks(&fs::read_to_string(root().join("README.md")).unwrap());
    let blocks: Vec<_> = blocks.into_iter().filter(|block| !block.starts_with("cargo")).collect();
    assert!(blocks.iter().any(|block| block.starts_with("dinoxide embed")), "{blocks:?}");
    let dir = tempfile::tempdir().unwrap();
    for (name, fixture) in [
        ("facebook--dinov2-small", "dinov2"),
        ("facebook--dinov2-small-imagenet1k-1-layer", "dinov2-classifier"),
        ("facebook--dinov2-base", "dinov2-518"),
        ("facebook--dinov3-vits16-pretrain-lvd1689m", "dinov3-vit"),
    ] {
        let snapshots = dir.path().join(format!("hf/hub/models--{name}/snapshots"));
        fs::create_dir_all(&snapshots).unwrap();
        symlink(
            root().join("fixtures").join(fixture),
            snapshots.join("0123456789abcdef0123456789abcdef01234567"),
        )
        .unwrap();
    }
    symlink(root().join("fixtures/dinov2-with-registers"), dir.path().join("my-checkpoint")).unwrap();
    run_blocks(dir.path(), &blocks, &[("HF_HOME", &dir.path().join("hf"))]);
}
