//! Redirects: to a second host, of a renamed repo, from a mirror; and who gets to see the token.

use dinoxide_checkpoint::hub::{self, HubError, HubOptions, Token};

use crate::hub::{Cache, Hub, REPO, WEIGHTS, dinov2, fixture, hub_error};
use dinoxide_testkit::server::{Pace, Reply, Server};

/// A second host that has the weights, and a hub that redirects to it.
fn two_hosts() -> (Server, Server) {
    let content = dinov2();
    let second = Server::start(move |request| content.content(request, &fixture(WEIGHTS)));
    let hub = Hub { second_host: Some(second.url()), ..dinov2() };
    (hub.serve(), second)
}

fn with_token(cache: &Cache, server: &Server) -> HubOptions {
    HubOptions { token: Token::given("hf_secret"), ..cache.options(&server.url()) }
}

#[test]
fn a_large_file_comes_from_a_second_host_that_does_not_see_the_token() {
    let (server, second) = two_hosts();
    let cache = Cache::new();
    hub::fetch(REPO, &with_token(&cache, &server)).unwrap();
    assert!(server.requests().iter().all(|seen| seen.authorization.as_deref() == Some("Bearer hf_secret")));
    // Metadata is the hub's own: the second host is asked for content only.
    assert_eq!(second.lines(), ["GET /bucket/model.safetensors?signature=x"]);
    assert_eq!(second.requests()[0].authorization, None);
    assert_eq!(std::fs::read(cache.blob(&dinov2().etag(WEIGHTS))).unwrap(), fixture(WEIGHTS));
}

#[test]
fn a_cut_at_the_second_host_asks_the_hub_for_a_fresh_address() {
    let content = dinov2();
    let second = Server::start(move |request| {
        let reply = content.content(request, &fixture(WEIGHTS));
        if request.range.is_none() { reply.pace(Pace::CutAfter(1000)) } else { reply }
    });
    let server = Hub { second_host: Some(second.url()), ..dinov2() }.serve();
    Cache::new().fetch(&server).unwrap();
    assert_eq!(server.gets(WEIGHTS).len(), 2);
    let ranges: Vec<_> = second.requests().into_iter().map(|seen| seen.range).collect();
    assert_eq!(ranges, [None, Some("bytes=1000-".into())]);
}

#[test]
fn what_the_second_host_refuses_is_told_as_its_own() {
    let second = Server::start(|_| Reply::new(403).body("expired"));
    let server = Hub { second_host: Some(second.url()), ..dinov2() }.serve();
    let error = Cache::new().fails(&server);
    let host = second.url().replace("http://", "");
    assert!(matches!(&error, HubError::Status { status: 403, host: told, .. } if *told == host), "{error}");
}

#[test]
fn a_renamed_repo_is_followed_with_the_token() {
    let hub = dinov2();
    let server = Server::start(move |request| match request.path.strip_prefix("/old/name") {
        Some(rest) => Reply::new(307).with("Location", format!("/{REPO}{rest}")).body(""),
        None => hub.reply(request),
    });
    let cache = Cache::new();
    let located = hub::fetch("old/name", &with_token(&cache, &server)).unwrap();
    assert!(located.dir.starts_with(cache.root().join("models--old--name")));
    assert_eq!(located.repo.as_deref(), Some("old/name"));
    assert!(server.requests().iter().all(|seen| seen.authorization.is_some()));
}

#[test]
fn a_mirror_that_only_sends_on_is_followed_without_the_token() {
    let hub = dinov2().serve();
    let url = hub.url();
    let mirror = Server::start(move |request| {
        Reply::new(308).with("Location", format!("{url}{}", request.path)).body("")
    });
    let cache = Cache::new();
    hub::fetch(REPO, &with_token(&cache, &mirror)).unwrap();
    assert!(mirror.requests().iter().all(|seen| seen.authorization.is_some()));
    assert!(hub.requests().iter().all(|seen| seen.authorization.is_none()));
}

#[test]
fn redirects_without_end_are_left() {
    let server = Server::start(|request| Reply::new(302).with("Location", &request.path).body(""));
    let error = Cache::new().fails(&server);
    assert!(error.to_string().contains("redirects"), "{error}");
    assert_eq!(server.lines().len(), 10);
}

#[test]
fn a_server_that_speaks_no_tls_is_an_error_and_the_token_stays_out_of_it() {
    let server = dinov2().serve();
    let cache = Cache::new();
    let options = with_token(&cache, &server);
    let env = hub::HubEnv {
        hf_endpoint: Some(server.url().replace("http://", "https://").into()),
        ..options.env.clone()
    };
    let error = hub_error(hub::fetch(REPO, &HubOptions { env, ..options }).unwrap_err());
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    assert!(!format!("{error:?} {error}").contains("hf_secret"));
}

#[test]
fn no_token_is_sent_when_there_is_none_or_none_is_wanted() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    let mut options = cache.options(&server.url());
    options.env.hf_token = Some(hub::Secret::new("hf_secret"));
    hub::fetch(REPO, &options).unwrap();
    assert!(server.requests().iter().all(|seen| seen.authorization.is_none()));
    let options = HubOptions { token: Token::Implicit, ..options };
    server.take();
    hub::fetch(REPO, &options).unwrap();
    assert_eq!(server.requests()[0].authorization.as_deref(), Some("Bearer hf_secret"));
    assert!(!format!("{options:?}").contains("hf_secret"));
}
