//! When the cache serves: offline, unreachable, refused; and caches that cannot be written to.

use std::fs;
use std::net::TcpListener;

use dinoxide_checkpoint::CheckpointError;
use dinoxide_checkpoint::hub::{self, HubEnv, HubError, HubOptions};

use crate::hub::{COMMIT, Cache, Hub, NOBODY, REPO, WEIGHTS, dinov2, hub_error};
use dinoxide_testkit::server::{Reply, Server};

fn filled() -> Cache {
    let cache = Cache::new();
    cache.fetch(&dinov2().serve()).unwrap();
    cache
}

#[test]
fn offline_no_socket_is_opened() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (full, empty) = (filled(), Cache::new());
    let by_caller = |cache: &Cache| HubOptions { offline: true, ..cache.options(&url) };
    let by_environment = |cache: &Cache| {
        let options = cache.options(&url);
        let env = HubEnv { hf_hub_offline: Some("1".into()), ..options.env.clone() };
        HubOptions { env, ..options }
    };
    for (full, empty) in
        [(by_caller(&full), by_caller(&empty)), (by_environment(&full), by_environment(&empty))]
    {
        let located = hub::fetch(REPO, &full).unwrap();
        assert_eq!((located.commit.as_deref(), located.warnings.len()), (Some(COMMIT), 0));
        let error = hub::fetch(REPO, &empty).unwrap_err();
        assert!(matches!(error, CheckpointError::NotInCache(_)), "{error}");
        assert!(error.hint().unwrap().starts_with("offline mode is on"));
    }
    assert!(listener.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock));
}

#[test]
fn a_local_folder_needs_no_hub() {
    let cache = filled();
    let located = hub::fetch(cache.snapshot(), &cache.options(NOBODY)).unwrap();
    assert_eq!((located.dir, located.repo), (cache.snapshot(), None));
}

#[test]
fn a_hub_that_is_away_is_stood_in_for_with_a_warning() {
    let cache = filled();
    let located = hub::fetch(REPO, &cache.options(NOBODY)).unwrap();
    assert_eq!((located.dir, located.warnings.len()), (cache.snapshot(), 1));
    let warning = &located.warnings[0];
    assert!(warning.starts_with("cannot reach 127.0.0.1:"), "{warning}");
    assert!(warning.ends_with(&format!("commit {COMMIT} from the cache is used instead")), "{warning}");
}

/// A part of a host's name has 63 characters at most, so that no network is asked for this one.
#[test]
fn a_name_that_is_unknown_is_told_as_such() {
    let url = format!("http://{}.example", "x".repeat(70));
    let error = hub_error(hub::fetch(REPO, &Cache::new().options(&url)).unwrap_err());
    assert!(
        error.to_string().ends_with("for `facebook/dinov2-small`: no such host, or no network"),
        "{error}"
    );
}

#[test]
fn a_hub_that_fails_or_refuses_is_stood_in_for_too() {
    let cache = filled();
    for (status, code, asked) in [(503, "", 2), (429, "", 2), (401, "GatedRepo", 1), (404, "RepoNotFound", 1)]
    {
        let server = Server::start(move |_| Reply::new(status).with("X-Error-Code", code).body(""));
        let located = cache.fetch(&server).unwrap();
        assert_eq!((located.dir, located.warnings.len()), (cache.snapshot(), 1), "{status}");
        assert_eq!(server.lines().len(), asked, "{status}");
    }
}

#[test]
fn a_new_commit_that_cannot_be_brought_leaves_the_old_one_in_use() {
    let cache = filled();
    let mut hub = Hub { commit: "0123456789abcdef0123456789abcdef01234567".into(), ..dinov2() };
    hub.files.get_mut(WEIGHTS).unwrap().push(0);
    let server = Server::start(move |request| match request.is_get_of(WEIGHTS) {
        true => Reply::new(503).body(""),
        false => hub.reply(request),
    });
    let located = cache.fetch(&server).unwrap();
    assert_eq!((located.dir, located.warnings.len()), (cache.snapshot(), 1));
    let offline = HubOptions { offline: true, ..cache.options(&server.url()) };
    assert_eq!(hub::fetch(REPO, &offline).unwrap().dir, cache.snapshot());
}

#[test]
fn half_a_download_does_not_stand_in() {
    let cache = filled();
    fs::remove_file(cache.snapshot().join(WEIGHTS)).unwrap();
    let error = hub_error(hub::fetch(REPO, &cache.options(NOBODY)).unwrap_err());
    assert!(matches!(error, HubError::Unreachable { .. }));
    let hint = error.hint().unwrap();
    assert!(hint.contains("HTTPS_PROXY") && hint.contains("hf download facebook/dinov2-small"), "{hint}");
}

#[test]
fn damage_is_told_though_the_cache_could_serve() {
    let cache = filled();
    let mut hub = Hub { commit: "0123456789abcdef0123456789abcdef01234567".into(), ..dinov2() };
    hub.files.get_mut(WEIGHTS).unwrap().push(0);
    let server = Server::start(move |request| match request.is_get_of(WEIGHTS) {
        true => Reply::new(200).body("something else"),
        false => hub.reply(request),
    });
    assert!(matches!(cache.fails(&server), HubError::WrongSize { .. }));
}

#[test]
fn an_endpoint_that_is_none_is_told() {
    let error = hub_error(hub::fetch(REPO, &Cache::new().options("nowhere")).unwrap_err());
    assert!(matches!(error, HubError::InvalidEndpoint { .. }), "{error}");
    assert_eq!(error.hint().unwrap(), "give one such as https://huggingface.co");
}

#[test]
fn a_cache_that_cannot_be_made_is_named() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    fs::write(cache.root(), "a file").unwrap();
    let error = cache.fails(&server);
    assert!(matches!(error, HubError::Write { .. }));
    assert!(error.to_string().contains("hub"), "{error}");
    assert!(error.hint().unwrap().contains("HF_HOME"));
}

/// Takes away, or gives back, the right to write into a folder and all below it.
#[cfg(unix)]
fn set_writable(dir: &std::path::Path, writable: bool) {
    use std::os::unix::fs::PermissionsExt;
    let mode = if writable { 0o755 } else { 0o555 };
    fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            set_writable(&entry.path(), writable);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_written_to_serves_what_it_has() {
    let cache = filled();
    fs::remove_file(cache.repo().join("refs/main")).unwrap();
    set_writable(&cache.root(), false);
    // Who may do anything (root) can write all the same: then only the first half is shown.
    let is_root = fs::write(cache.root().join("probe"), "").is_ok();
    let server = dinov2().serve();
    let served = cache.fetch(&server);
    let other = Hub { commit: "0123456789abcdef0123456789abcdef01234567".into(), ..dinov2() }.serve();
    let refused = cache.fetch(&other);
    set_writable(&cache.root(), true);
    assert_eq!(served.unwrap().dir, cache.snapshot());
    if !is_root {
        let error = hub_error(refused.unwrap_err());
        assert!(matches!(error, HubError::Write { .. }), "{error}");
    }
}
