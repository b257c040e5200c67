//! From what the network or the server says to an error, and to whether trying again can help.

use std::io;

use ureq::http::header::RETRY_AFTER;
use ureq::http::{Response, Uri};
use ureq::{Body, Timeout};

use super::address;
use super::client::{Client, header};
use super::retry::{self, Failure};
use crate::hub::error::HubError;

/// What the hub says of an error.
pub(super) const X_ERROR_CODE: &str = "x-error-code";
const X_ERROR_MESSAGE: &str = "x-error-message";
/// Characters of a server's message that an error repeats.
const SHOWN_CHARS: usize = 200;

/// A request that failed: what to tell, and whether to try again.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) failure: Failure,
    pub(super) error: Box<HubError>,
}

impl Client {
    /// The failure of a request that got no answer, or half of one.
    pub(super) fn failed(&self, uri: &Uri, error: &ureq::Error) -> Attempt {
        let reason = match error {
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                format!("no connection within {} s", self.options.connect_timeout.as_secs_f64())
            }
            ureq::Error::Timeout(_) => {
                format!("the connection stood still for {} s", self.options.read_timeout.as_secs_f64())
            }
            ureq::Error::HostNotFound => "no such host, or no network".into(),
            ureq::Error::Io(error) => error.to_string(),
            other => other.to_string(),
        };
        self.unreachable(uri, failure(error), reason)
    }

    /// The failure of a connection.
    pub(super) fn unreachable(&self, uri: &Uri, failure: Failure, reason: String) -> Attempt {
        let (repo, host) = (self.repo.clone(), address::host(uri));
        Attempt { failure, error: Box::new(HubError::Unreachable { repo, host, reason }) }
    }

    /// An answer that is none of the hub's.
    pub(super) fn not_a_hub(&self, uri: &Uri, reason: String) -> Attempt {
        let (repo, host) = (self.repo.clone(), address::host(uri));
        Attempt { failure: Failure::Final, error: Box::new(HubError::NotAHub { repo, host, reason }) }
    }

    /// The failure that a response speaks of.
    pub(super) fn refused(&self, uri: &Uri, file: &str, response: &Response<Body>) -> Attempt {
        let status = response.status().as_u16();
        let message = header(response, X_ERROR_MESSAGE).map(|text| text.chars().take(SHOWN_CHARS).collect());
        if matches!(status, 408 | 429 | 500..) {
            let wait =
                response.headers().get(RETRY_AFTER).and_then(|text| retry::retry_after(text.to_str().ok()?));
            return Attempt {
                failure: Failure::Later(wait),
                error: Box::new(self.status(uri, file, status, message)),
            };
        }
        // Another host knows nothing of repos and tokens.
        let error = match self.endpoint.is_origin_of(uri) {
            true => self.refused_by_hub(uri, file, response, message),
            false => self.status(uri, file, status, message),
        };
        Attempt { failure: Failure::Final, error: Box::new(error) }
    }

    fn refused_by_hub(
        &self,
        uri: &Uri,
        file: &str,
        response: &Response<Body>,
        message: Option<String>,
    ) -> HubError {
        let (repo, endpoint) = (self.repo.clone(), self.endpoint.text().to_owned());
        let with_token = self.token.is_some();
        let status = response.status().as_u16();
        match (header(response, X_ERROR_CODE), status) {
            (Some("GatedRepo"), _) => HubError::Gated { repo, endpoint, with_token },
            (Some("RevisionNotFound"), _) => HubError::RevisionNotFound { repo, revision: revision(uri) },
            // To who sends no token, the hub says of a private repo what it says of one that does not exist: 401.
            (Some("RepoNotFound"), _) | (None, 404) => HubError::RepoNotFound { repo, endpoint, with_token },
            (_, 401) if !with_token => HubError::RepoNotFound { repo, endpoint, with_token },
            (_, 401 | 403) => HubError::Refused { repo, endpoint, status, message, with_token },
            _ => self.status(uri, file, status, message),
        }
    }

    fn status(&self, uri: &Uri, file: &str, status: u16, message: Option<String>) -> HubError {
        let (repo, file, host) = (self.repo.clone(), file.to_owned(), address::host(uri));
        HubError::Status { repo, file, host, status, message }
    }
}

/// The revision in a file's address.
fn revision(uri: &Uri) -> String {
    let part =
        uri.path().split("/resolve/").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// Whether trying again can help.
fn failure(error: &ureq::Error) -> Failure {
    use io::ErrorKind as Kind;
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => Failure::NoConnection,
        ureq::Error::Io(error) => match error.kind() {
            Kind::ConnectionRefused
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            | Kind::AddrNotAvailable => Failure::NoConnection,
            // What TLS says of a certificate comes wrapped like this.
            Kind::InvalidData => Failure::Final,
            _ => Failure::Interrupted,
        },
        ureq::Error::Timeout(_) | ureq::Error::Protocol(_) => Failure::Interrupted,
        _ => Failure::Final,
    }
}
