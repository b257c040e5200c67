//! Every environment variable that the command reads, in one place. They are read once, at the start, and passed down
//! as plain data. A variable that is set to nothing counts as not set. (The hub's own variables — `HF_HOME`,
//! `HF_HUB_CACHE`, `HF_HUB_OFFLINE` — belong to `dinoxide_checkpoint::hub`.)

use std::ffi::{OsStr, OsString};

/// The model when `--model` is not given.
pub(crate) const MODEL: &str = "DINOXIDE_MODEL";
/// The number of threads when `--threads` is not given.
pub(crate) const THREADS: &str = "DINOXIDE_THREADS";
/// The instruction set level when `--isa` is not given.
pub(crate) const ISA: &str = "DINOXIDE_ISA";
/// Set to anything: no colours (<https://no-color.org>).
pub(crate) const NO_COLOR: &str = "NO_COLOR";
/// `dumb`: a terminal without colours.
pub(crate) const TERM: &str = "TERM";

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Env {
    pub(crate) model: Option<OsString>,
    pub(crate) threads: Option<OsString>,
    pub(crate) isa: Option<OsString>,
    /// Neither `NO_COLOR` nor a dumb terminal.
    pub(crate) colour: bool,
}

impl Env {
    /// Reads the process's environment.
    pub(crate) fn read() -> Self {
        Self::from(|name| std::env::var_os(name))
    }

    fn from(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let get = |name| variable(name).filter(|value| !value.is_empty());
        Self {
            model: get(MODEL),
            threads: get(THREADS),
            isa: get(ISA),
            colour: get(NO_COLOR).is_none() && get(TERM).is_none_or(|term| term != OsStr::new("dumb")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(set: &[(&str, &str)]) -> Env {
        Env::from(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn set_to_nothing_is_not_set() {
        assert_eq!(env(&[(MODEL, ""), (THREADS, "2")]).model, None);
        assert_eq!(env(&[(MODEL, ""), (THREADS, "2")]).threads, Some("2".into()));
    }

    #[test]
    fn colours_are_for_who_wants_them() {
        assert!(env(&[]).colour && env(&[(TERM, "xterm"), (NO_COLOR, "")]).colour);
        assert!(!env(&[(NO_COLOR, "1")]).colour && !env(&[(TERM, "dumb")]).colour);
    }
}
