//! All local states, as the coordinator sees them.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::primitive::UnsafeCell;

/// One party's local state: written by its party between barriers and by the coordinator at them; empty once taken out.
pub(super) type LocalCell<L> = CachePadded<UnsafeCell<Option<L>>>;

/// Exclusive access to the local states of all parties, in the order given to `EpochBarrier::new`.
pub struct Locals<'a, L> {
    cells: &'a [LocalCell<L>],
    active: usize,
}

impl<'a, L> Locals<'a, L> {
    /// # Safety
    /// For the whole of `'a` nobody else may access any of `cells`, and all must be full.
    pub(super) unsafe fn new(cells: &'a [LocalCell<L>], active: usize) -> Self {
        Self { cells, active }
    }

    /// The number of active parties: those with an index below it take part in the next epoch. The others are retired: they sleep
    /// inside `wait`, the barrier does not wait for them, and their local states are reached here alone.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Sets the number of active parties from the next epoch on, until it is set again. All are active at first.
    ///
    /// # Panics
    /// When `active` is zero or more than there are parties.
    pub fn set_active(&mut self, active: usize) {
        assert!((1..=self.len()).contains(&active), "{active} active parties of {}", self.len());
        self.active = active;
    }

    /// The number of parties, retired ones included.
    #[expect(clippy::len_without_is_empty, reason = "a barrier has at least one party when its coordinator runs")]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The local state of party `index`; panics when there is no such party.
    pub fn get_mut(&mut self, index: usize) -> &mut L {
        // SAFETY: `new` promises that nobody else accesses the cell, and `&mut self` that no other reference handed out
        // by this object is alive.
        self.cells[index].with_mut(|local| unsafe { full(local) })
    }

    /// All local states in the order of their parties; all references may be kept at once.
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
