//! The flag with which a signal handler or a monitor requests the end of a run.
//!
//! Inputs: requests from any thread. Output: true after a request. Invariant: a request is never withdrawn.

use crate::mutant;
use crate::primitive::{Arc, AtomicBool, Ordering};

/// A cooperative stop flag, shared by its clones: a request interrupts no thread; threads poll for it.
///
/// # Memory ordering
/// A request is a `Release` store and a poll an `Acquire` load, so a thread that sees the request also sees the requesting thread's earlier
/// writes, for instance the reason.
#[derive(Debug, Clone)]
pub struct StopFlag {
    requested: Arc<AtomicBool>,
}

impl StopFlag {
    /// Creates a flag without a request.
    pub fn new() -> Self {
        Self { requested: Arc::new(AtomicBool::new(false)) }
    }

    /// Requests a stop; may be called from any thread, and repeatedly.
    pub fn request(&self) {
        self.requested.store(true, mutant::order(mutant::STOP_RELAXED, Ordering::Release));
    }

    /// Returns true if a stop was requested.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }
}

impl Default for StopFlag {
    fn default() -> Self {
        Self::new()
    }
}
