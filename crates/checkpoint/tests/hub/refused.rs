//! What the hub refuses, and what the user is told to do about it.

use dinoxide_checkpoint::hub::{self, HubError, HubOptions, Token};

use crate::hub::{Cache, REPO, dinov2, hub_error};
use dinoxide_testkit::server::{Reply, Server};

/// The error of a hub that answers everything alike.
fn error(status: u16, code: Option<&'static str>, message: Option<&'static str>, token: Token) -> HubError {
    let server = Server::start(move |_| {
        let mut reply = Reply::new(status).body("");
        if let Some(code) = code {
            reply = reply.with("X-Error-Code", code);
        }
        if let Some(message) = message {
            reply = reply.with("X-Error-Message", message);
        }
        reply
    });
    let cache = Cache::new();
    let options = HubOptions { token, ..cache.options(&server.url()) };
    let error = hub_error(hub::fetch(REPO, &options).unwrap_err());
    assert_eq!(server.lines().len(), 1, "asked once: {error}");
    assert!(!format!("{error:?} {error} {:?}", error.hint()).contains("hf_secret"));
    error
}

fn token() -> Token {
    Token::given("hf_secret")
}

#[test]
fn a_gated_repo_says_where_its_licence_is_and_how_to_give_a_token() {
    for (status, token, told) in
        [(401, Token::None, "a token is needed"), (403, token(), "has not been granted")]
    {
        let error = error(status, Some("GatedRepo"), None, token);
        assert!(matches!(error, HubError::Gated { .. }));
        assert!(error.to_string().contains("`facebook/dinov2-small` is gated"), "{error}");
        assert!(error.to_string().contains(told), "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("accept the licence at http://127.0.0.1:"), "{hint}");
        assert!(hint.contains("/facebook/dinov2-small"), "{hint}");
    }
    let hint = error(401, Some("GatedRepo"), None, Token::None).hint().unwrap();
    assert!(hint.contains("HF_TOKEN") && hint.contains("hf auth login"), "{hint}");
}

#[test]
fn a_repo_that_is_not_told_of_is_misspelled_or_private() {
    for (status, code) in [(401, Some("RepoNotFound")), (404, Some("RepoNotFound")), (401, None), (404, None)]
    {
        let error = error(status, code, None, Token::None);
        assert!(matches!(error, HubError::RepoNotFound { .. }), "{status} {code:?}: {error}");
        assert!(error.to_string().contains("misspelled, or private"), "{error}");
        assert!(error.hint().unwrap().contains("HF_TOKEN"));
    }
    let error = error(404, Some("RepoNotFound"), None, token());
    assert!(error.to_string().contains("private to others than the token's account"), "{error}");
}

#[test]
fn a_token_that_is_refused_is_named_with_the_hubs_words() {
    for (status, message) in [
        (401, "Invalid credentials in Authorization header"),
        (403, "Your token has no access to this resource"),
    ] {
        let error = error(status, None, Some(message), token());
        assert!(matches!(error, HubError::Refused { .. }), "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.hint().unwrap().contains("check the token"));
    }
}

#[test]
fn a_revision_that_is_not_there_is_named() {
    let (cache, server) = (Cache::new(), dinov2().serve());
    let options = HubOptions { revision: Some("v2/x".into()), ..cache.options(&server.url()) };
    let error = hub_error(hub::fetch(REPO, &options).unwrap_err());
    assert_eq!(error.to_string(), "`facebook/dinov2-small` has no revision `v2/x`");
    // The cache has another revision, which is not what was asked for.
    cache.fetch(&server).unwrap();
    assert!(matches!(hub_error(hub::fetch(REPO, &options).unwrap_err()), HubError::RevisionNotFound { .. }));
}

#[test]
fn a_repo_without_a_model_says_what_was_looked_for() {
    let mut hub = dinov2();
    hub.files.clear();
    let error = Cache::new().fails(&hub.serve());
    assert!(matches!(error, HubError::NotAModel { .. }));
    assert!(error.to_string().contains("config.json, preprocessor_config.json"), "{error}");
}
