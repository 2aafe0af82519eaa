//! The simple channel: one cycle of data bus, scheduler and command buses, and the next cycle with work.

use warpshard_base::{Cycle, Ring, SECTOR_BYTES, Slots, prefetch};
use warpshard_config::machine::Dram;
use warpshard_seam::{BoxedDramOrder, QueuedRequest};
use warpshard_stats::activity::EventLog;
use warpshard_stats::{LatencyCounts, counters};

use super::bank::{Banks, ChannelCommand};
use super::control::IssuedCommand;
use super::due::BankWakeups;
use super::request::{CycleEvents, DramRequest, RequestKind, SliceRequest};
use super::scheduler::{RequestNumber, Scheduler};
use super::timing::Timing;
use crate::dram::standard;

counters! {
    /// Counters of a DRAM channel.
    pub struct DramCounters {
        reads: "bursts", "Read commands.";
        writes: "bursts", "Write commands.";
        activates: "commands", "Rows opened.";
        precharges: "commands", "Rows closed.";
        row_hits: "requests", "Requests whose row was open when they got their bank.";
        row_misses: "requests", "Requests whose row was not open when they got their bank.";
        data_cycles: "dram cycles", "Command clocks in which the data bus moved data.";
        queue_full: "dram cycles", "Command clocks in which a request could not enter the full scheduler queue.";
    }
}

/// The approximate number of requests whose data moves between two calls of [`SimpleChannel::prefetch_arrays`].
const EXPECTED_TRANSFERS: u32 = 8;

/// A DRAM channel after GPGPU-Sim.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct SimpleChannel {
    timing: Timing,
    dual_bus: bool,
    queue: u32,
    /// The number of bursts for each number of sectors.
    bursts: [u8; 16],
    return_queue: usize,
    banks: Banks,
    scheduler: Scheduler,
    /// The request that each bank serves, for the banks in `busy`, and the next command of each bank.
    served_requests: Slots<RequestNumber>,
    due: BankWakeups,
    busy_banks: u64,
    all_banks: u64,
    /// The bank at which the rotation of commands begins.
    first: u32,
    /// Requests whose last data is in flight, with their times on the data bus.
    requests_on_bus: Ring<(u64, RequestNumber)>,
    /// Cycles in which the data bus was stopped by a full return queue, and the last time in use on the bus.
    stopped_cycles: u64,
    last_place: u64,
    returned_requests: Ring<RequestNumber>,
    counters: DramCounters,
    read_latency: LatencyCounts,
    /// The log of commands, if they are recorded.
    log: Option<Box<EventLog<IssuedCommand>>>,
}

impl SimpleChannel {
    /// Returns a channel whose banks are idle.
    ///
    /// # Panics
    /// If there are more than 64 banks or the queue is empty.
    pub fn new(spec: &Dram) -> Self {
        Self::with_order(spec, None)
    }

    /// Returns a channel with an order that examines the queue.
    ///
    /// # Panics
    /// In the same cases as [`SimpleChannel::new`].
    pub fn with_order(spec: &Dram, order: Option<BoxedDramOrder>) -> Self {
        assert!((1..=64).contains(&spec.banks), "a DRAM channel of {} banks", spec.banks);
        assert!(spec.queue >= 1 && spec.return_queue >= 1, "a DRAM channel without a slot for a request");
        let timing = Timing::new(spec);
        Self {
            timing,
            dual_bus: spec.dual_command_bus,
            queue: spec.queue,
            bursts: std::array::from_fn(|sectors| (sectors as u64 * SECTOR_BYTES).div_ceil(timing.burst_bytes).max(1) as u8),
            return_queue: spec.return_queue as usize,
            banks: Banks::new(spec, timing),
            scheduler: Scheduler::new(spec.scheduler, spec.banks, spec.queue, order),
            served_requests: Slots::new(spec.banks as usize, RequestNumber::default()),
            due: BankWakeups::new(spec.banks),
            busy_banks: 0,
            all_banks: u64::MAX >> (64 - spec.banks),
            first: 0,
            requests_on_bus: Ring::new(timing.read_latency as usize + 2),
            stopped_cycles: 0,
            last_place: 0,
            returned_requests: Ring::new(8),
            counters: DramCounters::default(),
            read_latency: LatencyCounts::default(),
            log: None,
        }
    }

    /// Starts to record commands.
    pub(super) fn record(&mut self, log: EventLog<IssuedCommand>) {
        self.log = Some(Box::new(log));
    }

    /// Stops the recording and returns the recorded commands.
    pub(super) fn take_log(&mut self) -> EventLog<IssuedCommand> {
        self.log.take().map(|log| *log).unwrap_or_default()
    }

