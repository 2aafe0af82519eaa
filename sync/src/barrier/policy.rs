//! The policy by which a waiting party spins and sleeps.

use std::time::Duration;

/// The wait policy of a party: it polls for `spin`, then it sleeps until it is woken.
///
/// If a party's polling ends without a release, its next waits sleep immediately, and it polls again only from time to time, less often
/// after each failure: if other processes use the cores, the party for which it waits may need its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Maximum time for which a wait polls; with zero it sleeps immediately.
    pub spin: Duration,
}

impl WaitPolicy {
    /// Returns the policy for `threads` busy threads on `cores` cores. With more threads than cores no party polls, since the party for
    /// which it waits may need the same core.
    pub fn for_threads(threads: usize, cores: usize) -> Self {
        if threads > cores { Self::sleeping() } else { Self::default() }
    }

    /// Returns a policy that sleeps immediately.
    pub const fn sleeping() -> Self {
        Self { spin: Duration::ZERO }
    }
}

impl Default for WaitPolicy {
    /// Polls for a millisecond, for at least as many cores as threads. An epoch of sixteen workers takes 0.1 to 0.4 ms, and a worker that
    /// has slept is late for the next epoch, so that the others wait for it in turn. In a virtual machine, an idle core returns to the
    /// host, and a wake-up costs as much as an epoch. If other processes use the cores, polling fails and becomes rare.
    fn default() -> Self {
        Self { spin: Duration::from_millis(1) }
    }
}
