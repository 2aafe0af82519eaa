//! A worker's list of items for work stealing: other workers may take offered items one by one.
//!
//! Inputs: items, and in each epoch the list of those that have work. Outputs: each item of that list to exactly one taker.
//! Invariants: between offers only the owner accesses the items; no operation waits; an offer allocates nothing.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crossbeam_utils::CachePadded;

use crate::mutant;
use crate::primitive::{Arc, AtomicU64, Ordering, UnsafeCell};

/// What `left` counts down from and never reaches: numbers above are below zero, so the offer is used up.
const HALF: u64 = 1 << 63;

/// The items, and which of them are on offer.
struct Content<T> {
    items: Vec<UnsafeCell<T>>,
    offered: Vec<u32>,
}

/// What the owner and the other workers (stealers) share.
struct Shared<T> {
    /// Entries of the list that nobody has taken yet; at most zero when nothing is on offer.
    left: CachePadded<AtomicU64>,
    /// Entries that were taken and given back.
    done: CachePadded<AtomicU64>,
    content: UnsafeCell<Content<T>>,
}

// SAFETY: while nothing is on offer only the owner touches `content`, through `&mut`. While something is, nobody writes to
// `content` itself, and each item of the list is touched by the one taker that counted `left` down to its entry. So items
// only move between threads: `T: Send` is enough.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: moving the list moves the items in it, which are `Send`.
unsafe impl<T: Send> Send for Shared<T> {}

/// Makes a work list of `items` with its owner and a first stealer.
///
/// The owner [offers](WorkOwner::offer) some of its items, then owner and stealers [take](WorkOwner::take) them one by one,
/// from the last to the first. When all that was taken has been given back, the owner [closes](WorkOwner::close) the list
/// and has its items for itself again.
///
/// # Memory ordering
/// The offer is a `Release` store of the number of entries, and each taking a read-modify-write with `Acquire` that counts
/// it down, so whoever takes an item sees what the owner did to it before: takings belong to the release sequence of the
/// offer. Giving back is a `Release` addition to a second word, which the owner loads with `Acquire` before it touches the
/// items again, so it sees what the takers did. A taker that comes after the closing finds nothing left, and one that comes
/// after the next offer takes part in that.
pub fn worklist<T: Send>(items: Vec<T>) -> (WorkOwner<T>, Stealer<T>) {
    let content = Content { items: items.into_iter().map(UnsafeCell::new).collect(), offered: Vec::new() };
    let shared = Arc::new(Shared {
        left: CachePadded::new(AtomicU64::new(0)),
        done: CachePadded::new(AtomicU64::new(0)),
        content: UnsafeCell::new(content),
    });
    (WorkOwner { shared: Arc::clone(&shared), offered: None }, Stealer { shared })
}

/// The owner of a [`worklist()`].
pub struct WorkOwner<T: Send> {
    shared: Arc<Shared<T>>,
    /// Entries of the present offer.
    offered: Option<u64>,
}

/// Another worker's access to the offered items; there may be any number of them.
pub struct Stealer<T: Send> {
    shared: Arc<Shared<T>>,
}

/// An item that was taken; given back when dropped.
pub struct Taken<'a, T: Send> {
    shared: &'a Shared<T>,
    item: *mut T,
}

impl<T: Send> WorkOwner<T> {
    /// Offers the items whose numbers are in `list`, which must ascend or descend, so that it names each once; they are taken from
    /// its end.
    ///
    /// # Panics
    /// When the work list is not closed, or `list` neither ascends nor descends or names an item that is not there.
    #[inline]
    pub fn offer(&mut self, list: &[u32]) {
        self.shut();
        self.shared.content.with_mut(|content| {
            // SAFETY: nothing is on offer, so the content is the owner's, and `&mut self` excludes other references from here.
            let content = unsafe { &mut *content };
            let once = list.is_sorted_by(|a, b| a < b) || list.is_sorted_by(|a, b| a > b);
            let there = [list.first(), list.last()].into_iter().flatten().all(|&end| (end as usize) < content.items.len());
            assert!(once && there, "work list: a wrong offer {list:?}");
            content.offered.clear();
            content.offered.extend_from_slice(list);
        });
        self.offered = Some(list.len() as u64);
        self.shared.left.store(list.len() as u64, mutant::order(mutant::WORKLIST_RELAXED_OFFER, Ordering::Release));
    }

