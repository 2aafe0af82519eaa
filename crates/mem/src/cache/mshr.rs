//! Miss status holding registers: outstanding fetches, and the requests that wait for each of them.
//!
//! A machine has thousands of entries, which are read long after they were written, so the host cost of a fetch is the number of host cache
//! lines that it accesses. Therefore the first request of an entry is stored in the entry itself, the entry that was freed last is reused
//! first, and neighbouring keys have neighbouring buckets.

use warpshard_base::{Ring, Slots, prefetch};
use warpshard_state::StateError;

use super::index::hash;

const NO_ENTRY: u16 = u16::MAX;

/// An outstanding fetch.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct MshrEntry {
    key: u64,
    /// The token of the oldest waiting request.
    token: u32,
    /// The newest of the further requests, as an index into the nodes, which form a circular list in order of arrival; undefined if there
    /// is only one request.
    last: u16,
    waiting: u16,
    /// The cache line that is reserved for the data.
    line: u16,
    /// The hash bucket, and the next entry in it.
    bucket: u16,
    chain: u16,
    atomic: bool,
    ready: bool,
}

const _: () = assert!(size_of::<MshrEntry>() == 24);

/// The largest number of buckets that an entry can store.
const MAX_BUCKETS: usize = 1 << u16::BITS;

/// A further request of an entry.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct MergedRequest {
    token: u32,
    next: u16,
}

/// The table of outstanding fetches, keyed by sector (or line) number.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub struct Mshr {
    entries: Slots<MshrEntry>,
    capacity: u32,
    /// The first free entry. The others follow in `chain`, with the entry that was freed last first.
    free: u16,
    used: u32,
    /// The first entry of each hash bucket.
    buckets: Slots<u16>,
    /// The number of waiting requests, including the first of each entry, and its limit.
    waiting: u16,
    max_waiting: u16,
    /// Further requests. The vector grows on demand, because a machine may allow thousands of requests and use dozens.
    nodes: Vec<MergedRequest>,
    free_node: u16,
    max_merge: u16,
    ready: Ring<u16>,
}

impl Mshr {
    /// Returns a table of `entries` fetches with up to `max_merge` requests each.
    ///
    /// # Panics
    /// If the table is too large for numbers of 16 bits.
    pub fn new(entries: u32, max_merge: u32) -> Self {
        assert!(entries >= 1 && entries < u32::from(NO_ENTRY), "an MSHR table of {entries} entries");
        let most = |merge: u32| (u64::from(entries) * u64::from(merge)).min(u64::from(NO_ENTRY) - 1) as u16;
        let entry =
            MshrEntry { key: 0, token: 0, last: NO_ENTRY, waiting: 0, line: 0, bucket: 0, chain: NO_ENTRY, atomic: false, ready: false };
        let mut table = Slots::new(entries as usize, entry);
        (1..entries).for_each(|next| table.get_mut(next - 1).chain = next as u16);
        Self {
            entries: table,
            capacity: entries,
            free: 0,
            used: 0,
            buckets: Slots::new((2 * entries.next_power_of_two() as usize).min(MAX_BUCKETS), NO_ENTRY),
            waiting: 0,
            max_waiting: most(max_merge),
            nodes: Vec::with_capacity(32),
            free_node: NO_ENTRY,
            max_merge: max_merge.min(u32::from(NO_ENTRY)) as u16,
            ready: Ring::new(entries as usize),
        }
    }

