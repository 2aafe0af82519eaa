//! A DRAM controller with read and write queues, in cycles of the command clock.
//!
//! The order within a cycle follows Ramulator 2.1 (`generic_ddr_controller.cpp`, `hbm_controller_base.cpp`): completed reads leave; a
//! refresh that is due is requested; then each slot of the command bus takes one command, for requests that have opened their row, else for
//! refresh, else for the queue of the present direction. Ramulator examines every request in every cycle; this controller stores the oldest
//! hit and miss of each bank and the cycle of the next command.
//!
//! Input: accesses with bank, row and column, pushed before the tick of a cycle. Output: finished accesses. Invariant: a bank whose row was
//! opened for a request stays open until that request has its column command.

mod channel_policies;
mod counters;
mod issue;
mod page;
mod page_refresh;
mod pick;
mod policy;
mod queue;
mod queue_order;
mod refresh;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;

use warpshard_base::{Cycle, KernelIndex, PortId};
use warpshard_stats::LatencyCounts;
use warpshard_stats::activity::EventLog;

use super::standard::{Command, CommandBus, Standard, Timing};
use page_refresh::{PageTimers, RefreshPolicyState};
use queue::{DirectionQueue, QueueEntry};
use queue_order::ControllerQueueOrder;
use timers::Timers;

pub use channel_policies::ChannelPolicies;
pub use counters::{BankCounters, ControlCounters};
pub use policy::{ControllerPolicy, WriteDrain};
pub use refresh::RefreshClose;
pub use warpshard_config::dram::DramPage as Page;
pub use warpshard_config::dram::DramRefresh as RefreshBanks;
pub use warpshard_config::machine::DramScheduler as Order;

/// An access to a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct DramAccess {
    /// The bank within the channel, numbered by [`Organisation::bank`](super::standard::Organisation::bank).
    pub bank: u8,
    /// The row of the bank.
    pub row: u32,
    /// The column: the index of the burst within the row.
    pub column: u32,
    /// True if the access is a write.
    pub write: bool,
    /// The requester's token.
    pub token: u32,
    /// The port of the requester.
    pub port: PortId,
    /// The kernel of the requester.
    pub kernel: KernelIndex,
}

/// A finished access: a read with its last data, or a write with its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct FinishedAccess {
    /// The access.
    pub access: DramAccess,
    /// The cycle in which the access was pushed.
    pub arrived: Cycle,
    /// The cycle in which the access finished.
    pub at: Cycle,
}

/// A command that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct IssuedCommand {
    /// The cycle of the command.
    pub at: Cycle,
    /// The kind of command.
    #[state(fixed)]
    pub command: Command,
    /// The bank, or the first bank of the pseudo channel that the command addresses.
    pub bank: u8,
    /// The row that is opened, read or written; 0 for other commands.
    pub row: u32,
}

/// A controller with its channel.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Controller {
    policy: ControllerPolicy,
    #[state(fixed)]
    bus: CommandBus,
    #[state(fixed)]
    timing: Timing,
    pseudo_channels: u32,
    /// Banks of a pseudo channel.
    span: u32,
    timers: Timers,
    reads: DirectionQueue,
    writes: DirectionQueue,
    writing: bool,
    /// Writes that remain in the batch that is being drained.
    batch: u32,
    /// Banks with an open row.
    open: u64,
    /// Column commands since the row was opened.
    columns: Box<[u32]>,
    /// Requests that have opened their row, by bank, with the order in which they did so, and the mask of their banks.
    opening_requests: Box<[(QueueEntry, u64)]>,
    active: u64,
    /// Pseudo channels that wait for their refresh, and the next cycle in which all of them request one.
    refreshing: VecDeque<u32>,
    next_refresh: u64,
    /// The refresh interval; for refreshes bank by bank, also the next bank of each pseudo channel and the banks whose refresh is due.
    refresh_interval: u64,
    next_bank: u32,
    owed_refreshes: u64,
    orders: u64,
    promotions: u64,
    /// Reads whose data is in flight, in the order of their commands.
    reads_in_flight: VecDeque<(u64, QueueEntry)>,
    finished: VecDeque<FinishedAccess>,
    wake: u64,
    counters: ControlCounters,
    bank_counters: Box<[BankCounters]>,
    read_latency: LatencyCounts,
    trace: Option<Box<EventLog<IssuedCommand>>>,
    /// The order, if it examines the queue.
    queue_order: Option<Box<ControllerQueueOrder>>,
    /// The page policy and the refresh policy, if they are trait objects.
    paging: Option<Box<PageTimers>>,
    refresh_policy: Option<Box<RefreshPolicyState>>,
}

