//! A partition's channel with a command-level controller: requests of a slice become bursts at locations of the device.
//!
//! A request is split into the bursts that cover its sectors. Bursts whose queue is full wait at the entry, in order, and no other request
//! enters before they have left. A request completes with its last burst.
//!
//! Input and output: see [`Channel`](super::Channel). Invariants: a request has a unique id from its entry to its last burst. An empty
//! channel has no events, although its banks are refreshed: missed refreshes are simulated, in the cycles in which they were due, before
//! the channel works again and before its counters are read.

use std::collections::VecDeque;

use warpshard_base::{Addr, Cycle, Frequency, LINE_BYTES, PartitionId, SECTOR_BYTES};
use warpshard_config::dram::{BankHash, DramControl};
use warpshard_config::machine::{DramScheduler, Mem};
use warpshard_protocol::AddressMap;
use warpshard_stats::LatencyCounts;
use warpshard_stats::activity::EventLog;

use super::control::{BankCounters, ChannelPolicies, ControlCounters, Controller, ControllerPolicy, DramAccess, IssuedCommand, WriteDrain};
use super::mapping::{DramLocation, Mapping};
use super::{DramRequest, RequestKind, order};

/// Bytes of the widest line of an LLC.
const WIDEST_LINE_BYTES: u64 = 2 * LINE_BYTES;

/// A channel with a command-level controller.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct CommandChannel {
    controller: Controller,
    /// The map that removes the partition bits from an address; the mapping divides the rest.
    #[state(fixed)]
    map: AddressMap,
    #[state(fixed)]
    mapping: Mapping,
    burst_bytes: u64,
    queue: u32,
    /// Requests in the channel by their ids, and the free ids.
    requests: Box<[DramRequest]>,
    free: Vec<u32>,
    /// Bursts that the controller has not accepted, and the cycle since which the queue of the first one is full.
    entering_bursts: VecDeque<DramAccess>,
    full_since: Option<Cycle>,
    returned_requests: VecDeque<DramRequest>,
    /// Finished write-backs that are not reported yet; one is reported per cycle.
    finished_write_backs: VecDeque<DramRequest>,
    read_latency: LatencyCounts,
}

/// Returns the controller policy that a machine selects.
fn controller_policy(scheduler: DramScheduler, control: &DramControl) -> ControllerPolicy {
    let limit = |cap: u32| (cap > 0).then_some(cap);
    let share = |percent: u32| u64::from(control.write_queue) * u64::from(percent);
    ControllerPolicy {
        order: scheduler,
        // A limit on hits has no effect if rows are kept open for the hits beyond it.
        protect_hits: order::keeps_hits(scheduler) && control.row_hit_cap == 0,
        hit_cap: limit(control.row_hit_cap),
        age_cap: limit(control.age_cap),
        read_queue: control.read_queue,
        write_queue: control.write_queue,
        drain: WriteDrain::Marks { above: (share(control.drain_high) / 100) as u32, below: share(control.drain_low).div_ceil(100) as u32 },
        page: control.page,
        refresh: control.refresh,
        refresh_banks: control.refresh_banks,
        ..ControllerPolicy::RAMULATOR2
    }
}

impl CommandChannel {
    /// Returns a channel whose rows are closed, at the command clock `clock`.
    ///
    /// # Panics
    /// If the memory has no command-level controller, or its device or mapping is impossible; the checks of machines reject these cases.
    pub(super) fn new(mem: &Mem, clock: Frequency, partition: PartitionId, policies: impl FnOnce(u32, u32) -> ChannelPolicies) -> Self {
        let Some(control) = &mem.dram.control else { panic!("{partition} has no command-level DRAM controller") };
        let device = mem.device(clock).unwrap_or_else(|error| panic!("{partition}: {error}"));
        let Some(standard) = device else { panic!("{partition} has no device") };
        let mapping = Mapping::parse(&control.mapping, &standard.organisation, 1).unwrap_or_else(|error| panic!("{partition}: {error}"));
        let mapping = mapping.with_permuted_banks(control.bank_hash == BankHash::Permuted);
        let queue = control.read_queue + control.write_queue;
        // A request returns its DRAM slot with its reply, so at most this number of requests is in flight.
        let names = queue + mem.dram.return_queue + mem.map.slices_per_partition;
        Self {
            controller: Controller::with_policies(
                &standard,
                controller_policy(mem.dram.scheduler, control),
                policies(standard.organisation.all_banks(), queue),
            ),
            map: mem.map.of_partition(u32::from(partition.0)),
            mapping,
            burst_bytes: u64::from(standard.organisation.burst_bytes),
            queue,
            requests: vec![DramRequest::default(); names as usize].into(),
            free: (0..names).rev().collect(),
            entering_bursts: VecDeque::with_capacity(4),
            full_since: None,
            returned_requests: VecDeque::with_capacity(names as usize),
            finished_write_backs: VecDeque::with_capacity(names as usize),
            read_latency: LatencyCounts::default(),
        }
    }

    /// Returns the number of bursts that the controller's queues hold.
    pub(super) fn queue(&self) -> u32 {
        self.queue
    }

