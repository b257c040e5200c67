//! Several at once, and one that is killed.
//!
//! A process of its own is this test binary again, with `child` as its only test and what it needs in two variables.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use dinoxide_checkpoint::hub;

use crate::hub::{Cache, REPO, WEIGHTS, dinov2, fixture, options};
use dinoxide_testkit::server::{Pace, Server};

const URL: &str = "DINOXIDE_TEST_HUB";
const CACHE: &str = "DINOXIDE_TEST_CACHE";

#[test]
#[ignore = "is run by the other tests, as a process of its own"]
fn child() {
    let cache = std::env::var_os(CACHE).unwrap();
    let options = options(&std::env::var(URL).unwrap(), cache.into());
    let located = hub::fetch(REPO, &options).unwrap();
    assert_eq!(fs::read(located.dir.join(WEIGHTS)).unwrap(), fixture(WEIGHTS));
}

fn spawn(cache: &Cache, server: &Server) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "processes::child"])
        .env(URL, server.url())
        .env(CACHE, cache.root())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// A hub that gives the weights only when `all` have asked for their metadata: then all want them at once.
fn meeting(all: usize) -> Server {
    let met = Arc::new((Mutex::new(0), Condvar::new()));
    let hub = dinov2();
    Server::start(move |request| {
        let (count, changed) = &*met;
        if request.method == "HEAD" && request.path.ends_with(WEIGHTS) {
            *count.lock().unwrap() += 1;
            changed.notify_all();
        }
        if request.is_get_of(WEIGHTS) {
            drop(changed.wait_while(count.lock().unwrap(), |count| *count < all).unwrap());
        }
        hub.reply(request)
    })
}

#[test]
fn two_threads_download_once() {
    let (cache, server) = (Cache::new(), meeting(2));
    thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| cache.fetch(&server)));
        for thread in threads {
            assert_eq!(thread.join().unwrap().unwrap().dir, cache.snapshot());
        }
    });
    assert_eq!(server.gets(WEIGHTS).len(), 1);
    assert_eq!(cache.blobs().len(), 3);
}

#[test]
fn two_processes_download_once() {
    let (cache, server) = (Cache::new(), meeting(3));
    let children = [(); 2].map(|()| spawn(&cache, &server));
    cache.fetch(&server).unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(server.gets(WEIGHTS).len(), 1);
    assert_eq!(cache.blobs().len(), 3);
}

#[test]
fn a_process_that_is_killed_leaves_only_a_partial_file_from_which_the_next_goes_on() {
    let hub = dinov2();
    let server = Server::start(move |request| {
        let reply = hub.reply(request);
        match request.is_get_of(WEIGHTS) && request.range.is_none() {
            true => reply.pace(Pace::StallAfter(5000)),
            false => reply,
        }
    });
    let cache = Cache::new();
    let name = dinov2().etag(WEIGHTS);
    let partial = cache.blob(&format!("{name}.incomplete"));
    let mut child = spawn(&cache, &server);
    while fs::metadata(&partial).map_or(0, |metadata| metadata.len()) < 5000 {
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!cache.blob(&name).exists() && !cache.snapshot().join(WEIGHTS).exists());
    assert!(!cache.repo().join("refs/main").exists());
    cache.fetch(&server).unwrap();
    let ranges: Vec<_> = server.gets(WEIGHTS).into_iter().map(|request| request.range).collect();
    assert_eq!(ranges, [None, Some("bytes=5000-".into())]);
    assert!(!partial.exists());
}
