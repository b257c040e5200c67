//! The environment variables of Hugging Face's tools; the only place below the command line that reads any.
//!
//! Where things are and whether to go online is decided here; tokens in `token`, the proxy in `network::proxy`.
//! Cache folder: `HF_HUB_CACHE`, else `HUGGINGFACE_HUB_CACHE`, else `$HF_HOME/hub`, where `HF_HOME` defaults to
//! `$XDG_CACHE_HOME/huggingface` and that to `~/.cache`. Offline: `HF_HUB_OFFLINE`, or when it is empty or not set
//! `TRANSFORMERS_OFFLINE`, is 1, ON, YES or TRUE in any case. A leading `~` and `$NAME` in folders are expanded.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::token::Secret;

/// Values that switch a flag on.
const TRUE_VALUES: [&str; 4] = ["1", "ON", "YES", "TRUE"];

/// The variables that matter, as they stand; empty ones count as not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HubEnv {
    /// `HF_HUB_CACHE`.
    pub hf_hub_cache: Option<OsString>,
    /// `HUGGINGFACE_HUB_CACHE`.
    pub huggingface_hub_cache: Option<OsString>,
    /// `HF_HOME`.
    pub hf_home: Option<OsString>,
    /// `XDG_CACHE_HOME`.
    pub xdg_cache_home: Option<OsString>,
    /// The user's home folder.
    pub home: Option<OsString>,
    /// `HF_HUB_OFFLINE`.
    pub hf_hub_offline: Option<OsString>,
    /// `TRANSFORMERS_OFFLINE`.
    pub transformers_offline: Option<OsString>,
    /// `HF_ENDPOINT`: the hub's address, or a mirror's.
    pub hf_endpoint: Option<OsString>,
    /// `HF_TOKEN`.
    pub hf_token: Option<Secret>,
    /// `HUGGING_FACE_HUB_TOKEN`, its old name.
    pub hugging_face_hub_token: Option<Secret>,
    /// `HF_TOKEN_PATH`: the file that `hf auth login` writes.
    pub hf_token_path: Option<OsString>,
    /// `HF_HUB_DISABLE_IMPLICIT_TOKEN`.
    pub hf_hub_disable_implicit_token: Option<OsString>,
    /// `HF_HUB_DOWNLOAD_TIMEOUT`: seconds without a byte.
    pub hf_hub_download_timeout: Option<OsString>,
    /// `HTTPS_PROXY` or `https_proxy`, else `ALL_PROXY` or `all_proxy`; may hold a password.
    pub https_proxy: Option<Secret>,
    /// `http_proxy`, else `ALL_PROXY` or `all_proxy`; may hold a password.
    pub http_proxy: Option<Secret>,
    /// `NO_PROXY` or `no_proxy`.
    pub no_proxy: Option<OsString>,
    /// `SSL_CERT_FILE`: certificates to trust instead of Mozilla's, such as a company's.
    pub ssl_cert_file: Option<OsString>,
}

impl HubEnv {
    /// The variables that can name the cache folder, strongest first.
    pub const CACHE_KEYS: [&'static str; 5] =
        ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HOME"];

    /// The environment of this process.
    pub fn from_process() -> Self {
        Self::from_lookup(std::env::home_dir().map(PathBuf::into_os_string), |name| std::env::var_os(name))
    }

    /// The environment that `lookup` answers for; `home` is the user's home folder.
    fn from_lookup(home: Option<OsString>, lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let home = home.filter(|value| !value.is_empty());
        let folder = |name: &str| Some(expand(&set(name)?, home.as_deref(), &lookup));
        let first = |names: &[&str]| names.iter().find_map(|name| set(name));
        let secret = |names: &[&str]| first(names).map(|value| Secret::new(value.to_string_lossy()));
        Self {
            hf_hub_cache: folder("HF_HUB_CACHE"),
            huggingface_hub_cache: folder("HUGGINGFACE_HUB_CACHE"),
            hf_home: folder("HF_HOME"),
            xdg_cache_home: folder("XDG_CACHE_HOME"),
            hf_hub_offline: set("HF_HUB_OFFLINE"),
            transformers_offline: set("TRANSFORMERS_OFFLINE"),
            hf_endpoint: set("HF_ENDPOINT"),
            hf_token: secret(&["HF_TOKEN"]),
            hugging_face_hub_token: secret(&["HUGGING_FACE_HUB_TOKEN"]),
            hf_token_path: folder("HF_TOKEN_PATH"),
            hf_hub_disable_implicit_token: set("HF_HUB_DISABLE_IMPLICIT_TOKEN"),
            hf_hub_download_timeout: set("HF_HUB_DOWNLOAD_TIMEOUT"),
            https_proxy: secret(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            // Not `HTTP_PROXY`: where a web server starts programs, a stranger's `Proxy:` header sets it.
            http_proxy: secret(&["http_proxy", "ALL_PROXY", "all_proxy"]),
            no_proxy: first(&["NO_PROXY", "no_proxy"]),
            ssl_cert_file: folder("SSL_CERT_FILE"),
            home,
        }
    }

    /// The cache folder; `None` when not even a home folder is known.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        let explicit = self.hf_hub_cache.as_ref().or(self.huggingface_hub_cache.as_ref());
        if let Some(folder) = explicit {
            return Some(folder.into());
        }
        Some(self.hf_home()?.join("hub"))
    }

    /// The folder of all of Hugging Face's tools.
    fn hf_home(&self) -> Option<PathBuf> {
        if let Some(home) = &self.hf_home {
            return Some(home.into());
        }
        let cache = match (&self.xdg_cache_home, &self.home) {
            (Some(cache), _) => PathBuf::from(cache),
            (None, Some(home)) => PathBuf::from(home).join(".cache"),
            (None, None) => return None,
        };
        Some(cache.join("huggingface"))
    }

    /// The file that holds the token of who has logged in; `None` when not even a home folder is known.
    pub fn token_path(&self) -> Option<PathBuf> {
        let explicit = self.hf_token_path.as_ref().map(PathBuf::from);
        explicit.or_else(|| Some(self.hf_home()?.join("token")))
    }

    /// Whether a token may be sent only when the caller gives one.
    pub(super) fn forbids_implicit_token(&self) -> bool {
        is_on(self.hf_hub_disable_implicit_token.as_ref())
    }

    /// Whether the environment forbids going online.
    pub fn is_offline(&self) -> bool {
        is_on(self.hf_hub_offline.as_ref().or(self.transformers_offline.as_ref()))
    }
}

fn is_on(flag: Option<&OsString>) -> bool {
    let flag = flag.and_then(|value| value.to_str()).map(str::to_ascii_uppercase);
    flag.is_some_and(|value| TRUE_VALUES.contains(&value.as_str()))
}

/// A folder's `~` and `$NAME` or `${NAME}` replaced; names that are not set stay, as does what is not UTF-8.
fn expand(folder: &OsStr, home: Option<&OsStr>, lookup: &impl Fn(&str) -> Option<OsString>) -> OsString {
    let Some(text) = folder.to_str() else { return folder.to_owned() };
    let (mut expanded, rest) = match (text.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => (home.to_owned(), rest),
        _ => (OsString::new(), text),
    };
    let mut pieces = rest.split('$');
    expanded.push(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, after) = variable(piece);
        match lookup(name).filter(|_| !name.is_empty()) {
            Some(value) => {
                expanded.push(value);
                expanded.push(after);
            }
            None => {
                expanded.push("$");
                expanded.push(piece);
            }
        }
    }
    expanded
}

