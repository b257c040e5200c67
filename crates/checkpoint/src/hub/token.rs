//! Access tokens: where one comes from, and that it is never shown.
//!
//! Strongest first: the caller's, `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN`, the file of `hf auth login`. With
//! `HF_HUB_DISABLE_IMPLICIT_TOKEN` only the caller's. Spaces and line ends around a token do not belong to it, and an empty
//! one counts as none. Source: `utils/_auth.py`, `utils/_headers.py` of huggingface_hub 2.4.0.

use std::fmt;
use std::io;

use super::env::HubEnv;
use super::error::HubError;
use crate::error::CheckpointError;
use crate::files;

/// Bytes of a token file; a token has 37 characters, an organisation's may have hundreds.
const MAX_TOKEN_BYTES: u64 = 16 << 10;

/// A text that is neither printed nor logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Which access token is sent to the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Token {
    /// The one that the environment or the token file holds, if any.
    #[default]
    Implicit,
    /// This one.
    Given(Secret),
    /// None, whatever the environment says.
    None,
}

impl Token {
    /// This token.
    pub fn given(token: impl Into<String>) -> Self {
        Self::Given(Secret::new(token))
    }

    /// The token to send, fit for a header.
    pub(super) fn resolve(&self, env: &HubEnv) -> Result<Option<Secret>, HubError> {
        match self {
            Self::None => Ok(None),
            Self::Given(token) => clean(token.expose(), || "the token that was given".into()),
            Self::Implicit if env.forbids_implicit_token() => Ok(None),
            Self::Implicit => implicit(env),
        }
    }
}

fn implicit(env: &HubEnv) -> Result<Option<Secret>, HubError> {
    let variables = [("HF_TOKEN", &env.hf_token), ("HUGGING_FACE_HUB_TOKEN", &env.hugging_face_hub_token)];
    for (name, token) in variables {
        let Some(token) = token else { continue };
        if let Some(token) = clean(token.expose(), || format!("the variable {name}"))? {
            return Ok(Some(token));
        }
    }
    let Some(path) = env.token_path() else { return Ok(None) };
    let bytes = match files::read_small(&path, MAX_TOKEN_BYTES) {
        Ok(bytes) => bytes.unwrap_or_default(),
        Err(CheckpointError::EmptyFile { .. }) => return Ok(None),
        Err(CheckpointError::Io { path, source }) => return Err(HubError::TokenFile { path, source }),
        // Too large, or a device: no token, and nothing of it is shown.
        Err(_) => {
            let source = io::Error::from(io::ErrorKind::InvalidData).into();
            return Err(HubError::TokenFile { path, source });
        }
    };
    clean(&String::from_utf8_lossy(&bytes), || format!("the token file `{}`", path.display()))
}

/// The token without what surrounds it; what no header can carry is refused, and not shown.
fn clean(text: &str, source: impl Fn() -> String) -> Result<Option<Secret>, HubError> {
    let token = text.replace(['\r', '\n'], "");
    let token = token.trim();
    match token {
        "" => Ok(None),
        token if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(Secret::new(token))),
        _ => Err(HubError::InvalidToken { source_of_token: source() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(token: &Token, env: &HubEnv) -> Option<String> {
        token.resolve(env).unwrap().map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn a_token_comes_from_the_strongest_place_that_has_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, " from-file\r\n").unwrap();
        let mut env = HubEnv { hf_token_path: Some(file.into()), ..HubEnv::default() };
        assert_eq!(sent(&Token::Implicit, &env).as_deref(), Some("from-file"));
        env.hugging_face_hub_token = Some(Secret::new("old"));
        assert_eq!(sent(&Token::Implicit, &env).as_deref(), Some("old"));
        env.hf_token = Some(Secret::new(" \n"));
        assert_eq!(sent(&Token::Implicit, &env).as_deref(), Some("old"));
        env.hf_token = Some(Secret::new("new\n"));
        assert_eq!(sent(&Token::Implicit, &env).as_deref(), Some("new"));
        assert_eq!(sent(&Token::given("mine"), &env).as_deref(), Some("mine"));
        assert_eq!(sent(&Token::None, &env), None);
        env.hf_hub_disable_implicit_token = Some("yes".into());
        assert_eq!(sent(&Token::Implicit, &env), None);
        assert_eq!(sent(&Token::given("mine"), &env).as_deref(), Some("mine"));
    }

    #[test]
    fn no_file_and_an_empty_one_are_no_token() {
        let dir = tempfile::tempdir().unwrap();
        let env = HubEnv { hf_home: Some(dir.path().into()), ..HubEnv::default() };
        assert_eq!(sent(&Token::Implicit, &env), None);
        std::fs::write(dir.path().join("token"), "").unwrap();
        assert_eq!(sent(&Token::Implicit, &env), None);
        assert_eq!(sent(&Token::Implicit, &HubEnv::default()), None);
    }

    #[test]
    fn a_token_that_no_header_can_carry_is_refused_and_not_shown() {
        for text in ["hf_ab cd", "hf_äbcd", "hf_ab\u{7f}cd"] {
            let error = Token::given(text).resolve(&HubEnv::default()).unwrap_err();
            assert!(matches!(error, HubError::InvalidToken { .. }));
            assert!(!format!("{error} {error:?}").contains("cd"), "{error:?}");
        }
        assert!(!format!("{:?}", Token::given("hf_abcd")).contains("hf_abcd"));
    }
}
