//! Bringing a model into the cache: what is asked for, in which order, and when the cache serves instead.
//!
//! A revision becomes a commit with the first answer, and everything after is of that commit, so that a push in between cannot
//! mix two. Then `config.json`, the processor's files where there are any, and the weights: `model.safetensors`, else its index
//! and every shard that it names, else the same of `pytorch_model.bin`. The config is read before the weights are fetched:
//! another family's would be for nothing. Where only a config is wanted, weights are left where they are.
//! `refs/<revision>` changes last, so that an earlier download stays whole until the new one is.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::cache::{self, CONFIG_FILE, Lookup, PROCESSOR_FILES};
use super::digest;
use super::error::HubError;
use super::network::{self, Answer, Client, Download, FileMeta, Found};
use super::options::{HubOptions, Located};
use super::progress::{Progress, Silent};
use super::store::Store;
use crate::config::ModelConfig;
use crate::error::CheckpointError;
use crate::files;
use crate::limits::{MAX_INDEX_BYTES, MAX_JSON_BYTES, MAX_WEIGHTS_FILE_BYTES};
use crate::tensors::{OTHER_FORMATS, WEIGHTS, shard_names};

/// Retries where the cache can serve instead.
const RETRIES_WITH_CACHE: u32 = 1;
/// Characters of a commit.
const COMMIT_CHARS: usize = 40;

/// One model, to be found or brought.
pub(super) struct Fetch<'a> {
    lookup: &'a Lookup<'a>,
    store: Store,
    client: Client,
    weights: bool,
    progress: Arc<dyn Progress>,
}

