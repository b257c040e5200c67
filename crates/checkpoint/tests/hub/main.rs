//! Downloads from a hub on the loopback: the layout that is made, what is asked for, and every way in which it can go wrong.
//!
//! The hub is `dinoxide_testkit::hub`, with the fixture `dinov2` as its model. No test needs a network or a fixed port, and none asserts a time.

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
mod weights;
