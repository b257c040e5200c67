//! Connections that break, stand still, dawdle or are put off: what came is kept, and the rest asked for.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dinoxide_checkpoint::hub::{self, HubError, HubOptions, NetworkOptions, Progress};

use crate::hub::{Cache, Hub, REPO, WEIGHTS, dinov2, fixture, hub_error};
use dinoxide_testkit::server::{Pace, Reply, Request, Server};

/// A hub whose answers to the first `times` questions for the weights' content are changed.
fn changed(times: usize, change: impl Fn(Reply) -> Reply + Send + Sync + 'static) -> Server {
    serve_changed(dinov2(), times, move |_, reply| change(reply))
}

fn serve_changed(
    hub: Hub,
    times: usize,
    change: impl Fn(&Request, Reply) -> Reply + Send + Sync + 'static,
) -> Server {
    let asked = AtomicUsize::new(0);
    Server::start(move |request| {
        let reply = hub.reply(request);
        match request.is_get_of(WEIGHTS) && asked.fetch_add(1, Ordering::SeqCst) < times {
            true => change(request, reply),
            false => reply,
        }
    })
}

fn ranges(server: &Server) -> Vec<Option<String>> {
    server.gets(WEIGHTS).into_iter().map(|request| request.range).collect()
}

fn is_complete(cache: &Cache) -> bool {
    let name = dinov2().etag(WEIGHTS);
    let left = cache.blobs().into_iter().any(|name| name.contains("incomplete"));
    !left && fs::read(cache.blob(&name)).unwrap() == fixture(WEIGHTS)
}

#[test]
fn a_cut_connection_goes_on_where_it_was_cut() {
    let (cache, server) = (Cache::new(), changed(2, |reply| reply.pace(Pace::CutAfter(1000))));
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), [None, Some("bytes=1000-".into()), Some("bytes=2000-".into())]);
    assert!(is_complete(&cache));
}

#[test]
fn bytes_that_come_start_the_count_of_failures_anew() {
    let server = changed(20, |reply| reply.pace(Pace::CutAfter(1000)));
    let cache = Cache::new();
    cache.fetch(&server).unwrap();
    assert_eq!(server.gets(WEIGHTS).len(), 21);
    assert!(is_complete(&cache));
}

#[test]
fn a_body_without_a_length_that_ends_early_is_a_cut_too() {
    let change = |reply: Reply| reply.without("Content-Length").pace(Pace::CutAfter(1000));
    let (cache, server) = (Cache::new(), changed(1, change));
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), [None, Some("bytes=1000-".into())]);
    assert!(is_complete(&cache));
}

#[test]
fn a_server_that_does_not_know_ranges_starts_over() {
    let hub = Hub { knows_range: false, ..dinov2() };
    let server = serve_changed(hub, 1, |_, reply| reply.pace(Pace::CutAfter(1000)));
    let cache = Cache::new();
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), [None, Some("bytes=1000-".into())]);
    assert!(is_complete(&cache));
}

#[test]
fn a_server_that_starts_over_and_is_cut_each_time_is_given_up() {
    let hub = Hub { knows_range: false, ..dinov2() };
    let server = serve_changed(hub, usize::MAX, |_, reply| reply.pace(Pace::CutAfter(1000)));
    let error = Cache::new().fails(&server);
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    assert_eq!(server.gets(WEIGHTS).len(), 1 + NetworkOptions::default().retries as usize);
}

#[test]
fn another_part_than_was_asked_for_is_not_put_in() {
    let change = |request: &Request, reply: Reply| match request.range {
        None => reply.pace(Pace::CutAfter(1000)),
        Some(_) => Reply::new(206).body(&fixture(WEIGHTS)[500..]).with("Content-Range", "bytes 500-9/10"),
    };
    let (cache, server) = (Cache::new(), serve_changed(dinov2(), 2, change));
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), [None, Some("bytes=1000-".into()), None]);
    assert!(is_complete(&cache));
}

/// Leaves a partial file in the cache, as another process would.
fn partial(cache: &Cache, bytes: &[u8]) {
    let name = format!("{}.incomplete", dinov2().etag(WEIGHTS));
    fs::create_dir_all(cache.repo().join("blobs")).unwrap();
    fs::write(cache.blob(&name), bytes).unwrap();
}

#[test]
fn an_earlier_process_is_gone_on_from() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    partial(&cache, &fixture(WEIGHTS)[..5000]);
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), [Some("bytes=5000-".into())]);
    assert!(is_complete(&cache));
}

#[test]
fn a_partial_file_that_is_whole_is_not_asked_for() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    partial(&cache, &fixture(WEIGHTS));
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), []);
    assert!(is_complete(&cache));
}

#[test]
fn a_partial_file_of_something_else_is_replaced() {
    for (bytes, expected) in [
        // As long as the whole, longer, and a beginning that only the hash tells apart.
        (vec![7; fixture(WEIGHTS).len()], vec![None]),
        (vec![7; fixture(WEIGHTS).len() + 1], vec![None]),
        (vec![7; 100], vec![Some("bytes=100-".into()), None]),
    ] {
        let (cache, server) = (Cache::new(), dinov2().serve());
        partial(&cache, &bytes);
        cache.fetch(&server).unwrap();
        assert_eq!(ranges(&server), expected);
        assert!(is_complete(&cache));
    }
}

