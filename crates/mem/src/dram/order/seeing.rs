//! An order that sees the queue, between a channel and its policy: the requests that wait, as the policy sees them.

use warpshard_base::Cycle;
use warpshard_seam::{BoxedDramOrder, Waiting};

/// A policy and what waits, each with what the channel calls it.
#[derive(Clone, Debug, warpshard_state::State)]
pub(in crate::dram) struct Seeing<T> {
    order: BoxedDramOrder,
    waiting: Vec<Waiting>,
    names: Vec<T>,
    arrivals: u64,
    /// Banks with requests.
    pub(in crate::dram) banks: u64,
}

impl<T: Copy> Seeing<T> {
    /// Of an empty channel.
    pub(in crate::dram) fn new(order: BoxedDramOrder) -> Self {
        Self { order, waiting: Vec::new(), names: Vec::new(), arrivals: 0, banks: 0 }
    }

    /// A request arrives; its number is given here.
    pub(in crate::dram) fn arrive(&mut self, request: Waiting, name: T) {
        self.arrivals += 1;
        self.banks |= 1 << request.bank;
        let now = request.arrived;
        self.waiting.push(Waiting { number: self.arrivals, ..request });
        self.names.push(name);
        self.order.0.arrived(now, &self.waiting);
    }

    /// Takes out the request that goes now, with its name, where one does. `of` says of each whether its row is open and whether it may go.
    ///
    /// # Panics
    /// When the policy chooses one that may not go.
    pub(in crate::dram) fn take(&mut self, now: Cycle, of: impl Fn(&Waiting) -> (bool, bool)) -> Option<T> {
        for request in &mut self.waiting {
            (request.row_hit, request.may_go) = of(request);
        }
        let at = self.order.0.choose(now, &self.waiting)?;
        check(&self.order, &self.waiting, at);
        let (request, name) = (self.waiting.remove(at), self.names.remove(at));
        self.banks = self.waiting.iter().fold(0, |banks, waiting| banks | 1 << waiting.bank);
        self.order.0.served(now, &request, &self.waiting);
        Some(name)
    }
}

/// Whether a policy may choose what it chose.
pub(in crate::dram) fn check(order: &BoxedDramOrder, waiting: &[Waiting], at: usize) {
    let name = order.0.name();
    assert!(waiting.get(at).is_some_and(|chosen| chosen.may_go), "the order of DRAM requests `{name}` chose number {at}, which may not go");
}
