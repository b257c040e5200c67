//! What the tests of all crates share: the tolerances (one place, each with the measurement that set it),
//! comparisons that report where the worst difference is, and seeded data.
//!
//! Development only: it imports none of our crates, so that every floor may use it in tests.

pub mod compare;
pub mod data;
pub mod tolerance;
