//! The channel of a machine: an enumeration of the available controllers, selected once and matched per call.
//!
//! In: requests, at most one per command clock. Out: finished reads and awaited writes through [`Clocked::returned`],
//! finished write-backs from [`Clocked::cycle`]. Every variant satisfies the contracts documented here, so a partition does not
//! depend on which one it drives.

use warpshard_base::{Cycle, Frequency, PartitionId, prefetch};
use warpshard_config::machine::Mem;
use warpshard_seam::{DramSite, Own};
use warpshard_stats::activity::Log;
use warpshard_stats::{CounterInfo, Counters as _, Latencies};

use super::command_channel::CommandChannel;
use super::control::{BankCounters, Brought, Issued};
use super::simple_channel::SimpleChannel;
use super::{DramCounters, Request, Worked};

/// The DRAM channel of a memory partition.
#[derive(Clone, Debug, warpshard_state::State)]
pub enum Channel {
    /// GPGPU-Sim's: a bank takes a request and keeps it until its last burst.
    Simple(Box<SimpleChannel>),
    /// A command-level controller that drives a device of a standard.
    CommandLevel(Box<CommandChannel>),
}

macro_rules! each {
    ($self:expr, $channel:ident => $body:expr) => {
        match $self {
            Channel::Simple($channel) => $body,
            Channel::CommandLevel($channel) => $body,
        }
    };
}

impl Channel {
    /// The channel that a machine's memory has, its banks idle.
    ///
    /// # Panics
    /// For more than 64 banks, a queue of nothing, an address mapping of more banks than there are, or a device that is none.
    pub fn new(mem: &Mem, clock: Frequency, partition: PartitionId, own: &Own) -> Self {
        let brought = |banks, queue| Brought::of(mem, &DramSite::new(partition.0, banks, queue), own);
        if mem.dram.control.is_some() {
            return Self::CommandLevel(Box::new(CommandChannel::new(mem, clock, partition, brought)));
        }
        assert!(
            1u64 << mem.map.bank_mask.count_ones() <= u64::from(mem.dram.banks),
            "{partition}: the address mapping tells more banks apart than the {} there are",
            mem.dram.banks
        );
        Self::Simple(Box::new(SimpleChannel::with_order(&mem.dram, brought(mem.dram.banks, mem.dram.queue).order)))
    }

    /// Requests that wait for commands when its queues are full.
    pub fn queue(&self) -> u32 {
        each!(self, channel => channel.queue())
    }

    /// GPGPU-Sim's channel, where it is that.
    pub fn simple(&self) -> Option<&SimpleChannel> {
        match self {
            Self::Simple(channel) => Some(channel),
            Self::CommandLevel(_) => None,
        }
    }

    /// The channel with a command-level controller, where it is that.
    pub fn command_level(&self) -> Option<&CommandChannel> {
        match self {
            Self::Simple(_) => None,
            Self::CommandLevel(channel) => Some(channel),
        }
    }

    /// Counters of each bank, where the controller keeps them.
    pub fn bank_counters(&self) -> &[BankCounters] {
        self.command_level().map_or(&[], CommandChannel::bank_counters)
    }

    /// Keeps commands from now on in `log`.
    pub fn record(&mut self, log: Log<Issued>) {
        each!(self, channel => channel.record(log));
    }

    /// The commands that were kept; none are kept from now on.
    pub fn take_log(&mut self) -> Log<Issued> {
        each!(self, channel => channel.take_log())
    }

    /// Brings the counters up to cycles before `until`, which were all worked through or had nothing to do.
    pub(crate) fn settle(&mut self, until: Cycle) {
        match self {
            Self::Simple(_) => {}
            Self::CommandLevel(channel) => channel.settle(until),
        }
    }

    /// Shows every counter with its value.
    pub fn visit_counters(&self, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
        match self {
            Self::Simple(channel) => channel.counters().visit(see),
            Self::CommandLevel(channel) => channel.counters().visit(see),
        }
    }

