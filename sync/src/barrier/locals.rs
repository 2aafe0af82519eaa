//! The coordinator's access to all local states.

use std::fmt;

use crossbeam_utils::CachePadded;

use crate::primitive::UnsafeCell;

/// A party's local state. Its party writes it between barriers, the coordinator at barriers. Empty after the state was moved out.
pub(super) type LocalCell<L> = CachePadded<UnsafeCell<Option<L>>>;

/// Exclusive access to the local states of all parties, in the order given to `EpochBarrier::new`.
pub struct Locals<'a, L> {
    cells: &'a [LocalCell<L>],
    active: usize,
}

impl<'a, L> Locals<'a, L> {
    /// # Safety
    /// During `'a` no other code may access any of `cells`, and all cells must be full.
    pub(super) unsafe fn new(cells: &'a [LocalCell<L>], active: usize) -> Self {
        Self { cells, active }
    }

    /// Returns the number of active parties: the parties with a lower index take part in the next epoch. The others are retired: they sleep
    /// inside `wait`, the barrier does not wait for them, and only this type accesses their local states.
    pub fn active(&self) -> usize {
        self.active
    }

    /// Sets the number of active parties for all epochs from the next one on, until the next call. Initially all parties are active.
    ///
    /// # Panics
    /// If `active` is zero or exceeds the number of parties.
    pub fn set_active(&mut self, active: usize) {
        assert!((1..=self.len()).contains(&active), "{active} active parties of {}", self.len());
        self.active = active;
    }

    /// Returns the number of parties, including retired ones.
    #[expect(clippy::len_without_is_empty, reason = "a barrier has at least one party when its coordinator runs")]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Returns the local state of party `index`; panics if there is no such party.
    pub fn get_mut(&mut self, index: usize) -> &mut L {
        // SAFETY: the contract of `new` excludes other accesses to the cell, and `&mut self` excludes other references from this object.
        self.cells[index].with_mut(|local| unsafe { content(local) })
    }

    /// Returns all local states in the order of their parties; the caller may hold all references at the same time.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut L> {
        // SAFETY: as in `get_mut`; the iterator visits each cell once, so the references do not overlap.
        self.cells.iter().map(|cell| cell.with_mut(|local| unsafe { content(local) }))
    }
}

impl<L> fmt::Debug for Locals<'_, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locals").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Returns the content of a cell.
///
/// # Safety
/// `cell` must be valid for `'a`, and no other code may access its content during `'a`.
pub(super) unsafe fn content<'a, T>(cell: *mut Option<T>) -> &'a mut T {
    // SAFETY: the contract of this function.
    unsafe { &mut *cell }.as_mut().expect("the state stays in its cell until the last party has left")
}
