//! Looking up a host's name, with a failure that can be told from a broken connection.
//!
//! The system's own error for an unknown name has no kind of its own, so that it would be retried like a connection that was cut.

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The system's resolver, whose every failure is [`Error::HostNotFound`] or a timeout.
#[derive(Debug, Default)]
pub(super) struct Names(DefaultResolver);

impl Resolver for Names {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        self.0.resolve(uri, config, timeout).map_err(|error| match error {
            Error::Io(_) => Error::HostNotFound,
            other => other,
        })
    }
}
