//! A queue of requests, kept as a list per bank with the oldest request for the open row and the oldest for another.

use warpshard_state::StateError;

use super::DramAccess;

const NO_REQUEST: u16 = u16::MAX;

/// A waiting request.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub(super) struct QueueEntry {
    pub(super) access: DramAccess,
    /// The cycle of arrival.
    pub(super) arrived: u64,
    /// The arrival number, also unique within a cycle.
    pub(super) order: u64,
    /// True if the request was counted as a hit, miss or conflict.
    pub(super) classified: bool,
    previous: u16,
    next: u16,
}

impl QueueEntry {
    /// Returns a request that waits in no queue.
    pub(super) fn unqueued(access: DramAccess, arrived: u64) -> Self {
        Self { access, arrived, ..Self::default() }
    }
}

#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct BankList {
    first: u16,
    last: u16,
    /// The oldest request for the open row.
    hit: u16,
    /// The oldest request for a row that is not open.
    miss: u16,
    /// The open row.
    open: Option<u32>,
}

/// The position of an entry in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueuePlace(u16);

/// Requests of one direction in the order of their arrival.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub(super) struct DirectionQueue {
    entries: Box<[QueueEntry]>,
    free: u16,
    lists: Box<[BankList]>,
    /// Banks with requests, with requests for their open row, and with requests for another row.
    pub(super) banks: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    len: u32,
}

impl DirectionQueue {
    pub(super) fn new(capacity: u32, banks: u32) -> Self {
        assert!((1..u32::from(NO_REQUEST)).contains(&capacity), "a DRAM queue of {capacity} requests");
        let entry = |i: u32| QueueEntry { next: if i + 1 < capacity { i as u16 + 1 } else { NO_REQUEST }, ..QueueEntry::default() };
        Self {
            entries: (0..capacity).map(entry).collect(),
            free: 0,
            lists: vec![BankList { first: NO_REQUEST, last: NO_REQUEST, hit: NO_REQUEST, miss: NO_REQUEST, open: None }; banks as usize]
                .into(),
            banks: 0,
            hits: 0,
            misses: 0,
            len: 0,
        }
    }

