//! Miss status holding registers: outstanding fetches, and who waits for each.
//!
//! A machine has thousands of entries, which are read long after they were written, so what counts is how many cache lines of
//! the host a fetch touches: the first request of an entry stands in the entry itself, the entry freed last is taken first, so
//! that no more of them are ever touched than were in use at once, and neighbouring keys have neighbouring buckets.

use crate::base::{Ring, Slots, touch};

use super::index::hash;

const NONE: u16 = u16::MAX;

/// An outstanding fetch.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    /// The oldest request that waits.
    token: u32,
    /// Who waits behind it, oldest first, as indices into the nodes; meaningless with one request.
    first: u16,
    last: u16,
    waiting: u16,
    /// The cache line that was reserved for the data.
    line: u16,
    /// The next entry of the same bucket.
    chain: u16,
    atomic: bool,
    ready: bool,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// A request that waits behind another one.
#[derive(Clone, Copy, Debug)]
struct Node {
    token: u32,
    next: u16,
}

/// Whether a miss can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A fetch of this address is outstanding and takes one more request.
    Merge(u16),
    /// Nothing is outstanding for this address, and an entry is free; the hash that leads to its bucket.
    New(u32),
    /// Nothing is outstanding for this address, and all entries are taken.
    NoEntry,
    /// A fetch of this address is outstanding and takes no more requests.
    MergeFull,
}

/// The table of outstanding fetches, keyed by sector (or line) number.
#[derive(Clone, Debug)]
pub struct Mshr {
    entries: Box<[Entry]>,
    /// The first free entry; the others follow by `chain`, the one freed last first.
    free: u16,
    used: u32,
    /// The first entry of those whose keys' hashes lead here.
    buckets: Slots<u16>,
    /// Requests that wait, first ones included, and how many may.
    waiting: u16,
    max_waiting: u16,
    /// Grows to the most that ever waited behind others: a machine may allow thousands, of which it uses dozens.
    nodes: Vec<Node>,
    free_node: u16,
    max_merge: u16,
    ready: Ring<u16>,
}

impl Mshr {
    /// A table of `entries` fetches with up to `max_merge` requests each.
    ///
    /// # Panics
    /// When a table of that size cannot be numbered with 16 bits.
    pub fn new(entries: u32, max_merge: u32) -> Self {
        assert!(entries >= 1 && entries < u32::from(NONE), "an MSHR table of {entries} entries");
        let most = |merge: u32| (u64::from(entries) * u64::from(merge)).min(u64::from(NONE) - 1) as u16;
        let next = |i: u16, count: u16| if i + 1 < count { i + 1 } else { NONE };
        let entry =
            |chain: u16| Entry { key: 0, token: 0, first: NONE, last: NONE, waiting: 0, line: 0, chain, atomic: false, ready: false };
        Self {
            entries: (0..entries as u16).map(|i| entry(next(i, entries as u16))).collect(),
            free: 0,
            used: 0,
            buckets: Slots::new(2 * entries.next_power_of_two() as usize, NONE),
            waiting: 0,
            max_waiting: most(max_merge),
            nodes: Vec::with_capacity(32),
            free_node: NONE,
            max_merge: max_merge.min(u32::from(NONE)) as u16,
            ready: Ring::new(entries as usize),
        }
    }

