//! A DRAM controller with read and write queues, in cycles of the command clock.
//!
//! The order within a cycle is that of Ramulator 2.1 (`generic_ddr_controller.cpp`, `hbm_controller_base.cpp`): completed
//! reads leave; a refresh that is due is requested; then each slot of the command bus takes one command, from requests that
//! have opened their row, else for refresh, else from the queue of the present direction. Where the reference examines every
//! request in every cycle, the controller keeps the oldest hit and miss of each bank and the cycle of the next command.
//!
//! In: accesses with bank, row and column, pushed before the tick of a cycle. Out: finished accesses. Invariant: a bank
//! whose row was opened for a request stays open until that request has its column command.

mod asking;
mod brought;
mod counters;
mod issue;
mod page;
mod pick;
mod policy;
mod queue;
mod refresh;
mod seeing;
#[cfg(test)]
mod tests;
mod timers;

use std::collections::VecDeque;

use warpshard_base::{Cycle, KernelIndex, PortId};
use warpshard_stats::Latencies;
use warpshard_stats::activity::Log;

use super::standard::{Command, CommandBus, Standard, Timing};
use asking::{Paging, Refreshing};
use queue::{Entry, Queue};
use seeing::Seeing;
use timers::Timers;

pub use brought::Brought;
pub use counters::{BankCounters, ControlCounters};
pub use policy::{Drain, Policy};
pub use refresh::RefreshClose;
pub use warpshard_config::dram::DramPage as Page;
pub use warpshard_config::dram::DramRefresh as RefreshBanks;
pub use warpshard_config::machine::DramScheduler as Order;

/// What a requester wants of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub struct Access {
    /// Bank within the channel, as [`Organisation::bank`](super::standard::Organisation::bank) numbers them.
    pub bank: u8,
    /// Row of the bank.
    pub row: u32,
    /// Burst of the row.
    pub column: u32,
    /// Whether it is written.
    pub write: bool,
    /// The requester's name for it.
    pub token: u32,
    /// The port of the requester.
    pub port: PortId,
    /// The kernel of the requester.
    pub kernel: KernelIndex,
}

/// A finished access: a read with its last data, a write with its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Done {
    /// The access.
    pub access: Access,
    /// Cycle in which it was pushed.
    pub arrived: Cycle,
    /// Cycle in which it finished.
    pub at: Cycle,
}

/// A command that went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Issued {
    /// When.
    pub at: Cycle,
    /// What.
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
    policy: Policy,
    #[state(fixed)]
    bus: CommandBus,
    #[state(fixed)]
    timing: Timing,
    pseudo_channels: u32,
    /// Banks of a pseudo channel.
    span: u32,
    timers: Timers,
    reads: Queue,
    writes: Queue,
    writing: bool,
    /// Writes left of the batch that is drained.
    batch: u32,
    /// Banks with an open row.
    open: u64,
    /// Column commands since the row was opened.
    columns: Box<[u32]>,
    /// Requests that have opened their row, by bank, with the order in which they did; and their banks.
    opened: Box<[(Entry, u64)]>,
    active: u64,
    /// Pseudo channels that wait for their refresh, and the next cycle in which all ask for one.
    refreshing: VecDeque<u32>,
    next_refresh: u64,
    /// The interval, the bank of each pseudo channel that is refreshed next where each has its own turn, and the banks whose turn came.
    refresh_interval: u64,
    next_bank: u32,
    owed: u64,
    orders: u64,
    promotions: u64,
    /// Reads whose data is under way, in the order of their commands.
    moving: VecDeque<(u64, Entry)>,
    done: VecDeque<Done>,
    wake: u64,
    counters: ControlCounters,
    bank_counters: Box<[BankCounters]>,
    read_latency: Latencies,
    trace: Option<Box<Log<Issued>>>,
    /// The order, where it sees the queue.
    seeing: Option<Box<Seeing>>,
    /// The page policy and when refreshes go out, where these are trait objects.
    paging: Option<Box<Paging>>,
    refresh_policy: Option<Box<Refreshing>>,
}

impl Controller {
    /// A controller of a channel whose rows are closed.
    ///
    /// # Panics
    /// For more than 64 banks or a queue of nothing.
    pub fn new(standard: &Standard, policy: Policy) -> Self {
        Self::with_policies(standard, policy, Brought::default())
    }

