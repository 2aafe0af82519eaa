//! The outputs of a hub: links to other nodes, which take time for every byte, and ports at the networks, which take a packet per cycle.
//!
//! Inputs wait at the output of their first packet in the order in which they began to; one whose virtual channel has no credit is passed over.
//! The sending of a packet of B bytes takes B / bandwidth, counted in fractions of a cycle: what is left of a cycle carries over to the next
//! packet as long as the link does not stand idle.

use std::collections::VecDeque;

use warpshard_base::{Cycle, LinkId};
use warpshard_protocol::CreditSender;

use super::counters::LinkCounters;
use super::ports::LanePort;

/// What an output leads to.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) enum Leads {
    /// Another node.
    Lane { port: LanePort, rate: Rate, counters: LinkCounters },
    /// The request network, through a port.
    Request,
    /// The reply network.
    Reply,
}

/// How long bytes take, in fractions of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Rate {
    /// Parts of a cycle that a byte takes, and parts of a cycle.
    per_byte: u64,
    per_cycle: u64,
    /// Parts that were begun.
    carried: u64,
}

impl Rate {
    /// Of a link of `megabytes` per second at a clock of `kilohertz`.
    pub(super) fn new(megabytes: u32, kilohertz: u64) -> Self {
        Self { per_byte: kilohertz, per_cycle: 1000 * u64::from(megabytes), carried: 0 }
    }

    /// Sends `bytes` after the packet before, or after an idle span: the whole cycles that this takes, and those until the last byte has left.
    pub(super) fn send(&mut self, bytes: u64, idle: bool) -> (u64, u64) {
        let parts = bytes * self.per_byte + if idle { 0 } else { self.carried };
        self.carried = parts % self.per_cycle;
        (parts / self.per_cycle, parts.div_ceil(self.per_cycle))
    }
}

/// An output.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Output {
    pub(super) leads: Leads,
    /// Where packets go.
    pub(super) link: LinkId,
    /// Places at the far end, for each virtual channel.
    pub(super) credits: Box<[CreditSender]>,
    /// Inputs whose first packet goes here, with its virtual channel and since when.
    waiting: VecDeque<(u16, u8, Cycle)>,
    /// When the next packet may leave, if one waits and has a credit.
    pub(super) next: Cycle,
    /// When the packet before has left.
    pub(super) free_at: Cycle,
    /// Since when all that wait lack credits.
    stuck: Option<Cycle>,
}

impl Output {
    pub(super) fn new(leads: Leads, link: LinkId, channels: usize, places: u32) -> Self {
        let credits = vec![CreditSender::new(places); channels].into();
        Self { leads, link, credits, waiting: VecDeque::new(), next: Cycle::NEVER, free_at: Cycle(0), stuck: None }
    }

    /// An input waits.
    pub(super) fn wait(&mut self, input: u16, channel: u8, now: Cycle) {
        self.waiting.push_back((input, channel, now));
        if self.credits[usize::from(channel)].can_send() {
            self.wake(now);
        } else if self.next == Cycle::NEVER {
            self.stuck.get_or_insert(now);
        }
    }

    /// Something changed for those that wait.
    pub(super) fn wake(&mut self, now: Cycle) {
        if !self.waiting.is_empty() {
            self.unstick(now);
            self.next = self.next.min(self.free_at.max(now));
        }
    }

    fn unstick(&mut self, now: Cycle) {
        if let Some(since) = self.stuck.take()
            && let Leads::Lane { counters, .. } = &mut self.leads
        {
            counters.credit_stalls += now.0.saturating_sub(since.0);
        }
    }

    /// The input whose packet leaves at `now`, and since when it waited; `None` when none can.
    pub(super) fn take(&mut self, now: Cycle, may: impl Fn(u16) -> bool) -> Option<(u16, u8, Cycle)> {
        let ready = |(input, channel, _): &(u16, u8, Cycle)| self.credits[usize::from(*channel)].can_send() && may(*input);
        let Some(place) = self.waiting.iter().position(ready) else {
            self.next = Cycle::NEVER;
            if !self.waiting.is_empty() {
                self.stuck.get_or_insert(now);
            }
            return None;
        };
        let taken = self.waiting.remove(place)?;
        self.credits[usize::from(taken.1)].spend();
        Some(taken)
    }

    /// A packet of so many bytes of data leaves; returns the cycle in which its last byte has.
    pub(super) fn send(&mut self, now: Cycle, data_bytes: u64, since: Cycle) -> Cycle {
        let end = match &mut self.leads {
            Leads::Lane { port, rate, counters } => {
                let bytes = data_bytes + u64::from(port.header_bytes);
                let (whole, end) = rate.send(bytes, now > self.free_at);
                self.free_at = now.after(whole);
                counters.packets += 1;
                counters.bytes += bytes;
                *if port.host { &mut counters.host_bytes } else { &mut counters.peer_bytes } += bytes;
                counters.data_bytes += data_bytes;
                counters.busy_cycles += whole;
                counters.queue_cycles += now.0 - since.0;
                now.after(end)
            }
            Leads::Request | Leads::Reply => {
                self.free_at = now.after(1);
                now
            }
        };
        self.next = if self.waiting.is_empty() { Cycle::NEVER } else { self.free_at.max(now) };
        end
    }

    /// Counts up to `at`.
    pub(super) fn settle(&mut self, at: Cycle) {
        if let Some(since) = self.stuck {
            self.unstick(at);
            self.stuck = Some(since.max(at));
        }
    }

    /// Inputs that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time_and_fractions_carry_over() {
        // 25 GB/s at 1132 MHz: 22.08 bytes per cycle, so 144 bytes take 6.52 cycles.
        let mut rate = Rate::new(25_000, 1_132_000);
        let spans: Vec<_> = (0..5).map(|_| rate.send(144, false)).collect();
        assert_eq!(spans, [(6, 7), (7, 8), (6, 7), (7, 8), (6, 7)]);
        let whole: u64 = spans.iter().map(|(whole, _)| whole).sum();
        assert_eq!(whole, 5 * 144 * 1_132_000 / 25_000_000);
        assert_eq!(rate.send(144, true), (6, 7), "an idle link has nothing to carry over");
    }
}
