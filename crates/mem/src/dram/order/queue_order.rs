//! An adapter between a channel and an order that examines the queue, with the waiting requests in the order's format.

use warpshard_base::Cycle;
use warpshard_seam::{BoxedDramOrder, QueuedRequest};

/// An order and the waiting requests, each with the channel's name for it.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::dram) struct QueueOrder<T> {
    order: BoxedDramOrder,
    waiting_requests: Vec<QueuedRequest>,
    names: Vec<T>,
    arrivals: u64,
    /// Banks with requests.
    pub(in crate::dram) banks: u64,
}

impl<T: Copy> QueueOrder<T> {
    /// Returns the adapter of an empty channel.
    pub(in crate::dram) fn new(order: BoxedDramOrder) -> Self {
        Self { order, waiting_requests: Vec::new(), names: Vec::new(), arrivals: 0, banks: 0 }
    }

    /// Adds a request and gives it a number.
    pub(in crate::dram) fn add(&mut self, request: QueuedRequest, name: T) {
        self.arrivals += 1;
        self.banks |= 1 << request.bank;
        let now = request.arrived;
        self.waiting_requests.push(QueuedRequest { number: self.arrivals, ..request });
        self.names.push(name);
        self.order.0.arrived(now, &self.waiting_requests);
    }

    /// Removes and returns the request that is served in this cycle, with its name, if any. `of` returns for a request whether its row is
    /// open and whether it can be served.
    ///
    /// # Panics
    /// If the order chooses a request that cannot be served.
    pub(in crate::dram) fn remove_served(&mut self, now: Cycle, of: impl Fn(&QueuedRequest) -> (bool, bool)) -> Option<T> {
        for request in &mut self.waiting_requests {
            (request.row_hit, request.can_issue) = of(request);
        }
        let at = self.order.0.choose(now, &self.waiting_requests)?;
        check(&self.order, &self.waiting_requests, at);
        let (request, name) = (self.waiting_requests.remove(at), self.names.remove(at));
        self.banks = self.waiting_requests.iter().fold(0, |banks, waiting| banks | 1 << waiting.bank);
        self.order.0.served(now, &request, &self.waiting_requests);
        Some(name)
    }
}

/// Checks that the chosen request can be served.
pub(in crate::dram) fn check(order: &BoxedDramOrder, waiting: &[QueuedRequest], at: usize) {
    let name = order.0.name();
    assert!(
        waiting.get(at).is_some_and(|chosen| chosen.can_issue),
        "the order of DRAM requests `{name}` chose request {at}, which cannot be served"
    );
}
