//! When a failed request is made again, and after which wait.
//!
//! Waits double from try to try, less up to half at random, so that many clients do not come back together. What the server asks
//! for (`Retry-After`) goes before that, up to a bound. Who is not there at all is not asked long.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::hub::options::NetworkOptions;

/// Longest wait that is our own choice.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// Longest wait that a server may ask for; it is not asked again when it wants a longer one.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Tries after the first where no connection came about.
const RETRIES_WITHOUT_CONNECTION: u32 = 2;

/// How a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// No such host, or nobody who listens there.
    NoConnection,
    /// A connection that was cut, or that stood still.
    Interrupted,
    /// An answer that says to come again later: 408, 429, 5xx.
    Later(Option<Duration>),
    /// What trying again does not change.
    Final,
}

/// Counts the tries of one piece of work.
#[derive(Debug)]
pub(super) struct Retries {
    options: NetworkOptions,
    failed: u32,
}

impl Retries {
    pub(super) fn new(options: NetworkOptions) -> Self {
        Self { options, failed: 0 }
    }

    /// Something came: what failed before does not count any more.
    pub(super) fn reset(&mut self) {
        self.failed = 0;
    }

    /// Counts a failure: the wait before the next try, `None` when there is none.
    pub(super) fn next(&mut self, failure: Failure) -> Option<Duration> {
        let most = match failure {
            Failure::NoConnection => self.options.retries.min(RETRIES_WITHOUT_CONNECTION),
            Failure::Interrupted | Failure::Later(_) => self.options.retries,
            Failure::Final => 0,
        };
        self.failed += 1;
        if self.failed > most {
            return None;
        }
        match failure {
            Failure::Later(Some(wait)) => (wait <= MAX_RETRY_AFTER).then_some(wait),
            _ => Some(backoff(self.options.backoff, self.failed, random())),
        }
    }
}

/// The wait after so many failures; `random` is from 0 to 1.
fn backoff(base: Duration, failed: u32, random: f64) -> Duration {
    let doubled = base.saturating_mul(1 << failed.saturating_sub(1).min(16)).min(MAX_BACKOFF);
    doubled.mul_f64(1.0 - 0.5 * random)
}

/// A number from 0 to 1: the hasher's random keys are all the randomness that is needed here.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 32;
    bits as f64 / f64::from(u32::MAX)
}

/// The header `Retry-After` in seconds; its other form, a date, counts as not given.
pub(super) fn retry_after(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: NetworkOptions = NetworkOptions {
        connect_timeout: Duration::from_secs(1),
        read_timeout: Duration::from_secs(1),
        retries: 4,
        backoff: Duration::from_millis(100),
    };

    #[test]
    fn waits_double_up_to_a_bound_and_are_shortened_by_up_to_half() {
        let base = Duration::from_millis(100);
        assert_eq!([1, 2, 3].map(|failed| backoff(base, failed, 0.0).as_millis()), [100, 200, 400]);
        assert_eq!(backoff(base, 3, 1.0).as_millis(), 200);
        assert_eq!(backoff(base, u32::MAX, 0.0), MAX_BACKOFF);
        assert_eq!(backoff(Duration::ZERO, 3, 0.5), Duration::ZERO);
        assert!((0..100).map(|_| random()).all(|number| (0.0..=1.0).contains(&number)));
    }

    #[test]
    fn each_failure_has_its_number_of_tries() {
        let tries = |failure| {
            let mut retries = Retries::new(OPTIONS);
            (0..100).take_while(|_| retries.next(failure).is_some()).count()
        };
        assert_eq!(tries(Failure::Final), 0);
        assert_eq!(tries(Failure::NoConnection), 2);
        assert_eq!(tries(Failure::Interrupted), 4);
        assert_eq!(tries(Failure::Later(Some(Duration::ZERO))), 4);
    }

    #[test]
    fn what_the_server_asks_for_is_waited_for_unless_it_is_too_long() {
        let mut retries = Retries::new(OPTIONS);
        let wait = |text| Failure::Later(retry_after(text));
        assert_eq!(retries.next(wait("7")), Some(Duration::from_secs(7)));
        assert_eq!(retries.next(wait("3600")), None);
        assert!(retries.next(wait("Wed, 21 Oct 2026 07:28:00 GMT")).is_some_and(|wait| wait < MAX_BACKOFF));
    }

    #[test]
    fn bytes_that_came_start_the_count_anew() {
        let mut retries = Retries::new(OPTIONS);
        for _ in 0..100 {
            assert!(retries.next(Failure::Interrupted).is_some());
            retries.reset();
        }
    }
}
