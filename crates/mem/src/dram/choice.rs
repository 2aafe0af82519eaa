//! The channel of a machine: an enumeration of the available controllers, selected once and matched per call.
//!
//! In: requests, at most one per command clock. Out: finished reads and awaited writes through [`Clocked::oldest_returned`], finished write-backs
//! from [`Clocked::cycle`]. Every variant satisfies the contracts documented here, so a partition does not depend on the variant.

use warpshard_base::{Cycle, Frequency, PartitionId, prefetch};
use warpshard_config::machine::Mem;
use warpshard_seam::{DramSite, UserPolicies};
use warpshard_stats::activity::EventLog;
use warpshard_stats::{CounterInfo, Counters as _, LatencyCounts};

use super::command_channel::CommandChannel;
use super::control::{BankCounters, ChannelPolicies, IssuedCommand};
use super::simple_channel::SimpleChannel;
use super::{CycleEvents, DramCounters, DramRequest};

/// The DRAM channel of a memory partition.
#[derive(Clone, Debug, warpshard_state::State)]
pub enum Channel {
    /// GPGPU-Sim's channel: a bank accepts a request and keeps it until its last burst.
    Simple(Box<SimpleChannel>),
    /// A channel with a command-level controller and a device of a standard.
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
    /// Returns the channel of a machine's memory, with idle banks.
    ///
    /// # Panics
    /// If there are more than 64 banks, the queue is empty, the address mapping has more banks than the device, or the device does not
    /// exist.
    pub fn new(mem: &Mem, clock: Frequency, partition: PartitionId, own: &UserPolicies) -> Self {
        let policies = |banks, queue| ChannelPolicies::of(mem, &DramSite::new(partition.0, banks, queue), own);
        if mem.dram.control.is_some() {
            return Self::CommandLevel(Box::new(CommandChannel::new(mem, clock, partition, policies)));
        }
        assert!(
            1u64 << mem.map.bank_mask.count_ones() <= u64::from(mem.dram.banks),
            "{partition}: the address mapping has more banks than the {} of the channel",
            mem.dram.banks
        );
        Self::Simple(Box::new(SimpleChannel::with_order(&mem.dram, policies(mem.dram.banks, mem.dram.queue).order)))
    }

    /// Returns the number of requests that wait for commands when the queues are full.
    pub fn queue(&self) -> u32 {
        each!(self, channel => channel.queue())
    }

    /// Returns GPGPU-Sim's channel, or `None` for the other kind.
    pub fn simple(&self) -> Option<&SimpleChannel> {
        match self {
            Self::Simple(channel) => Some(channel),
            Self::CommandLevel(_) => None,
        }
    }

    /// Returns the channel with a command-level controller, or `None` for the other kind.
    pub fn command_level(&self) -> Option<&CommandChannel> {
        match self {
            Self::Simple(_) => None,
            Self::CommandLevel(channel) => Some(channel),
        }
    }

    /// Returns the counters of each bank, if the controller has them.
    pub fn bank_counters(&self) -> &[BankCounters] {
        self.command_level().map_or(&[], CommandChannel::bank_counters)
    }

    /// Starts to record commands in `log`.
    pub fn record(&mut self, log: EventLog<IssuedCommand>) {
        each!(self, channel => channel.record(log));
    }

    /// Stops the recording and returns the recorded commands.
    pub fn take_log(&mut self) -> EventLog<IssuedCommand> {
        each!(self, channel => channel.take_log())
    }

    /// Updates the counters up to `until`; all cycles before it were simulated or idle.
    pub(crate) fn settle(&mut self, until: Cycle) {
        match self {
            Self::Simple(_) => {}
            Self::CommandLevel(channel) => channel.settle(until),
        }
    }

