//! The requests of a channel, and the order in which banks serve them.
//!
//! A request is copied once, when it arrives; then its index moves from queue to bank to bus until it is
//! [released](Scheduler::release).

use std::hint::select_unpredictable;

use warpshard_base::{Cycle, Slots, prefetch};
use warpshard_config::machine::DramScheduler;
use warpshard_seam::{BoxedDramOrder, Waiting};
use warpshard_state::StateError;

use super::due::first_from;
use super::order::{self, Seeing};
use super::request::Request;

const NONE: u16 = u16::MAX;

/// What is looked at of every request that waits: few bytes, since a bank's queue is walked for a row.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Link {
    row: u32,
    next: u16,
    bank: u8,
}

const _: () = assert!(size_of::<Link>() == 8);

/// A request in its queue and the one in front of it, or the head of its queue.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Spot {
    before: u16,
    at: u16,
}

impl Spot {
    /// Where no request is.
    const NOWHERE: Self = Self { before: NONE, at: NONE };
}

/// A queue of requests. What it begins with stands in the link of its own number, as if that were a request in front of them all, so that the
/// first one is linked and unlinked as any other.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Queue {
    /// The number of the queue where there is no request.
    last: u16,
    /// The row of the request taken last; at first the one that banks begin with.
    row: u32,
    /// The oldest request for that row, with a queue per bank. Requests are taken from here first and come at the end, so that it and the one in
    /// front of it stay where they are.
    hit: Spot,
}

/// The number of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Number(u16);

/// Requests, and those that wait for their banks: a queue per bank, or one for all where only the oldest of all is served.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub(super) struct Scheduler {
    #[state(fixed)]
    policy: DramScheduler,
    /// By number, as the requests themselves; the first numbers are the queues'. Of a number that is free, `next` is the next free one.
    links: Slots<Link>,
    requests: Slots<Request>,
    free: u16,
    queues: Slots<Queue>,
    /// Banks with waiting requests, with a queue per bank.
    waiting: u64,
    pending: u32,
    /// The order, where it sees the queue; the queues are then empty.
    seeing: Option<Box<Seeing<Number>>>,
}

