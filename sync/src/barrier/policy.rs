//! How long a waiting party keeps its core.

use std::time::Duration;

/// How a party waits: it polls for `spin`, then it sleeps until it is woken.
///
/// A party whose polling ends without a release gives up its core at once in its next waits and polls again only from time to
/// time, ever more rarely while that fails: where other processes use the cores, the party that is waited for may need this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Time for which a wait polls at most; zero sleeps at once.
    pub spin: Duration,
}

impl WaitPolicy {
    /// The policy for `threads` busy threads on `cores` cores: with more threads than cores no party polls, since the one
    /// that is waited for may need this very core.
    pub fn for_threads(threads: usize, cores: usize) -> Self {
        if threads > cores { Self::sleeping() } else { Self::default() }
    }

    /// Sleeps at once.
    pub const fn sleeping() -> Self {
        Self { spin: Duration::ZERO }
    }
}

impl Default for WaitPolicy {
    /// For as many cores as threads: polls for a millisecond. An epoch of sixteen workers takes 0.1 to 0.4 ms, and a worker that has slept is late
    /// for the next one, so that others wait for it in turn: in a virtual machine, where an idle core goes back to the host, being woken
    /// costs as much as an epoch. Where others use the cores, polling fails, and becomes rare.
    fn default() -> Self {
        Self { spin: Duration::from_millis(1) }
    }
}
