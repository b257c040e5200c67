//! Finding models: folders, ids, revisions, and caches made by hand.
//!
//! A cache is a few folders and links in a temporary place; the environment is given as data, so no test reads or sets the
//! process's own.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::error::CheckpointError;

const REPO: &str = "facebook/dinov2-small";
const COMMIT: &str = "ed25f3a31f01632728cabb09d1542f84ab7b0056";
const OTHER_COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A cache folder made by hand.
struct Cache(TempDir);

impl Cache {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn repo(&self) -> PathBuf {
        self.0.path().join("models--facebook--dinov2-small")
    }

    fn snapshot(&self, commit: &str, file: &str) -> PathBuf {
        let folder = self.repo().join("snapshots").join(commit);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(file), b"{}").unwrap();
        folder
    }

    fn reference(&self, revision: &str, text: &str) {
        let path = self.repo().join("refs").join(revision);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn options(&self) -> HubOptions {
        let cache_dir = Some(self.0.path().to_path_buf());
        HubOptions { cache_dir, ..HubOptions::with_env(HubEnv::default()) }
    }

    fn locate(&self, revision: Option<&str>) -> Result<Located, CheckpointError> {
        let options = HubOptions { revision: revision.map(str::to_owned), ..self.options() };
        locate(REPO, &options)
    }
}

