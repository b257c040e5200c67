//! The ignored test, run on stand-ins: it passes on what Transformers gives for them, and fails on anything else.

use super::root;
use dinoxide_testkit::{
    hub::{HUB_VARIABLES, Hub},
    server::{Reply, Request, Server},
};
use serde_json::Value;
use std::{
    env, fs,
    process::{Command, Output},
};
use tempfile::TempDir;

const TOKEN: &str = "hf_of_the_tests";

fn expected() -> Vec<Value> {
    serde_json::from_slice(&fs::read(root().join("fixtures/standins/expected.json")).unwrap()).unwrap()
}

/// A hub with all stand-ins, which wants a token for the gated ones and also serves the picture.
fn hub() -> Server {
    let hubs: Vec<(bool, Hub)> = expected()
        .iter()
        .map(|one| {
            let id = one["id"].as_str().unwrap();
            let folder = root().join("fixtures/standins/hub").join(id);
            (one["gated"].as_bool().unwrap(), Hub::new(id, &folder))
        })
        .collect();
    Server::start(move |request: &Request| {
        if request.path == "/picture.png" {
            return Reply::new(200).body(fs::read(root().join("pictures/chelsea.png")).unwrap());
        }
        let of_request = |hub: &Hub| request.path.starts_with(&format!("/{}/", hub.repo));
        let Some((gated, hub)) = hubs.iter().find(|(_, hub)| of_request(hub)) else { return Reply::new(404) };
        match request.authorization.as_deref() {
            Some(given) if given == format!("Bearer {TOKEN}") => hub.reply(request),
            _ if *gated => Reply::new(401).with("X-Error-Code", "GatedRepo").body(""),
            _ => hub.reply(request),
        }
    })
}

/// Runs the ignored test against a hub with these expected values.
fn run(hub: &Server, expected: &[Value], token: Option<&str>) -> Output {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("expected.json");
    fs::write(&file, serde_json::to_vec(expected).unwrap()).unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    // Nothing of the tester's environment decides.
    for name in HUB_VARIABLES.into_iter().chain(["DINOXIDE_REAL_ONLY", "DINOXIDE_REAL_GIGABYTES"]) {
        command.env_remove(name);
    }
    command
        .args(["--ignored", "--exact", "public_checkpoints_have_their_published_values", "--nocapture"])
        .env("HF_ENDPOINT", hub.url())
        .env("HF_HOME", dir.path())
        .env("DINOXIDE_REAL_EXPECTED", file);
    token.map(|token| command.env("HF_TOKEN", token));
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn the_test_of_public_checkpoints_passes_on_stand_ins_and_fails_on_other_values() {
    let hub = hub();
    let mut expected = expected();
    expected[0]["picture"] = format!("{}/picture.png", hub.url()).into();
    let all = run(&hub, &expected, Some(TOKEN));
    assert!(all.status.success() && text(&all).contains("5 of 5 compared"), "{}", text(&all));

    let without_token = run(&hub, &expected, None);
    let said = text(&without_token);
    assert!(without_token.status.success() && said.contains("2 of 5 compared"), "{said}");
    assert!(said.contains("needs HF_TOKEN"), "{said}");

    let value = &mut expected[1]["tokens"][1]["values"][2];
    *value = (value.as_f64().unwrap() + 0.01).into();
    let changed = run(&hub, &expected, Some(TOKEN));
    let id = expected[1]["id"].as_str().unwrap();
    assert!(
        !changed.status.success() && text(&changed).contains(&format!("{id} patch 0: got")),
        "{}",
        text(&changed)
    );
}