    /// The same with policies that are trait objects, in place of those that `policy` names.
    ///
    /// # Panics
    /// As [`Controller::new`].
    pub fn with_policies(standard: &Standard, policy: Policy, brought: Brought) -> Self {
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
            reads: Queue::new(policy.read_queue, banks),
            writes: Queue::new(policy.write_queue, banks),
            // What an idle controller chooses, so that it does not matter whether it was asked before its first request.
            writing: matches!(policy.drain, Drain::Marks { .. }),
            batch: 0,
            open: 0,
            columns: vec![0; banks as usize].into(),
            opened: vec![(Entry::default(), 0); banks as usize].into(),
            active: 0,
            refreshing: VecDeque::with_capacity(8),
            next_refresh: first_refresh,
            refresh_interval,
            next_bank: 0,
            owed: 0,
            orders: 0,
            promotions: 0,
            moving: VecDeque::with_capacity(64),
            done: VecDeque::with_capacity(16),
            wake: first_refresh,
            counters: ControlCounters::default(),
            bank_counters: vec![BankCounters::default(); banks as usize].into(),
            read_latency: Latencies::default(),
            trace: None,
            seeing: brought.order.map(|order| Box::new(Seeing::new(order))),
            paging: brought.page.map(|page| Box::new(Paging::new(page, banks))),
            refresh_policy: brought.refresh.map(|refresh| Box::new(Refreshing(refresh))),
        }
    }

    /// Keeps every command from now on, for [`Controller::take_trace`].
    pub fn record(&mut self) {
        self.record_in(Log::default());
    }

    /// Keeps commands from now on in `log`.
    pub fn record_in(&mut self, log: Log<Issued>) {
        self.trace = Some(Box::new(log));
    }

    /// The commands since the last call.
    pub fn take_trace(&mut self) -> Vec<Issued> {
        self.take_log().events
    }

    /// The same, as they were kept; none are kept from now on.
    pub fn take_log(&mut self) -> Log<Issued> {
        self.trace.take().map(|log| *log).unwrap_or_default()
    }

    /// What was counted so far.
    pub fn counters(&self) -> &ControlCounters {
        &self.counters
    }

    /// What was counted so far for each bank.
    pub fn bank_counters(&self) -> &[BankCounters] {
        &self.bank_counters
    }

    /// Latencies of the reads so far, in cycles from being pushed to the last data.
    pub fn read_latency(&self) -> &Latencies {
        &self.read_latency
    }

    /// Requests inside.
    pub fn occupancy(&self) -> usize {
        (self.reads.len() + self.writes.len() + self.active.count_ones()) as usize + self.moving.len() + self.done.len()
    }

    /// Whether an access of this direction would be refused unless it is forwarded or merged.
    pub fn is_full(&self, write: bool) -> bool {
        if write { self.writes.is_full() } else { self.reads.is_full() }
    }

    /// Adds cycles in which an access of this direction found its queue full.
    pub fn count_full(&mut self, write: bool, cycles: u64) {
        let counter = if write { &mut self.counters.write_queue_full } else { &mut self.counters.read_queue_full };
        *counter += cycles;
    }

    /// Offers an access in cycle `now`, before the tick of `now + 1`, in which it may get its first command.
    /// Returns whether it was taken.
    pub fn push(&mut self, now: Cycle, access: Access) -> bool {
        let waiting = (access.write || self.writes.len() > 0) && self.writes.contains(&access);
        if waiting {
            let entry = Entry::alone(access, now.0);
            if access.write {
                self.counters.coalesced += 1;
                self.done.push_back(Done { access, arrived: now, at: now });
            } else {
                self.counters.forwarded += 1;
                self.moving.push_back((now.0 + 1, entry));
            }
        } else {
            if self.is_full(access.write) {
                return false;
            }
            self.orders += 1;
            let queue = if access.write { &mut self.writes } else { &mut self.reads };
            queue.push(access, now.0, self.orders);
            if let Some(seeing) = &mut self.seeing {
                seeing.arrived(now, queue);
            }
            if access.write && self.policy.posted_writes {
                self.done.push_back(Done { access, arrived: now, at: Cycle(now.0 + 1) });
            }
        }
        self.wake = self.wake.min(now.0 + 1);
        true
    }

    /// The next finished access.
    pub fn pop_done(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    /// The first cycle in which [`Controller::tick`] would do anything, provided that nothing is pushed; may be too early,
    /// never too late.
    pub fn next_event(&self) -> Cycle {
        Cycle(self.wake)
    }

    /// One command clock; cycles before [`Controller::next_event`] may be left out.
    pub fn tick(&mut self, now: Cycle) {
        let now = now.0;
        if now < self.wake {
            return;
        }
        while let Some(&(at, entry)) = self.moving.front() {
            if at > now {
                break;
            }
            self.moving.pop_front();
            self.read_latency.record(at - entry.arrived);
            self.done.push_back(Done { access: entry.access, arrived: Cycle(entry.arrived), at: Cycle(at) });
        }
        if now >= self.next_refresh {
            debug_assert_eq!(now, self.next_refresh, "a refresh is asked for late");
            self.next_refresh += self.refresh_interval;
            match self.policy.refresh_banks {
                RefreshBanks::All => self.refreshing.extend(0..self.pseudo_channels),
                RefreshBanks::Single => {
                    self.owed |= (0..self.pseudo_channels).fold(0, |owed, part| owed | 1 << (part * self.span + self.next_bank));
                    self.next_bank = (self.next_bank + 1) % self.span;
                }
            }
        }
        let (issued, next) = match self.bus {
            CommandBus::Shared => self.slot(now, true, true),
            CommandBus::Split => {
                let (column, after_column) = self.slot(now, true, false);
                let (row, after_row) = self.slot(now, false, true);
                (column || row, after_column.min(after_row))
            }
        };
        let data = self.moving.front().map_or(u64::MAX, |(at, _)| (*at).max(now + 1));
        self.wake = if issued { now + 1 } else { next.min(data).min(self.next_refresh) };
    }
}
