//! The simple channel: one cycle of data bus, scheduler and command buses, and the next cycle with work.

use warpshard_base::{Cycle, Ring, SECTOR_BYTES, Slots, prefetch};
use warpshard_config::machine::Dram;
use warpshard_seam::{BoxedDramOrder, Waiting};
use warpshard_stats::activity::Log;
use warpshard_stats::{Latencies, counters};

use super::bank::{Banks, Command};
use super::control::Issued;
use super::due::Due;
use super::request::{Owner, Request, RequestKind, Worked};
use super::scheduler::{Number, Scheduler};
use super::timing::Timing;
use crate::dram::standard;

counters! {
    /// What a DRAM channel counts.
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

/// Requests whose data may be moved in one span between two calls of [`SimpleChannel::prefetch_arrays`], more or less.
const EXPECTED: u32 = 8;

/// A DRAM channel.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct SimpleChannel {
    timing: Timing,
    dual_bus: bool,
    queue: u32,
    /// Bursts that so many sectors take.
    bursts: [u8; 16],
    return_queue: usize,
    banks: Banks,
    scheduler: Scheduler,
    /// The request that each bank serves, for the banks in `busy`, and what it needs next.
    serving: Slots<Number>,
    due: Due,
    busy: u64,
    all: u64,
    /// Where command rotation begins.
    first: u32,
    /// Requests whose last data is under way, with their places on the data bus.
    moving: Ring<(u64, Number)>,
    /// The data bus stops while the return queue is full: cycles in which it did, and the last place taken.
    stopped: u64,
    last_place: u64,
    returned: Ring<Number>,
    counters: DramCounters,
    read_latency: Latencies,
    /// Every command, where somebody wants them.
    log: Option<Box<Log<Issued>>>,
}

impl SimpleChannel {
    /// A channel whose banks are idle.
    ///
    /// # Panics
    /// For more than 64 banks or a queue of nothing.
    pub fn new(spec: &Dram) -> Self {
        Self::with_order(spec, None)
    }

    /// The same with an order that sees the queue.
    ///
    /// # Panics
    /// As [`SimpleChannel::new`].
    pub fn with_order(spec: &Dram, order: Option<BoxedDramOrder>) -> Self {
        assert!((1..=64).contains(&spec.banks), "a DRAM channel of {} banks", spec.banks);
        assert!(spec.queue >= 1 && spec.return_queue >= 1, "a DRAM channel without room for a request");
        let timing = Timing::new(spec);
        Self {
            timing,
            dual_bus: spec.dual_command_bus,
            queue: spec.queue,
            bursts: std::array::from_fn(|sectors| (sectors as u64 * SECTOR_BYTES).div_ceil(timing.burst_bytes).max(1) as u8),
            return_queue: spec.return_queue as usize,
            banks: Banks::new(spec, timing),
            scheduler: Scheduler::new(spec.scheduler, spec.banks, spec.queue, order),
            serving: Slots::new(spec.banks as usize, Number::default()),
            due: Due::new(spec.banks),
            busy: 0,
            all: u64::MAX >> (64 - spec.banks),
            first: 0,
            moving: Ring::new(timing.read_latency as usize + 2),
            stopped: 0,
            last_place: 0,
            returned: Ring::new(8),
            counters: DramCounters::default(),
            read_latency: Latencies::default(),
            log: None,
        }
    }

    /// Keeps commands from now on.
    pub(super) fn record(&mut self, log: Log<Issued>) {
        self.log = Some(Box::new(log));
    }

    /// The commands that were kept.
    pub(super) fn take_log(&mut self) -> Log<Issued> {
        self.log.take().map(|log| *log).unwrap_or_default()
    }

    /// Requests that the scheduler queue holds.
    pub fn queue(&self) -> u32 {
        self.queue
    }

    /// What was counted so far.
    pub fn counters(&self) -> &DramCounters {
        &self.counters
    }

    /// Latencies of the reads so far, in DRAM cycles from leaving the slice to the last data.
    pub fn read_latency(&self) -> &Latencies {
        &self.read_latency
    }