    /// Returns the number of requests that the scheduler queue holds.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// Returns the counters.
    pub fn counters(&self) -> &DramCounters {
        &self.counters
    }

    /// Returns the latencies of the reads, in DRAM cycles from leaving the slice to the last data.
    pub fn read_latency(&self) -> &LatencyCounts {
        &self.read_latency
    }

    /// Adds cycles in which a request found the queue full.
    pub(crate) fn count_full(&mut self, cycles: u64) {
        self.counters.queue_full += cycles;
    }

    /// Prefetches the arrays that nearly every cycle reads.
    #[inline]
    pub(super) fn prefetch_arrays(&self) {
        self.banks.prefetch();
        self.due.prefetch();
        self.scheduler.prefetch();
        prefetch(self.served_requests.as_slice());
        self.requests_on_bus.prefetch_first(EXPECTED_TRANSFERS);
    }

    /// Returns true if the scheduler queue is full.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.scheduler.pending() >= self.queue
    }

    /// Returns the number of requests in the channel.
    pub fn occupancy(&self) -> usize {
        let waiting = self.scheduler.pending() + self.busy_banks.count_ones();
        waiting as usize + self.requests_on_bus.len() + self.returned_requests.len()
    }

    /// Adds a request at the end of a cycle; the scheduler examines it in the next one.
    #[inline]
    pub fn push(&mut self, now: Cycle, request: &DramRequest) {
        debug_assert!(!self.is_full(), "a request for {} enters a full channel", request.addr);
        let bursts = self.bursts[request.sectors().count() as usize % self.bursts.len()];
        self.scheduler.add(now, request, bursts);
    }

    /// Returns the oldest finished read or awaited write.
    #[inline]
    pub fn oldest_returned(&self) -> Option<&DramRequest> {
        self.returned_requests.front().map(|number| self.scheduler.request(*number))
    }

    /// Returns the request that uses the data bus after the first `place` ones.
    #[inline]
    pub fn moving(&self, place: usize) -> Option<&DramRequest> {
        self.requests_on_bus.get(place).map(|(_, number)| self.scheduler.request(*number))
    }

    /// Removes the oldest finished read or awaited write, which the caller has read.
    #[inline]
    pub fn drop_returned(&mut self) {
        if let Some(number) = self.returned_requests.pop() {
            self.scheduler.release(number);
        }
    }

    /// Returns true if the return queue is full, so that the data bus stops.
    #[inline]
    pub fn return_full(&self) -> bool {
        self.returned_requests.len() >= self.return_queue
    }

    /// Simulates one command clock: data, scheduler, commands.
    // This function is called from one place, for every command clock.
    #[inline(always)]
    pub fn cycle(&mut self, now: Cycle) -> CycleEvents {
        let mut events = CycleEvents::default();
        self.move_data(now, &mut events);
        let banks = &self.banks;
        let hits = |request: &QueuedRequest| {
            let (command, _) = banks.next_command(usize::from(request.bank), request.row, request.write);
            matches!(command, ChannelCommand::Read | ChannelCommand::Write)
        };
        if let Some(number) = self.scheduler.schedule(now, !self.busy_banks & self.all_banks, self.first, hits) {
            let request = self.scheduler.request(number);
            let bank = usize::from(request.bank);
            let next = self.banks.next_command(bank, request.row, !request.is_read());
            let hit = matches!(next.0, ChannelCommand::Read | ChannelCommand::Write);
            *(if hit { &mut self.counters.row_hits } else { &mut self.counters.row_misses }) += 1;
            *self.served_requests.get_mut(bank as u32) = number;
            self.busy_banks |= 1 << bank;
            self.due.set_needed_command(bank, next, now);
            self.turn_to(self.first + 1);
        }
        if self.busy_banks != 0 {
            events.moving = self.issue(now);
        }
        events
    }

    /// Returns the first cycle at or after `from` in which [`SimpleChannel::cycle`] would have an effect if nothing is pushed or popped;
    /// [`Cycle::NEVER`] if the channel is empty. The cycle may be too early, never too late.
    #[inline(always)]
    pub fn next_event(&self, from: Cycle) -> Cycle {
        if self.return_full() || self.scheduler.can_schedule(!self.busy_banks & self.all_banks) {
            return from;
        }
        match self.requests_on_bus.front() {
            Some((place, _)) => self.due.next(&self.banks, from).min(Cycle(place + self.stopped_cycles)).max(from),
            None => self.due.next(&self.banks, from),
        }
    }

    /// Moves the data at its time on the bus; the bus stalls while its data is not accepted.
    #[inline]
    fn move_data(&mut self, now: Cycle, events: &mut CycleEvents) {
        if self.return_full() {
            self.stopped_cycles += 1;
            return;
        }
        let Some((place, number)) = self.requests_on_bus.front() else { return };
        let request = self.scheduler.request(*number);
        debug_assert!(place + self.stopped_cycles >= now.0, "data of {} moves late at {now}", request.addr);
        if place + self.stopped_cycles > now.0 {
            return;
        }
        let owner = Some(request.owner());
        if let RequestKind::WriteBack { .. } = request.kind() {
            events.written_back = owner;
            self.scheduler.release(*number);
        } else {
            if request.is_read() {
                events.read = owner;
                self.read_latency.record(u64::from((now.0 as u32).wrapping_sub(request.since)));
            }
            self.returned_requests.append(*number);
        }
        self.requests_on_bus.drop_front();
    }

    /// Issues a column command and a row command, or one of them if they share a bus. Returns the origin of the read whose data was
    /// scheduled on the data bus.
    #[inline]
    fn issue(&mut self, now: Cycle) -> Option<SliceRequest> {
        let mut moving = None;
        self.due.advance(now);
        let columns = if self.has_place(now) { self.due.column_banks(&self.banks, now) } else { 0 };
        if self.dual_bus {
            if let Some(bank) = self.due.choose(columns, self.first, &self.banks, now) {
                moving = self.send_column_command(bank, now);
            }
            let rows = self.due.row_banks(&self.banks, now);
            if let Some(bank) = self.due.choose(rows, self.first, &self.banks, now) {
                self.send_row_command(bank, now);
            }
        } else if let Some(bank) = self.due.choose(columns | self.due.row_banks(&self.banks, now), self.first, &self.banks, now) {
            if columns >> bank & 1 != 0 { moving = self.send_column_command(bank, now) } else { self.send_row_command(bank, now) }
        }
        moving
    }

    /// Returns true if the data bus has a free time for a command at `now`.
    #[inline]
    fn has_place(&self, now: Cycle) -> bool {
        self.last_place <= now.0 - self.stopped_cycles + self.timing.read_latency
    }

    /// Reads or writes a burst; returns the origin of the read whose last burst was scheduled on the data bus.
    // This function is called from one place for every burst; the other call is for a shared command bus.
    #[inline(always)]
    fn send_column_command(&mut self, bank: usize, now: Cycle) -> Option<SliceRequest> {
        let present = now.0 - self.stopped_cycles;
        let number = *self.served_requests.get(bank as u32);
        let request = self.scheduler.request_mut(number);
        let write = !request.is_read();
        if let Some(log) = &mut self.log {
            let command = if write { standard::Command::Write } else { standard::Command::Read };
            log.push(now.0, IssuedCommand { at: now, command, bank: bank as u8, row: request.row });
        }
        self.banks.column(bank, write, now);
        let latency = if write { self.timing.write_latency } else { self.timing.read_latency };
        self.last_place = (present + latency).max(self.last_place + 1);
        self.counters.data_cycles += self.timing.burst_cycles;
        *(if write { &mut self.counters.writes } else { &mut self.counters.reads }) += 1;
        // While the row stays open, the next command of the request and the bank's own time for it do not change.
        request.bursts -= 1;
        if request.bursts > 0 {
            return None;
        }
        let owner = request.owner();
        self.requests_on_bus.append((self.last_place, number));
        self.busy_banks &= !(1 << bank);
        self.due.clear(bank);
        (!write).then_some(owner)
    }

    fn send_row_command(&mut self, bank: usize, now: Cycle) {
        let request = self.scheduler.request(*self.served_requests.get(bank as u32));
        let (row, reads) = (request.row, request.is_read());
        if let Some(log) = &mut self.log {
            let opens = self.due.command(bank) != ChannelCommand::Precharge;
            let command = if opens { standard::Command::Activate } else { standard::Command::Precharge };
            log.push(now.0, IssuedCommand { at: now, command, bank: bank as u8, row });
        }
        if self.due.command(bank) == ChannelCommand::Precharge {
            self.banks.precharge(bank, now);
            self.counters.precharges += 1;
        } else {
            self.banks.activate(bank, row, now);
            self.counters.activates += 1;
        }
        self.due.clear(bank);
        self.due.set_needed_command(bank, self.banks.next_command(bank, row, !reads), now);
        self.turn_to(bank as u32 + 1);
    }

    /// Starts the rotation at `bank`, wrapping after the last bank.
    #[inline]
    fn turn_to(&mut self, bank: u32) {
        let bank = bank % u64::BITS;
        self.first = if self.all_banks >> bank & 1 == 0 { 0 } else { bank };
    }
}
