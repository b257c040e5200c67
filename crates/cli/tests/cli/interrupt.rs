//! An interrupted command leaves no unfinished file behind.
//!
//! The command is given far more work than it can do before the signal comes, is interrupted when its first file is there, and
//! must end with 130 and an empty folder.

#![cfg(unix)]

use crate::support::{command, listing, root};
use std::{
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Longest wait for the command to begin, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupt_removes_unfinished_files() {
    let picture = root().join("pictures/retina.jpg");
    for (signal, name) in [("INT", "v.npy"), ("TERM", "v.safetensors"), ("INT", "v.parquet")] {
        let dir = tempfile::tempdir().unwrap();
        // Far more pictures than are done before the signal comes.
        let mut child = command()
            .args(["embed", "-q", "-m", "builtin:tiny", "--batch", "1", "-o"])
            .arg(dir.path().join(name))
            .args(std::iter::repeat_n(&picture, 20_000))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("a first file", || !listing(dir.path()).is_empty());
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let mut status = None;
        wait_until("an end", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(130), "{name}");
        assert!(listing(dir.path()).is_empty(), "{name}: {:?}", listing(dir.path()));
    }
}