/// The name at the start of what follows a `$`, and the rest.
fn variable(piece: &str) -> (&str, &str) {
    if let Some(braced) = piece.strip_prefix('{') {
        return braced.split_once('}').unwrap_or(("", piece));
    }
    let end = piece.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(piece.len());
    piece.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> HubEnv {
        HubEnv::from_lookup(Some("/home/me".into()), |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn the_cache_folder_follows_the_documented_precedence() {
        let mut pairs = Vec::new();
        let steps = [
            (("HOME", "/ignored"), "/home/me/.cache/huggingface/hub"),
            (("XDG_CACHE_HOME", "/xdg"), "/xdg/huggingface/hub"),
            (("HF_HOME", "/hf"), "/hf/hub"),
            (("HUGGINGFACE_HUB_CACHE", "/old"), "/old"),
            (("HF_HUB_CACHE", "/new"), "/new"),
        ];
        for (pair, expected) in steps {
            pairs.push(pair);
            assert_eq!(env(&pairs).cache_dir(), Some(expected.into()), "{pairs:?}");
        }
    }

    #[test]
    fn empty_variables_count_as_not_set_and_no_home_gives_no_folder() {
        assert_eq!(env(&[("HF_HOME", "")]).cache_dir(), Some("/home/me/.cache/huggingface/hub".into()));
        assert_eq!(HubEnv::default().cache_dir(), None);
    }

    #[test]
    fn tilde_and_variables_in_folders_are_expanded() {
        let cases = [
            ("~/hf", "/home/me/hf"),
            ("~", "/home/me"),
            ("~other/hf", "~other/hf"),
            ("$BASE/hf", "/data/hf"),
            ("/a/${BASE}x", "/a//datax"),
            ("/a/$MISSING/b", "/a/$MISSING/b"),
            ("/a/${BASE", "/a/${BASE"),
            ("/a/$", "/a/$"),
        ];
        for (given, expected) in cases {
            let env = env(&[("HF_HUB_CACHE", given), ("BASE", "/data")]);
            assert_eq!(env.cache_dir(), Some(expected.into()), "{given}");
        }
    }

    #[test]
    fn the_token_file_is_in_hf_home_unless_it_is_named() {
        assert_eq!(env(&[]).token_path(), Some("/home/me/.cache/huggingface/token".into()));
        assert_eq!(env(&[("HF_HOME", "/hf")]).token_path(), Some("/hf/token".into()));
        let named = env(&[("HF_HOME", "/hf"), ("HF_TOKEN_PATH", "~/mine")]);
        assert_eq!(named.token_path(), Some("/home/me/mine".into()));
        assert_eq!(HubEnv::default().token_path(), None);
    }

    #[test]
    fn what_is_secret_is_not_shown() {
        let env = env(&[("HF_TOKEN", "hf_abc"), ("https_proxy", "http://me:pass@proxy:1")]);
        assert_eq!(env.hf_token, Some(Secret::new("hf_abc")));
        let shown = format!("{env:?}");
        assert!(!shown.contains("hf_abc") && !shown.contains("pass@"), "{shown}");
    }

    #[test]
    fn offline_flags_take_four_values_in_any_case_and_the_first_one_set_decides() {
        for value in ["1", "on", "Yes", "TRUE"] {
            assert!(env(&[("HF_HUB_OFFLINE", value)]).is_offline(), "{value}");
            assert!(env(&[("TRANSFORMERS_OFFLINE", value)]).is_offline(), "{value}");
        }
        for value in ["0", "no", "2", "off"] {
            assert!(
                !env(&[("HF_HUB_OFFLINE", value), ("TRANSFORMERS_OFFLINE", "1")]).is_offline(),
                "{value}"
            );
        }
        assert!(env(&[("HF_HUB_OFFLINE", ""), ("TRANSFORMERS_OFFLINE", "1")]).is_offline());
        assert!(!HubEnv::default().is_offline());
    }
}
