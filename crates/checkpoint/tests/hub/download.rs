//! A plain download: what is asked for, what is on disk after it, and what is not asked for again.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use dinoxide_checkpoint::Checkpoint;
use dinoxide_checkpoint::hub::{self, HubOptions, Progress};

use crate::hub::{COMMIT, CONFIG, Cache, Hub, NOBODY, REPO, WEIGHTS, dinov2};

const QUESTIONS: [&str; 7] = [
    "HEAD /facebook/dinov2-small/resolve/main/config.json",
    "GET /facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/config.json",
    "HEAD /facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/preprocessor_config.json",
    "GET /facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/preprocessor_config.json",
    "HEAD /facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/processor_config.json",
    "HEAD /facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/model.safetensors",
    "GET /facebook/dinov2-small/resolve/ed25f3a31f01632728cabb09d1542f84ab7b0056/model.safetensors",
];

/// Every file, link and folder below a folder: `name`, `name -> link` or `name/`.
fn listing(dir: &Path) -> Vec<String> {
    fn walk(dir: &Path, prefix: &str, lines: &mut Vec<String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                lines.push(format!("{name} -> {}", fs::read_link(entry.path()).unwrap().display()));
            } else if kind.is_dir() {
                walk(&entry.path(), &format!("{name}/"), lines);
            } else {
                lines.push(name);
            }
        }
    }
    let mut lines = Vec::new();
    walk(dir, "", &mut lines);
    lines.sort();
    lines
}

/// `hub_listing.txt` is the listing of a cache that huggingface_hub 2.4.0 filled from such a hub: `hub_listing.py` beside it
/// makes it.
#[cfg(unix)]
#[test]
fn the_cache_is_laid_out_as_huggingface_hub_lays_it_out() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    let located = cache.fetch(&server).unwrap();
    assert_eq!(located.dir, cache.snapshot());
    assert_eq!((located.repo.as_deref(), located.commit.as_deref()), (Some(REPO), Some(COMMIT)));
    assert_eq!(located.warnings, [""; 0]);
    assert_eq!(server.lines(), QUESTIONS);
    let expected = include_str!("../data/hub_listing.txt");
    assert_eq!(listing(&cache.root()).join("\n"), expected.trim_end());
    assert_eq!(fs::read_to_string(cache.repo().join("refs/main")).unwrap(), COMMIT);
    Checkpoint::open(&located.dir).unwrap().require_processor().unwrap();
}

#[test]
fn a_complete_cache_costs_one_question_and_a_commit_none() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    cache.fetch(&server).unwrap();
    server.take();
    let located = cache.fetch(&server).unwrap();
    assert_eq!((located.dir, server.take()), (cache.snapshot(), vec![QUESTIONS[0].to_owned()]));
    let options = HubOptions { revision: Some(COMMIT.into()), ..cache.options(&server.url()) };
    assert_eq!(hub::fetch(REPO, &options).unwrap().dir, cache.snapshot());
    assert_eq!(server.take(), [""; 0]);
}

#[test]
fn only_what_is_missing_is_brought() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    cache.fetch(&server).unwrap();
    server.take();
    fs::remove_file(cache.snapshot().join("preprocessor_config.json")).unwrap();
    fs::remove_file(cache.blob(&dinov2().etag("preprocessor_config.json"))).unwrap();
    cache.fetch(&server).unwrap();
    assert_eq!(server.take(), [QUESTIONS[0], QUESTIONS[2], QUESTIONS[3]]);
    // A link that is lost is made anew from the blob that is there.
    fs::remove_file(cache.snapshot().join(WEIGHTS)).unwrap();
    cache.fetch(&server).unwrap();
    assert_eq!(server.take(), [QUESTIONS[0], QUESTIONS[5]]);
    assert_eq!(fs::read(cache.snapshot().join(WEIGHTS)).unwrap(), crate::hub::fixture(WEIGHTS));
}