    /// Passes every counter with its value to `see`.
    pub fn visit_counters(&self, see: &mut dyn FnMut(&'static CounterInfo, u64)) {
        match self {
            Self::Simple(channel) => channel.counters().visit(see),
            Self::CommandLevel(channel) => channel.counters().visit(see),
        }
    }

    /// Returns the number of bursts read and written.
    pub fn bursts(&self) -> (u64, u64) {
        match self {
            Self::Simple(channel) => {
                let DramCounters { reads, writes, .. } = *channel.counters();
                (reads, writes)
            }
            Self::CommandLevel(channel) => (channel.counters().reads, channel.counters().writes),
        }
    }

    /// Returns the latencies of the reads, in DRAM cycles from leaving the slice to the last data.
    pub fn read_latency(&self) -> &LatencyCounts {
        each!(self, channel => channel.read_latency())
    }

    /// Prefetches the state that the next cycles read first.
    #[inline]
    pub(crate) fn prefetch(&self) {
        match self {
            Self::Simple(channel) => prefetch(&**channel),
            Self::CommandLevel(_) => {}
        }
    }

    /// Prefetches the arrays whose addresses [`Channel::prefetch`] prefetched.
    #[inline]
    pub(crate) fn prefetch_arrays(&self) {
        match self {
            Self::Simple(channel) => channel.prefetch_arrays(),
            Self::CommandLevel(_) => {}
        }
    }

    /// Returns the number of requests in the channel.
    pub fn occupancy(&self) -> usize {
        each!(self, channel => channel.occupancy())
    }

    /// Returns the request that uses the data bus after the first `place` ones, if it is known before the request finishes.
    #[inline]
    pub fn moving(&self, place: usize) -> Option<&DramRequest> {
        match self {
            Self::Simple(channel) => channel.moving(place),
            Self::CommandLevel(_) => None,
        }
    }
}

/// The interface of a channel that is simulated one command clock after the other.
pub trait Clocked {
    /// Returns true if the channel accepts no request.
    fn is_full(&self) -> bool;

    /// Adds a request at the end of cycle `now`; it may get its first command in the next cycle. At most one request per cycle is added,
    /// and none while [`Clocked::is_full`].
    fn push(&mut self, now: Cycle, request: &DramRequest);

    /// Returns the oldest finished read or awaited write.
    fn oldest_returned(&self) -> Option<&DramRequest>;

    /// Removes the oldest finished read or awaited write, which the caller has read.
    fn drop_returned(&mut self);

    /// Returns true if replies that are not accepted block the channel, so that every cycle must be simulated.
    fn return_full(&self) -> bool;

    /// Adds cycles in which a request found the channel full. A command-level controller distinguishes which of its queues was full.
    fn count_full(&mut self, cycles: u64);

    /// Simulates one command clock.
    fn cycle(&mut self, now: Cycle) -> CycleEvents;

    /// Returns the first cycle at or after `from` in which [`Clocked::cycle`] would have an effect if nothing is pushed or popped;
    /// [`Cycle::NEVER`] if there is none. The cycle may be too early, never too late.
    fn next_event(&self, from: Cycle) -> Cycle;
}

impl Clocked for SimpleChannel {
    #[inline]
    fn is_full(&self) -> bool {
        self.is_full()
    }

    #[inline]
    fn push(&mut self, now: Cycle, request: &DramRequest) {
        self.push(now, request);
    }

    #[inline]
    fn oldest_returned(&self) -> Option<&DramRequest> {
        self.oldest_returned()
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

    // This function is called from one place, for every command clock.
    #[inline(always)]
    fn cycle(&mut self, now: Cycle) -> CycleEvents {
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

    fn push(&mut self, now: Cycle, request: &DramRequest) {
        self.push(now, *request);
    }

    fn oldest_returned(&self) -> Option<&DramRequest> {
        self.oldest_returned()
    }

    fn drop_returned(&mut self) {
        self.drop_returned();
    }

    fn return_full(&self) -> bool {
        false
    }

    fn count_full(&mut self, _cycles: u64) {}

    fn cycle(&mut self, now: Cycle) -> CycleEvents {
        CycleEvents { written_back: self.cycle(now).map(|request| request.owner()), ..CycleEvents::default() }
    }

    fn next_event(&self, from: Cycle) -> Cycle {
        self.next_event(from)
    }
}
