//! The table of pages, where the first access of a page decides on its home.
//!
//! Every GPU keeps the entries of the pages whose turn it is, and knows the homes of those that it asked for. In: lookups and answers. Out:
//! lookups to be sent, answers, and packets that may go on. A page gets its home from the first lookup that reaches its keeper.

use std::collections::{BTreeMap, VecDeque};

use warpshard_base::{Cycle, GpuId};
use warpshard_protocol::MemPacket;

/// What a hub knows of pages.
#[derive(Clone, Debug, Default, warpshard_state::State)]
pub(super) struct Pages {
    /// Homes of pages that this GPU asked for.
    known: BTreeMap<u64, GpuId>,
    /// Packets that wait for the homes of their pages.
    parked: BTreeMap<u64, Vec<MemPacket>>,
    /// The entries that this GPU keeps: the home, and when it was given.
    table: BTreeMap<u64, (GpuId, Cycle)>,
    /// Answers that are due later, in their order: when, whom, and the page.
    answers: VecDeque<(Cycle, GpuId, u64)>,
}

impl Pages {
    /// The home of a page, as far as this GPU knows.
    pub(super) fn home(&self, page: u64) -> Option<GpuId> {
        self.known.get(&page).copied()
    }

    /// A packet waits for its page; returns whether it is the first one.
    pub(super) fn park(&mut self, page: u64, packet: MemPacket) -> bool {
        let waiting = self.parked.entry(page).or_default();
        waiting.push(packet);
        waiting.len() == 1
    }

    /// The home of a page became known; returns the packets that waited for it.
    pub(super) fn learn(&mut self, page: u64, home: GpuId) -> Vec<MemPacket> {
        self.known.insert(page, home);
        self.parked.remove(&page).unwrap_or_default()
    }

    /// A GPU asks for a page of the table here. A new one is its own after `latency` cycles. Returns whether it is new, and when the answer is
    /// due.
    pub(super) fn ask(&mut self, page: u64, asker: GpuId, now: Cycle, latency: u64) -> (bool, Cycle) {
        let new = !self.table.contains_key(&page);
        let (_, given) = *self.table.entry(page).or_insert((asker, now.after(latency)));
        let due = given.max(now.after(1));
        let place = self.answers.partition_point(|(at, ..)| *at <= due);
        self.answers.insert(place, (due, asker, page));
        (new, due)
    }

    /// An answer that is due: who asked, the page, and its home.
    pub(super) fn due(&mut self, now: Cycle) -> Option<(GpuId, u64, GpuId)> {
        let (_, asker, page) = *self.answers.front().filter(|(at, ..)| *at <= now)?;
        self.answers.pop_front();
        Some((asker, page, self.table[&page].0))
    }

    /// Packets that wait for the homes of their pages.
    pub(super) fn waiting(&self) -> usize {
        self.parked.values().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_belongs_to_the_gpu_whose_lookup_came_first() {
        let mut pages = Pages::default();
        assert_eq!(pages.ask(7, GpuId(2), Cycle(10), 100), (true, Cycle(110)));
        assert_eq!(pages.ask(7, GpuId(1), Cycle(12), 100), (false, Cycle(110)));
        assert_eq!(pages.ask(7, GpuId(0), Cycle(200), 100), (false, Cycle(201)));
        assert_eq!(pages.due(Cycle(109)), None);
        assert_eq!(pages.due(Cycle(110)), Some((GpuId(2), 7, GpuId(2))));
        assert_eq!(pages.due(Cycle(110)), Some((GpuId(1), 7, GpuId(2))));
        assert_eq!(pages.due(Cycle(110)), None);
        assert!(pages.park(7, MemPacket::default()) && !pages.park(7, MemPacket::default()));
        assert_eq!(pages.learn(7, GpuId(2)).len(), 2);
        assert_eq!((pages.home(7), pages.home(8)), (Some(GpuId(2)), None));
    }
}
