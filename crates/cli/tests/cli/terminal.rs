//! stdout is data only, stderr is for people, and a reader may leave at any time.
//!
//! Nothing here is a terminal, so no colour and no progress bar may come. Help, version and completions are data.
//! A full disk is an error, a closed pipe is none.

use crate::support::{command, mixed_folder, run};
use std::process::Stdio;

#[test]
fn a_closed_pipe_is_success() {
    for words in [
        &["embed", "-m", "builtin:tiny", "pictures"][..],
        &["info", "builtin:tiny"],
        &["completions", "zsh"],
        &["--help"],
    ] {
        let mut child = command().args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_success() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command().args(["embed", "-m", "builtin:tiny", "pictures"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "error: stdout: cannot be written: No space left on device (os error 28)\n");
}

#[test]
fn nothing_but_text_goes_to_what_is_no_terminal() {
    let dir = mixed_folder();
    for words in ["embed -m builtin:tiny", "embed -m builtin:tiny -v"] {
        let got = run(words, &[dir.path()]);
        assert!(!got.stderr.contains(['\u{1b}', '\r']), "{}", got.stderr);
        assert!(!got.stdout.contains('\u{1b}'), "{}", got.stdout);
    }
    assert!(!run("--help", &[]).ok().contains('\u{1b}'));
}

#[test]
fn verbose_tells_what_was_chosen() {
    let got = run("embed -m builtin:tiny -v --isa portable --threads 1 pictures/rocket.jpg", &[]);
    assert_eq!(got.code, Some(0));
    assert!(
        got.stderr.starts_with("dinov2_with_registers: ")
            && got.stderr.contains("portable, 1 thread\n1 picture in "),
        "{}",
        got.stderr
    );
}

#[test]
fn every_command_has_help_with_an_example() {
    for name in
        ["embed", "classify", "features", "preprocess", "info", "verify", "bench", "cpu", "completions"]
    {
        let help = run(&format!("{name} --help"), &[]).ok();
        assert!(help.contains("Example"), "{name}");
        assert!(help.contains(&format!("  dinoxide {name}")), "{name}");
    }
    assert_eq!(run("--version", &[]).ok(), format!("dinoxide {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&format!("completions {shell}"), &[]).ok();
        assert!(
            ["preprocess", "classify", "normalize", "out-indices"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
}