    /// Returns the counters of the controller.
    pub fn counters(&self) -> &ControlCounters {
        self.controller.counters()
    }

    /// Returns the counters of the controller per bank.
    pub fn bank_counters(&self) -> &[BankCounters] {
        self.controller.bank_counters()
    }

    /// Returns the latencies of the reads, in DRAM cycles from leaving the slice to the last data.
    pub(super) fn read_latency(&self) -> &LatencyCounts {
        &self.read_latency
    }

    /// Starts to record commands.
    pub(super) fn record(&mut self, log: EventLog<IssuedCommand>) {
        self.controller.record_in(log);
    }

    /// Stops the recording and returns the recorded commands.
    pub(super) fn take_log(&mut self) -> EventLog<IssuedCommand> {
        self.controller.take_log()
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        !self.entering_bursts.is_empty()
    }

    pub(super) fn occupancy(&self) -> usize {
        self.requests.len() - self.free.len() + self.returned_requests.len() + self.finished_write_backs.len()
    }

    pub(super) fn push(&mut self, now: Cycle, request: DramRequest) {
        debug_assert!(self.entering_bursts.is_empty(), "a request for {} enters a full channel", request.addr);
        let Some(token) = self.free.pop() else { panic!("the channel has no free id for a request for {}", request.addr) };
        let line = self.map.within_partition(request.addr.line());
        let sectors = if request.sectors().0 == 0 { 1 << request.addr.sector_index() } else { request.sectors().0 };
        let burst = self.burst_bytes.min(LINE_BYTES);
        let width = (burst / SECTOR_BYTES).max(1);
        let touched = (1u8 << width) - 1;
        for begin in (0..WIDEST_LINE_BYTES).step_by(burst as usize) {
            if sectors >> (begin / SECTOR_BYTES) & touched != 0 {
                let DramLocation { bank, row, column, .. } = self.mapping.locate_beyond(Addr(line + begin));
                self.entering_bursts.push_back(DramAccess {
                    bank,
                    row,
                    column,
                    write: !request.is_read(),
                    token,
                    port: request.port,
                    kernel: request.kernel(),
                });
            }
        }
        self.requests[token as usize] = DramRequest { bursts: self.entering_bursts.len() as u8, ..request };
        self.enter(now);
    }

    /// Passes waiting bursts to the controller until it accepts no more.
    #[inline]
    fn enter(&mut self, now: Cycle) {
        while let Some(&access) = self.entering_bursts.front() {
            if !self.controller.push(now, access) {
                self.full_since.get_or_insert(now);
                return;
            }
            self.entering_bursts.pop_front();
            if let Some(since) = self.full_since.take() {
                self.controller.count_full(access.write, now.0 - since.0);
            }
        }
    }

    #[inline]
    pub(super) fn oldest_returned(&self) -> Option<&DramRequest> {
        self.returned_requests.front()
    }

    #[inline]
    pub(super) fn drop_returned(&mut self) {
        self.returned_requests.pop_front();
    }

    pub(super) fn cycle(&mut self, now: Cycle) -> Option<DramRequest> {
        self.catch_up(now);
        self.controller.tick(now);
        while let Some(done) = self.controller.pop_done() {
            let token = done.access.token;
            let request = &mut self.requests[token as usize];
            debug_assert!(request.bursts > 0, "DRAM finishes {:?}, which was not requested", done.access);
            request.bursts -= 1;
            if request.bursts > 0 {
                continue;
            }
            let request = *request;
            self.free.push(token);
            match request.kind() {
                RequestKind::WriteBack { .. } => self.finished_write_backs.push_back(request),
                RequestKind::Read { .. } => {
                    self.read_latency.record(u64::from((now.0 as u32).wrapping_sub(request.since)));
                    self.returned_requests.push_back(request);
                }
                RequestKind::Write { .. } => self.returned_requests.push_back(request),
            }
        }
        self.enter(now);
        self.finished_write_backs.pop_front()
    }

    pub(super) fn next_event(&self, from: Cycle) -> Cycle {
        if !self.finished_write_backs.is_empty() {
            return from;
        }
        if self.is_idle() { Cycle::NEVER } else { self.controller.next_event().max(from) }
    }

    /// Returns true if only refreshes remain.
    #[inline]
    fn is_idle(&self) -> bool {
        self.free.len() == self.requests.len()
    }

    /// Updates the counters up to `until`.
    pub(super) fn settle(&mut self, until: Cycle) {
        self.catch_up(until);
        if let (Some(since), Some(access)) = (self.full_since, self.entering_bursts.front())
            && since < until
        {
            self.controller.count_full(access.write, until.0 - since.0);
            self.full_since = Some(until);
        }
    }

    /// Simulates the refreshes that were due before `until` while the channel was idle.
    #[inline]
    fn catch_up(&mut self, until: Cycle) {
        while self.is_idle() && self.controller.next_event() < until {
            self.controller.tick(self.controller.next_event());
        }
        debug_assert!(self.controller.next_event() >= until, "the controller is simulated too late, at {until}");
    }
}
