//! The board on which decisions and snapshots are published, each with the time from which it holds.
//!
//! Inputs: values with stamps that never decrease. Outputs: for a reader's `now`, the newest value whose stamp has come.
//! Invariants: a value is never seen before its stamp; publishing one that is not yet due hides nothing from readers whose
//! time lies before it; readers never wait for publishers.

mod cell;

use std::fmt;
use std::sync::Arc;

use self::cell::PointerCell;
use crate::mutant;

/// A value with the time from which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamped<T> {
    /// The first `now` that may see the value; a cycle, an epoch or whatever the board's users count.
    pub stamp: u64,
    /// The value.
    pub value: T,
}

/// What the board's pointer points to: the values that a reader may still ask for, immutable once published.
struct Posted<T> {
    /// Newest first, stamps strictly falling, never empty.
    values: Vec<Arc<Stamped<T>>>,
    /// Whether an older value had to make place, so that "nothing was due" can be told from "not kept".
    dropped: bool,
}

/// Stamped publication: a value published with stamp s is visible only to readers whose `now` is at least s.
///
/// The board keeps as many values as it was told besides the newest one (one, unless made with [`Board::with_history`]):
/// while the newest is not yet due, its predecessor still answers.
///
/// # Memory ordering
/// A publisher builds a new list and exchanges one pointer, retrying if another publisher was faster; a reader loads that
/// pointer once and decides on the immutable list behind it. The exchange publishes and the load acquires what the list
/// holds; both are arc-swap's, which documents them as sequentially consistent. loom does not see arc-swap: under
/// `cfg(loom)` the pointer is a modelled cell with the same operations, so the models prove the stamp protocol, and
/// `tests/stress.rs` exercises the real cell.
pub struct Board<T> {
    posted: PointerCell<Posted<T>>,
    history: usize,
}

impl<T> Board<T> {
    /// An empty board that keeps the newest value and its predecessor.
    pub fn new() -> Self {
        Self::with_history(1)
    }

    /// An empty board that keeps `history` values besides the newest one, for publishers that are further ahead.
    pub fn with_history(history: usize) -> Self {
        Self { posted: PointerCell::new(), history }
    }

    /// Publishes `value`, which holds from `stamp` on. A value with the stamp of the newest one takes its place.
    ///
    /// # Panics
    /// When `stamp` lies before that of the newest value.
    pub fn publish(&self, stamp: u64, value: T) {
        let newest = Arc::new(Stamped { stamp, value });
        loop {
            let current = self.posted.load();
            let next = Arc::new(Posted::after(current.as_deref(), &newest, self.history));
            if self.posted.exchange(&current, next) || mutant::BOARD_NO_RETRY {
                return;
            }
        }
    }

    /// The newest value whose stamp is at most `now`; none if nothing was due by then.
    ///
    /// # Panics
    /// When the value that was due at `now` is no longer kept: the reader is too far behind the publishers.
    pub fn read(&self, now: u64) -> Option<Arc<Stamped<T>>> {
        self.posted.peek(|posted| {
            let posted = posted?;
            let due = posted.values.iter().find(|kept| kept.stamp <= now || mutant::BOARD_STAMP_IGNORED);
            assert!(due.is_some() || !posted.dropped, "board: what was due at {now} is no longer kept");
            due.map(Arc::clone)
        })
    }

    /// The newest value, due or not.
    pub fn latest(&self) -> Option<Arc<Stamped<T>>> {
        self.posted.peek(|posted| posted.map(|posted| Arc::clone(&posted.values[0])))
    }
}

impl<T> Posted<T> {
    /// The list that follows `current` when `newest` is published.
    fn after(current: Option<&Self>, newest: &Arc<Stamped<T>>, history: usize) -> Self {
        let (older, mut dropped) = match current {
            Some(current) => (current.values.as_slice(), current.dropped),
            None => (&[][..], false),
        };
        if let Some(last) = older.first() {
            let (was, is) = (last.stamp, newest.stamp);
            assert!(was <= is, "board: stamp {is} was published after stamp {was}");
        }
        let history = if mutant::BOARD_PREVIOUS_DROPPED { 0 } else { history };
        let mut values = Vec::with_capacity(history + 1);
        values.push(Arc::clone(newest));
        for kept in older.iter().filter(|kept| kept.stamp < newest.stamp) {
            if values.len() <= history {
                values.push(Arc::clone(kept));
            } else {
                dropped = true;
            }
        }
        Self { values, dropped }
    }
}

impl<T> Default for Board<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for Board<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Board").field("latest", &self.latest()).finish_non_exhaustive()
    }
}