impl Controller {
    /// Returns a controller of a channel whose rows are closed.
    ///
    /// # Panics
    /// If there are more than 64 banks or a queue is empty.
    pub fn new(standard: &Standard, policy: ControllerPolicy) -> Self {
        Self::with_policies(standard, policy, ChannelPolicies::default())
    }

    /// Returns a controller with policies that are trait objects, which override the policies in `policy`.
    ///
    /// # Panics
    /// In the same cases as [`Controller::new`].
    pub fn with_policies(standard: &Standard, policy: ControllerPolicy, policies: ChannelPolicies) -> Self {
        let o = &standard.organisation;
        let banks = o.all_banks();
        assert!((1..=64).contains(&banks), "a DRAM channel of {banks} banks");
        let refresh = policy.refresh && standard.timing.tREFI > 0;
        let parts = if policy.refresh_banks == RefreshBanks::Single { o.bank_groups * o.banks } else { 1 };
        let refresh_interval = (u64::from(standard.timing.tREFI) / u64::from(parts)).max(1);
        let first_refresh = if refresh { refresh_interval } else { u64::MAX };
        Self {
            policy,
            bus: standard.bus,
            timing: standard.timing,
            pseudo_channels: o.pseudo_channels,
            span: o.bank_groups * o.banks,
            timers: Timers::new(standard),
            reads: DirectionQueue::new(policy.read_queue, banks),
            writes: DirectionQueue::new(policy.write_queue, banks),
            // The direction equals the choice of an idle controller, so a call before the first request has no effect.
            writing: matches!(policy.drain, WriteDrain::Marks { .. }),
            batch: 0,
            open: 0,
            columns: vec![0; banks as usize].into(),
            opening_requests: vec![(QueueEntry::default(), 0); banks as usize].into(),
            active: 0,
            refreshing: VecDeque::with_capacity(8),
            next_refresh: first_refresh,
            refresh_interval,
            next_bank: 0,
            owed_refreshes: 0,
            orders: 0,
            promotions: 0,
            reads_in_flight: VecDeque::with_capacity(64),
            finished: VecDeque::with_capacity(16),
            wake: first_refresh,
            counters: ControlCounters::default(),
            bank_counters: vec![BankCounters::default(); banks as usize].into(),
            read_latency: LatencyCounts::default(),
            trace: None,
            queue_order: policies.order.map(|order| Box::new(ControllerQueueOrder::new(order))),
            paging: policies.page.map(|page| Box::new(PageTimers::new(page, banks))),
            refresh_policy: policies.refresh.map(|refresh| Box::new(RefreshPolicyState(refresh))),
        }
    }

    /// Starts to record commands for [`Controller::take_trace`].
    pub fn record(&mut self) {
        self.record_in(EventLog::default());
    }

    /// Starts to record commands in `log`.
    pub fn record_in(&mut self, log: EventLog<IssuedCommand>) {
        self.trace = Some(Box::new(log));
    }

    /// Returns the commands since the last call.
    pub fn take_trace(&mut self) -> Vec<IssuedCommand> {
        self.take_log().events
    }

    /// Stops the recording and returns the log.
    pub fn take_log(&mut self) -> EventLog<IssuedCommand> {
        self.trace.take().map(|log| *log).unwrap_or_default()
    }

    /// Returns the counters.
    pub fn counters(&self) -> &ControlCounters {
        &self.counters
    }

    /// Returns the counters per bank.
    pub fn bank_counters(&self) -> &[BankCounters] {
        &self.bank_counters
    }

