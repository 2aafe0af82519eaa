//! A value that is published whole and read at any time, from outside the workers: progress for a terminal or another viewer.
//!
//! Inputs: values from publishers. Outputs: for a reader, the newest value. Invariants: a reader sees a value as it was published,
//! never a mixture of two; neither side waits for the other.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

/// The newest of the values that were published; clones share it.
///
/// For readers that stand outside of the [barrier](crate::EpochBarrier) and look whenever they like. What they see belongs to no
/// particular cycle, so nothing simulated may depend on it. Parties of a barrier need none of this: the coordinator writes what it
/// publishes for them into the shared state.
///
/// # Memory ordering
/// Publishing exchanges one pointer, reading loads it; both are arc-swap's, whose exchange releases and whose load acquires what the
/// value holds. loom does not see arc-swap; `tests/stress.rs` exercises it on real threads.
pub struct Published<T> {
    newest: Arc<ArcSwapOption<T>>,
}

impl<T> Published<T> {
    /// Nothing is published yet.
    pub fn new() -> Self {
        Self { newest: Arc::new(ArcSwapOption::empty()) }
    }

    /// Replaces the newest value. Allocates; for every now and then, not for every epoch.
    pub fn publish(&self, value: T) {
        self.newest.store(Some(Arc::new(value)));
    }

    /// The newest value, if there is one. Two calls return the same pointer when nothing was published in between.
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
