//! The flag with which a signal handler or a monitor asks a run to stop.
//!
//! Inputs: requests from any thread. Outputs: the same answer to all who look. Invariant: once requested, always requested.

use crate::mutant;
use crate::primitive::{Arc, AtomicBool, Ordering};

/// A cooperative stop flag, shared by its clones: a request does not interrupt anybody, it is seen by whoever looks.
///
/// # Memory ordering
/// A request is a `Release` store and a look an `Acquire` load, so whoever sees the request also sees what its author
/// wrote before, for instance why.
#[derive(Debug, Clone)]
pub struct StopFlag {
    requested: Arc<AtomicBool>,
}

impl StopFlag {
    /// A flag that nobody has raised yet.
    pub fn new() -> Self {
        Self { requested: Arc::new(AtomicBool::new(false)) }
    }

    /// Asks for a stop; may be called from any thread, and again.
    pub fn request(&self) {
        self.requested.store(true, mutant::order(mutant::STOP_RELAXED, Ordering::Release));
    }

    /// Whether a stop was asked for.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }
}

impl Default for StopFlag {
    fn default() -> Self {
        Self::new()
    }
}
