//! A worker's list of items for work stealing: other workers may take offered items one by one.
//!
//! Inputs: items, and in each epoch the list of items that have work. Outputs: each listed item, to exactly one taker. Invariants: between
//! offers only the owner accesses the items; no operation waits; an offer allocates nothing.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crossbeam_utils::CachePadded;

use crate::mutant;
use crate::primitive::{Arc, AtomicU64, Ordering, UnsafeCell};

/// Upper bound of `remaining`. Larger values of `remaining` have wrapped below zero, so the offer is used up.
const COUNT_LIMIT: u64 = 1 << 63;

/// The items and the numbers of the offered items.
struct Content<T> {
    items: Vec<UnsafeCell<T>>,
    offered: Vec<u32>,
}

/// State that the owner and the other workers (stealers) share.
struct SharedList<T> {
    /// Number of offered entries that no worker has taken yet; zero or below if no offer is open.
    remaining: CachePadded<AtomicU64>,
    /// Number of entries that were taken and returned.
    returned: CachePadded<AtomicU64>,
    content: UnsafeCell<Content<T>>,
}

// SAFETY: while no offer is open only the owner accesses `content`, through `&mut`. While an offer is open, no thread writes to `content`
// itself, and only the taker that counted `remaining` down to the entry of an item accesses that item. So items only move between threads: `T:
// Send` is enough.
unsafe impl<T: Send> Sync for SharedList<T> {}
// SAFETY: moving the list moves the items in it, which are `Send`.
unsafe impl<T: Send> Send for SharedList<T> {}

/// Creates a work list of `items` with its owner and a first stealer.
///
/// The owner [offers](WorkOwner::offer) some of its items, then owner and stealers [take](WorkOwner::take) them one by one, from the last
/// to the first. When all taken items have been returned, the owner [closes](WorkOwner::close) the list and has exclusive access to its
/// items again.
///
/// # Memory ordering
/// The offer is a `Release` store of the number of entries, and each take is a read-modify-write with `Acquire` that counts it down, so a
/// taker sees the owner's earlier writes to the item: takes belong to the release sequence of the offer. A return is a `Release` addition
/// to a second word, which the owner loads with `Acquire` before it accesses the items again, so the owner sees the takers' writes. A take
/// after the list is closed finds no entry, and a take after the next offer takes part in that offer.
pub fn worklist<T: Send>(items: Vec<T>) -> (WorkOwner<T>, Stealer<T>) {
    let content = Content { items: items.into_iter().map(UnsafeCell::new).collect(), offered: Vec::new() };
    let shared = Arc::new(SharedList {
        remaining: CachePadded::new(AtomicU64::new(0)),
        returned: CachePadded::new(AtomicU64::new(0)),
        content: UnsafeCell::new(content),
    });
    (WorkOwner { shared: Arc::clone(&shared), offered: None }, Stealer { shared })
}

/// The owner of a [`worklist()`].
pub struct WorkOwner<T: Send> {
    shared: Arc<SharedList<T>>,
    /// Number of entries of the open offer.
    offered: Option<u64>,
}

/// Another worker's access to the offered items; a list may have any number of stealers.
pub struct Stealer<T: Send> {
    shared: Arc<SharedList<T>>,
}

/// A taken item; dropping it returns the item.
pub struct TakenItem<'a, T: Send> {
    shared: &'a SharedList<T>,
    item: *mut T,
}

impl<T: Send> WorkOwner<T> {
    /// Offers the items whose numbers are in `list`. The numbers must ascend or descend, so that each item is listed once. Items are taken
    /// from the end of `list`.
    ///
    /// # Panics
    /// If the work list is not closed, or `list` neither ascends nor descends, or `list` names an item that does not exist.
    #[inline]
    pub fn offer(&mut self, list: &[u32]) {
        self.assert_closed();
        self.shared.content.with_mut(|content| {
            // SAFETY: no offer is open, so the content is the owner's, and `&mut self` excludes other references from here.
            let content = unsafe { &mut *content };
            let once = list.is_sorted_by(|a, b| a < b) || list.is_sorted_by(|a, b| a > b);
            let there = [list.first(), list.last()].into_iter().flatten().all(|&end| (end as usize) < content.items.len());
            assert!(once && there, "work list: an invalid offer {list:?}");
            content.offered.clear();
            content.offered.extend_from_slice(list);
        });
        self.offered = Some(list.len() as u64);
        self.shared.remaining.store(list.len() as u64, mutant::order(mutant::WORKLIST_RELAXED_OFFER, Ordering::Release));
    }

