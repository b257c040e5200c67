//! The proxy and the certificates that the environment names.
//!
//! As everywhere: `HTTPS_PROXY` or `http_proxy` by the hub's scheme, `NO_PROXY` with hosts to leave out, separated by commas;
//! `SSL_CERT_FILE`, a file of PEM certificates, as Python's tools and OpenSSL read it.

use std::path::PathBuf;
use std::sync::Arc;

use ureq::Proxy;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::files;
use crate::hub::env::HubEnv;
use crate::hub::error::HubError;

/// Bytes of a file of certificates; Mozilla's list has 0.3 MB.
const MAX_CERTIFICATE_BYTES: u64 = 16 << 20;

/// The proxy for https or http; `None` when there is none.
pub(super) fn proxy(env: &HubEnv, https: bool) -> Result<Option<Proxy>, HubError> {
    let address = if https { &env.https_proxy } else { &env.http_proxy };
    let Some(address) = address else { return Ok(None) };
    let parsed = Proxy::new(address.expose()).map_err(|_| HubError::InvalidProxy)?;
    let mut proxy = Proxy::builder(parsed.protocol()).host(parsed.host()).port(parsed.port());
    if let Some(name) = parsed.username() {
        proxy = proxy.username(name);
    }
    if let Some(password) = parsed.password() {
        proxy = proxy.password(password);
    }
    for host in env.no_proxy.as_ref().and_then(|hosts| hosts.to_str()).unwrap_or_default().split(',') {
        proxy = proxy.no_proxy(host.trim());
    }
    proxy.build().map(Some).map_err(|_| HubError::InvalidProxy)
}

/// Mozilla's root certificates, or those of `SSL_CERT_FILE` alone.
pub(super) fn tls(env: &HubEnv) -> Result<TlsConfig, HubError> {
    let Some(path) = env.ssl_cert_file.as_ref().map(PathBuf::from) else { return Ok(TlsConfig::default()) };
    let bytes = files::read_small(&path, MAX_CERTIFICATE_BYTES).ok().flatten().unwrap_or_default();
    let certificates: Vec<_> = parse_pem(&bytes)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match certificates.is_empty() {
        true => Err(HubError::Certificates { path }),
        false => Ok(TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(certificates))).build()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::token::Secret;

    #[test]
    fn the_proxy_is_that_of_the_scheme_and_hosts_can_be_left_out() {
        let env = HubEnv {
            https_proxy: Some(Secret::new("http://me:pass@proxy.example:3128")),
            no_proxy: Some("localhost, .corp.example".into()),
            ..HubEnv::default()
        };
        assert!(proxy(&env, false).unwrap().is_none());
        let proxy = proxy(&env, true).unwrap().unwrap();
        assert_eq!((proxy.host(), proxy.port()), ("proxy.example", 3128));
        assert_eq!((proxy.username(), proxy.password()), (Some("me"), Some("pass")));
        assert!(proxy.is_no_proxy(&"https://hub.corp.example/x".parse().unwrap()));
        assert!(!proxy.is_no_proxy(&"https://huggingface.co/x".parse().unwrap()));
    }

    #[test]
    fn a_proxy_without_an_address_is_refused_and_not_shown() {
        let env = HubEnv { https_proxy: Some(Secret::new("http://me:pass@")), ..HubEnv::default() };
        let error = proxy(&env, true).unwrap_err();
        assert!(matches!(error, HubError::InvalidProxy));
    }

    #[test]
    fn a_file_without_certificates_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let env = HubEnv { ssl_cert_file: Some(path.clone().into()), ..HubEnv::default() };
        assert!(matches!(tls(&env), Err(HubError::Certificates { .. })));
        std::fs::write(&path, "no certificate").unwrap();
        assert!(tls(&env).unwrap_err().to_string().contains("ca.pem"));
    }
}