    /// Bursts read and written so far.
    pub fn bursts(&self) -> (u64, u64) {
        match self {
            Self::Simple(channel) => {
                let DramCounters { reads, writes, .. } = *channel.counters();
                (reads, writes)
            }
            Self::CommandLevel(channel) => (channel.counters().reads, channel.counters().writes),
        }
    }

    /// Latencies of the reads so far, in DRAM cycles from leaving the slice to the last data.
    pub fn read_latency(&self) -> &Latencies {
        each!(self, channel => channel.read_latency())
    }

    /// Prefetches what the next cycles begin with.
    #[inline]
    pub(crate) fn prefetch(&self) {
        match self {
            Self::Simple(channel) => prefetch(&**channel),
            Self::CommandLevel(_) => {}
        }
    }

    /// The same, and of what [`Channel::prefetch`] asked for.
    #[inline]
    pub(crate) fn prefetch_arrays(&self) {
        match self {
            Self::Simple(channel) => channel.prefetch_arrays(),
            Self::CommandLevel(_) => {}
        }
    }

    /// Requests inside.
    pub fn occupancy(&self) -> usize {
        each!(self, channel => channel.occupancy())
    }

    /// The request that takes the data bus after the first `place`, where that is known before it is finished.
    #[inline]
    pub fn moving(&self, place: usize) -> Option<&Request> {
        match self {
            Self::Simple(channel) => channel.moving(place),
            Self::CommandLevel(_) => None,
        }
    }
}

/// A channel as it is driven, one command clock after the other.
pub trait Clocked {
    /// Whether it takes no request.
    fn is_full(&self) -> bool;

    /// Takes a request after the work of cycle `now`; it may get its first command in the next one. At most one per cycle,
    /// and none while [`Clocked::is_full`].
    fn push(&mut self, now: Cycle, request: &Request);

    /// The oldest finished read or awaited write.
    fn returned(&self) -> Option<&Request>;

    /// Removes the oldest finished read or awaited write, which was looked at.
    fn drop_returned(&mut self);

    /// Whether replies that are not accepted block the channel, so that every cycle must be simulated.
    fn return_full(&self) -> bool;

    /// Adds cycles in which a request found the channel full; a command-level controller counts by itself which of its queues
    /// was full.
    fn count_full(&mut self, cycles: u64);

    /// One command clock.
    fn cycle(&mut self, now: Cycle) -> Worked;

    /// The first cycle at or after `from` in which [`Clocked::cycle`] would do anything, provided that nothing is pushed or
    /// popped; [`Cycle::NEVER`] when there is none. May be too early, never too late.
    fn next_event(&self, from: Cycle) -> Cycle;
}

impl Clocked for SimpleChannel {
    #[inline]
    fn is_full(&self) -> bool {
        self.is_full()
    }

    #[inline]
    fn push(&mut self, now: Cycle, request: &Request) {
        self.push(now, request);
    }

    #[inline]
    fn returned(&self) -> Option<&Request> {
        self.returned()
    }

    #[inline]
    fn drop_returned(&mut self) {
        self.drop_returned();
    }

    #[inline]
    fn return_full(&self) -> bool {
        self.return_full()
    }

    fn count_full(&mut self, cycles: u64) {
        self.count_full(cycles);
    }

    // Called from one place, for every command clock.
    #[inline(always)]
    fn cycle(&mut self, now: Cycle) -> Worked {
        self.cycle(now)
    }

    #[inline]
    fn next_event(&self, from: Cycle) -> Cycle {
        self.next_event(from)
    }
}

impl Clocked for CommandChannel {
    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn push(&mut self, now: Cycle, request: &Request) {
        self.push(now, *request);
    }

    fn returned(&self) -> Option<&Request> {
        self.returned()
    }

    fn drop_returned(&mut self) {
        self.drop_returned();
    }

    fn return_full(&self) -> bool {
        false
    }

    fn count_full(&mut self, _cycles: u64) {}

    fn cycle(&mut self, now: Cycle) -> Worked {
        Worked { written_back: self.cycle(now).map(|request| request.owner()), ..Worked::default() }
    }

    fn next_event(&self, from: Cycle) -> Cycle {
        self.next_event(from)
    }
}
