//! Where time goes: what each operation of a [`Context`](crate::Context) took, by kind and shape, while a profile is kept.
//!
//! Operations may overlap, when several threads of the context run one each (a picture a thread, say). So time is shared
//! out: while n operations are open, each gets 1/n of the time that passes. The times of all operations then sum to the
//! time in which at least one was open, whatever the number of threads, and operations over time is a rate of the whole
//! context. An operation's time includes its waking of threads and waiting for them.

mod op;

pub use op::{Op, OpBound, OpEpilogue};

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What operations of one kind and shape took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpTime {
    /// Kind and shape.
    pub op: Op,
    /// How often it ran.
    pub calls: u64,
    /// Its share of the time that passed, all calls together.
    pub seconds: f64,
}

/// Where the time of a while went.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Time from the profile's start to its end.
    pub seconds: f64,
    /// By kind and shape, in the order in which they were first met.
    pub ops: Vec<OpTime>,
}

impl Profile {
    /// The time in which no operation was open: what callers do between them.
    #[must_use]
    pub fn rest_seconds(&self) -> f64 {
        (self.seconds - self.ops.iter().map(|op| op.seconds).sum::<f64>()).max(0.0)
    }
}

/// Keeps a profile, or does not; then it costs one look at a flag.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Which profile this is: an operation that was open when it began is not counted.
    generation: u64,
    start: Option<Instant>,
    /// Operations that are open.
    open: u32,
    /// Seconds that an operation open from the start on has got.
    shared: f64,
    /// Until when `shared` counts.
    until: Option<Instant>,
    ops: Vec<OpTime>,
}

impl State {
    /// Shares out the time since the last change.
    fn advance(&mut self) {
        let now = Instant::now();
        if let Some(until) = self.until.replace(now).filter(|_| self.open > 0) {
            self.shared += (now - until).as_secs_f64() / f64::from(self.open);
        }
    }
}

impl Recorder {
    /// Begins a profile; what an earlier one had is forgotten.
    pub(crate) fn start(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = state.generation + 1;
        *state = State { generation, start: Some(Instant::now()), ..State::default() };
        // Relaxed, here and elsewhere: the flag only says whether to look at the state, which the lock orders.
        self.on.store(true, Ordering::Relaxed);
    }

    /// Ends the profile. Operations that are still open are not in it.
    pub(crate) fn finish(&self) -> Profile {
        self.on.store(false, Ordering::Relaxed);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = state.start.take().map_or(0.0, |start| start.elapsed().as_secs_f64());
        let generation = state.generation + 1;
        let ops = std::mem::replace(&mut *state, State { generation, ..State::default() }).ops;
        Profile { seconds, ops }
    }

    /// Opens an operation until what this gives is dropped, when a profile is kept.
    #[inline]
    pub(crate) fn open(&self, op: impl FnOnce() -> Op) -> Option<Span<'_>> {
        self.on.load(Ordering::Relaxed).then(|| self.open_span(op()))
    }

    #[cold]
    fn open_span(&self, op: Op) -> Span<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.advance();
        state.open += 1;
        Span { recorder: self, op, generation: state.generation, start: state.shared }
    }
}

/// An operation that is open.
#[derive(Debug)]
pub(crate) struct Span<'a> {
    recorder: &'a Recorder,
    op: Op,
    generation: u64,
    start: f64,
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        let mut state = self.recorder.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.generation != self.generation {
            return;
        }
        state.advance();
        state.open -= 1;
        let seconds = state.shared - self.start;
        match state.ops.iter_mut().find(|known| known.op == self.op) {
            Some(known) => {
                known.calls += 1;
                known.seconds += seconds;
            }
            None => state.ops.push(OpTime { op: self.op, calls: 1, seconds }),
        }
    }
}

#[cfg(test)]
mod tests;
