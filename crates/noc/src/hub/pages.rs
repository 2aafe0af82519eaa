//! The page directory, in which the first access of a page determines its home.
//!
//! Each GPU keeps the directory entries of the pages that are assigned to it in turn, and caches the homes that it looked up. Input:
//! lookups and replies. Output: lookups to send, replies, and packets that may proceed. The home of a page is the GPU whose lookup reaches
//! the directory first.

use std::collections::{BTreeMap, VecDeque};

use warpshard_base::{Cycle, GpuId};
use warpshard_protocol::MemPacket;

/// The pages of a hub: homes, waiting packets and directory.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct PageHomes {
    /// Homes of pages that this GPU has looked up.
    known_homes: BTreeMap<u64, GpuId>,
    /// Packets that wait for the homes of their pages.
    parked_packets: BTreeMap<u64, Vec<MemPacket>>,
    /// The directory entries of this GPU: the home, and the cycle of its assignment.
    directory: BTreeMap<u64, (GpuId, Cycle)>,
    /// Lookup replies in order of their due cycle: the cycle, the requester and the page.
    lookup_replies: VecDeque<(Cycle, GpuId, u64)>,
}

impl PageHomes {
    /// Returns the home of a page if this GPU has looked it up.
    pub(super) fn home(&self, page: u64) -> Option<GpuId> {
        self.known_homes.get(&page).copied()
    }

    /// Parks a packet until the home of its page is known; returns true if it is the first one.
    pub(super) fn park(&mut self, page: u64, packet: MemPacket) -> bool {
        let waiting = self.parked_packets.entry(page).or_default();
        waiting.push(packet);
        waiting.len() == 1
    }

    /// Records the home of a page and returns the packets that waited for it.
    pub(super) fn record_home(&mut self, page: u64, home: GpuId) -> Vec<MemPacket> {
        self.known_homes.insert(page, home);
        self.parked_packets.remove(&page).unwrap_or_default()
    }

    /// Handles a lookup of a page in this directory. A new page is assigned to the requester after `latency` cycles. Returns true for a new
    /// page, and the cycle in which the reply is due.
    pub(super) fn handle_lookup(&mut self, page: u64, requester: GpuId, now: Cycle, latency: u64) -> (bool, Cycle) {
        let new = !self.directory.contains_key(&page);
        let (_, given) = *self.directory.entry(page).or_insert((requester, now.after(latency)));
        let due = given.max(now.after(1));
        let place = self.lookup_replies.partition_point(|(at, ..)| *at <= due);
        self.lookup_replies.insert(place, (due, requester, page));
        (new, due)
    }

    /// Removes and returns a reply that is due: the requester, the page and its home.
    pub(super) fn pop_due_reply(&mut self, now: Cycle) -> Option<(GpuId, u64, GpuId)> {
        let (_, requester, page) = *self.lookup_replies.front().filter(|(at, ..)| *at <= now)?;
        self.lookup_replies.pop_front();
        Some((requester, page, self.directory[&page].0))
    }

    /// Returns the number of packets that wait for the homes of their pages.
    pub(super) fn waiting(&self) -> usize {
        self.parked_packets.values().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_assigned_to_the_gpu_with_the_first_lookup() {
        let mut pages = PageHomes::default();
        assert_eq!(pages.handle_lookup(7, GpuId(2), Cycle(10), 100), (true, Cycle(110)));
        assert_eq!(pages.handle_lookup(7, GpuId(1), Cycle(12), 100), (false, Cycle(110)));
        assert_eq!(pages.handle_lookup(7, GpuId(0), Cycle(200), 100), (false, Cycle(201)));
        assert_eq!(pages.pop_due_reply(Cycle(109)), None);
        assert_eq!(pages.pop_due_reply(Cycle(110)), Some((GpuId(2), 7, GpuId(2))));
        assert_eq!(pages.pop_due_reply(Cycle(110)), Some((GpuId(1), 7, GpuId(2))));
        assert_eq!(pages.pop_due_reply(Cycle(110)), None);
        assert!(pages.park(7, MemPacket::default()) && !pages.park(7, MemPacket::default()));
        assert_eq!(pages.record_home(7, GpuId(2)).len(), 2);
        assert_eq!((pages.home(7), pages.home(8)), (Some(GpuId(2)), None));
    }
}
