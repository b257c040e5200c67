//! What the tests of all crates share: the tolerances (one place, each with the measurement that set it),
//! comparisons that report where the worst difference is, seeded data, and a model hub on the loopback.
//!
//! Development only: it imports none of our crates, so that every floor may use it in tests.

pub mod compare;
pub mod data;
pub mod hub;
pub mod server;
pub mod tolerance;
