//! Content that is not what was announced never gets a name.

use std::sync::atomic::{AtomicUsize, Ordering};

use dinoxide_checkpoint::hub::HubError;

use crate::hub::{CONFIG, Cache, WEIGHTS, dinov2, fixture};
use dinoxide_testkit::server::{Reply, Server};

/// A hub that answers the first `times` questions for a file's content with other bytes.
fn damaged(file: &'static str, times: usize, bytes: Vec<u8>) -> Server {
    let asked = AtomicUsize::new(0);
    let hub = dinov2();
    Server::start(move |request| {
        match request.is_get_of(file) && asked.fetch_add(1, Ordering::SeqCst) < times {
            true => Reply::new(200).body(bytes.clone()),
            false => hub.reply(request),
        }
    })
}

fn flipped(file: &str) -> Vec<u8> {
    let mut bytes = fixture(file);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    bytes
}

#[test]
fn a_wrong_hash_is_asked_for_once_more() {
    for file in [CONFIG, WEIGHTS] {
        let (cache, server) = (Cache::new(), damaged(file, 1, flipped(file)));
        cache.fetch(&server).unwrap();
        assert_eq!(server.gets(file).len(), 2);
    }
}

#[test]
fn a_wrong_hash_twice_is_an_error_and_leaves_nothing() {
    for (file, algorithm) in [(CONFIG, "SHA-1"), (WEIGHTS, "SHA-256")] {
        let (cache, server) = (Cache::new(), damaged(file, 2, flipped(file)));
        let error = cache.fails(&server);
        let announced = dinov2().etag(file);
        assert!(error.to_string().contains(&format!("{algorithm} {announced} was announced")), "{error}");
        assert!(matches!(error, HubError::WrongHash { .. }));
        assert!(!cache.blobs().iter().any(|name| name.starts_with(&announced)), "{:?}", cache.blobs());
        assert!(!cache.snapshot().join(file).exists());
        assert!(!cache.repo().join("refs/main").exists());
    }
}

#[test]
fn a_wrong_size_twice_is_an_error_and_leaves_nothing() {
    let mut longer = fixture(WEIGHTS);
    longer.push(0);
    let shorter = fixture(WEIGHTS)[1..].to_vec();
    for bytes in [longer, shorter, Vec::new()] {
        let (cache, server) = (Cache::new(), damaged(WEIGHTS, 2, bytes.clone()));
        let error = cache.fails(&server);
        let (came, announced) = (bytes.len() as u64, fixture(WEIGHTS).len() as u64);
        let is_told = matches!(error, HubError::WrongSize { expected, got, .. } if (expected, got) == (announced, came));
        assert!(is_told, "{error}");
        assert!(!cache.blobs().iter().any(|name| name.contains("incomplete")), "{:?}", cache.blobs());
        // The next try is a download as any other.
        cache.fetch(&server).unwrap();
    }
}

#[test]
fn a_body_that_does_not_end_is_not_taken_beyond_its_size() {
    let hub = dinov2();
    let server = Server::start(move |request| match request.is_get_of(WEIGHTS) {
        true => Reply::new(200).body(vec![0; 10 << 20]).without("Content-Length"),
        false => hub.reply(request),
    });
    let error = Cache::new().fails(&server);
    assert!(matches!(error, HubError::WrongSize { got, .. } if got < 1 << 20), "{error}");
}

#[test]
fn a_config_larger_than_any_honest_one_is_refused_before_and_while_it_comes() {
    for announced in [true, false] {
        let hub = dinov2();
        let server = Server::start(move |request| {
            if !request.path.ends_with("/config.json") {
                return hub.reply(request);
            }
            let reply = hub.reply(request).body(vec![b' '; 5 << 20]);
            // An answer to HEAD without a length, and a body without one.
            if announced { reply } else { reply.without("Content-Length") }
        });
        let cache = Cache::new();
        let error = cache.fails(&server);
        assert!(matches!(error, HubError::TooLarge { limit: 4_194_304, .. }), "{error}");
        assert_eq!(server.gets(CONFIG).len(), usize::from(!announced));
        assert!(cache.blobs().iter().all(|name| name.ends_with(".incomplete")));
    }
}

#[test]
fn answers_without_what_the_hub_says_are_not_the_hubs() {
    type Change = fn(Reply) -> Reply;
    let changes: [(Change, &str); 4] = [
        (|reply| reply.without("X-Repo-Commit"), "X-Repo-Commit"),
        (|reply| reply.without("ETag"), "ETag"),
        (|reply| reply.with("X-Repo-Commit", "../../x"), "no commit"),
        (|reply| reply.with("ETag", "\"../x\""), "name a file"),
    ];
    for (change, told) in changes {
        let hub = dinov2();
        let server = Server::start(move |request| change(hub.reply(request)));
        let error = Cache::new().fails(&server);
        assert!(matches!(error, HubError::NotAHub { .. }) && error.to_string().contains(told), "{error}");
        assert!(error.hint().unwrap().contains("HF_ENDPOINT"));
        assert_eq!(server.lines().len(), 1);
    }
}
