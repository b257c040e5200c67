//! Writes checkpoints of every kind for `tools/golden/check_saved.py`, which has Transformers read them.
//!
//! `save_all FIXTURES OUT`: each folder below OUT is named `<what>@<fixture>`, where the fixture is the one whose weights it
//! must have; fresh ones are named `fresh-<class>@<fixture>` after the fixture that has their config.

// An example fails by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use dinoxide_checkpoint::config::{ModelConfig, TorchDtype};
use dinoxide_checkpoint::{Checkpoint, Head, InitOptions, OpenOptions, SaveOptions};

/// One fixture of each family, and its head.
const FAMILIES: [&str; 6] = [
    "dinov2",
    "dinov2-classifier",
    "dinov2-with-registers",
    "dinov2-with-registers-classifier",
    "dinov3-vit",
    "dinov3-convnext-backbone",
];
/// The same weights under other names, and those with the hub's.
const NAMES: [(&str, &str); 6] = [
    ("dinov2-swiglu-v5-names", "dinov2-swiglu"),
    ("dinov2-with-registers-fb-names", "dinov2-with-registers"),
    ("dinov2-swiglu-fb-names", "dinov2-swiglu"),
    ("dinov3-vit-fb-names", "dinov3-vit"),
    ("dinov3-vit-gated-timm-names", "dinov3-vit-gated"),
    ("dinov3-convnext-backbone-fb-names", "dinov3-convnext-backbone"),
];

struct Folders {
    fixtures: PathBuf,
    out: PathBuf,
}

impl Folders {
    fn save(&self, what: &str, fixture: &str, checkpoint: &Checkpoint, options: &SaveOptions) {
        checkpoint.save_pretrained(&self.out.join(format!("{what}@{fixture}")), options).expect("saved");
    }

    fn open(&self, fixture: &str, options: &OpenOptions) -> Checkpoint {
        Checkpoint::open_with(&self.fixtures.join(fixture), options).expect("opened")
    }

    fn config(&self, fixture: &str) -> ModelConfig {
        ModelConfig::open(&self.fixtures.join(fixture)).expect("a config")
    }
}

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folders =
        Folders { fixtures: arguments.next().expect("FIXTURES"), out: arguments.next().expect("OUT") };
    let whole = SaveOptions::default();
    let many = SaveOptions { max_shard_size: "10KB".parse().expect("a size") };
    for fixture in FAMILIES {
        let saved = folders.open(fixture, &OpenOptions::default());
        folders.save("as-saved", fixture, &saved, &whole);
        folders.save("sharded", fixture, &saved, &many);
        let half = OpenOptions { dtype: Some(TorchDtype::BFloat16), ..OpenOptions::default() };
        folders.save("bf16", fixture, &folders.open(fixture, &half), &whole);
        for (what, head) in
            [("bare", Head::Bare), ("backbone", Head::Backbone), ("classifier", Head::Classifier)]
        {
            if head.class_name(saved.config().family()).is_none() {
                continue;
            }
            if head != Head::Classifier || saved.has_classifier() {
                let options = OpenOptions { head: Some(head), ..OpenOptions::default() };
                folders.save(what, fixture, &folders.open(fixture, &options), &whole);
            }
            let fresh = Checkpoint::initialize(folders.config(fixture), &InitOptions { seed: 3, head })
                .expect("made");
            folders.save(&format!("fresh-{what}"), fixture, &fresh, &whole);
        }
    }
    for (names, fixture) in NAMES {
        let suffix = names
            .rsplit_once('-')
            .and_then(|(rest, _)| rest.rsplit_once('-'))
            .map_or(names, |(_, kind)| kind);
        folders.save(suffix, fixture, &folders.open(names, &OpenOptions::default()), &whole);
    }
    report(&folders.out);
}

#[allow(clippy::print_stdout)]
fn report(out: &Path) {
    println!("{} folders in {}", std::fs::read_dir(out).unwrap().count(), out.display());
}
