//! Every command of `docs/cli.md` runs as it stands there.

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

#[test]
fn every_command_of_the_documentation_runs() {
    let root = root();
    let blocks = shell_blocks(&fs::read_to_string(root.join("docs/cli.md")).unwrap());
    assert!(blocks.len() >= 8, "a block a command at least");
    let dir = tempfile::tempdir().unwrap();
    for name in ["pictures", "fixtures"] {
        symlink(root.join(name), dir.path().join(name)).unwrap();
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
    let output = shell.args(["-c", &script]).current_dir(dir.path()).env("PATH", path).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error:"), "{stderr}");
}
