//! How long a waiting party keeps its core.

/// How a party waits: it looks `spins` times in a tight loop, then `yields` times between which it offers its core to
/// others, then it sleeps until it is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    /// Looks in a tight loop, each some tens of nanoseconds.
    pub spins: u32,
    /// Looks after which the thread offers its core to others, each about a microsecond.
    pub yields: u32,
}

impl WaitPolicy {
    /// The policy for `threads` busy threads on `cores` cores: with more threads than cores nobody spins, since the one
    /// that is waited for may need this very core.
    pub fn for_threads(threads: usize, cores: usize) -> Self {
        if threads > cores { Self { spins: 0, yields: 4 } } else { Self::default() }
    }
}

impl Default for WaitPolicy {
    /// For epochs of some microseconds and as many cores as threads: spins for about ten microseconds, since waking a
    /// sleeper costs about as much, and sleeps after some tens more.
    fn default() -> Self {
        Self { spins: 400, yields: 40 }
    }
}
