//! The outputs of a hub: links to other nodes, whose packets take time per byte, and ports at the networks, which take one packet per
//! cycle.
//!
//! Inputs wait at the output of their head packet in order of arrival; an input whose virtual channel has no credit is skipped. Sending a
//! packet of B bytes takes B / bandwidth, counted in fractions of a cycle. The unused fraction of a cycle carries over to the next packet
//! unless the link becomes idle.

use std::collections::VecDeque;

use warpshard_base::{Cycle, LinkId};
use warpshard_protocol::CreditSender;

use super::counters::LinkCounters;
use super::ports::LanePort;

/// The destination of an output.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) enum OutputKind {
    /// A link to another node.
    Lane { port: LanePort, rate: LinkRate, counters: LinkCounters },
    /// A port of the request network.
    Request,
    /// A port of the reply network.
    Reply,
}

/// The bandwidth of a link, in fractions of a cycle per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct LinkRate {
    /// Fractions of a cycle per byte, and fractions per cycle.
    per_byte: u64,
    per_cycle: u64,
    /// Fractions already used of the last cycle.
    used_fractions: u64,
}

impl LinkRate {
    /// Returns the rate of a link with `megabytes` per second at a clock of `kilohertz`.
    pub(super) fn new(megabytes: u32, kilohertz: u64) -> Self {
        Self { per_byte: kilohertz, per_cycle: 1000 * u64::from(megabytes), used_fractions: 0 }
    }

    /// Sends `bytes` after the previous packet, or after an idle span. Returns the whole cycles that this takes, and the cycles until the
    /// last byte has left.
    pub(super) fn send(&mut self, bytes: u64, idle: bool) -> (u64, u64) {
        let parts = bytes * self.per_byte + if idle { 0 } else { self.used_fractions };
        self.used_fractions = parts % self.per_cycle;
        (parts / self.per_cycle, parts.div_ceil(self.per_cycle))
    }
}

/// An output of a hub.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct HubOutput {
    pub(super) kind: OutputKind,
    /// The link over which packets leave.
    pub(super) link: LinkId,
    /// Credits for the buffers at the far end, one sender per virtual channel.
    pub(super) credits: Box<[CreditSender]>,
    /// Inputs whose head packet requests this output, with its virtual channel and the cycle of the request.
    waiting: VecDeque<(u16, u8, Cycle)>,
    /// The next cycle in which a packet may leave; [`Cycle::NEVER`] if no packet waits or none has a credit.
    pub(super) next: Cycle,
    /// The cycle from which the output is free.
    pub(super) free_at: Cycle,
    /// The cycle since which all waiting packets lack credits.
    stalled_since: Option<Cycle>,
}

impl HubOutput {
    pub(super) fn new(kind: OutputKind, link: LinkId, channels: usize, places: u32) -> Self {
        let credits = vec![CreditSender::new(places); channels].into();
        Self { kind, link, credits, waiting: VecDeque::new(), next: Cycle::NEVER, free_at: Cycle(0), stalled_since: None }
    }

    /// Adds an input to the waiting ones.
    pub(super) fn wait(&mut self, input: u16, channel: u8, now: Cycle) {
        self.waiting.push_back((input, channel, now));
        if self.credits[usize::from(channel)].can_send() {
            self.wake(now);
        } else if self.next == Cycle::NEVER {
            self.stalled_since.get_or_insert(now);
        }
    }

    /// Reschedules the output after a change, such as a new credit, that may unblock a waiting input.
    pub(super) fn wake(&mut self, now: Cycle) {
        if !self.waiting.is_empty() {
            self.end_stall(now);
            self.next = self.next.min(self.free_at.max(now));
        }
    }

    fn end_stall(&mut self, now: Cycle) {
        if let Some(since) = self.stalled_since.take()
            && let OutputKind::Lane { counters, .. } = &mut self.kind
        {
            counters.credit_stalls += now.0.saturating_sub(since.0);
        }
    }

    /// Removes and returns the input whose packet leaves at `now`, its channel and the cycle since which it waited; `None` if no packet can
    /// leave.
    pub(super) fn take_ready_input(&mut self, now: Cycle, may: impl Fn(u16) -> bool) -> Option<(u16, u8, Cycle)> {
        let ready = |(input, channel, _): &(u16, u8, Cycle)| self.credits[usize::from(*channel)].can_send() && may(*input);
        let Some(place) = self.waiting.iter().position(ready) else {
            self.next = Cycle::NEVER;
            if !self.waiting.is_empty() {
                self.stalled_since.get_or_insert(now);
            }
            return None;
        };
        let taken = self.waiting.remove(place)?;
        self.credits[usize::from(taken.1)].spend();
        Some(taken)
    }

    /// Sends a packet with `data_bytes` bytes of data; returns the cycle in which its last byte has left.
    pub(super) fn send(&mut self, now: Cycle, data_bytes: u64, since: Cycle) -> Cycle {
        let end = match &mut self.kind {
            OutputKind::Lane { port, rate, counters } => {
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
            OutputKind::Request | OutputKind::Reply => {
                self.free_at = now.after(1);
                now
            }
        };
        self.next = if self.waiting.is_empty() { Cycle::NEVER } else { self.free_at.max(now) };
        end
    }

    /// Updates the stall counter up to `at`.
    pub(super) fn settle(&mut self, at: Cycle) {
        if let Some(since) = self.stalled_since {
            self.end_stall(at);
            self.stalled_since = Some(since.max(at));
        }
    }

    /// Returns the number of waiting inputs.
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
        let mut rate = LinkRate::new(25_000, 1_132_000);
        let spans: Vec<_> = (0..5).map(|_| rate.send(144, false)).collect();
        assert_eq!(spans, [(6, 7), (7, 8), (6, 7), (7, 8), (6, 7)]);
        let whole: u64 = spans.iter().map(|(whole, _)| whole).sum();
        assert_eq!(whole, 5 * 144 * 1_132_000 / 25_000_000);
        assert_eq!(rate.send(144, true), (6, 7), "an idle link carries no fraction over");
    }
}