/// Whether a text is a full commit hash, which stands for itself.
fn is_commit(revision: &str) -> bool {
    revision.len() == COMMIT_CHARS && revision.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Finds or brings the model that `lookup` asks for.
pub(super) fn bring(lookup: &Lookup<'_>, options: &HubOptions) -> Result<Located, CheckpointError> {
    let store = Store::new(&lookup.root, lookup.repo);
    let snapshot = Snapshot {
        store: &store,
        commit: lookup.revision,
        subfolder: lookup.subfolder,
        weights: options.weights,
    };
    if is_commit(lookup.revision) && snapshot.is_complete() {
        return lookup.find();
    }
    let cached = lookup.find().ok().filter(|located| {
        let commit = located.commit.as_deref().unwrap_or_default();
        Snapshot { commit, ..snapshot }.is_usable()
    });
    let mut network = options.network;
    if cached.is_some() {
        network.retries = network.retries.min(RETRIES_WITH_CACHE);
    }
    let progress = options.progress.clone().unwrap_or_else(|| Arc::new(Silent));
    let client = Client::new(lookup.repo, options, network, Arc::clone(&progress))?;
    match (Fetch { lookup, store, client, weights: options.weights, progress }.run(), cached) {
        (Err(CheckpointError::Hub(error)), Some(located)) if error.lets_the_cache_serve() => {
            let commit = located.commit.as_deref().unwrap_or_default();
            let warning = format!("{error}; commit {commit} from the cache is used instead");
            Ok(Located { warnings: vec![warning], ..located })
        }
        (result, _) => result,
    }
}

impl Fetch<'_> {
    fn run(&self) -> Result<Located, CheckpointError> {
        let config = self.lookup.in_repo(CONFIG_FILE);
        let pinned = is_commit(self.lookup.revision);
        let first = self.client.head(self.lookup.revision, &config, pinned)?;
        let commit = match (&first, pinned) {
            (Found::File(meta), _) => meta.commit.clone(),
            (_, true) => self.lookup.revision.to_owned(),
            (Found::Absent { commit: Some(commit) }, _) => commit.clone(),
            (Found::Absent { commit: None }, _) => return Err(self.not_a_model().into()),
        };
        let snapshot = self.snapshot(&commit);
        if snapshot.is_complete() {
            // A cache that cannot be written to serves all the same.
            let _ = self.store.write_ref(self.lookup.revision, &commit);
            return Ok(self.located(commit));
        }
        let has_config = self.take(&commit, &config, first, MAX_JSON_BYTES)?;
        let mut has_processor = false;
        for name in PROCESSOR_FILES {
            has_processor |= self.want(&commit, &self.lookup.in_repo(name), MAX_JSON_BYTES)?;
        }
        match (has_config, has_processor) {
            (true, _) if self.weights => self.bring_weights(&commit)?,
            // Configs alone, or a processor's.
            (true, _) | (false, true) => {}
            (false, false) => return Err(self.not_a_model().into()),
        }
        self.store.write_ref(self.lookup.revision, &commit)?;
        Ok(self.located(commit))
    }

    fn bring_weights(&self, commit: &str) -> Result<(), CheckpointError> {
        ModelConfig::open(&self.snapshot(commit).folder())?;
        for (single, index) in WEIGHTS {
            if self.want(commit, &self.lookup.in_repo(single), MAX_WEIGHTS_FILE_BYTES)? {
                return Ok(());
            }
            if self.want(commit, &self.lookup.in_repo(index), MAX_INDEX_BYTES)? {
                return self.bring_shards(commit, index);
            }
        }
        Err(self.no_weights(commit)?.into())
    }

    fn bring_shards(&self, commit: &str, index: &str) -> Result<(), CheckpointError> {
        for shard in self.snapshot(commit).shards(index)? {
            if !self.want(commit, &self.lookup.in_repo(&shard), MAX_WEIGHTS_FILE_BYTES)? {
                let (repo, index) = (self.lookup.repo.to_owned(), self.lookup.in_repo(index));
                return Err(HubError::ShardNotFound { repo, index, shard }.into());
            }
        }
        Ok(())
    }

    /// Has a file that the repo may have; `false` when it has none.
    fn want(&self, commit: &str, file: &str, limit: u64) -> Result<bool, CheckpointError> {
        if self.store.has(commit, file) {
            return Ok(true);
        }
        if self.store.is_absent(commit, file) {
            return Ok(false);
        }
        let found = self.client.head(commit, file, true)?;
        self.take(commit, file, found, limit)
    }

    /// Does with a file what the hub says of it.
    fn take(&self, commit: &str, file: &str, found: Found, limit: u64) -> Result<bool, CheckpointError> {
        match found {
            Found::Absent { .. } => {
                self.store.mark_absent(commit, file)?;
                Ok(false)
            }
            Found::File(meta) => {
                if !self.store.has(commit, file) {
                    self.bring_file(commit, file, &meta, limit)?;
                }
                Ok(true)
            }
        }
    }

    /// Brings a file that is not there, once for all threads and processes that want it.
    fn bring_file(&self, commit: &str, file: &str, meta: &FileMeta, limit: u64) -> Result<(), HubError> {
        self.store.prepare(&meta.etag)?;
        let lock = self.store.lock(&meta.etag, file, &*self.progress)?;
        if self.store.has(commit, file) {
            return Ok(());
        }
        let blob = self.store.blob(&meta.etag);
        let new = !blob.is_file();
        if new {
            let partial = self.store.partial(&meta.etag, &lock);
            let download = Download { commit, file, size: meta.size, limit, partial: &partial };
            let result = self.download(&download, &meta.etag);
            if result.is_err() && !lock.excludes() {
                // Nobody else would go on with it.
                let _ = fs::remove_file(&partial);
            }
            result?;
            fs::rename(&partial, &blob).map_err(|error| HubError::write(&blob, error))?;
        }
        self.store.place(commit, file, &meta.etag, new)
    }

    /// Downloads and checks; what is wrong is removed, and asked for once more.
    fn download(&self, download: &Download<'_>, etag: &str) -> Result<(), HubError> {
        let mut wrong = None;
        for _ in 0..2 {
            let answer = self.client.download(download)?;
            wrong = self.check(download, etag, &answer)?;
            match wrong {
                None => return Ok(()),
                Some(_) => network::remove(download.partial)?,
            }
        }
        wrong.map_or(Ok(()), Err)
    }

    /// What is wrong with what came, if anything.
    fn check(
        &self,
        download: &Download<'_>,
        etag: &str,
        answer: &Answer,
    ) -> Result<Option<HubError>, HubError> {
        let (repo, file) = (self.lookup.repo.to_owned(), download.file.to_owned());
        if let Answer::Sizes { got } = *answer {
            let expected = download.size.unwrap_or_default();
            return Ok(Some(HubError::WrongSize { repo, file, expected, got }));
        }
        let mismatch = digest::compare(download.partial, etag)
            .map_err(|error| HubError::write(download.partial, error))?;
        Ok(mismatch.map(|digest::Mismatch { algorithm, got }| HubError::WrongHash {
            repo,
            file,
            algorithm,
            expected: etag.to_owned(),
            got,
        }))
    }

    fn snapshot<'s>(&'s self, commit: &'s str) -> Snapshot<'s> {
        let (store, subfolder) = (&self.store, self.lookup.subfolder);
        Snapshot { store, commit, subfolder, weights: self.weights }
    }

    fn located(&self, commit: String) -> Located {
        let dir = self.snapshot(&commit).folder();
        Located { dir, repo: Some(self.lookup.repo.into()), commit: Some(commit), warnings: Vec::new() }
    }

    fn not_a_model(&self) -> HubError {
        let names = [CONFIG_FILE].into_iter().chain(PROCESSOR_FILES);
        let looked_for = names.map(|name| self.lookup.in_repo(name)).collect();
        HubError::NotAModel { repo: self.lookup.repo.into(), looked_for }
    }

    fn no_weights(&self, commit: &str) -> Result<HubError, HubError> {
        let mut other = None;
        for name in OTHER_FORMATS.map(|name| self.lookup.in_repo(name)) {
            if matches!(self.client.head(commit, &name, true)?, Found::File(_)) {
                other = Some(name);
                break;
            }
        }
        let looked_for = WEIGHTS.into_iter().flat_map(<[&str; 2]>::from);
        let looked_for = looked_for.map(|name| self.lookup.in_repo(name)).collect();
        Ok(HubError::NoWeights { repo: self.lookup.repo.into(), looked_for, other })
    }
}