    /// Rejects a saved table whose look-ups would not terminate.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NO_ENTRY).then_some(usize::from(at));
        let starts = self.buckets.as_slice().iter().copied().chain([self.free]).filter_map(some);
        warpshard_state::check_lists_end(self.capacity as usize, starts, |at| some(self.entries.get(at as u32).chain))
    }

    /// Returns the bytes of the arrays, without the array that grows with the waiting requests.
    pub fn hot_bytes(&self) -> usize {
        self.capacity as usize * size_of::<MshrEntry>() + size_of_val(self.buckets.as_slice()) + self.ready.hot_bytes()
    }

    /// Returns the number of outstanding fetches, including fetches whose data arrived and which still have requests without a reply.
    #[inline]
    pub fn used_entries(&self) -> u32 {
        self.used
    }

    /// Returns the outstanding fetch of `key`.
    #[inline]
    pub fn find(&self, key: u64) -> Option<u16> {
        self.find_in(hash(key), key)
    }

    /// Returns the outstanding fetch of `key`, given the hash of `key`.
    #[inline]
    pub(super) fn find_in(&self, bucket: u32, key: u64) -> Option<u16> {
        let mut at = *self.buckets.get(bucket);
        while at != NO_ENTRY {
            let entry = self.entries.get(u32::from(at));
            if entry.key == key {
                return Some(at);
            }
            at = entry.chain;
        }
        None
    }

    /// Returns true if an outstanding fetch accepts one more request.
    ///
    /// An entry whose data arrived accepts no more requests, because it is not filled again.
    #[inline]
    pub fn can_merge(&self, at: u16) -> bool {
        let entry = self.entries.get(u32::from(at));
        entry.waiting < self.max_merge && !entry.ready && self.has_node()
    }

    /// Returns true if a miss on a new key would find no free entry.
    #[inline]
    pub fn is_full(&self) -> bool {
        (self.used == self.capacity) | !self.has_node()
    }

    /// Adds a miss on a new key with this hash and returns its entry; the table must not be [full](Mshr::is_full).
    #[inline]
    pub fn insert(&mut self, bucket: u32, key: u64, line: u16, token: u32, atomic: bool) -> u16 {
        debug_assert!(self.find(key).is_none(), "a second fetch of {key:#x}");
        let at = self.free;
        let chain = std::mem::replace(self.buckets.get_mut(bucket), at);
        let entry = self.entries.get_mut(u32::from(at));
        self.free = entry.chain;
        *entry = MshrEntry { key, token, last: NO_ENTRY, waiting: 1, line, bucket: bucket as u16, chain, atomic, ready: false };
        self.used += 1;
        self.waiting += 1;
        at
    }

    /// Returns true if there is space for one more waiting request.
    #[inline]
    fn has_node(&self) -> bool {
        self.waiting < self.max_waiting
    }

    /// Adds a miss to an outstanding fetch that [accepts it](Mshr::can_merge); the data will be written to `line`.
    pub fn merge(&mut self, at: u16, line: u16, token: u32, atomic: bool) {
        self.entries.get_mut(u32::from(at)).line = line;
        self.add_waiting_request(at, token, atomic);
    }

    /// Returns the key of an entry.
    #[inline]
    pub fn key(&self, at: u16) -> u64 {
        self.entries.get(u32::from(at)).key
    }

    /// Prefetches an entry whose data is about to arrive.
    #[inline]
    pub fn prefetch(&self, at: u16) {
        prefetch(&self.entries.get(u32::from(at)).line);
    }

    /// Prefetches the bucket of `key`.
    #[inline]
    pub fn prefetch_bucket(&self, key: u64) {
        prefetch(self.buckets.get(hash(key)));
    }

    /// Prefetches the data for the release of an entry whose data arrives soon. Returns the line reserved for it, and the token of the
    /// oldest request.
    #[inline]
    pub fn expect(&self, at: u16) -> (u16, u32) {
        let MshrEntry { bucket, line, token, .. } = *self.entries.get(u32::from(at));
        prefetch(self.buckets.get(u32::from(bucket)));
        (line, token)
    }

    /// Returns the line that is reserved for the data of an entry, and true if an atomic is among the requests.
    #[inline]
    pub fn reserved_line(&self, at: u16) -> (u16, bool) {
        let entry = self.entries.get(u32::from(at));
        (entry.line, entry.atomic)
    }

    /// Marks the requests of an entry whose data arrived as ready, after the requests of earlier entries.
    #[inline]
    pub fn mark_ready(&mut self, at: u16) {
        let entry = self.entries.get_mut(u32::from(at));
        debug_assert!(!entry.ready, "entry {at} is filled twice");
        entry.ready = true;
        self.ready.push(at);
    }

    /// Returns true if a request is ready for its reply.
    #[inline]
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Removes and returns the next request that is ready for its reply: entries in the order of their data, requests in the order of their
    /// misses.
    // This function is called from two places, for every reply; usually one request waits for an entry.
    #[inline(always)]
    pub fn next_ready(&mut self) -> Option<u32> {
        let at = *self.ready.front()?;
        let entry = self.entries.get_mut(u32::from(at));
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

    /// Replaces the first request of an entry by its oldest further request.
    fn move_up(&mut self, at: u16) {
        let entry = self.entries.get_mut(u32::from(at));
        let last = usize::from(entry.last);
        let taken = self.nodes[last].next;
        let MergedRequest { token, next } = self.nodes[usize::from(taken)];
        entry.token = token;
        self.nodes[last].next = next;
        self.nodes[usize::from(taken)].next = std::mem::replace(&mut self.free_node, taken);
    }

    fn add_waiting_request(&mut self, at: u16, token: u32, atomic: bool) {
        let node = MergedRequest { token, next: NO_ENTRY };
        let mut taken = self.free_node;
        if taken == NO_ENTRY {
            taken = self.nodes.len() as u16;
            self.nodes.push(node);
        } else {
            self.free_node = std::mem::replace(&mut self.nodes[usize::from(taken)], node).next;
        }
        let entry = self.entries.get_mut(u32::from(at));
        let before = if entry.waiting == 1 { taken } else { entry.last };
        self.nodes[usize::from(taken)].next = self.nodes[usize::from(before)].next;
        self.nodes[usize::from(before)].next = taken;
        entry.last = taken;
        entry.waiting += 1;
        entry.atomic |= atomic;
        self.waiting += 1;
    }

    #[inline]
    fn release(&mut self, at: u16) {
        let entry = self.entries.get_mut(u32::from(at));
        let (bucket, after) = (u32::from(entry.bucket), std::mem::replace(&mut entry.chain, self.free));
        self.free = at;
        self.used -= 1;
        let first = self.buckets.get_mut(bucket);
        if *first == at {
            *first = after;
            return;
        }
        let (mut before, mut left) = (*first, self.used);
        while self.entries.get(u32::from(before)).chain != at {
            // This assertion fails only for an inconsistent state.
            assert!(left > 0, "the entries of a bucket form a cycle");
            (before, left) = (self.entries.get(u32::from(before)).chain, left - 1);
        }
        self.entries.get_mut(u32::from(before)).chain = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The treatment of a miss by the table.
    #[derive(Debug, PartialEq, Eq)]
    enum MissOutcome {
        Merge(u16),
        New,
        NoEntry,
        MergeFull,
    }

    fn miss_outcome(mshr: &Mshr, key: u64) -> MissOutcome {
        match mshr.find(key) {
            Some(at) if mshr.can_merge(at) => MissOutcome::Merge(at),
            Some(_) => MissOutcome::MergeFull,
            None if mshr.is_full() => MissOutcome::NoEntry,
            None => MissOutcome::New,
        }
    }

    fn insert(mshr: &mut Mshr, key: u64, token: u32) {
        assert_eq!(miss_outcome(mshr, key), MissOutcome::New, "{key} finds no free entry");
        mshr.insert(hash(key), key, 0, token, false);
    }

    #[test]
    fn limits_hold_for_entries_and_for_merges() {
        let mut mshr = Mshr::new(2, 2);
        insert(&mut mshr, 7, 70);
        let MissOutcome::Merge(at) = miss_outcome(&mshr, 7) else { panic!("the second request merges") };
        mshr.merge(at, 0, 71, true);
        assert_eq!(miss_outcome(&mshr, 7), MissOutcome::MergeFull);
        insert(&mut mshr, 8, 80);
        assert_eq!(miss_outcome(&mshr, 9), MissOutcome::NoEntry);
        assert_eq!(mshr.reserved_line(at), (0, true));
    }

    #[test]
    fn replies_follow_the_order_of_data_and_then_of_misses() {
        let mut mshr = Mshr::new(4, 4);
        insert(&mut mshr, 1, 10);
        insert(&mut mshr, 2, 20);
        let one = mshr.find(1).unwrap();
        mshr.merge(one, 0, 11, false);
        mshr.mark_ready(mshr.find(2).unwrap());
        mshr.mark_ready(one);
        assert_eq!(miss_outcome(&mshr, 1), MissOutcome::MergeFull, "an entry with ready replies accepts no request");
        let answered: Vec<_> = std::iter::from_fn(|| mshr.next_ready()).collect();
        assert_eq!(answered, [20, 10, 11]);
        assert_eq!(mshr.used_entries(), 0);
        assert_eq!(miss_outcome(&mshr, 1), MissOutcome::New);
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
                    0 => match (miss_outcome(&mshr, key), known) {
                        (MissOutcome::New, None) => {
                            prop_assert!(model.len() < 4);
                            mshr.insert(hash(key), key, 0, token, false);
                            model.push((key, vec![token], false));
                        }
                        (MissOutcome::NoEntry, None) => prop_assert_eq!(model.len(), 4),
                        (MissOutcome::Merge(at), Some(i)) => {
                            prop_assert!(model[i].1.len() < 3 && !model[i].2);
                            mshr.merge(at, 0, token, false);
                            model[i].1.push(token);
                        }
                        (MissOutcome::MergeFull, Some(i)) => prop_assert!(model[i].1.len() == 3 || model[i].2),
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
                        prop_assert_eq!(mshr.next_ready(), expected);
                    }
                }
                prop_assert_eq!(mshr.used_entries() as usize, model.len());
            }
        }
    }
}
