//! What a caller can wish for, and what is found.
//!
//! Everything that decides is in the options, the environment included, so that two callers in one process can differ, and
//! tests need to set no variable.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::env::HubEnv;
use super::progress::Progress;
use super::token::Token;

/// Where and how to look for a model.
#[derive(Debug, Clone)]
pub struct HubOptions {
    /// Branch, tag or commit; `main` when not given.
    pub revision: Option<String>,
    /// The folder inside the repo, or inside a local folder, that holds the files; its parts are separated by `/`.
    pub subfolder: Option<String>,
    /// The cache folder, before any that the environment names.
    pub cache_dir: Option<PathBuf>,
    /// Whether the caller forbids going online, besides the environment.
    pub offline: bool,
    /// The access token.
    pub token: Token,
    /// Whether the weights are wanted, besides the configs of model and processor.
    pub weights: bool,
    /// Who hears how downloads go.
    pub progress: Option<Arc<dyn Progress>>,
    /// Patience with the network.
    pub network: NetworkOptions,
    /// The environment.
    pub env: HubEnv,
}

impl Default for HubOptions {
    /// No wishes, and the environment of this process.
    fn default() -> Self {
        Self::with_env(HubEnv::from_process())
    }
}

impl HubOptions {
    /// No wishes, in this environment.
    pub fn with_env(env: HubEnv) -> Self {
        Self {
            revision: None,
            subfolder: None,
            cache_dir: None,
            offline: false,
            token: Token::Implicit,
            weights: true,
            progress: None,
            network: NetworkOptions::from_env(&env),
            env,
        }
    }

    /// Whether going online is forbidden, by the caller or by the environment.
    pub fn is_offline(&self) -> bool {
        self.offline || self.env.is_offline()
    }
}

/// The most that `HF_HUB_DOWNLOAD_TIMEOUT` can say, a day: a clock cannot hold every number of seconds.
const MAX_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

/// Patience with the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkOptions {
    /// Longest wait for a name to be resolved, and for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the next bytes of an answer. A body that moves may take any time.
    pub read_timeout: Duration,
    /// How often a failed request is made again. Bytes that came start the count anew.
    pub retries: u32,
    /// The wait before the second try; each further one is twice as long, less up to half of it at random.
    pub backoff: Duration,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            retries: 5,
            backoff: Duration::from_millis(500),
        }
    }
}

impl NetworkOptions {
    /// The defaults, with what the environment says: `HF_HUB_DOWNLOAD_TIMEOUT`, in whole seconds.
    fn from_env(env: &HubEnv) -> Self {
        let timeout = env.hf_hub_download_timeout.as_ref().and_then(|value| value.to_str()?.parse().ok());
        let timeout =
            timeout.filter(|&seconds| seconds > 0).map(|seconds: u64| seconds.min(MAX_TIMEOUT_SECONDS));
        let timeout = timeout.map(Duration::from_secs);
        let default = Self::default();
        Self { read_timeout: timeout.unwrap_or(default.read_timeout), ..default }
    }
}

/// A model's folder, and how it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Located {
    /// The folder with the files.
    pub dir: PathBuf,
    /// The repo id, when the folder is in the hub's cache.
    pub repo: Option<String>,
    /// The commit, when the folder is in the hub's cache.
    pub commit: Option<String>,
    /// What the user should know, such as that the hub could not be reached and the cache stood in; one line each.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_timeout_follows_the_environment() {
        let timeout = |value: &str| {
            let env = HubEnv { hf_hub_download_timeout: Some(value.into()), ..HubEnv::default() };
            HubOptions::with_env(env).network.read_timeout.as_secs()
        };
        assert_eq!((timeout("7"), timeout("0"), timeout("soon")), (7, 30, 30));
        assert_eq!(timeout(&u64::MAX.to_string()), MAX_TIMEOUT_SECONDS);
    }
}
