//! Asking the hub.
//!
//! Redirects are followed here and not by the HTTP library, because what may be sent where depends on them: the token goes to
//! the hub's own origin only, and the answer that redirects to another host is the one that carries a file's metadata.
//! Every failure is sorted (`Failure`): what cannot be helped by trying again is told at once.

mod address;
mod body;
mod client;
mod failure;
mod head;
mod names;
mod proxy;
mod retry;

pub(super) use body::{Answer, Download, remove};
pub(super) use client::Client;
pub(super) use head::{FileMeta, Found};