    /// Bytes of its arrays, without what grows with the requests that wait.
    pub fn hot_bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(self.buckets.as_slice()) + self.ready.hot_bytes()
    }

    /// Outstanding fetches, those whose data came but whose requests are not all answered included.
    #[inline]
    pub fn used(&self) -> u32 {
        self.used
    }

    /// The outstanding fetch of `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<u16> {
        self.find_in(hash(key), key)
    }

    #[inline]
    fn find_in(&self, bucket: u32, key: u64) -> Option<u16> {
        let mut at = *self.buckets.get(bucket);
        while at != NONE {
            let entry = &self.entries[usize::from(at)];
            if entry.key == key {
                return Some(at);
            }
            at = entry.chain;
        }
        None
    }

    /// Whether a miss on `key` can be taken now.
    ///
    /// An entry whose data came takes no more requests: its answers are under way, and nothing would fill again.
    // Every miss calls it.
    #[inline(always)]
    pub fn room(&self, key: u64) -> Room {
        let bucket = hash(key);
        match self.find_in(bucket, key) {
            Some(at) => {
                let entry = &self.entries[usize::from(at)];
                if entry.waiting < self.max_merge && !entry.ready && self.has_node() { Room::Merge(at) } else { Room::MergeFull }
            }
            None if self.is_full() => Room::NoEntry,
            None => Room::New(bucket),
        }
    }

    /// Whether a miss on a key for which nothing is outstanding would find no entry.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.used as usize == self.entries.len() || !self.has_node()
    }

    /// Takes a miss for which [`Mshr::room`] answered [`Room::New`] with this bucket; returns its entry.
    #[inline]
    pub fn insert(&mut self, bucket: u32, key: u64, line: u16, token: u32, atomic: bool) -> u16 {
        debug_assert!(self.find(key).is_none(), "a second fetch of {key:#x}");
        let at = self.free;
        let chain = std::mem::replace(self.buckets.get_mut(bucket), at);
        let entry = &mut self.entries[usize::from(at)];
        self.free = entry.chain;
        *entry = Entry { key, token, first: NONE, last: NONE, waiting: 1, line, chain, atomic, ready: false };
        self.used += 1;
        self.waiting += 1;
        at
    }

    /// Whether one more request can wait.
    #[inline]
    fn has_node(&self) -> bool {
        self.waiting < self.max_waiting
    }

    /// Takes a miss for which [`Mshr::room`] answered [`Room::Merge`]; the data will go to `line`.
    pub fn merge(&mut self, at: u16, line: u16, token: u32, atomic: bool) {
        self.entries[usize::from(at)].line = line;
        self.wait(at, token, atomic);
    }

    /// The key of an entry.
    #[inline]
    pub fn key(&self, at: u16) -> u64 {
        self.entries[usize::from(at)].key
    }

    /// Asks the host for an entry whose data is coming.
    #[inline]
    pub fn touch(&self, at: u16) {
        touch(&self.entries[usize::from(at)].line);
    }

    /// Asks the host for where an entry of `key` is looked up.
    #[inline]
    pub fn touch_bucket(&self, key: u64) {
        touch(self.buckets.get(hash(key)));
    }

    /// The data of an entry will be there soon: asks the host for where the entry is released. Says which line waits for it, and
    /// the token of the oldest request.
    #[inline]
    pub fn expect(&self, at: u16) -> (u16, u32) {
        let Entry { key, line, token, .. } = self.entries[usize::from(at)];
        self.touch_bucket(key);
        (line, token)
    }

    /// The line that waits for the data of an entry, and whether an atomic is among the requests.
    #[inline]
    pub fn reserved(&self, at: u16) -> (u16, bool) {
        let entry = &self.entries[usize::from(at)];
        (entry.line, entry.atomic)
    }

    /// The data of an entry came: its requests become ready, after those of earlier entries.
    #[inline]
    pub fn mark_ready(&mut self, at: u16) {
        let entry = &mut self.entries[usize::from(at)];
        debug_assert!(!entry.ready, "entry {at} is filled twice");
        entry.ready = true;
        self.ready.push(at);
    }

    /// Whether a request can be answered.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next request that can be answered, without taking it.
    #[inline]
    pub fn peek_ready(&self) -> Option<u32> {
        let at = *self.ready.front()?;
        Some(self.entries[usize::from(at)].token)
    }

    /// Takes the next request that can be answered: entries in the order their data came, requests in the order they missed.
    // Called from two places, for every answer; mostly one request waits for an entry.
    #[inline(always)]
    pub fn next_ready(&mut self) -> Option<u32> {
        let at = *self.ready.front()?;
        let entry = &mut self.entries[usize::from(at)];
        let token = entry.token;
        entry.waiting -= 1;
        self.waiting -= 1;
        if entry.waiting == 0 {
            self.ready.drop_front();
            self.release(at);
            return Some(token);
        }
        self.move_up(at);
        Some(token)
    }

    /// The oldest of those that wait behind the request of an entry takes its place.
    fn move_up(&mut self, at: u16) {
        let entry = &mut self.entries[usize::from(at)];
        let taken = entry.first;
        let node = &mut self.nodes[usize::from(taken)];
        entry.token = node.token;
        entry.first = node.next;
        node.next = self.free_node;
        self.free_node = taken;
    }

    fn wait(&mut self, at: u16, token: u32, atomic: bool) {
        let node = Node { token, next: NONE };
        let mut taken = self.free_node;
        if taken == NONE {
            taken = self.nodes.len() as u16;
            self.nodes.push(node);
        } else {
            self.free_node = std::mem::replace(&mut self.nodes[usize::from(taken)], node).next;
        }
        let entry = &mut self.entries[usize::from(at)];
        if entry.waiting == 1 {
            entry.first = taken;
        } else {
            self.nodes[usize::from(entry.last)].next = taken;
        }
        entry.last = taken;
        entry.waiting += 1;
        entry.atomic |= atomic;
        self.waiting += 1;
    }

    #[inline]
    fn release(&mut self, at: u16) {
        let entry = &mut self.entries[usize::from(at)];
        let (bucket, after) = (hash(entry.key), std::mem::replace(&mut entry.chain, self.free));
        self.free = at;
        self.used -= 1;
        let first = self.buckets.get_mut(bucket);
        if *first == at {
            *first = after;
            return;
        }
        let mut before = *first;
        while self.entries[usize::from(before)].chain != at {
            before = self.entries[usize::from(before)].chain;
        }
        self.entries[usize::from(before)].chain = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn insert(mshr: &mut Mshr, key: u64, token: u32) {
        let Room::New(bucket) = mshr.room(key) else { panic!("there is room for {key}") };
        mshr.insert(bucket, key, 0, token, false);
    }

    #[test]
    fn limits_hold_for_entries_and_for_merges() {
        let mut mshr = Mshr::new(2, 2);
        insert(&mut mshr, 7, 70);
        let Room::Merge(at) = mshr.room(7) else { panic!("the second request merges") };
        mshr.merge(at, 0, 71, true);
        assert_eq!(mshr.room(7), Room::MergeFull);
        insert(&mut mshr, 8, 80);
        assert_eq!(mshr.room(9), Room::NoEntry);
        assert_eq!(mshr.reserved(at), (0, true));
    }

    #[test]
    fn requests_are_answered_in_the_order_of_data_then_of_misses() {
        let mut mshr = Mshr::new(4, 4);
        insert(&mut mshr, 1, 10);
        insert(&mut mshr, 2, 20);
        let one = mshr.find(1).unwrap();
        mshr.merge(one, 0, 11, false);
        mshr.mark_ready(mshr.find(2).unwrap());
        mshr.mark_ready(one);
        assert_eq!(mshr.room(1), Room::MergeFull, "an entry that is being answered takes nobody");
        let answered: Vec<_> = std::iter::from_fn(|| mshr.next_ready()).collect();
        assert_eq!(answered, [20, 10, 11]);
        assert_eq!(mshr.used(), 0);
        assert!(matches!(mshr.room(1), Room::New(_)));
    }

    proptest! {
        #[test]
        fn the_table_behaves_like_a_list_of_lists(steps in prop::collection::vec((0u64..12, 0u8..3), 1..400)) {
            let mut mshr = Mshr::new(4, 3);
            let mut model: Vec<(u64, Vec<u32>, bool)> = Vec::new();
            let mut ready: Vec<u64> = Vec::new();
            for (token, (key, action)) in steps.into_iter().enumerate() {
                let token = token as u32;
                let known = model.iter().position(|(k, ..)| *k == key);
                match action {
                    0 => match (mshr.room(key), known) {
                        (Room::New(bucket), None) => {
                            prop_assert!(model.len() < 4);
                            mshr.insert(bucket, key, 0, token, false);
                            model.push((key, vec![token], false));
                        }
                        (Room::NoEntry, None) => prop_assert_eq!(model.len(), 4),
                        (Room::Merge(at), Some(i)) => {
                            prop_assert!(model[i].1.len() < 3 && !model[i].2);
                            mshr.merge(at, 0, token, false);
                            model[i].1.push(token);
                        }
                        (Room::MergeFull, Some(i)) => prop_assert!(model[i].1.len() == 3 || model[i].2),
                        (room, known) => prop_assert!(false, "{room:?} although known is {known:?}"),
                    },
                    1 => if let Some(i) = known.filter(|i| !model[*i].2) {
                        model[i].2 = true;
                        ready.push(key);
                        mshr.mark_ready(mshr.find(key).unwrap());
                    },
                    _ => {
                        let expected = ready.first().copied().map(|k| {
                            let i = model.iter().position(|(key, ..)| *key == k).unwrap();
                            let token = model[i].1.remove(0);
                            if model[i].1.is_empty() {
                                model.remove(i);
                                ready.remove(0);
                            }
                            token
                        });
                        prop_assert_eq!(mshr.peek_ready(), expected);
                        prop_assert_eq!(mshr.next_ready(), expected);
                    }
                }
                prop_assert_eq!(mshr.used() as usize, model.len());
            }
        }
    }
}