#[test]
fn a_range_that_the_server_does_not_have_starts_over() {
    let change = |request: &Request, reply: Reply| match request.range {
        Some(_) => Reply::new(416).body(""),
        None => reply,
    };
    let (cache, server) = (Cache::new(), serve_changed(dinov2(), 1, change));
    partial(&cache, &fixture(WEIGHTS)[..5000]);
    cache.fetch(&server).unwrap();
    assert_eq!(ranges(&server), [Some("bytes=5000-".into()), None]);
    assert!(is_complete(&cache));
}

/// When a body stands still in these tests; long enough for any answer that comes at all.
const STALL: Duration = Duration::from_millis(1200);

fn impatient(cache: &Cache, server: &Server, read_timeout: Duration) -> HubOptions {
    let options = cache.options(&server.url());
    HubOptions { network: NetworkOptions { read_timeout, retries: 3, ..options.network }, ..options }
}

#[test]
fn a_body_that_stands_still_ends_and_its_bytes_are_kept() {
    let (cache, server) = (Cache::new(), changed(usize::MAX, |reply| reply.pace(Pace::StallAfter(0))));
    let options = impatient(&cache, &server, STALL);
    let error = hub_error(hub::fetch(REPO, &options).unwrap_err());
    assert!(error.to_string().contains("stood still"), "{error}");
    assert!(matches!(error, HubError::Unreachable { .. }));
    assert_eq!(server.gets(WEIGHTS).len(), 4);

    let server = changed(1, |reply| reply.pace(Pace::StallAfter(1000)));
    hub::fetch(REPO, &impatient(&cache, &server, STALL)).unwrap();
    assert_eq!(ranges(&server), [None, Some("bytes=1000-".into())]);
    assert!(is_complete(&cache));
}

#[test]
fn a_slow_body_that_moves_may_take_longer_than_the_timeout() {
    let pace = Pace::Slow(fixture(WEIGHTS).len() / 15, Duration::from_millis(250));
    let (cache, server) = (Cache::new(), changed(1, move |reply| reply.pace(pace)));
    let options = impatient(&cache, &server, Duration::from_secs(3));
    hub::fetch(REPO, &options).unwrap();
    assert_eq!(server.gets(WEIGHTS).len(), 1);
    assert!(is_complete(&cache));
}

#[test]
fn who_is_put_off_comes_again() {
    for status in [408, 429, 500, 502, 503, 504] {
        let later = move |_: Reply| Reply::new(status).with("Retry-After", 0).body("");
        let (cache, server) = (Cache::new(), changed(2, later));
        cache.fetch(&server).unwrap();
        assert_eq!(server.gets(WEIGHTS).len(), 3, "{status}");
        assert!(is_complete(&cache));
    }
}

#[test]
fn who_is_put_off_for_ever_gives_up_and_says_so() {
    let (cache, server) = (Cache::new(), changed(usize::MAX, |_| Reply::new(503).body("")));
    let error = cache.fails(&server);
    assert!(matches!(error, HubError::Status { status: 503, .. }));
    assert!(error.to_string().contains("answers 503 for `model.safetensors`"), "{error}");
    assert_eq!(server.gets(WEIGHTS).len(), 6);
    let wait = |_: Reply| Reply::new(429).with("Retry-After", 86_400).body("");
    let server = changed(usize::MAX, wait);
    assert!(matches!(cache.fails(&server), HubError::Status { status: 429, .. }));
    assert_eq!(server.gets(WEIGHTS).len(), 1);
}

#[test]
fn other_refusals_are_not_asked_again() {
    let (cache, server) = (Cache::new(), changed(usize::MAX, |_| Reply::new(400).body("")));
    assert!(matches!(cache.fails(&server), HubError::Status { status: 400, .. }));
    assert_eq!(server.gets(WEIGHTS).len(), 1);
}

/// Wants to stop once it was asked so many times.
#[derive(Debug)]
struct StopsAfter(AtomicUsize);

impl Progress for StopsAfter {
    fn start(&self, _: &str, _: Option<u64>, _: u64) {}
    fn advance(&self, _: u64) {}
    fn finish(&self) {}
    fn is_stopped(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err()
    }
}

fn stopped_after(questions: usize, cache: &Cache, server: &Server) -> HubError {
    let progress: Arc<dyn Progress> = Arc::new(StopsAfter(AtomicUsize::new(questions)));
    let options = HubOptions { progress: Some(progress), ..cache.options(&server.url()) };
    hub_error(hub::fetch(REPO, &options).unwrap_err())
}

#[test]
fn what_came_before_a_download_was_stopped_is_gone_on_with() {
    let slow = |reply: Reply| reply.pace(Pace::Slow(1000, Duration::from_millis(20)));
    let (cache, server) = (Cache::new(), changed(1, slow));
    // Two files of one chunk each are asked about twice; the weights come in many.
    let error = stopped_after(6, &cache, &server);
    assert!(matches!(&error, HubError::Stopped { file } if file == WEIGHTS), "{error}");
    cache.fetch(&server).unwrap();
    let ranges = ranges(&server);
    assert_eq!(ranges.len(), 2);
    assert!(ranges[1].is_some(), "{ranges:?}");
    assert!(is_complete(&cache));
}

/// The server wants a minute.
#[test]
fn the_wait_for_the_next_try_can_be_stopped() {
    let later = |_: Reply| Reply::new(503).with("Retry-After", 60).body("");
    let (cache, server) = (Cache::new(), changed(usize::MAX, later));
    let error = stopped_after(4, &cache, &server);
    assert!(matches!(&error, HubError::Stopped { file } if file == WEIGHTS), "{error}");
    assert_eq!(server.gets(WEIGHTS).len(), 1);
}