    /// Returns the latencies of the reads, in cycles from the push to the last data.
    pub fn read_latency(&self) -> &LatencyCounts {
        &self.read_latency
    }

    /// Returns the number of accesses in the controller.
    pub fn occupancy(&self) -> usize {
        (self.reads.len() + self.writes.len() + self.active.count_ones()) as usize + self.reads_in_flight.len() + self.finished.len()
    }

    /// Returns true if an access of this direction would be rejected, unless it is forwarded or merged.
    pub fn is_full(&self, write: bool) -> bool {
        if write { self.writes.is_full() } else { self.reads.is_full() }
    }

    /// Adds cycles in which an access of this direction found its queue full.
    pub fn count_full(&mut self, write: bool, cycles: u64) {
        let counter = if write { &mut self.counters.write_queue_full } else { &mut self.counters.read_queue_full };
        *counter += cycles;
    }

    /// Offers an access in cycle `now`, before the tick of `now + 1`, in which it may get its first command. Returns true if it was
    /// accepted.
    pub fn push(&mut self, now: Cycle, access: DramAccess) -> bool {
        let waiting = (access.write || self.writes.len() > 0) && self.writes.contains(&access);
        if waiting {
            let entry = QueueEntry::unqueued(access, now.0);
            if access.write {
                self.counters.coalesced += 1;
                self.finished.push_back(FinishedAccess { access, arrived: now, at: now });
            } else {
                self.counters.forwarded += 1;
                self.reads_in_flight.push_back((now.0 + 1, entry));
            }
        } else {
            if self.is_full(access.write) {
                return false;
            }
            self.orders += 1;
            let queue = if access.write { &mut self.writes } else { &mut self.reads };
            queue.push(access, now.0, self.orders);
            if let Some(queue_order) = &mut self.queue_order {
                queue_order.arrived(now, queue);
            }
            if access.write && self.policy.posted_writes {
                self.finished.push_back(FinishedAccess { access, arrived: now, at: Cycle(now.0 + 1) });
            }
        }
        self.wake = self.wake.min(now.0 + 1);
        true
    }

    /// Returns the next finished access.
    pub fn pop_done(&mut self) -> Option<FinishedAccess> {
        self.finished.pop_front()
    }

    /// Returns the first cycle in which [`Controller::tick`] would have an effect if nothing is pushed; it may be too early, never too
    /// late.
    pub fn next_event(&self) -> Cycle {
        Cycle(self.wake)
    }

    /// Simulates one command clock; cycles before [`Controller::next_event`] may be skipped.
    pub fn tick(&mut self, now: Cycle) {
        let now = now.0;
        if now < self.wake {
            return;
        }
        while let Some(&(at, entry)) = self.reads_in_flight.front() {
            if at > now {
                break;
            }
            self.reads_in_flight.pop_front();
            self.read_latency.record(at - entry.arrived);
            self.finished.push_back(FinishedAccess { access: entry.access, arrived: Cycle(entry.arrived), at: Cycle(at) });
        }
        if now >= self.next_refresh {
            debug_assert_eq!(now, self.next_refresh, "a refresh is requested late");
            self.next_refresh += self.refresh_interval;
            match self.policy.refresh_banks {
                RefreshBanks::All => self.refreshing.extend(0..self.pseudo_channels),
                RefreshBanks::Single => {
                    self.owed_refreshes |= (0..self.pseudo_channels).fold(0, |owed, part| owed | 1 << (part * self.span + self.next_bank));
                    self.next_bank = (self.next_bank + 1) % self.span;
                }
            }
        }
        let (issued, next) = match self.bus {
            CommandBus::Shared => self.fill_bus_slot(now, true, true),
            CommandBus::Split => {
                let (column, after_column) = self.fill_bus_slot(now, true, false);
                let (row, after_row) = self.fill_bus_slot(now, false, true);
                (column || row, after_column.min(after_row))
            }
        };
        let data = self.reads_in_flight.front().map_or(u64::MAX, |(at, _)| (*at).max(now + 1));
        self.wake = if issued { now + 1 } else { next.min(data).min(self.next_refresh) };
    }
}