/// What the cache has of a commit.
#[derive(Clone, Copy)]
struct Snapshot<'a> {
    store: &'a Store,
    commit: &'a str,
    subfolder: Option<&'a str>,
    /// Whether they count.
    weights: bool,
}

impl Snapshot<'_> {
    fn folder(&self) -> PathBuf {
        self.store.snapshot(self.commit).join(self.subfolder.unwrap_or_default())
    }

    fn has(&self, name: &str) -> bool {
        self.folder().join(name).is_file()
    }

    /// Whether nothing is left to ask for: each file is there, or known to be absent.
    fn is_complete(&self) -> bool {
        let in_repo = |name: &str| cache::in_repo(self.subfolder, name);
        let settled = |name: &str| self.has(name) || self.store.is_absent(self.commit, &in_repo(name));
        self.is_usable() && PROCESSOR_FILES.iter().all(|name| settled(name)) && settled(CONFIG_FILE)
    }

    /// Whether a model (or where no weights are wanted, its config), or a processor alone, can be opened.
    fn is_usable(&self) -> bool {
        match self.has(CONFIG_FILE) {
            true => {
                !self.weights
                    || WEIGHTS.iter().any(|(single, index)| self.has(single) || self.has_all_shards(index))
            }
            false => PROCESSOR_FILES.iter().any(|name| self.has(name)),
        }
    }

    fn has_all_shards(&self, index: &str) -> bool {
        self.has(index) && self.shards(index).is_ok_and(|shards| shards.iter().all(|shard| self.has(shard)))
    }

    /// The shards that an index names.
    fn shards(&self, index: &str) -> Result<BTreeSet<String>, CheckpointError> {
        let index = self.folder().join(index);
        let bytes = files::read_small(&index, MAX_INDEX_BYTES)?.unwrap_or_default();
        shard_names(&index, &bytes)
    }
}
