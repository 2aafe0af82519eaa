//! The requests of a channel, and the order in which they get their banks.
//!
//! A request is copied when it comes, and not again: its number goes from queue to bank to bus, until it is
//! [released](Scheduler::release).

use crate::base::{Slots, touch};
use crate::config::machine::DramScheduler;

use super::bank::Banks;
use super::channel::Request;
use super::due::first_from;

const NONE: u16 = u16::MAX;

/// What is looked at of every request that waits: few bytes, since a bank's queue is walked for a row.
#[derive(Clone, Copy, Debug)]
struct Link {
    row: u32,
    next: u16,
    bank: u8,
}

const _: () = assert!(size_of::<Link>() == 8);

/// A request in its queue and the one in front of it.
#[derive(Clone, Copy, Debug)]
struct Spot {
    before: u16,
    at: u16,
}

impl Spot {
    /// Where no request is.
    const NOWHERE: Self = Self { before: NONE, at: NONE };
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u16,
    last: u16,
    /// The oldest request for the row that is served until no request for it is left (FR-FCFS). Requests are taken from here first
    /// and come at the end, so that it and the one in front of it stay where they are.
    hit: Spot,
}

/// The number of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number(u16);

/// Requests, and those that wait for their banks: a queue per bank (FR-FCFS), or one queue for all (FCFS).
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    policy: DramScheduler,
    /// By number, as the requests themselves. What a number is called that is free stands in its link's `next`.
    links: Slots<Link>,
    requests: Slots<Request>,
    free: u16,
    queues: Slots<Queue>,
    /// Banks with waiting requests (FR-FCFS).
    waiting: u64,
    pending: u32,
}

impl Scheduler {
    pub(super) fn new(policy: DramScheduler, banks: u32, capacity: u32) -> Self {
        assert!(capacity < u32::from(NONE) / 4, "a DRAM queue of {capacity} requests");
        let queues = match policy {
            DramScheduler::FrFcfs => banks,
            DramScheduler::Fcfs => 1,
        };
        let mut scheduler = Self {
            policy,
            links: Slots::new(capacity as usize, Link { row: 0, next: NONE, bank: 0 }),
            requests: Slots::new(capacity as usize, Request::default()),
            free: NONE,
            queues: Slots::new(queues as usize, Queue { first: NONE, last: NONE, hit: Spot::NOWHERE }),
            waiting: 0,
            pending: 0,
        };
        scheduler.free_from(0);
        scheduler
    }

    /// The numbers from `first` on are free, and no others.
    fn free_from(&mut self, first: u32) {
        let count = self.links.count() as u32;
        (first..count).for_each(|number| self.links.get_mut(number).next = if number + 1 < count { number as u16 + 1 } else { NONE });
        self.free = first as u16;
    }

    /// Twice as many numbers, where all are taken: those of requests that have left their queues are bounded by the data bus and the return queue.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let count = self.links.count() as u32;
        assert!(count <= u32::from(NONE) / 2, "{count} requests in a DRAM channel");
        (self.links, self.requests) = (self.links.doubled(0), self.requests.doubled(0));
        self.free_from(count);
    }

    /// A request.
    #[inline]
    pub(super) fn request(&self, number: Number) -> &Request {
        self.requests.get(u32::from(number.0))
    }

    /// A request, to be changed.
    #[inline]
    pub(super) fn request_mut(&mut self, number: Number) -> &mut Request {
        self.requests.get_mut(u32::from(number.0))
    }

    /// Forgets a request that waits for no bank.
    #[inline]
    pub(super) fn release(&mut self, number: Number) {
        self.links.get_mut(u32::from(number.0)).next = std::mem::replace(&mut self.free, number.0);
    }

    /// Asks the host for the queues, requests left out.
    #[inline]
    pub(super) fn touch(&self) {
        touch(self.queues.as_slice());
        touch(self.links.as_slice());
    }

    /// Requests that wait.
    #[inline]
    pub(super) fn pending(&self) -> u32 {
        self.pending
    }

    /// Takes a request of so many bursts; there is room.
    #[inline]
    pub(super) fn add(&mut self, request: &Request, bursts: u8) {
        if self.free == NONE {
            self.grow();
        }
        let at = self.free;
        let link = self.links.get_mut(u32::from(at));
        self.free = link.next;
        *link = Link { row: request.row, next: NONE, bank: request.bank };
        let place = self.requests.get_mut(u32::from(at));
        *place = *request;
        place.bursts = bursts;
        let queue = match self.policy {
            DramScheduler::FrFcfs => u32::from(request.bank),
            DramScheduler::Fcfs => 0,
        };
        self.waiting |= 1 << queue;
        let queue = self.queues.get_mut(queue);
        match queue.last {
            NONE => queue.first = at,
            last => self.links.get_mut(u32::from(last)).next = at,
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
        self.links.get(u32::from(self.queues.get(0).first)).bank
    }

    /// Takes the next request for one bank of `idle`, at most one per cycle; banks are asked from `from` on.
    ///
    /// FR-FCFS: a bank stays with a row while requests for it wait; then the open row, then the row of the oldest request.
    // Called from one place, for every command clock.
    #[inline(always)]
    pub(super) fn schedule(&mut self, idle: u64, from: u32, banks: &Banks) -> Option<Number> {
        if !self.can_schedule(idle) {
            return None;
        }
        if self.policy == DramScheduler::Fcfs {
            let at = self.queues.get(0).first;
            self.remove(0, Spot { before: NONE, at });
            return Some(Number(at));
        }
        let bank = first_from(self.waiting & idle, from) as u32;
        let Queue { first, hit, .. } = *self.queues.get(bank);
        let oldest = Spot { before: NONE, at: first };
        let spot = match hit.at {
            NONE => match self.oldest(oldest, banks.row(bank as usize)) {
                Spot { at: NONE, .. } => oldest,
                open => open,
            },
            _ => hit,
        };
        let Link { row, next, .. } = *self.links.get(u32::from(spot.at));
        self.remove(bank, spot);
        // Whoever is older wants another row.
        self.queues.get_mut(bank).hit = self.oldest(Spot { before: spot.before, at: next }, row);
        Some(Number(spot.at))
    }

    /// The oldest request for a row from a spot on.
    #[inline]
    fn oldest(&self, mut spot: Spot, row: u32) -> Spot {
        while spot.at != NONE {
            let link = self.links.get(u32::from(spot.at));
            if link.row == row {
                return spot;
            }
            spot = Spot { before: spot.at, at: link.next };
        }
        Spot::NOWHERE
    }

    /// Takes a request out of its queue; it stays where it is until it is released.
    #[inline]
    fn remove(&mut self, number: u32, Spot { before, at }: Spot) {
        let next = self.links.get(u32::from(at)).next;
        self.pending -= 1;
        let queue = self.queues.get_mut(number);
        match before {
            NONE => queue.first = next,
            _ => self.links.get_mut(u32::from(before)).next = next,
        }
        if next == NONE {
            queue.last = before;
            if before == NONE {
                self.waiting &= !(1 << number);
            }
        }
    }
}