    /// Adds cycles in which a request found the queue full.
    pub(crate) fn count_full(&mut self, cycles: u64) {
        self.counters.queue_full += cycles;
    }

    /// Prefetches the arrays that nearly every cycle looks at.
    #[inline]
    pub(super) fn prefetch_arrays(&self) {
        self.banks.prefetch();
        self.due.prefetch();
        self.scheduler.prefetch();
        prefetch(self.serving.as_slice());
        self.moving.prefetch_first(EXPECTED);
    }

    /// Whether the scheduler queue takes no request.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.scheduler.pending() >= self.queue
    }

    /// Requests inside the channel.
    pub fn occupancy(&self) -> usize {
        let waiting = self.scheduler.pending() + self.busy.count_ones();
        waiting as usize + self.moving.len() + self.returned.len()
    }

    /// Takes a request after the work of a cycle; the scheduler looks at it in the next one.
    #[inline]
    pub fn push(&mut self, now: Cycle, request: &Request) {
        debug_assert!(!self.is_full(), "a request for {} enters a full channel", request.addr);
        let bursts = self.bursts[request.sectors().count() as usize % self.bursts.len()];
        self.scheduler.add(now, request, bursts);
    }

    /// The oldest finished read or awaited write.
    #[inline]
    pub fn returned(&self) -> Option<&Request> {
        self.returned.front().map(|number| self.scheduler.request(*number))
    }

    /// The request that takes the data bus after the first `place`.
    #[inline]
    pub fn moving(&self, place: usize) -> Option<&Request> {
        self.moving.get(place).map(|(_, number)| self.scheduler.request(*number))
    }

    /// Removes the oldest finished read or awaited write, which was looked at.
    #[inline]
    pub fn drop_returned(&mut self) {
        if let Some(number) = self.returned.pop() {
            self.scheduler.release(number);
        }
    }

    /// Whether the return queue takes nothing, so that the data bus stops.
    #[inline]
    pub fn return_full(&self) -> bool {
        self.returned.len() >= self.return_queue
    }

    /// One command clock: data, scheduler, commands.
    // Called from one place, for every command clock.
    #[inline(always)]
    pub fn cycle(&mut self, now: Cycle) -> Worked {
        let mut worked = Worked::default();
        self.move_data(now, &mut worked);
        let banks = &self.banks;
        let hits = |request: &Waiting| {
            let (command, _) = banks.next(usize::from(request.bank), request.row, request.write);
            matches!(command, Command::Read | Command::Write)
        };
        if let Some(number) = self.scheduler.schedule(now, !self.busy & self.all, self.first, hits) {
            let request = self.scheduler.request(number);
            let bank = usize::from(request.bank);
            let next = self.banks.next(bank, request.row, !request.is_read());
            let hit = matches!(next.0, Command::Read | Command::Write);
            *(if hit { &mut self.counters.row_hits } else { &mut self.counters.row_misses }) += 1;
            *self.serving.get_mut(bank as u32) = number;
            self.busy |= 1 << bank;
            self.due.need(bank, next, now);
            self.turn_to(self.first + 1);
        }
        if self.busy != 0 {
            worked.moving = self.issue(now);
        }
        worked
    }

    /// The first cycle at or after `from` in which [`SimpleChannel::cycle`] would do anything, provided that nothing is pushed or
    /// popped; [`Cycle::NEVER`] when the channel is empty. May be too early, never too late.
    #[inline(always)]
    pub fn next_event(&self, from: Cycle) -> Cycle {
        if self.return_full() || self.scheduler.can_schedule(!self.busy & self.all) {
            return from;
        }
        match self.moving.front() {
            Some((place, _)) => self.due.next(&self.banks, from).min(Cycle(place + self.stopped)).max(from),
            None => self.due.next(&self.banks, from),
        }
    }

    /// Moves the data at its time slot on the bus; the bus stalls while its data is not accepted.
    #[inline]
    fn move_data(&mut self, now: Cycle, worked: &mut Worked) {
        if self.return_full() {
            self.stopped += 1;
            return;
        }
        let Some((place, number)) = self.moving.front() else { return };
        let request = self.scheduler.request(*number);
        debug_assert!(place + self.stopped >= now.0, "data of {} is moved late at {now}", request.addr);
        if place + self.stopped > now.0 {
            return;
        }
        let owner = Some(request.owner());
        if let RequestKind::WriteBack { .. } = request.kind() {
            worked.written_back = owner;
            self.scheduler.release(*number);
        } else {
            if request.is_read() {
                worked.read = owner;
                self.read_latency.record(u64::from((now.0 as u32).wrapping_sub(request.since)));
            }
            self.returned.append(*number);
        }
        self.moving.drop_front();
    }

    /// Issues a column command and a row command, or one of them where they share a bus. Says whose read was given a place on the
    /// data bus.
    #[inline]
    fn issue(&mut self, now: Cycle) -> Option<Owner> {
        let mut moving = None;
        self.due.advance(now);
        let columns = if self.has_place(now) { self.due.columns(&self.banks, now) } else { 0 };
        if self.dual_bus {
            if let Some(bank) = self.due.choose(columns, self.first, &self.banks, now) {
                moving = self.column(bank, now);
            }
            let rows = self.due.rows(&self.banks, now);
            if let Some(bank) = self.due.choose(rows, self.first, &self.banks, now) {
                self.row(bank, now);
            }
        } else if let Some(bank) = self.due.choose(columns | self.due.rows(&self.banks, now), self.first, &self.banks, now) {
            if columns >> bank & 1 != 0 { moving = self.column(bank, now) } else { self.row(bank, now) }
        }
        moving
    }

    /// Whether the data bus has a place for what would be commanded at `now`.
    #[inline]
    fn has_place(&self, now: Cycle) -> bool {
        self.last_place <= now.0 - self.stopped + self.timing.read_latency
    }

    /// Reads or writes a burst; says whose read was given its last place on the data bus.
    // Called from one place, for every burst; the other is for a shared command bus.
    #[inline(always)]
    fn column(&mut self, bank: usize, now: Cycle) -> Option<Owner> {
        let present = now.0 - self.stopped;
        let number = *self.serving.get(bank as u32);
        let request = self.scheduler.request_mut(number);
        let write = !request.is_read();
        if let Some(log) = &mut self.log {
            let command = if write { standard::Command::Write } else { standard::Command::Read };
            log.push(now.0, Issued { at: now, command, bank: bank as u8, row: request.row });
        }
        self.banks.column(bank, write, now);
        let latency = if write { self.timing.write_latency } else { self.timing.read_latency };
        self.last_place = (present + latency).max(self.last_place + 1);
        self.counters.data_cycles += self.timing.burst_cycles;
        *(if write { &mut self.counters.writes } else { &mut self.counters.reads }) += 1;
        // While the row stays open, what the request needs and the bank's own time for it stay as they are.
        request.bursts -= 1;
        if request.bursts > 0 {
            return None;
        }
        let owner = request.owner();
        self.moving.append((self.last_place, number));
        self.busy &= !(1 << bank);
        self.due.forget(bank);
        (!write).then_some(owner)
    }

    fn row(&mut self, bank: usize, now: Cycle) {
        let request = self.scheduler.request(*self.serving.get(bank as u32));
        let (row, reads) = (request.row, request.is_read());
        if let Some(log) = &mut self.log {
            let opens = self.due.command(bank) != Command::Precharge;
            let command = if opens { standard::Command::Activate } else { standard::Command::Precharge };
            log.push(now.0, Issued { at: now, command, bank: bank as u8, row });
        }
        if self.due.command(bank) == Command::Precharge {
            self.banks.precharge(bank, now);
            self.counters.precharges += 1;
        } else {
            self.banks.activate(bank, row, now);
            self.counters.activates += 1;
        }
        self.due.forget(bank);
        self.due.need(bank, self.banks.next(bank, row, !reads), now);
        self.turn_to(bank as u32 + 1);
    }

    /// Starts the rotation at `bank`, wrapping after the last bank.
    #[inline]
    fn turn_to(&mut self, bank: u32) {
        let bank = bank % u64::BITS;
        self.first = if self.all >> bank & 1 == 0 { 0 } else { bank };
    }
}
