//! The one pointer of a board, and the only place where the real and the modelled board differ.
//!
//! Normally this is an `ArcSwapOption`. loom cannot look into arc-swap, so under `cfg(loom)` it is a locked pointer with
//! the same two operations; each is atomic, as arc-swap's are, and threads interleave between them. What loom then proves
//! is the protocol above this cell; the cell itself is arc-swap's promise, stressed in `tests/stress.rs`.

use std::sync::Arc;

/// A pointer that is read and exchanged whole.
pub(super) struct PointerCell<N> {
    #[cfg(not(loom))]
    pointer: arc_swap::ArcSwapOption<N>,
    #[cfg(loom)]
    pointer: crate::primitive::Mutex<Option<Arc<N>>>,
}

#[cfg(not(loom))]
impl<N> PointerCell<N> {
    pub(super) fn new() -> Self {
        Self { pointer: arc_swap::ArcSwapOption::empty() }
    }

    /// What the pointer holds now.
    pub(super) fn load(&self) -> Option<Arc<N>> {
        self.pointer.load_full()
    }

    /// Runs `look` on what the pointer holds now, without owning it.
    pub(super) fn peek<R>(&self, look: impl FnOnce(Option<&N>) -> R) -> R {
        look(self.pointer.load().as_deref())
    }

    /// Stores `new` if the pointer still holds `current`; says whether it did.
    pub(super) fn exchange(&self, current: &Option<Arc<N>>, new: Arc<N>) -> bool {
        let found = self.pointer.compare_and_swap(current, Some(new));
        same(&found, current)
    }
}

#[cfg(loom)]
impl<N> PointerCell<N> {
    pub(super) fn new() -> Self {
        Self { pointer: crate::primitive::Mutex::new(None) }
    }

    pub(super) fn load(&self) -> Option<Arc<N>> {
        crate::primitive::lock(&self.pointer).clone()
    }

    pub(super) fn peek<R>(&self, look: impl FnOnce(Option<&N>) -> R) -> R {
        look(self.load().as_deref())
    }

    pub(super) fn exchange(&self, current: &Option<Arc<N>>, new: Arc<N>) -> bool {
        let mut held = crate::primitive::lock(&self.pointer);
        let won = same(&held, current);
        if won {
            *held = Some(new);
        }
        won
    }
}

fn same<N>(a: &Option<Arc<N>>, b: &Option<Arc<N>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}
