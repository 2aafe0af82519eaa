//! A value that is published as a whole and read at any time, from outside the workers: progress for a terminal or another viewer.
//!
//! Inputs: values from publishers. Outputs: for a reader, the newest value. Invariants: a reader sees a complete published value, never a
//! mixture of two; neither side waits for the other.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// The newest published value; clones share it.
///
/// It serves readers outside the [barrier](crate::EpochBarrier), which may read at any time. Such a reader's value belongs to no particular
/// cycle, so simulated results must not depend on it. Parties of a barrier do not need this type: the coordinator writes values for them
/// into the shared state.
///
/// # Memory ordering
/// A publisher swaps one pointer, and a reader loads it. Both operations are arc-swap's: the swap releases the value and the load acquires
/// it. loom does not see arc-swap; `tests/stress.rs` exercises it on real threads.
pub struct Published<T> {
    newest: Arc<ArcSwapOption<T>>,
}

impl<T> Published<T> {
    /// Creates an instance without a published value.
    pub fn new() -> Self {
        Self { newest: Arc::new(ArcSwapOption::empty()) }
    }

    /// Replaces the newest value. It allocates and is meant for occasional use, not for every epoch.
    pub fn publish(&self, value: T) {
        self.newest.store(Some(Arc::new(value)));
    }

    /// Returns the newest value, if there is one. Two calls return the same pointer if nothing was published in between.
    pub fn newest(&self) -> Option<Arc<T>> {
        self.newest.load_full()
    }
}

impl<T> Clone for Published<T> {
    fn clone(&self) -> Self {
        Self { newest: Arc::clone(&self.newest) }
    }
}

impl<T> Default for Published<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published").field("newest", &self.newest()).finish()
    }
}
