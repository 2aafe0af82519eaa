//! The requests of a channel, and the order in which banks serve them.
//!
//! A request is copied once, at its arrival; then its index moves from queue to bank to bus until it is [released](Scheduler::release).

use std::hint::select_unpredictable;

use warpshard_base::{Cycle, Slots, prefetch};
use warpshard_config::machine::DramScheduler;
use warpshard_seam::{BoxedDramOrder, QueuedRequest};
use warpshard_state::StateError;

use super::due::first_from;
use super::order::{self, QueueOrder};
use super::request::DramRequest;

const NO_REQUEST: u16 = u16::MAX;

/// The fields of a waiting request that a search of a bank's queue for a row reads, in few bytes.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct RequestLink {
    row: u32,
    next: u16,
    bank: u8,
}

const _: () = assert!(size_of::<RequestLink>() == 8);

/// A request in a queue and its predecessor, or the head of the queue.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct QueuePosition {
    before: u16,
    at: u16,
}

impl QueuePosition {
    /// The position of no request.
    const NO_POSITION: Self = Self { before: NO_REQUEST, at: NO_REQUEST };
}

/// A queue of requests. The link with the queue's number is a sentinel in front of all requests, so that the first request is linked and
/// unlinked like any other.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct BankQueue {
    /// The number of the last request, or of the queue if it is empty.
    last_request: u16,
    /// The row of the request that was taken last; initially the first row of banks.
    row: u32,
    /// The oldest request for that row, with a queue per bank. Requests are taken here first and appended at the end, so this request and
    /// its predecessor stay in place.
    hit: QueuePosition,
}

/// The number of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, warpshard_state::State)]
pub(super) struct RequestNumber(u16);

/// Requests, and the queues of waiting requests: one per bank, or one for all banks if only the oldest request of all is served.
#[derive(Clone, Debug, warpshard_state::State)]
#[state(checked)]
pub(super) struct Scheduler {
    #[state(fixed)]
    policy: DramScheduler,
    /// Links by number, as the requests; the first numbers belong to the queues. The `next` of a free number is the next free number.
    links: Slots<RequestLink>,
    requests: Slots<DramRequest>,
    free: u16,
    queues: Slots<BankQueue>,
    /// Banks with waiting requests, with a queue per bank.
    waiting_banks: u64,
    pending_requests: u32,
    /// The order, if it examines the queue; the queues are then empty.
    queue_order: Option<Box<QueueOrder<RequestNumber>>>,
}

