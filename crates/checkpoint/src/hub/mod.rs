//! From what a user names a model by to the folder that holds it.
//!
//! An existing local folder is used as it is. Otherwise the name is a repo id: [`fetch`] brings what is missing into the cache that
//! Hugging Face's tools share (`models--org--name/{refs,blobs,snapshots}`), [`locate`] only looks there. The layout, the locks and
//! the environment are those of Python's huggingface_hub, so what one has downloaded the other finds.
//! Source: `constants.py`, `file_download.py`, `utils/_validators.py` of huggingface_hub 2.4.0.
//!
//! # A download
//!
//! One question gives the commit of the revision; everything else is asked for by commit. Files that are there are not asked for,
//! so a complete cache costs that one question, and none when the revision is a full commit hash. Bytes gather in
//! `blobs/<etag>.incomplete`, where a later try goes on, also of another process; a blob gets its name when size and hash are
//! those that the hub announced. Offline (`HubOptions::offline`, `HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE`) no socket is opened.
//! When the hub is away, or refuses, and the cache has the revision, the cache serves and `Located::warnings` says so.
//!
//! # Why not hf-hub
//!
//! The crate hf-hub (1.0.0) writes the same layout. It does not go on with a partial file, nor with a body that is cut; compares neither
//! size nor hash; sets no timeouts, so that a stalled server holds it for ever; and
//! brings an asynchronous runtime, a second protocol and several times the dependencies. Here is a
//! small blocking HTTP client instead, and no more than a model needs.

mod cache;
mod digest;
mod env;
mod error;
mod fetch;
mod find;
mod ids;
mod network;
mod options;
mod progress;
mod store;
mod token;

pub use env::HubEnv;
pub use error::HubError;
pub use find::{fetch, locate};
pub use options::{HubOptions, Located, NetworkOptions};
pub use progress::Progress;
pub use token::{Secret, Token};

pub(crate) use cache::repo_of as repo_of_snapshot;
pub(crate) use error::no_folder;
pub(crate) use ids::repo_of_address;

#[cfg(test)]
mod tests;
