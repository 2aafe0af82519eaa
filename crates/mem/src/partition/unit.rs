//! The unit interface of a partition: messages, spans, cuts and counters.

use warpshard_base::{Cycle, LinkId, prefetch};
use warpshard_engine::Unit;
use warpshard_protocol::{EventKind, Outbox, Payload};
use warpshard_stats::CounterVisitor;
use warpshard_stats::components::APPLICATION_LLC;

use super::{Channel, Partition, PartitionDecision, each};
use crate::dram::Clocked;
use crate::slice_port::SlicePort;

impl Unit for Partition {
    type Payload = Payload;
    type Event = EventKind;
    type Decision = PartitionDecision;

    // This function is called for every message, from one loop. Nearly all messages are requests, which are copied only once, directly from
    // the message.
    #[inline(always)]
    fn deliver(&mut self, link: LinkId, at: Cycle, payload: &Payload) {
        if let Payload::Mem(packet) = payload {
            self.deliver_request(link, at, packet);
        } else {
            self.deliver_other(link, at, *payload);
        }
    }

    fn run(&mut self, until: Cycle, skip: bool, out: &mut Outbox) {
        self.channel.prefetch_arrays();
        for side in &self.slices.ports {
            if side.due < until {
                side.slice.prefetch();
            }
        }
        self.expect_data();
        if skip {
            self.run_events(until, out);
        } else {
            self.run_cycles(until, out);
        }
        self.watch_stalls();
        self.catch_up();
    }

    #[inline]
    fn prefetch(&self, deep: bool) {
        if !deep {
            prefetch(self);
            return;
        }
        prefetch(&*self.slices.ports);
        self.arbiter.delayed_requests.prefetch();
        self.channel.prefetch();
    }

    #[inline]
    fn next_event(&self) -> Cycle {
        self.slices.due.min(self.arbiter.dram_due).min(self.last_copy_cycle).max(self.slices.now)
    }

    fn settle(&mut self, at: Cycle) {
        debug_assert!(at <= self.slices.now || self.next_event() >= at, "{} has work before {at}", self.slices.id);
        self.skip_idle_cycles(at);
        self.catch_up();
        self.settle_stalls();
        // Edges before the present are past; the open span of a full queue is split after them.
        let past = self.arbiter.llc_to_dram.last_at_or_before(Cycle(at.0.saturating_sub(1))).next();
        if let Some(since) = self.arbiter.full_since.filter(|since| *since < past) {
            each!(&mut self.channel, channel => channel.count_full(past.0 - since.0));
            self.arbiter.full_since = Some(past);
        }
        self.channel.settle(past);
    }

    fn visit_counters(&self, visitor: &mut dyn CounterVisitor) {
        let id = u32::from(self.slices.id.0);
        for SlicePort { slice, coalescer, .. } in &self.slices.ports {
            visitor.component("llc", u32::from(slice.id().0));
            visitor.counters(&slice.counters());
            if let Some(coalescer) = coalescer {
                visitor.counters(coalescer.counters());
            }
            if let Some(counters) = slice.prefetches() {
                visitor.counters(counters);
            }
            let applications = slice.applications();
            for (number, counters) in (u32::from(slice.id().0) * applications.len() as u32..).zip(applications) {
                visitor.component(APPLICATION_LLC, number);
                visitor.counters(counters);
            }
        }
        visitor.component("dram", id);
        self.channel.visit_counters(&mut |info, value| visitor.counter(info, value));
        let banks = self.channel.bank_counters();
        for (bank, counters) in (id * banks.len() as u32..).zip(banks) {
            visitor.component("dram_bank", bank);
            visitor.counters(counters);
        }
        visitor.component("stall", id);
        visitor.counters(&self.stalls);
    }

    fn apply(&mut self, _: Cycle, PartitionDecision::Warm(lines): &PartitionDecision) {
        self.warm_lines(lines);
    }

    fn sends_events(&self) -> bool {
        false
    }

    fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for SlicePort { slice, coalescer, .. } in &self.slices.ports {
            slice.waiting(&mut lines);
            let coalesced = coalescer.as_ref().and_then(|coalescer| coalescer.waiting());
            lines.extend(coalesced.map(|what| format!("{}: {what}", slice.id())));
        }
        let inside = self.channel.occupancy();
        if inside + self.arbiter.delayed_requests.len() > 0 {
            lines.push(format!("{} requests in front of DRAM, {inside} in the channel", self.arbiter.delayed_requests.len()));
        }
        lines
    }
}
