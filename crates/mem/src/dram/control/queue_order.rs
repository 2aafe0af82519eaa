//! An order that examines the queue of the present direction and overrides the policy's order.

use warpshard_base::Cycle;
use warpshard_seam::{BoxedDramOrder, QueuedRequest};

use super::Controller;
use super::pick::column_command;
use super::queue::{DirectionQueue, QueuePlace};
use crate::dram::order;
use crate::dram::standard::Command;

/// The order, and a buffer for its view of the queue.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct ControllerQueueOrder {
    order: BoxedDramOrder,
    #[state(fixed)]
    shown: Vec<QueuedRequest>,
    #[state(fixed)]
    places: Vec<(u64, QueuePlace)>,
}

impl ControllerQueueOrder {
    pub(super) fn new(order: BoxedDramOrder) -> Self {
        Self { order, shown: Vec::new(), places: Vec::new() }
    }

    /// Fills the view with the requests of a queue in the order of their arrival; none of them is marked as allowed yet.
    fn fill_view(&mut self, queue: &DirectionQueue) {
        self.shown.clear();
        self.places.clear();
        let mut left = queue.banks;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            for (place, entry, row_hit) in queue.of_bank(bank) {
                let access = &entry.access;
                self.places.push((entry.order, place));
                self.shown.push(QueuedRequest {
                    number: entry.order,
                    arrived: Cycle(entry.arrived),
                    bank: access.bank,
                    row: access.row,
                    write: access.write,
                    row_hit,
                    can_issue: false,
                    port: access.port,
                    kernel: access.kernel,
                });
            }
        }
        self.shown.sort_unstable_by_key(|waiting| waiting.number);
        self.places.sort_unstable_by_key(|(order, _)| *order);
    }

    /// Notifies the order that a request entered a queue.
    pub(super) fn arrived(&mut self, now: Cycle, queue: &DirectionQueue) {
        self.fill_view(queue);
        self.order.0.arrived(now, &self.shown);
    }
}

impl Controller {
    /// Issues the next command of the request that the order chooses; returns true if one was issued, and lowers `next` to the first cycle
    /// that may allow another.
    pub(super) fn serve_by_order(&mut self, now: u64, columns: bool, rows: bool, next: &mut u64) -> bool {
        let Some(mut queue_order) = self.queue_order.take() else { return false };
        let served = self.serve_with(&mut queue_order, now, columns, rows, next);
        self.queue_order = Some(queue_order);
        served
    }

    fn serve_with(&mut self, queue_order: &mut ControllerQueueOrder, now: u64, columns: bool, rows: bool, next: &mut u64) -> bool {
        let queue = if self.writing { &self.writes } else { &self.reads };
        queue_order.fill_view(queue);
        let mut any = false;
        for waiting in &mut queue_order.shown {
            let bank = usize::from(waiting.bank);
            let Some(command) = self.command_for(waiting, columns, rows) else { continue };
            let part = bank / self.span as usize;
            let ready = self.timers.shared_ready(part, command).max(self.timers.own_ready(bank, command));
            if ready > now {
                *next = (*next).min(ready);
            } else {
                (waiting.can_issue, any) = (true, true);
            }
        }
        if !any {
            return false;
        }
        // A request that is allowed and was not chosen may be chosen in the next cycle.
        let Some(at) = queue_order.order.0.choose(Cycle(now), &queue_order.shown) else {
            *next = (*next).min(now + 1);
            return false;
        };
        order::check(&queue_order.order, &queue_order.shown, at);
        let (chosen, (_, place)) = (queue_order.shown[at], queue_order.places[at]);
        let Some(command) = self.command_for(&chosen, columns, rows) else { return false };
        self.issue_waiting(now, usize::from(chosen.bank), command, place);
        if command != Command::Precharge {
            queue_order.fill_view(if self.writing { &self.writes } else { &self.reads });
            queue_order.order.0.served(Cycle(now), &chosen, &queue_order.shown);
        }
        true
    }

    /// Returns the next command of a request, if it may be issued in this slot of the command bus.
    fn command_for(&self, waiting: &QueuedRequest, columns: bool, rows: bool) -> Option<Command> {
        let bit = 1 << waiting.bank;
        match (waiting.row_hit, self.open & bit != 0) {
            (true, _) => columns.then_some(column_command(self.writing)),
            (false, false) => (rows && self.owed_refreshes & bit == 0).then_some(Command::Activate),
            (false, true) => (rows && self.active & bit == 0).then_some(Command::Precharge),
        }
    }
}
