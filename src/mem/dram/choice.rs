//! The channel of a machine: one type over the controllers that a machine may have, chosen once and matched per call.
//!
//! In: requests, at most one per command clock. Out: finished reads and awaited writes through [`Channel::returned`],
//! finished write-backs from [`Channel::cycle`]. Every variant keeps the contracts written here, so that a partition does not
//! know which one it drives.

use crate::base::Cycle;
use crate::config::machine::Mem;
use crate::stats::{CounterInfo, Counters as _};

use super::channel::Channel as GpgpuSim;
use super::{DramCounters, Latencies, Request};

/// The DRAM channel of a memory partition.
#[derive(Clone, Debug)]
pub enum Channel {
    /// GPGPU-Sim's: a bank takes a request and keeps it until its last burst.
    GpgpuSim(Box<GpgpuSim>),
}

macro_rules! each {
    ($self:expr, $channel:ident => $body:expr) => {
        match $self {
            Channel::GpgpuSim($channel) => $body,
        }
    };
}

impl Channel {
    /// The channel that a machine's memory has, its banks idle.
    ///
    /// # Panics
    /// For more than 64 banks or a queue of nothing.
    pub fn new(mem: &Mem) -> Self {
        Self::GpgpuSim(Box::new(GpgpuSim::new(&mem.dram)))
    }

    /// Requests that wait for commands when its queues are full.
    pub fn queue(&self) -> u32 {
        each!(self, channel => channel.queue())
    }

    /// GPGPU-Sim's channel, where it is that.
    pub fn gpgpusim(&self) -> Option<&GpgpuSim> {
        match self {
            Self::GpgpuSim(channel) => Some(channel),
        }
    }

    /// Shows every counter with its value.
    pub fn visit_counters(&self, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
        match self {
            Self::GpgpuSim(channel) => channel.counters().visit(see),
        }
    }

    /// Bursts read and written so far.
    pub fn bursts(&self) -> (u64, u64) {
        match self {
            Self::GpgpuSim(channel) => {
                let DramCounters { reads, writes, .. } = *channel.counters();
                (reads, writes)
            }
        }
    }

    /// Latencies of the reads so far, in DRAM cycles from leaving the slice to the last data.
    pub fn read_latency(&self) -> &Latencies {
        each!(self, channel => channel.read_latency())
    }

    /// Adds cycles in which a request found the channel full.
    pub(in crate::mem) fn count_full(&mut self, cycles: u64) {
        each!(self, channel => channel.count_full(cycles));
    }

    /// Whether it takes no request.
    #[inline]
    pub fn is_full(&self) -> bool {
        each!(self, channel => channel.is_full())
    }

    /// Requests inside.
    pub fn occupancy(&self) -> usize {
        each!(self, channel => channel.occupancy())
    }

    /// Takes a request after the work of cycle `now`; it may get its first command in the next one. At most one per cycle,
    /// and none while [`Channel::is_full`].
    #[inline]
    pub fn push(&mut self, _now: Cycle, request: Request) {
        each!(self, channel => channel.push(request));
    }

    /// The oldest finished read or awaited write.
    #[inline]
    pub fn returned(&self) -> Option<&Request> {
        each!(self, channel => channel.returned())
    }

    /// Takes the oldest finished read or awaited write.
    #[inline]
    pub fn pop_returned(&mut self) -> Option<Request> {
        each!(self, channel => channel.pop_returned())
    }

    /// Whether answers that nobody takes hold the channel up, so that every cycle must be looked at.
    #[inline]
    pub fn return_full(&self) -> bool {
        each!(self, channel => channel.return_full())
    }

    /// One command clock. Returns a write-back that finished.
    #[inline]
    pub fn cycle(&mut self, now: Cycle) -> Option<Request> {
        each!(self, channel => channel.cycle(now))
    }

    /// The first cycle at or after `from` in which [`Channel::cycle`] would do anything, provided that nothing is pushed or
    /// popped; [`Cycle::NEVER`] when there is none. May be too early, never too late.
    #[inline]
    pub fn next_event(&self, from: Cycle) -> Cycle {
        each!(self, channel => channel.next_event(from))
    }
}