    /// Rejects a saved queue whose searches would not terminate.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NO_REQUEST).then_some(usize::from(at));
        let heads = self.lists.iter().flat_map(|list| [list.first, list.hit, list.miss]);
        let starts = heads.chain([self.free]).filter_map(some);
        warpshard_state::check_lists_end(self.entries.len(), starts, |at| some(self.entries[at].next))
    }

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free == NO_REQUEST
    }

    #[inline]
    pub(super) fn entry(&self, place: QueuePlace) -> &QueueEntry {
        &self.entries[usize::from(place.0)]
    }

    #[inline]
    pub(super) fn entry_mut(&mut self, place: QueuePlace) -> &mut QueueEntry {
        &mut self.entries[usize::from(place.0)]
    }

    /// Returns the oldest request of a bank in [`DirectionQueue::banks`].
    #[inline]
    pub(super) fn oldest(&self, bank: usize) -> QueuePlace {
        QueuePlace(self.lists[bank].first)
    }

    /// Returns the oldest request for the open row of a bank in [`DirectionQueue::hits`].
    #[inline]
    pub(super) fn hit(&self, bank: usize) -> QueuePlace {
        QueuePlace(self.lists[bank].hit)
    }

    /// Returns the oldest request for a row that is not open, of a bank in [`DirectionQueue::misses`].
    #[inline]
    pub(super) fn miss(&self, bank: usize) -> QueuePlace {
        QueuePlace(self.lists[bank].miss)
    }

    /// Returns the arrival number and the arrival cycle of the oldest request of all; both are `u64::MAX` if there is none.
    pub(super) fn oldest_of_all(&self) -> (u64, u64) {
        let mut left = self.banks;
        let mut oldest = (u64::MAX, u64::MAX);
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            let entry = &self.entries[usize::from(self.lists[bank].first)];
            oldest = oldest.min((entry.order, entry.arrived));
        }
        oldest
    }

    /// Returns true if a request for the same location waits.
    pub(super) fn contains(&self, access: &DramAccess) -> bool {
        let mut at = self.lists[usize::from(access.bank)].first;
        while at != NO_REQUEST {
            let entry = &self.entries[usize::from(at)];
            if entry.access.row == access.row && entry.access.column == access.column {
                return true;
            }
            at = entry.next;
        }
        false
    }

    /// Returns the requests of a bank in the order of their arrival, each with its position and true if it is for the open row.
    pub(super) fn of_bank(&self, bank: usize) -> impl Iterator<Item = (QueuePlace, &QueueEntry, bool)> {
        let BankList { first, open, .. } = self.lists[bank];
        let next = |at: &u16| Some(self.entries[usize::from(*at)].next).filter(|at| *at != NO_REQUEST);
        std::iter::successors(Some(first).filter(|at| *at != NO_REQUEST), next).map(move |at| {
            let entry = &self.entries[usize::from(at)];
            (QueuePlace(at), entry, open == Some(entry.access.row))
        })
    }

    /// Adds a request; there must be space.
    pub(super) fn push(&mut self, access: DramAccess, arrived: u64, order: u64) {
        debug_assert!(!self.is_full(), "a request enters a full DRAM queue at {arrived}");
        let at = self.free;
        self.free = self.entries[usize::from(at)].next;
        let bank = usize::from(access.bank);
        let list = &mut self.lists[bank];
        self.entries[usize::from(at)] = QueueEntry { access, arrived, order, classified: false, previous: list.last, next: NO_REQUEST };
        let (oldest, banks) =
            if list.open == Some(access.row) { (&mut list.hit, &mut self.hits) } else { (&mut list.miss, &mut self.misses) };
        if *oldest == NO_REQUEST {
            *oldest = at;
            *banks |= 1 << bank;
        }
        match list.last {
            NO_REQUEST => list.first = at,
            last => self.entries[usize::from(last)].next = at,
        }
        list.last = at;
        self.banks |= 1 << bank;
        self.len += 1;
    }

    /// Removes a request.
    pub(super) fn remove(&mut self, place: QueuePlace) -> QueueEntry {
        let at = place.0;
        let entry = self.entries[usize::from(at)];
        let bank = usize::from(entry.access.bank);
        let list = &mut self.lists[bank];
        let (hit, miss) = (list.hit == at, list.miss == at);
        match entry.previous {
            NO_REQUEST => list.first = entry.next,
            previous => self.entries[usize::from(previous)].next = entry.next,
        }
        match entry.next {
            NO_REQUEST => list.last = entry.previous,
            next => self.entries[usize::from(next)].previous = entry.previous,
        }
        if list.first == NO_REQUEST {
            self.banks &= !(1 << bank);
        }
        // The request is the oldest of its kind, so the search for the next one starts after it.
        if hit {
            self.find(bank, entry.next, true);
        }
        if miss {
            self.find(bank, entry.next, false);
        }
        self.entries[usize::from(at)].next = self.free;
        self.free = at;
        self.len -= 1;
        entry
    }

    /// Sets the open row of a bank.
    pub(super) fn set_open(&mut self, bank: usize, open: Option<u32>) {
        self.lists[bank].open = open;
        let first = self.lists[bank].first;
        self.find(bank, first, true);
        self.find(bank, first, false);
    }

    /// Finds the oldest hit or miss of a bank, starting at an entry.
    fn find(&mut self, bank: usize, from: u16, hit: bool) {
        let open = self.lists[bank].open;
        let mut at = from;
        while at != NO_REQUEST && (open == Some(self.entries[usize::from(at)].access.row)) != hit {
            at = self.entries[usize::from(at)].next;
        }
        let list = &mut self.lists[bank];
        let (oldest, banks) = if hit { (&mut list.hit, &mut self.hits) } else { (&mut list.miss, &mut self.misses) };
        *oldest = at;
        *banks = *banks & !(1 << bank) | u64::from(at != NO_REQUEST) << bank;
    }
}
