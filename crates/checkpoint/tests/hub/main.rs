//! Downloads from a hub on the loopback: the layout that is made, what is asked for, and every way in which it can go wrong.
//!
//! `server` is a small HTTP server that can cut, stall and dawdle; `hub` answers over it as the hub does, with the fixture
//! `dinov2` as the model. No test needs a network or a fixed port, and none asserts a time.

// Helpers of tests fail by panicking, as the tests themselves do.
#![allow(clippy::unwrap_used, clippy::panic)]

mod cache;
mod damage;
mod download;
mod hub;
mod interrupted;
mod processes;
mod redirects;
mod refused;
mod server;
mod weights;
