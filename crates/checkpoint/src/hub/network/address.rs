//! Addresses: of the hub, of a file, and where a redirect leads.
//!
//! `<endpoint>/<repo>/resolve/<revision>/<file>`. The revision is one part of the path, so its `/` is escaped; the file
//! may be several. Two addresses are of the same origin when scheme, host and port are equal: only then may a token travel.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::http::Uri;

use crate::hub::error::HubError;

/// The hub, unless `HF_ENDPOINT` names another.
const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// What is escaped in one part of a path: all but RFC 3986's unreserved characters.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same, where parts are separated already.
const PATH: &AsciiSet = &PART.remove(b'/');

/// The hub's address.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    text: String,
    origin: Origin,
}

/// Scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    https: bool,
    host: String,
    port: u16,
}

impl Endpoint {
    /// The address that the environment names, or the hub's.
    pub(crate) fn parse(given: Option<&str>) -> Result<Self, HubError> {
        let text = given.unwrap_or(DEFAULT_ENDPOINT).trim_end_matches('/');
        let refuse = |reason| Err(HubError::InvalidEndpoint { endpoint: hide_userinfo(text), reason });
        let Ok(uri) = text.parse::<Uri>() else { return refuse("it cannot be parsed") };
        if uri.query().is_some() {
            return refuse("it has a query");
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return refuse("it holds a user's name; give a token instead");
        }
        match Origin::of(&uri) {
            Some(origin) => Ok(Self { text: text.into(), origin }),
            None => refuse("it must begin with http:// or https:// and a host"),
        }
    }

    /// The address as text, without a `/` at its end.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a proxy for https serves it, and not one for http.
    pub(super) fn is_https(&self) -> bool {
        self.origin.https
    }

    /// Whether a token may be sent to `uri`.
    pub(super) fn is_origin_of(&self, uri: &Uri) -> bool {
        Origin::of(uri).as_ref() == Some(&self.origin)
    }

    /// The address of a file; `None` when it would be none, which an id or revision that was checked never makes.
    pub(crate) fn file(&self, repo: &str, revision: &str, file: &str) -> Option<Uri> {
        let (revision, file) = (utf8_percent_encode(revision, PART), utf8_percent_encode(file, PATH));
        format!("{}/{repo}/resolve/{revision}/{file}", self.text).parse().ok()
    }
}

impl Origin {
    pub(super) fn of(uri: &Uri) -> Option<Self> {
        let https = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = uri.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        Some(Self { https, host, port })
    }
}

/// The host and port of an address, for messages.
pub(super) fn host(uri: &Uri) -> String {
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}{port}", uri.host().unwrap_or("the server"))
}

/// Where `location` leads from `base`.
pub(super) fn join(base: &Uri, location: &str) -> Option<Uri> {
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    if location.contains("://") && !location.starts_with('/') {
        return location.parse().ok();
    }
    let joined = match location.strip_prefix("//") {
        Some(rest) => format!("{scheme}://{rest}"),
        None if location.starts_with('/') => format!("{scheme}://{authority}{location}"),
        None => {
            let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            format!("{scheme}://{authority}{folder}/{location}")
        }
    };
    joined.parse().ok()
}

/// An address as an error may show it: without a name and password.
fn hide_userinfo(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_with_slashes_is_one_part_and_a_file_may_be_several() {
        let endpoint = Endpoint::parse(Some("http://mirror.example:8080/hf/")).unwrap();
        let uri = endpoint.file("org/name", "refs/pr/3", "sub folder/x#1.json").unwrap();
        let expected = "http://mirror.example:8080/hf/org/name/resolve/refs%2Fpr%2F3/sub%20folder/x%231.json";
        assert_eq!(uri.to_string(), expected);
        let standard = Endpoint::parse(None).unwrap().file("gpt2", "main", "config.json").unwrap();
        assert_eq!(standard.to_string(), "https://huggingface.co/gpt2/resolve/main/config.json");
    }

    #[test]
    fn only_scheme_host_and_port_together_make_an_origin() {
        let endpoint = Endpoint::parse(Some("https://Hub.example")).unwrap();
        let same = |text: &str| endpoint.is_origin_of(&text.parse().unwrap());
        assert!(same("https://hub.example/x") && same("https://hub.example:443/x"));
        for other in ["http://hub.example/x", "https://hub.example:444/", "https://cdn.hub.example/", "/x"] {
            assert!(!same(other), "{other}");
        }
    }

    #[test]
    fn a_redirect_may_be_relative() {
        let base: Uri = "https://hub.example/a/b?c=d".parse().unwrap();
        for (location, expected) in [
            ("/x/y?z=1", "https://hub.example/x/y?z=1"),
            ("y", "https://hub.example/a/y"),
            ("//cdn.example/y", "https://cdn.example/y"),
            ("http://cdn.example/y?u=https://z", "http://cdn.example/y?u=https://z"),
        ] {
            assert_eq!(join(&base, location).unwrap().to_string(), expected, "{location}");
        }
        assert!(join(&base, "http://[").is_none());
    }

    #[test]
    fn what_is_no_address_is_refused_and_a_password_is_not_shown() {
        for text in ["", "huggingface.co", "ftp://x.example", "http://", "http://x.example/?q=1", "ht tp://x"]
        {
            let error = Endpoint::parse(Some(text)).unwrap_err();
            assert!(matches!(error, HubError::InvalidEndpoint { .. }), "{text}");
        }
        let error = Endpoint::parse(Some("https://me:pass@hub.example")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("pass"), "{error}");
    }
}
