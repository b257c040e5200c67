//! Asking the hub: one client for one repo.
//!
//! Redirects are followed here and not by the HTTP library, because what may be sent where depends on them: the token goes to
//! the hub's own origin only, and the answer that redirects to another host is the one that carries a file's metadata.
//! Every failure is sorted (`Failure`): what cannot be helped by trying again is told at once.

use std::thread;
use std::time::Duration;

use ureq::http::header::{AUTHORIZATION, HeaderValue, LOCATION, RANGE, RETRY_AFTER};
use ureq::http::{Method, Request, Response, StatusCode, Uri};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body};

use super::error::HubError;
use super::options::{HubOptions, NetworkOptions};
use super::token::Secret;

mod address;
mod body;
mod failure;
mod head;
mod names;
mod proxy;
mod retry;

pub(super) use address::Endpoint;
pub(super) use body::{Answer, Download, remove};
pub(super) use head::{FileMeta, Found};
use names::Names;
use retry::{Failure, Retries};

/// Redirects that are followed for one request.
const MAX_REDIRECTS: usize = 10;
/// What the hub says of an error.
const X_ERROR_CODE: &str = "x-error-code";
const X_ERROR_MESSAGE: &str = "x-error-message";
/// Characters of a server's message that an error repeats.
const SHOWN_CHARS: usize = 200;

/// A request that failed: what to tell, and whether to try again.
#[derive(Debug)]
pub(super) struct Attempt {
    failure: Failure,
    error: Box<HubError>,
}

/// Asks for files of one repo.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    endpoint: Endpoint,
    token: Option<Secret>,
    options: NetworkOptions,
    repo: String,
}

impl Client {
    /// A client for `repo`. No connection is made.
    pub(super) fn new(repo: &str, options: &HubOptions, network: NetworkOptions) -> Result<Self, HubError> {
        let given = options.env.hf_endpoint.as_ref().map(|text| text.to_string_lossy());
        let endpoint = Endpoint::parse(given.as_deref())?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(network.connect_timeout))
            .timeout_connect(Some(network.connect_timeout))
            .timeout_recv_response(Some(network.read_timeout))
            .timeout_per_read(Some(network.read_timeout))
            .timeout_per_write(Some(network.read_timeout))
            .user_agent(concat!("dinoxide/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .proxy(proxy::proxy(&options.env, endpoint.is_https())?)
            .tls_config(proxy::tls(&options.env)?)
            .build();
        let token = options.token.resolve(&options.env)?;
        let agent = Agent::with_parts(config, DefaultConnector::default(), Names::default());
        Ok(Self { agent, endpoint, token, options: network, repo: repo.into() })
    }

    /// The address of a file of the repo.
    fn file(&self, revision: &str, file: &str) -> Result<Uri, HubError> {
        self.endpoint.file(&self.repo, revision, file).ok_or_else(|| HubError::InvalidEndpoint {
            endpoint: self.endpoint.text().into(),
            reason: "a file's name cannot be added to it",
        })
    }

    /// Does `work` until it succeeds, fails for good, or has failed too often.
    fn retried<T>(&self, mut work: impl FnMut() -> Result<T, Attempt>) -> Result<T, HubError> {
        let mut retries = Retries::new(self.options);
        loop {
            match work() {
                Ok(value) => return Ok(value),
                Err(attempt) => wait_or_fail(&mut retries, attempt)?,
            }
        }
    }

    /// One request, from byte `from` on; redirects are not followed.
    fn send(&self, method: &Method, uri: &Uri, from: u64) -> Result<Response<Body>, Attempt> {
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(token) = self.token.as_ref().filter(|_| self.endpoint.is_origin_of(uri)) {
            request = request.header(AUTHORIZATION, bearer(token));
        }
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let request = request.body(()).map_err(|error| self.failed(uri, &error.into()))?;
        self.agent.run(request).map_err(|error| self.failed(uri, &error))
    }

    /// The content of a file: redirects are followed, to any host.
    fn get(&self, uri: &Uri, file: &str, from: u64) -> Result<Response<Body>, Attempt> {
        let mut uri = uri.clone();
        for _ in 0..MAX_REDIRECTS {
            let response = self.send(&Method::GET, &uri, from)?;
            match redirect(&uri, &response) {
                Some(target) => uri = target,
                None if matches!(response.status(), StatusCode::OK | StatusCode::PARTIAL_CONTENT) => {
                    return Ok(response);
                }
                None if response.status() == StatusCode::RANGE_NOT_SATISFIABLE && from > 0 => {
                    return Ok(response);
                }
                None => return Err(self.refused(&uri, file, &response)),
            }
        }
        Err(self.not_a_hub(&uri, format!("more than {MAX_REDIRECTS} redirects")))
    }
}

/// The header that carries a token, marked so that no log shows it. A token that was resolved fits a header.
fn bearer(token: &Secret) -> HeaderValue {
    let text = format!("Bearer {}", token.expose());
    let mut value = HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// Waits until the next try, or gives the error of the last one.
fn wait_or_fail(retries: &mut Retries, attempt: Attempt) -> Result<(), HubError> {
    match retries.next(attempt.failure) {
        Some(Duration::ZERO) => Ok(()),
        Some(wait) => {
            thread::sleep(wait);
            Ok(())
        }
        None => Err(*attempt.error),
    }
}

/// Where a response redirects to, if it does.
fn redirect(uri: &Uri, response: &Response<Body>) -> Option<Uri> {
    if !response.status().is_redirection() {
        return None;
    }
    address::join(uri, response.headers().get(LOCATION)?.to_str().ok()?)
}

/// A header's text.
fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}
