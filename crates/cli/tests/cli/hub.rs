//! Models from a hub: downloaded once, with what the user is told of it.

use crate::support::{Run, command, root, run};
use dinoxide_testkit::hub::Hub;
use dinoxide_testkit::server::{NOBODY, Reply, Server};
use std::path::Path;

/// The fixture `dinov2` as `someone/tiny`.
fn hub() -> Hub {
    Hub::new("someone/tiny", &root().join("fixtures/dinov2"))
}

/// Runs the command with a cache in `home`, and the hub at `url`.
fn with_hub(words: &str, home: &Path, url: &str) -> Run {
    let mut command = command();
    command.args(words.split_whitespace()).env("HF_HOME", home).env("HF_ENDPOINT", url);
    command.output().unwrap().into()
}

const EMBED: &str = "embed pictures/rocket.jpg -m someone/tiny";

#[test]
fn a_model_is_downloaded_once_and_nothing_is_said_of_it() {
    let (home, server) = (tempfile::tempdir().unwrap(), hub().serve());
    let want = run("embed pictures/rocket.jpg -m fixtures/dinov2", &[]).ok();
    assert_eq!(with_hub(EMBED, home.path(), &server.url()).ok(), want);
    assert_eq!(server.gets("model.safetensors").len(), 1);
    assert!(home.path().join("hub/models--someone--tiny/refs/main").is_file());
    assert_eq!(with_hub(EMBED, home.path(), &server.url()).ok(), want);
    assert_eq!(server.gets("model.safetensors").len(), 1);
}

#[test]
fn a_hub_that_is_away_is_one_warning_and_none_with_quiet() {
    let (home, server) = (tempfile::tempdir().unwrap(), hub().serve());
    let want = with_hub(EMBED, home.path(), &server.url()).ok();
    let got = with_hub(EMBED, home.path(), NOBODY);
    assert_eq!((got.code, &got.stdout), (Some(0), &want));
    assert!(
        got.stderr.starts_with("warning: cannot reach 127.0.0.1:0 for `someone/tiny`: "),
        "{}",
        got.stderr
    );
    assert_eq!(got.stderr.lines().count(), 1);
    for option in ["-q", "--offline"] {
        let got = with_hub(&format!("{EMBED} {option}"), home.path(), NOBODY);
        assert_eq!(got.ok(), want, "{option}");
    }
}

#[test]
fn a_subfolder_may_hold_the_model() {
    let mut hub = hub();
    hub.files = hub.files.into_iter().map(|(name, bytes)| (format!("vision/{name}"), bytes)).collect();
    let (home, server) = (tempfile::tempdir().unwrap(), hub.serve());
    let want = run("embed pictures/rocket.jpg -m fixtures/dinov2", &[]).ok();
    let words = format!("{EMBED} --subfolder vision");
    assert_eq!(with_hub(&words, home.path(), &server.url()).ok(), want);
    let local = run("embed pictures/rocket.jpg -m fixtures --subfolder dinov2", &[]);
    assert_eq!(local.ok(), want);
}

#[test]
fn a_gated_model_says_what_to_do_and_the_token_is_sent_but_not_shown() {
    let server = Server::start(|_| Reply::new(403).with("X-Error-Code", "GatedRepo").body(""));
    let home = tempfile::tempdir().unwrap();
    let mut command = command();
    command.args(EMBED.split_whitespace()).env("HF_HOME", home.path()).env("HF_ENDPOINT", server.url());
    let got: Run = command.env("HF_TOKEN", "hf_secret").output().unwrap().into();
    assert_eq!((got.code, got.stdout.as_str()), (Some(1), ""));
    let url = server.url();
    let told = format!(
        "error: `someone/tiny` is gated: the token's account has not been granted access\n\
         hint: accept the licence at {url}/someone/tiny with the token's account, and let the token read gated repos; \
         there is no folder `someone/tiny` here either; for a first try `-m builtin:tiny` (small, random weights) needs no download\n"
    );
    assert_eq!(got.stderr, told);
    assert_eq!(server.requests()[0].authorization.as_deref(), Some("Bearer hf_secret"));
}
