//! The order in which requests get their banks.

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

/// Requests that wait for their banks: a queue per bank (FR-FCFS), or one queue for all (FCFS).
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    policy: DramScheduler,
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
        assert!(capacity < u32::from(NONE), "a DRAM queue of {capacity} requests");
        let mut links = Slots::new(capacity as usize, Link { row: 0, next: NONE, bank: 0 });
        (1..capacity).for_each(|i| links.get_mut(i - 1).next = i as u16);
        let queues = match policy {
            DramScheduler::FrFcfs => banks,
            DramScheduler::Fcfs => 1,
        };
        Self {
            policy,
            links,
            requests: Slots::new(capacity as usize, Request::default()),
            free: 0,
            queues: Slots::new(queues as usize, Queue { first: NONE, last: NONE, hit: Spot::NOWHERE }),
            waiting: 0,
            pending: 0,
        }
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
    pub(super) fn schedule(&mut self, idle: u64, from: u32, banks: &Banks) -> Option<&Request> {
        if !self.can_schedule(idle) {
            return None;
        }
        if self.policy == DramScheduler::Fcfs {
            let at = self.queues.get(0).first;
            self.remove(0, Spot { before: NONE, at });
            return Some(self.requests.get(u32::from(at)));
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
        Some(self.requests.get(u32::from(spot.at)))
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

    /// Takes a request out of its queue; what it was stays where it was until the next one comes.
    #[inline]
    fn remove(&mut self, number: u32, Spot { before, at }: Spot) {
        let free = std::mem::replace(&mut self.free, at);
        let next = std::mem::replace(&mut self.links.get_mut(u32::from(at)).next, free);
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