#[test]
fn a_new_commit_brings_only_the_contents_that_are_new() {
    let cache = Cache::new();
    cache.fetch(&dinov2().serve()).unwrap();
    let mut hub = Hub { commit: "0123456789abcdef0123456789abcdef01234567".into(), ..dinov2() };
    hub.files.get_mut("preprocessor_config.json").unwrap().push(b'\n');
    let server = hub.serve();
    let located = cache.fetch(&server).unwrap();
    assert_eq!(located.commit.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
    let gets: Vec<_> = server.lines().into_iter().filter(|line| line.starts_with("GET")).collect();
    assert!(gets.len() == 1 && gets[0].ends_with("preprocessor_config.json"), "{gets:?}");
    assert_eq!(fs::read_to_string(cache.repo().join("refs/main")).unwrap(), located.commit.unwrap());
    assert!(cache.snapshot().join(WEIGHTS).is_file());
}

#[test]
fn a_revision_may_have_slashes() {
    let hub = Hub { revision: "refs%2Fpr%2F3".into(), ..dinov2() };
    let (cache, server) = (Cache::new(), hub.serve());
    let options = HubOptions { revision: Some("refs/pr/3".into()), ..cache.options(&server.url()) };
    assert_eq!(hub::fetch(REPO, &options).unwrap().dir, cache.snapshot());
    assert_eq!(fs::read_to_string(cache.repo().join("refs/refs/pr/3")).unwrap(), COMMIT);
    let offline = HubOptions { offline: true, ..options };
    assert_eq!(hub::fetch(REPO, &offline).unwrap().dir, cache.snapshot());
}

#[test]
fn a_subfolder_is_taken_for_the_repo() {
    let mut hub = dinov2();
    hub.files = hub.files.into_iter().map(|(name, bytes)| (format!("a/b/{name}"), bytes)).collect();
    let (cache, server) = (Cache::new(), hub.serve());
    let options = HubOptions { subfolder: Some("a/b/".into()), ..cache.options(&server.url()) };
    let located = hub::fetch(REPO, &options).unwrap();
    assert_eq!(located.dir, cache.snapshot().join("a/b"));
    Checkpoint::open(&located.dir).unwrap().require_processor().unwrap();
    assert!(cache.repo().join(".no_exist").join(COMMIT).join("a/b/processor_config.json").is_file());
    server.take();
    assert_eq!(hub::fetch(REPO, &options).unwrap(), located);
    assert_eq!(server.take(), ["HEAD /facebook/dinov2-small/resolve/main/a/b/config.json"]);
    assert_eq!(hub::locate(REPO, &options).unwrap(), located);
}

#[test]
fn a_subfolder_that_would_leave_the_repo_is_refused() {
    let cache = Cache::new();
    for subfolder in ["..", "a/../..", "/a", "a//b", ".", "a\\b", "a\0"] {
        let options = HubOptions { subfolder: Some(subfolder.into()), ..cache.options(NOBODY) };
        for result in [hub::fetch(REPO, &options), hub::locate(".", &options)] {
            let error = crate::hub::hub_error(result.unwrap_err());
            assert!(matches!(error, hub::HubError::InvalidSubfolder { .. }), "{subfolder}: {error}");
        }
    }
}

#[test]
fn a_processor_alone_is_a_model_without_weights() {
    let mut hub = dinov2();
    hub.files.retain(|name, _| name == "preprocessor_config.json");
    let (cache, server) = (Cache::new(), hub.serve());
    assert_eq!(cache.fetch(&server).unwrap().dir, cache.snapshot());
    assert!(!server.lines().iter().any(|line| line.contains(WEIGHTS)));
    server.take();
    cache.fetch(&server).unwrap();
    assert_eq!(server.take(), QUESTIONS[..1]);
}

/// Writes down what it hears.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn start(&self, file: &str, size: Option<u64>, done: u64) {
        self.0.lock().unwrap().push(format!("{file} {size:?} {done}"));
    }

    fn advance(&self, bytes: u64) {
        assert!(bytes > 0);
        self.0.lock().unwrap().push(bytes.to_string());
    }

    fn finish(&self) {
        self.0.lock().unwrap().push("finish".into());
    }
}

#[test]
fn progress_hears_of_every_file_and_byte() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    let heard = Arc::new(Heard::default());
    let progress: Arc<dyn Progress> = Arc::<Heard>::clone(&heard);
    let options = HubOptions { progress: Some(progress), ..cache.options(&server.url()) };
    hub::fetch(REPO, &options).unwrap();
    let heard = heard.0.lock().unwrap();
    let files: Vec<_> = heard.split(|line| line == "finish").collect();
    assert_eq!(files.len(), 4);
    for (lines, file) in files.iter().zip([CONFIG, "preprocessor_config.json", WEIGHTS]) {
        let size = crate::hub::fixture(file).len() as u64;
        assert_eq!(lines[0], format!("{file} {:?} 0", Some(size)));
        assert_eq!(lines[1..].iter().map(|bytes| bytes.parse::<u64>().unwrap()).sum::<u64>(), size);
    }
}