impl Scheduler {
    /// Rejects saved queues whose searches would not terminate.
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u16| (at != NO_REQUEST).then_some(usize::from(at));
        let hits = self.queues.as_slice().iter().filter_map(|queue| some(queue.hit.at));
        let starts = (0..self.queues.count()).chain(hits).chain(some(self.free));
        warpshard_state::check_lists_end(self.links.count(), starts, |at| some(self.links.get(at as u32).next))
    }

    pub(super) fn new(policy: DramScheduler, banks: u32, capacity: u32, queue_order: Option<BoxedDramOrder>) -> Self {
        assert!(capacity < u32::from(NO_REQUEST) / 4, "a DRAM queue of {capacity} requests");
        let queues = if order::only_oldest(policy) { 1 } else { banks };
        let mut scheduler = Self {
            policy,
            links: Slots::new((queues + capacity) as usize, RequestLink { row: 0, next: NO_REQUEST, bank: 0 }),
            requests: Slots::new((queues + capacity) as usize, DramRequest::default()),
            free: NO_REQUEST,
            queues: Slots::new(queues as usize, BankQueue { last_request: NO_REQUEST, row: 0, hit: QueuePosition::NO_POSITION }),
            waiting_banks: 0,
            pending_requests: 0,
            queue_order: queue_order.map(|order| Box::new(QueueOrder::new(order))),
        };
        (0..queues).for_each(|queue| scheduler.queues.get_mut(queue).last_request = queue as u16);
        scheduler.free_from(queues);
        scheduler
    }

    /// Makes the numbers from `first` on, and no others, free.
    fn free_from(&mut self, first: u32) {
        let count = self.links.count() as u32;
        (first..count).for_each(|number| self.links.get_mut(number).next = if number + 1 < count { number as u16 + 1 } else { NO_REQUEST });
        self.free = first as u16;
    }

    /// Doubles the numbers when all are in use. Requests that have left their queues are bounded by the data bus and the return queue.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let count = self.links.count() as u32;
        assert!(count <= u32::from(NO_REQUEST) / 2, "{count} requests in a DRAM channel");
        (self.links, self.requests) = (self.links.doubled(0), self.requests.doubled(0));
        self.free_from(count);
    }

    /// Returns a request.
    #[inline]
    pub(super) fn request(&self, number: RequestNumber) -> &DramRequest {
        self.requests.get(u32::from(number.0))
    }

    /// Returns a mutable reference to a request.
    #[inline]
    pub(super) fn request_mut(&mut self, number: RequestNumber) -> &mut DramRequest {
        self.requests.get_mut(u32::from(number.0))
    }

    /// Removes a request that no longer waits for a bank.
    #[inline]
    pub(super) fn release(&mut self, number: RequestNumber) {
        self.links.get_mut(u32::from(number.0)).next = std::mem::replace(&mut self.free, number.0);
    }

    /// Prefetches the queues without their requests.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self.queues.as_slice());
        prefetch(self.links.as_slice());
    }

    /// Returns the number of waiting requests.
    #[inline]
    pub(super) fn pending(&self) -> u32 {
        self.pending_requests
    }

    /// Adds a request of `bursts` bursts; there must be space.
    #[inline]
    pub(super) fn add(&mut self, now: Cycle, request: &DramRequest, bursts: u8) {
        if self.free == NO_REQUEST {
            self.grow();
        }
        let at = self.free;
        let link = self.links.get_mut(u32::from(at));
        self.free = link.next;
        *link = RequestLink { row: request.row, next: NO_REQUEST, bank: request.bank };
        let place = self.requests.get_mut(u32::from(at));
        *place = *request;
        place.bursts = bursts;
        if self.queue_order.is_some() {
            self.add_to_order(now, request, RequestNumber(at));
            return;
        }
        let number = if order::only_oldest(self.policy) { 0 } else { u32::from(request.bank) };
        self.waiting_banks |= 1 << number;
        self.pending_requests += 1;
        let queue = self.queues.get_mut(number);
        let before = std::mem::replace(&mut queue.last_request, at);
        self.links.get_mut(u32::from(before)).next = at;
        let hits = (queue.hit.at == NO_REQUEST) & (queue.row == request.row);
        queue.hit = select_unpredictable(hits, QueuePosition { before, at }, queue.hit);
    }

    /// Adds a request for an order that examines the queue.
    #[cold]
    #[inline(never)]
    fn add_to_order(&mut self, now: Cycle, request: &DramRequest, number: RequestNumber) {
        let Some(queue_order) = &mut self.queue_order else { return };
        let DramRequest { row, bank, port, .. } = *request;
        let (write, kernel) = (!request.is_read(), request.kernel());
        queue_order.add(QueuedRequest { arrived: now, bank, row, write, port, kernel, ..QueuedRequest::default() }, number);
        self.waiting_banks = queue_order.banks;
        self.pending_requests += 1;
    }

    /// Takes the request that an order which examines the queue chooses for a bank of `idle`.
    #[cold]
    #[inline(never)]
    fn schedule_by_order(&mut self, now: Cycle, idle: u64, hits: impl Fn(&QueuedRequest) -> bool) -> Option<RequestNumber> {
        let queue_order = self.queue_order.as_mut()?;
        let taken = queue_order.remove_served(now, |request| (hits(request), idle >> request.bank & 1 != 0))?;
        self.waiting_banks = queue_order.banks;
        self.pending_requests -= 1;
        Some(taken)
    }

    /// Returns true if a bank of `idle` could take a request.
    #[inline]
    pub(super) fn can_schedule(&self, idle: u64) -> bool {
        if order::only_oldest(self.policy) {
            self.pending_requests > 0 && idle >> self.head_bank() & 1 != 0
        } else {
            self.waiting_banks & idle != 0
        }
    }

    /// Returns the first request of a queue.
    #[inline]
    fn front(&self, number: u32) -> QueuePosition {
        QueuePosition { before: number as u16, at: self.links.get(number).next }
    }

    #[inline]
    fn head_bank(&self) -> u8 {
        self.links.get(u32::from(self.front(0).at)).bank
    }

    /// Takes the next request for one bank of `idle`, at most one per cycle; the search starts at bank `from`. `hits` returns, for an order
    /// that examines the queue, whether the row of a request is open.
    // This function is called from one place, for every command clock.
    #[inline(always)]
    pub(super) fn schedule(&mut self, now: Cycle, idle: u64, from: u32, hits: impl Fn(&QueuedRequest) -> bool) -> Option<RequestNumber> {
        if !self.can_schedule(idle) {
            return None;
        }
        if self.queue_order.is_some() {
            return self.schedule_by_order(now, idle, hits);
        }
        if order::only_oldest(self.policy) {
            let first = self.front(0);
            self.remove(0, first);
            return Some(RequestNumber(first.at));
        }
        let number = first_from(self.waiting_banks & idle, from) as u32;
        let (front, hit) = (self.front(number), self.queues.get(number).hit);
        let position = select_unpredictable(order::serves_hit(self.policy, hit.at != NO_REQUEST), hit, front);
        let RequestLink { row, next, .. } = self.remove(number, position);
        // All older requests are for another row.
        let hit = self.oldest(QueuePosition { before: position.before, at: next }, row);
        let queue = self.queues.get_mut(number);
        (queue.row, queue.hit) = (row, hit);
        Some(RequestNumber(position.at))
    }

    /// Returns the oldest request for a row, starting at a position.
    #[inline]
    fn oldest(&self, mut position: QueuePosition, row: u32) -> QueuePosition {
        while position.at != NO_REQUEST {
            let link = self.links.get(u32::from(position.at));
            if link.row == row {
                return position;
            }
            position = QueuePosition { before: position.at, at: link.next };
        }
        QueuePosition::NO_POSITION
    }

    /// Unlinks a request from its queue; its data is kept until it is released. Returns its link.
    // The code has no branches, because the position in the queue, first or last, is unpredictable.
    #[inline]
    fn remove(&mut self, number: u32, QueuePosition { before, at }: QueuePosition) -> RequestLink {
        let link = *self.links.get(u32::from(at));
        self.links.get_mut(u32::from(before)).next = link.next;
        self.pending_requests -= 1;
        let queue = self.queues.get_mut(number);
        let last = link.next == NO_REQUEST;
        queue.last_request = select_unpredictable(last, before, queue.last_request);
        self.waiting_banks &= !(u64::from(last & (u32::from(before) == number)) << number);
        link
    }
}