impl Scheduler {
    /// Refuses saved queues whose searches would not end.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NONE).then_some(usize::from(at));
        let hits = self.queues.as_slice().iter().filter_map(|queue| some(queue.hit.at));
        let starts = (0..self.queues.count()).chain(hits).chain(some(self.free));
        warpshard_state::lists_end(self.links.count(), starts, |at| some(self.links.get(at as u32).next))
    }

    pub(super) fn new(policy: DramScheduler, banks: u32, capacity: u32, seeing: Option<BoxedDramOrder>) -> Self {
        assert!(capacity < u32::from(NONE) / 4, "a DRAM queue of {capacity} requests");
        let queues = if order::only_oldest(policy) { 1 } else { banks };
        let mut scheduler = Self {
            policy,
            links: Slots::new((queues + capacity) as usize, Link { row: 0, next: NONE, bank: 0 }),
            requests: Slots::new((queues + capacity) as usize, Request::default()),
            free: NONE,
            queues: Slots::new(queues as usize, Queue { last: NONE, row: 0, hit: Spot::NOWHERE }),
            waiting: 0,
            pending: 0,
            seeing: seeing.map(|order| Box::new(Seeing::new(order))),
        };
        (0..queues).for_each(|queue| scheduler.queues.get_mut(queue).last = queue as u16);
        scheduler.free_from(queues);
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

    /// Prefetches the queues, requests left out.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self.queues.as_slice());
        prefetch(self.links.as_slice());
    }

    /// Requests that wait.
    #[inline]
    pub(super) fn pending(&self) -> u32 {
        self.pending
    }

    /// Takes a request of so many bursts; there is room.
    #[inline]
    pub(super) fn add(&mut self, now: Cycle, request: &Request, bursts: u8) {
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
        if self.seeing.is_some() {
            self.add_seen(now, request, Number(at));
            return;
        }
        let number = if order::only_oldest(self.policy) { 0 } else { u32::from(request.bank) };
        self.waiting |= 1 << number;
        self.pending += 1;
        let queue = self.queues.get_mut(number);
        let before = std::mem::replace(&mut queue.last, at);
        self.links.get_mut(u32::from(before)).next = at;
        let hits = (queue.hit.at == NONE) & (queue.row == request.row);
        queue.hit = select_unpredictable(hits, Spot { before, at }, queue.hit);
    }

    /// The same, for an order that sees the queue.
    #[cold]
    #[inline(never)]
    fn add_seen(&mut self, now: Cycle, request: &Request, number: Number) {
        let Some(seeing) = &mut self.seeing else { return };
        let Request { row, bank, port, .. } = *request;
        let (write, kernel) = (!request.is_read(), request.kernel());
        seeing.arrive(Waiting { arrived: now, bank, row, write, port, kernel, ..Waiting::default() }, number);
        self.waiting = seeing.banks;
        self.pending += 1;
    }

    /// Takes the request that such an order chooses for a bank of `idle`.
    #[cold]
    #[inline(never)]
    fn schedule_seen(&mut self, now: Cycle, idle: u64, hits: impl Fn(&Waiting) -> bool) -> Option<Number> {
        let seeing = self.seeing.as_mut()?;
        let taken = seeing.take(now, |request| (hits(request), idle >> request.bank & 1 != 0))?;
        self.waiting = seeing.banks;
        self.pending -= 1;
        Some(taken)
    }

    /// Whether a request could be given to a bank of `idle`.
    #[inline]
    pub(super) fn can_schedule(&self, idle: u64) -> bool {
        if order::only_oldest(self.policy) { self.pending > 0 && idle >> self.head_bank() & 1 != 0 } else { self.waiting & idle != 0 }
    }

    /// The first request of a queue.
    #[inline]
    fn front(&self, number: u32) -> Spot {
        Spot { before: number as u16, at: self.links.get(number).next }
    }

    #[inline]
    fn head_bank(&self) -> u8 {
        self.links.get(u32::from(self.front(0).at)).bank
    }

    /// Takes the next request for one bank of `idle`, at most one per cycle; banks are asked from `from` on. `hits` tells an order that sees the
    /// queue whether the row of a request is open.
    // Called from one place, for every command clock.
    #[inline(always)]
    pub(super) fn schedule(&mut self, now: Cycle, idle: u64, from: u32, hits: impl Fn(&Waiting) -> bool) -> Option<Number> {
        if !self.can_schedule(idle) {
            return None;
        }
        if self.seeing.is_some() {
            return self.schedule_seen(now, idle, hits);
        }
        if order::only_oldest(self.policy) {
            let first = self.front(0);
            self.remove(0, first);
            return Some(Number(first.at));
        }
        let number = first_from(self.waiting & idle, from) as u32;
        let (front, hit) = (self.front(number), self.queues.get(number).hit);
        let spot = select_unpredictable(order::serves_hit(self.policy, hit.at != NONE), hit, front);
        let Link { row, next, .. } = self.remove(number, spot);
        // Whoever is older wants another row.
        let hit = self.oldest(Spot { before: spot.before, at: next }, row);
        let queue = self.queues.get_mut(number);
        (queue.row, queue.hit) = (row, hit);
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

    /// Takes a request out of its queue; it stays where it is until it is released. Returns its link.
    // Without branches: whether it is the first or the last of its queue is unpredictable.
    #[inline]
    fn remove(&mut self, number: u32, Spot { before, at }: Spot) -> Link {
        let link = *self.links.get(u32::from(at));
        self.links.get_mut(u32::from(before)).next = link.next;
        self.pending -= 1;
        let queue = self.queues.get_mut(number);
        let last = link.next == NONE;
        queue.last = select_unpredictable(last, before, queue.last);
        self.waiting &= !(u64::from(last & (u32::from(before) == number)) << number);
        link
    }
}