    /// Takes the last offered item that no worker has taken yet.
    #[inline]
    pub fn take(&mut self) -> Option<TakenItem<'_, T>> {
        self.shared.take()
    }

    /// Returns true if all offered items have been taken and returned.
    #[inline]
    pub fn is_done(&self) -> bool {
        let order = mutant::order(mutant::WORKLIST_RELAXED_RETURN, Ordering::Acquire);
        self.offered.is_none_or(|offered| self.shared.returned.load(order) == offered)
    }

    /// Closes the offer; items that no worker took are unchanged. Does nothing if no offer is open.
    ///
    /// # Panics
    /// If an item has not been returned.
    #[inline]
    pub fn close(&mut self) {
        let Some(offered) = self.offered else { return };
        let left = self.shared.remaining.swap(0, Ordering::Relaxed);
        let taken = if left < COUNT_LIMIT { offered - left } else { offered };
        let order = mutant::order(mutant::WORKLIST_RELAXED_RETURN, Ordering::Acquire);
        let done = self.shared.returned.load(order);
        assert!(done == taken || mutant::WORKLIST_CLOSED_EARLY, "work list: closed while {} of its items were taken", taken - done);
        self.shared.returned.store(0, Ordering::Relaxed);
        self.offered = None;
    }

    /// Returns the number of items.
    ///
    /// # Panics
    /// If the list is not closed; the same holds for the following methods.
    pub fn len(&self) -> usize {
        self.assert_closed();
        // SAFETY: no offer is open, so only the owner accesses the content, and `&self` keeps it from changing.
        self.shared.content.with(|content| unsafe { &*content }.items.len())
    }

    /// Returns true if the list has no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an item by number; panics if there is no such item.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> &mut T {
        self.assert_closed();
        // SAFETY: no offer is open, so content and item are the owner's; the reference borrows the owner.
        let content = self.shared.content.with(|content| unsafe { &*content });
        // SAFETY: as for `content`.
        content.items[index].with_mut(|item| unsafe { &mut *item })
    }

    /// Returns all items in order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.assert_closed();
        // SAFETY: as in `get_mut`; the iterator visits each cell once, so the references do not overlap.
        let content = self.shared.content.with(|content| unsafe { &*content });
        let lent = |item: *mut T| {
            // SAFETY: as for `content`.
            unsafe { &mut *item }
        };
        content.items.iter().map(move |item| item.with_mut(lent))
    }

    /// Removes and returns all items.
    pub fn drain(&mut self) -> Vec<T> {
        self.assert_closed();
        // SAFETY: no offer is open, so the content is the owner's.
        let items = self.shared.content.with_mut(|content| std::mem::take(unsafe { &mut (*content).items }));
        items.into_iter().map(UnsafeCell::into_inner).collect()
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.assert_closed();
        // SAFETY: as in `drain`.
        self.shared.content.with_mut(|content| unsafe { &mut (*content).items }.push(UnsafeCell::new(item)));
    }

    #[inline]
    fn assert_closed(&self) {
        assert!(self.offered.is_none(), "work list: the owner accesses its items while they are on offer");
    }
}

impl<T: Send> Stealer<T> {
    /// Takes the last offered item that no worker has taken yet.
    #[inline]
    pub fn steal(&self) -> Option<TakenItem<'_, T>> {
        self.shared.take()
    }

    /// Returns the number of items that can be taken at present.
    #[inline]
    pub fn remaining(&self) -> u64 {
        let left = self.shared.remaining.load(Ordering::Relaxed);
        if left < COUNT_LIMIT { left } else { 0 }
    }
}

impl<T: Send> SharedList<T> {
    #[inline]
    fn take(&self) -> Option<TakenItem<'_, T>> {
        // This load comes first, so that a failed attempt neither takes the cache line exclusively nor counts far below zero.
        let seen = self.remaining.load(Ordering::Relaxed);
        if seen == 0 || seen >= COUNT_LIMIT {
            return None;
        }
        let before = if mutant::WORKLIST_TAKEN_TWICE {
            self.remaining.store(seen - 1, Ordering::Relaxed);
            self.remaining.load(Ordering::Acquire) + 1
        } else {
            self.remaining.fetch_sub(1, Ordering::Acquire)
        };
        if before == 0 || before >= COUNT_LIMIT {
            return None;
        }
        // SAFETY: this thread alone counted `remaining` down from `before`, so it owns the entry below `before`; it acquired the offer of the
        // entry, which is not closed before `TakenItem` is dropped.
        let content = self.content.with(|content| unsafe { &*content });
        let item = content.items[content.offered[before as usize - 1] as usize].with_mut(|item| item);
        Some(TakenItem { shared: self, item })
    }
}

impl<T: Send> Deref for TakenItem<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the item belongs to this taker until the taker is dropped.
        unsafe { &*self.item }
    }
}

impl<T: Send> DerefMut for TakenItem<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; `&mut self` excludes other references from here.
        unsafe { &mut *self.item }
    }
}

impl<T: Send> Drop for TakenItem<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.shared.returned.fetch_add(1, mutant::order(mutant::WORKLIST_RELAXED_RETURN, Ordering::Release));
    }
}

impl<T: Send> fmt::Debug for WorkOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkOwner").field("offered", &self.offered).finish_non_exhaustive()
    }
}

impl<T: Send> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for TakenItem<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
