//! Wait reasons of the oldest request of a slice: counters of wait cycles, and the report of a deadlock.

use super::LlcSlice;
use crate::cache::FailReason;

impl LlcSlice {
    /// Describes the waiting requests and replies for the report of a deadlock.
    pub fn waiting(&self, lines: &mut Vec<String>) {
        if let Some(arrived) = self.arrivals.front() {
            let why = match self.failure {
                Some(FailReason::NoLine) => "no line of its set is evictable",
                Some(FailReason::NoMshr) => "all MSHRs are in use",
                Some(FailReason::MergeFull) => "its MSHR accepts no more requests",
                Some(FailReason::QueueFull) => "the miss queue is full",
                None if self.to_dram_full() => "the queue to DRAM is full",
                None if self.out.is_full() => "the queue to the network is full",
                None => "its look-up is next",
            };
            let packet = &arrived.packet;
            lines.push(format!(
                "{}: {} requests, the oldest for {} of {} since {}: {why}",
                self.id,
                self.arrivals.len(),
                packet.addr,
                packet.port,
                self.oldest_arrival
            ));
        }
        let crossing = self.other.as_ref().map_or(0, |other| other.len());
        let for_data = self.pending.len() - self.out.len() - crossing;
        if for_data > 0 {
            lines.push(format!("{}: {for_data} requests wait for data from DRAM", self.id));
        }
        if let Some(packet) = self.out.front().map(|number| self.pending.get(*number)) {
            lines.push(format!("{}: {} replies wait for the network, the oldest for {}", self.id, self.out.len(), packet.port));
        }
    }

    /// Adds cycles in which the oldest request could not be looked up to the counter of the wait reason.
    #[inline]
    pub(super) fn count_waiting(&mut self, cycles: u64) {
        let counter = if self.to_dram_full() {
            &mut self.counters.to_dram_full
        } else if self.out.is_full() {
            &mut self.counters.out_full
        } else {
            match self.failure {
                Some(FailReason::NoLine) => &mut self.counters.fail_no_line,
                Some(FailReason::NoMshr) => &mut self.counters.fail_no_mshr,
                Some(FailReason::MergeFull) => &mut self.counters.fail_merge_full,
                Some(FailReason::QueueFull) => &mut self.counters.fail_queue_full,
                None => return,
            }
        };
        *counter += cycles;
    }
}