fn reason(error: CheckpointError) -> String {
    match error {
        CheckpointError::NotInCache(missing) => {
            assert_eq!((missing.repo.as_str(), missing.file.as_str()), (REPO, "config.json"));
            missing.reason
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_branch_is_followed_to_its_commit() {
    let cache = Cache::new();
    let dir = cache.snapshot(COMMIT, "config.json");
    cache.snapshot(OTHER_COMMIT, "config.json");
    cache.reference("main", &format!("{COMMIT}\n"));
    cache.reference("refs/pr/3", OTHER_COMMIT);
    let expected = Located { dir, repo: Some(REPO.into()), commit: Some(COMMIT.into()), warnings: vec![] };
    assert_eq!(cache.locate(None).unwrap(), expected);
    assert_eq!(cache.locate(Some("main")).unwrap(), expected);
    assert_eq!(cache.locate(Some("refs/pr/3")).unwrap().commit.as_deref(), Some(OTHER_COMMIT));
}

#[test]
fn a_commit_names_its_snapshot_directly() {
    let cache = Cache::new();
    cache.snapshot(COMMIT, "config.json");
    let dir = cache.snapshot(OTHER_COMMIT, "config.json");
    assert_eq!(cache.locate(Some(OTHER_COMMIT)).unwrap().dir, dir);
}

#[test]
fn without_refs_main_a_single_snapshot_is_the_one_and_several_are_not() {
    let cache = Cache::new();
    let dir = cache.snapshot(COMMIT, "config.json");
    assert_eq!(cache.locate(None).unwrap().dir, dir);
    assert!(reason(cache.locate(Some("v1")).unwrap_err()).contains("no `refs/v1`"));
    cache.snapshot(OTHER_COMMIT, "config.json");
    let reason = reason(cache.locate(None).unwrap_err());
    assert!(reason.contains(COMMIT) && reason.contains(OTHER_COMMIT), "{reason}");
}

#[cfg(unix)]
#[test]
fn links_into_blobs_are_followed_and_links_to_nowhere_count_as_missing() {
    let cache = Cache::new();
    let folder = cache.repo().join("snapshots").join(COMMIT);
    let blobs = cache.repo().join("blobs");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(&blobs).unwrap();
    std::os::unix::fs::symlink("../../blobs/abc", folder.join("config.json")).unwrap();
    assert!(reason(cache.locate(None).unwrap_err()).contains("does not have it"));
    fs::write(blobs.join("abc"), b"{}").unwrap();
    assert_eq!(cache.locate(None).unwrap().dir, folder);
}

#[test]
fn what_is_not_in_the_cache_is_named_with_repo_file_and_flag() {
    let cache = Cache::new();
    assert!(reason(cache.locate(None).unwrap_err()).contains("no folder"));
    fs::create_dir_all(cache.repo()).unwrap();
    assert_eq!(reason(cache.locate(None).unwrap_err()), "it has no snapshots");
    cache.reference("main", COMMIT);
    assert!(reason(cache.locate(None).unwrap_err()).contains("no snapshot"));
    cache.snapshot(COMMIT, "model.safetensors");
    assert!(reason(cache.locate(None).unwrap_err()).contains("does not have it"));

    let error = cache.locate(None).unwrap_err();
    assert!(
        error.to_string().contains("`config.json` of `facebook/dinov2-small` at revision `main`"),
        "{error}"
    );
    assert_eq!(
        error.hint().unwrap(),
        "download it with `hf download facebook/dinov2-small`, or give a local folder; there is no folder `facebook/dinov2-small` here either"
    );
    let env = HubEnv { hf_hub_offline: Some("1".into()), ..HubEnv::default() };
    let error = locate(REPO, &HubOptions { env, ..cache.options() }).unwrap_err();
    assert!(error.hint().unwrap().starts_with("offline mode is on"), "{:?}", error.hint());
    let error = locate(REPO, &HubOptions { offline: true, ..cache.options() }).unwrap_err();
    assert!(error.hint().unwrap().contains("--offline"));
}

#[test]
fn a_processor_alone_makes_a_snapshot_worth_opening() {
    let cache = Cache::new();
    let dir = cache.snapshot(COMMIT, "preprocessor_config.json");
    assert_eq!(cache.locate(None).unwrap().dir, dir);
}

#[test]
fn a_reference_that_holds_no_commit_is_refused() {
    let cache = Cache::new();
    cache.snapshot(COMMIT, "config.json");
    for text in ["", "..", "../..", "/etc", "a/b", ".", " ", &"x".repeat(1000)] {
        cache.reference("main", text);
        assert!(reason(cache.locate(None).unwrap_err()).contains("holds no commit"), "{text:?}");
    }
}

#[test]
fn the_environment_serves_when_no_folder_is_given() {
    let cache = Cache::new();
    let dir = cache.snapshot(COMMIT, "config.json");
    let env = HubEnv { hf_hub_cache: Some(cache.0.path().into()), ..HubEnv::default() };
    let options = HubOptions { cache_dir: None, env, ..cache.options() };
    assert_eq!(locate(REPO, &options).unwrap().dir, dir);
    let nowhere = HubOptions { cache_dir: None, env: HubEnv::default(), ..cache.options() };
    let error = locate(REPO, &nowhere).unwrap_err();
    assert!(matches!(error, CheckpointError::NoCacheFolder { .. }));
    assert!(error.to_string().contains("HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME"));
}

#[test]
fn an_existing_folder_is_used_as_it_is() {
    let dir = TempDir::new().unwrap();
    let options = Cache::new().options();
    let located = locate(dir.path(), &options).unwrap();
    assert_eq!(located, Located { dir: dir.path().into(), ..Located::default() });
    let file = dir.path().join("file");
    fs::write(&file, b"x").unwrap();
    assert!(matches!(locate(&file, &options), Err(CheckpointError::NotAFolder { .. })));
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_can_be_folders_but_not_repo_ids() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let parent = TempDir::new().unwrap();
    let dir = parent.path().join(OsStr::from_bytes(b"\xff model"));
    let options = Cache::new().options();
    assert!(matches!(locate(&dir, &options), Err(CheckpointError::FolderNotFound { .. })));
    let name = OsStr::from_bytes(b"\xff model");
    assert!(matches!(locate(name, &options), Err(CheckpointError::InvalidModelId { .. })));
    fs::create_dir(&dir).unwrap();
    assert_eq!(locate(&dir, &options).unwrap().dir, dir);
}

#[test]
fn text_that_cannot_be_a_repo_id_is_refused() {
    let long = "x".repeat(97);
    let names = [
        "",
        "..x/y",
        "a--b",
        "-a",
        "a-",
        ".a",
        "a.",
        "a b",
        "a/b.git",
        "модель",
        "C:\\x",
        "a\0b",
        "https://huggingface.co/facebook/dinov2-small",
        &long,
    ];
    let options = Cache::new().options();
    for name in names {
        let got = locate(name, &options);
        assert!(matches!(got, Err(CheckpointError::InvalidModelId { .. })), "{name:?}: {got:?}");
    }
    for name in ["gpt2", "facebook/dinov2-small", "a.b_c/d-e.f", "0", "_a/b_"] {
        let got = locate(name, &options);
        assert!(matches!(got, Err(CheckpointError::NotInCache(_))), "{name:?}: {got:?}");
    }
}

#[test]
fn a_name_that_can_only_be_a_path_is_a_folder_that_is_not_there() {
    let options = Cache::new().options();
    for name in
        ["//nowhere", "/no/such/path", "/a", "./a", "../x", "~/x", "~x", "a/b/c", "no/such/path", "a/"]
    {
        let error = locate(name, &options).unwrap_err();
        assert!(matches!(error, CheckpointError::FolderNotFound { .. }), "{name:?}: {error:?}");
        assert_eq!(error.to_string(), format!("no folder `{name}`"));
        assert!(error.hint().unwrap().starts_with("give an existing folder"), "{name:?}");
    }
}

#[test]
fn a_mistyped_folder_is_told_the_one_that_is_there() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("dinov2-small")).unwrap();
    let error = locate(dir.path().join("dinov2-smal"), &Cache::new().options()).unwrap_err();
    let expected = format!("did you mean `{}`?", dir.path().join("dinov2-small").display());
    assert_eq!(error.hint().unwrap(), expected);
}

#[test]
fn an_address_of_the_hub_is_told_its_repo_id() {
    let options = Cache::new().options();
    for (address, repo) in [
        ("https://huggingface.co/facebook/dinov2-small", Some(REPO)),
        ("https://huggingface.co/facebook/dinov2-small/tree/main", Some(REPO)),
        ("https://hf.co/facebook/dinov2-small?library=transformers", Some(REPO)),
        ("huggingface.co/facebook/dinov2-small/", Some(REPO)),
        ("https://example.org/facebook/dinov2-small", None),
        ("https://huggingface.co/", None),
    ] {
        let error = locate(address, &options).unwrap_err();
        assert!(matches!(error, CheckpointError::InvalidModelId { .. }), "{address}: {error:?}");
        let hint = error.hint().unwrap();
        match repo {
            Some(repo) => assert_eq!(hint, format!("give the repo id: `{repo}`")),
            None => assert!(hint.starts_with("give an existing folder"), "{hint}"),
        }
    }
}

#[test]
fn an_error_of_the_hub_says_that_there_is_no_folder_either() {
    let error = HubError::RepoNotFound {
        repo: "models/dinov2".into(),
        endpoint: "https://hub.example".into(),
        with_token: false,
    };
    assert!(error.hint().unwrap().ends_with("; there is no folder `models/dinov2` here either"));
    let error = HubError::TooLarge { repo: "models/dinov2".into(), file: "config.json".into(), limit: 1 };
    assert_eq!(error.hint().unwrap(), "there is no folder `models/dinov2` here either");
    let unset = HubOptions { cache_dir: None, env: HubEnv::default(), ..Cache::new().options() };
    let hint = locate("models/dinov2", &unset).unwrap_err().hint().unwrap();
    assert!(hint.ends_with("; there is no folder `models/dinov2` here either"), "{hint}");
}

#[test]
fn a_revision_that_would_leave_the_cache_is_refused() {
    let cache = Cache::new();
    cache.snapshot(COMMIT, "config.json");
    let long = "x".repeat(300);
    for revision in ["", "..", "../main", "/main", "a/../../b", ".", "a\0", "a\\b", &long] {
        let got = cache.locate(Some(revision));
        assert!(matches!(got, Err(CheckpointError::InvalidRevision { .. })), "{revision:?}: {got:?}");
    }
}

#[test]
fn an_unfinished_download_is_recognised_by_the_folder_it_lies_in() {
    let cache = Cache::new();
    let dir = cache.snapshot(COMMIT, "config.json");
    assert_eq!(repo_of_snapshot(&dir).as_deref(), Some(REPO));
    assert_eq!(repo_of_snapshot(Path::new("/some/folder")), None);
    fs::write(dir.join("config.json"), b"{\"model_type\": \"dinov2\"}").unwrap();
    let error = crate::Checkpoint::open(&dir).unwrap_err();
    assert!(matches!(error, CheckpointError::NoWeights { .. }));
    let hint = error.hint().unwrap();
    assert_eq!(
        hint,
        "the download of `facebook/dinov2-small` is incomplete: finish it with `hf download facebook/dinov2-small`"
    );
}
