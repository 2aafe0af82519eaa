//! Everybody's local state, as the control step sees it.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::primitive::UnsafeCell;

/// One party's local state: written by its party between barriers and by the control step at them; empty once taken out.
pub(super) type LocalCell<L> = CachePadded<UnsafeCell<Option<L>>>;

/// Exclusive access to the local states of all parties, in the order given to `EpochBarrier::new`.
pub struct Locals<'a, L> {
    cells: &'a [LocalCell<L>],
}

impl<'a, L> Locals<'a, L> {
    /// # Safety
    /// For the whole of `'a` nobody else may access any of `cells`, and all must be full.
    pub(super) unsafe fn new(cells: &'a [LocalCell<L>]) -> Self {
        Self { cells }
    }

    /// The number of parties.
    #[expect(clippy::len_without_is_empty, reason = "a barrier that somebody waits at has at least one party")]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The local state of party `index`; panics when there is no such party.
    pub fn get_mut(&mut self, index: usize) -> &mut L {
        // SAFETY: `new` promises that nobody else accesses the cell, and `&mut self` that no other reference handed out
        // by this object is alive.
        self.cells[index].with_mut(|local| unsafe { full(local) })
    }

    /// All local states in the order of their parties; the references may be kept side by side.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut L> {
        // SAFETY: as in `get_mut`; each cell is visited once, so the references do not overlap.
        self.cells.iter().map(|cell| cell.with_mut(|local| unsafe { full(local) }))
    }
}

impl<L> fmt::Debug for Locals<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locals").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The content of a cell.
///
/// # Safety
/// `cell` must be valid for `'a`, and nothing else may access what it points to during `'a`.
pub(super) unsafe fn full<'a, T>(cell: *mut Option<T>) -> &'a mut T {
    // SAFETY: promised by the caller.
    unsafe { &mut *cell }.as_mut().expect("the state stays in its cell until the last party has left")
}