    /// Takes the last item on offer that nobody has taken yet.
    #[inline]
    pub fn take(&mut self) -> Option<Taken<'_, T>> {
        self.shared.take()
    }

    /// Whether all that was taken has been given back, and nothing is left to take.
    #[inline]
    pub fn is_done(&self) -> bool {
        let order = mutant::order(mutant::WORKLIST_RELAXED_RETURN, Ordering::Acquire);
        self.offered.is_none_or(|offered| self.shared.done.load(order) == offered)
    }

    /// Ends the offer; items that nobody took stay as they are. Does nothing when nothing is on offer.
    ///
    /// # Panics
    /// When an item has not been given back.
    #[inline]
    pub fn close(&mut self) {
        let Some(offered) = self.offered else { return };
        let left = self.shared.left.swap(0, Ordering::Relaxed);
        let taken = if left < HALF { offered - left } else { offered };
        let order = mutant::order(mutant::WORKLIST_RELAXED_RETURN, Ordering::Acquire);
        let done = self.shared.done.load(order);
        assert!(done == taken || mutant::WORKLIST_CLOSED_EARLY, "work list: closed while {} of its items were taken", taken - done);
        self.shared.done.store(0, Ordering::Relaxed);
        self.offered = None;
    }

    /// The number of items.
    ///
    /// # Panics
    /// As all that follow, when the list is not closed.
    pub fn len(&self) -> usize {
        self.shut();
        // SAFETY: nothing is on offer, so nobody but the owner touches the content, and `&self` keeps it from changing.
        self.shared.content.with(|content| unsafe { &*content }.items.len())
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One item; panics when there is none of this number.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> &mut T {
        self.shut();
        // SAFETY: nothing is on offer, so content and item are the owner's; the reference borrows the owner.
        let content = self.shared.content.with(|content| unsafe { &*content });
        // SAFETY: as above.
        content.items[index].with_mut(|item| unsafe { &mut *item })
    }

    /// All items in their order.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut T> {
        self.shut();
        // SAFETY: as in `get_mut`; each cell is visited once, so the references do not overlap.
        let content = self.shared.content.with(|content| unsafe { &*content });
        let lent = |item: *mut T| {
            // SAFETY: as above.
            unsafe { &mut *item }
        };
        content.items.iter().map(move |item| item.with_mut(lent))
    }

    /// Takes all items out.
    pub fn drain(&mut self) -> Vec<T> {
        self.shut();
        // SAFETY: nothing is on offer, so the content is the owner's.
        let items = self.shared.content.with_mut(|content| std::mem::take(unsafe { &mut (*content).items }));
        items.into_iter().map(UnsafeCell::into_inner).collect()
    }

    /// Appends an item.
    pub fn push(&mut self, item: T) {
        self.shut();
        // SAFETY: as in `drain`.
        self.shared.content.with_mut(|content| unsafe { &mut (*content).items }.push(UnsafeCell::new(item)));
    }

    #[inline]
    fn shut(&self) {
        assert!(self.offered.is_none(), "work list: the owner accesses its items while they are on offer");
    }
}

impl<T: Send> Stealer<T> {
    /// Takes the last item on offer that nobody has taken yet.
    #[inline]
    pub fn steal(&self) -> Option<Taken<'_, T>> {
        self.shared.take()
    }

    /// How many items can be taken at present.
    #[inline]
    pub fn left(&self) -> u64 {
        let left = self.shared.left.load(Ordering::Relaxed);
        if left < HALF { left } else { 0 }
    }
}

impl<T: Send> Shared<T> {
    #[inline]
    fn take(&self) -> Option<Taken<'_, T>> {
        // Loaded first, so that a failed attempt neither takes the cache line exclusively nor counts far below zero.
        let seen = self.left.load(Ordering::Relaxed);
        if seen == 0 || seen >= HALF {
            return None;
        }
        let before = if mutant::WORKLIST_TAKEN_TWICE {
            self.left.store(seen - 1, Ordering::Relaxed);
            self.left.load(Ordering::Acquire) + 1
        } else {
            self.left.fetch_sub(1, Ordering::Acquire)
        };
        if before == 0 || before >= HALF {
            return None;
        }
        // SAFETY: this thread alone counted `left` down from `before`, so the entry below it is its own; the offer that it
        // belongs to was acquired, and is not closed before `Taken` is dropped.
        let content = self.content.with(|content| unsafe { &*content });
        let item = content.items[content.offered[before as usize - 1] as usize].with_mut(|item| item);
        Some(Taken { shared: self, item })
    }
}

impl<T: Send> Deref for Taken<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the item is this taker's until it is dropped.
        unsafe { &*self.item }
    }
}

impl<T: Send> DerefMut for Taken<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` excludes other references from here.
        unsafe { &mut *self.item }
    }
}

impl<T: Send> Drop for Taken<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.shared.done.fetch_add(1, mutant::order(mutant::WORKLIST_RELAXED_RETURN, Ordering::Release));
    }
}

impl<T: Send> fmt::Debug for WorkOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkOwner").field("offered", &self.offered).finish_non_exhaustive()
    }
}

impl<T: Send> fmt::Debug for Stealer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer").field("left", &self.left()).finish_non_exhaustive()
    }
}

impl<T: Send + fmt::Debug> fmt::Debug for Taken<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
