//! The order in which requests get their banks.

use crate::base::touch;
use crate::config::machine::DramScheduler;

use super::bank::Banks;
use super::channel::Request;

const NONE: u16 = u16::MAX;

/// What is looked at of every request that waits: few bytes, since a bank's queue is walked for a row.
#[derive(Clone, Copy, Debug)]
struct Link {
    row: u32,
    next: u16,
    bank: u8,
}

const _: () = assert!(size_of::<Link>() == 8);

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u16,
    last: u16,
    /// The oldest request for the row that is served until no request for it is left, and the one in front of it (FR-FCFS).
    /// Requests are taken from here first and come at the end, so that both stay where they are.
    hit: Option<(u16, u16)>,
}

/// Requests that wait for their banks: a queue per bank (FR-FCFS), or one queue for all (FCFS).
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    policy: DramScheduler,
    links: Box<[Link]>,
    requests: Box<[Request]>,
    free: u16,
    queues: Box<[Queue]>,
    /// Banks with waiting requests (FR-FCFS).
    waiting: u64,
    pending: u32,
}

impl Scheduler {
    pub(super) fn new(policy: DramScheduler, banks: u32, capacity: u32) -> Self {
        assert!(capacity < u32::from(NONE), "a DRAM queue of {capacity} requests");
        let link = |i: u32| Link { row: 0, next: if i + 1 < capacity { i as u16 + 1 } else { NONE }, bank: 0 };
        let queues = match policy {
            DramScheduler::FrFcfs => banks,
            DramScheduler::Fcfs => 1,
        };
        Self {
            policy,
            links: (0..capacity).map(link).collect(),
            requests: vec![Request::default(); capacity as usize].into(),
            free: 0,
            queues: vec![Queue { first: NONE, last: NONE, hit: None }; queues as usize].into(),
            waiting: 0,
            pending: 0,
        }
    }

    /// Asks the host for the queues, requests left out.
    #[inline]
    pub(super) fn touch(&self) {
        touch(&*self.queues);
        touch(&*self.links);
    }

    /// Requests that wait.
    #[inline]
    pub(super) fn pending(&self) -> u32 {
        self.pending
    }

    /// Takes a request; there is room.
    #[inline]
    pub(super) fn add(&mut self, request: Request) {
        let at = self.free;
        let link = &mut self.links[usize::from(at)];
        self.free = link.next;
        *link = Link { row: request.row, next: NONE, bank: request.bank };
        self.requests[usize::from(at)] = request;
        let queue = match self.policy {
            DramScheduler::FrFcfs => usize::from(request.bank),
            DramScheduler::Fcfs => 0,
        };
        self.waiting |= 1 << queue;
        let queue = &mut self.queues[queue];
        match queue.last {
            NONE => queue.first = at,
            last => self.links[usize::from(last)].next = at,
        }
        queue.last = at;
        self.pending += 1;
    }

    /// Whether a request could be given to a bank of `idle`.
    #[inline]
    pub(super) fn can_schedule(&self, idle: u64) -> bool {
        match self.policy {
            DramScheduler::FrFcfs => self.waiting & idle != 0,
            DramScheduler::Fcfs => self.pending > 0 && idle >> self.head_bank() & 1 != 0,
        }
    }

    #[inline]
    fn head_bank(&self) -> u8 {
        self.links[usize::from(self.queues[0].first)].bank
    }

    /// Takes the next request for one bank of `idle`, at most one per cycle; banks are asked from `from` on.
    ///
    /// FR-FCFS: a bank stays with a row while requests for it wait; then the open row, then the row of the oldest request.
    // Called from one place, for every command clock.
    #[inline(always)]
    pub(super) fn schedule(&mut self, idle: u64, from: u32, banks: &Banks) -> Option<&Request> {
        if !self.can_schedule(idle) {
            return None;
        }
        if self.policy == DramScheduler::Fcfs {
            let at = self.queues[0].first;
            self.remove(0, NONE, at);
            return Some(&self.requests[usize::from(at)]);
        }
        let able = self.waiting & idle;
        let above = able & u64::MAX << from;
        let bank = if above != 0 { above.trailing_zeros() } else { able.trailing_zeros() } as usize;
        let queue = self.queues[bank];
        let (before, at) = match queue.hit {
            Some(hit) => hit,
            None => self.oldest((NONE, queue.first), banks.row(bank)).unwrap_or((NONE, queue.first)),
        };
        let row = self.links[usize::from(at)].row;
        self.remove(bank, before, at);
        // Whoever is older wants another row.
        let after = if before == NONE { self.queues[bank].first } else { self.links[usize::from(before)].next };
        self.queues[bank].hit = self.oldest((before, after), row);
        Some(&self.requests[usize::from(at)])
    }

    /// The oldest request for a row from `at` on, `before` being in front of it, and the one in front of the one found.
    #[inline]
    fn oldest(&self, (mut before, mut at): (u16, u16), row: u32) -> Option<(u16, u16)> {
        while at != NONE {
            let link = self.links[usize::from(at)];
            if link.row == row {
                return Some((before, at));
            }
            (before, at) = (at, link.next);
        }
        None
    }

    /// Takes a request out of its queue; what it was stays where it was until the next one comes.
    #[inline]
    fn remove(&mut self, queue: usize, before: u16, at: u16) {
        let Link { next, .. } = self.links[usize::from(at)];
        match before {
            NONE => self.queues[queue].first = next,
            _ => self.links[usize::from(before)].next = next,
        }
        if next == NONE {
            self.queues[queue].last = before;
        }
        if self.queues[queue].first == NONE {
            self.waiting &= !(1 << queue);
        }
        self.links[usize::from(at)].next = self.free;
        self.free = at;
        self.pending -= 1;
    }
}
