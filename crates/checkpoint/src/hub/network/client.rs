//! One client for one repo: requests, redirects, tries.
//!
//! A request carries the token only to the hub's own origin, and asks for bytes as they are (no compression), so that they can be
//! counted and hashed. Connections are kept between files. No more is read of an answer than was asked for.

use std::sync::Arc;

use ureq::http::header::{AUTHORIZATION, HeaderValue, LOCATION, RANGE};
use ureq::http::{Method, Request, Response, StatusCode, Uri};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body};

use super::address::{self, Endpoint};
use super::failure::Attempt;
use super::names::Names;
use super::proxy;
use super::retry::Retries;
use crate::hub::error::HubError;
use crate::hub::options::{HubOptions, NetworkOptions};
use crate::hub::progress::{Progress, pause};
use crate::hub::token::Secret;

/// Redirects that are followed for one request.
pub(super) const MAX_REDIRECTS: usize = 10;

/// Asks for files of one repo.
#[derive(Debug)]
pub(in crate::hub) struct Client {
    agent: Agent,
    pub(super) endpoint: Endpoint,
    pub(super) token: Option<Secret>,
    pub(super) options: NetworkOptions,
    pub(super) repo: String,
    pub(super) progress: Arc<dyn Progress>,
}

impl Client {
    /// A client for `repo`, which tells `progress` of what it does. No connection is made.
    pub(in crate::hub) fn new(
        repo: &str,
        options: &HubOptions,
        network: NetworkOptions,
        progress: Arc<dyn Progress>,
    ) -> Result<Self, HubError> {
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
        Ok(Self { agent, endpoint, token, options: network, repo: repo.into(), progress })
    }

    /// The address of a file of the repo.
    pub(super) fn file(&self, revision: &str, file: &str) -> Result<Uri, HubError> {
        self.endpoint.file(&self.repo, revision, file).ok_or_else(|| HubError::InvalidEndpoint {
            endpoint: self.endpoint.text().into(),
            reason: "a file's name cannot be added to it",
        })
    }

    /// Does `work` for a file until it succeeds, fails for good, or has failed too often.
    pub(super) fn retried<T>(
        &self,
        file: &str,
        mut work: impl FnMut() -> Result<T, Attempt>,
    ) -> Result<T, HubError> {
        let mut retries = Retries::new(self.options);
        loop {
            match work() {
                Ok(value) => return Ok(value),
                Err(attempt) => self.wait_or_fail(&mut retries, attempt, file)?,
            }
        }
    }

    /// Waits until the next try for a file, or gives the error of the last one.
    pub(super) fn wait_or_fail(
        &self,
        retries: &mut Retries,
        attempt: Attempt,
        file: &str,
    ) -> Result<(), HubError> {
        let wait = retries.next(attempt.failure).ok_or(*attempt.error)?;
        if pause(&*self.progress, wait) { Err(HubError::Stopped { file: file.into() }) } else { Ok(()) }
    }

    /// One request, from byte `from` on; redirects are not followed.
    pub(super) fn send(&self, method: &Method, uri: &Uri, from: u64) -> Result<Response<Body>, Attempt> {
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
    pub(super) fn get(&self, uri: &Uri, file: &str, from: u64) -> Result<Response<Body>, Attempt> {
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

/// Where a response redirects to, if it does.
pub(super) fn redirect(uri: &Uri, response: &Response<Body>) -> Option<Uri> {
    if !response.status().is_redirection() {
        return None;
    }
    address::join(uri, response.headers().get(LOCATION)?.to_str().ok()?)
}

/// A header's text.
pub(super) fn header<'a>(response: &'a Response<Body>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}
