//! An order that sees the queue of the present direction, in place of the policy's.

use warpshard_base::Cycle;
use warpshard_seam::{BoxedDramOrder, Waiting};

use super::Controller;
use super::pick::column;
use super::queue::{Place, Queue};
use crate::dram::order;
use crate::dram::standard::Command;

/// The order, and room for what it is shown.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Seeing {
    order: BoxedDramOrder,
    #[state(fixed)]
    shown: Vec<Waiting>,
    #[state(fixed)]
    places: Vec<(u64, Place)>,
}

impl Seeing {
    pub(super) fn new(order: BoxedDramOrder) -> Self {
        Self { order, shown: Vec::new(), places: Vec::new() }
    }

    /// Shows the requests of a queue in the order of their arrival; none may go yet.
    fn show(&mut self, queue: &Queue) {
        self.shown.clear();
        self.places.clear();
        let mut left = queue.banks;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            for (place, entry, row_hit) in queue.of_bank(bank) {
                let access = &entry.access;
                self.places.push((entry.order, place));
                self.shown.push(Waiting {
                    number: entry.order,
                    arrived: Cycle(entry.arrived),
                    bank: access.bank,
                    row: access.row,
                    write: access.write,
                    row_hit,
                    may_go: false,
                    port: access.port,
                    kernel: access.kernel,
                });
            }
        }
        self.shown.sort_unstable_by_key(|waiting| waiting.number);
        self.places.sort_unstable_by_key(|(order, _)| *order);
    }

    /// A request entered a queue.
    pub(super) fn arrived(&mut self, now: Cycle, queue: &Queue) {
        self.show(queue);
        self.order.0.arrived(now, &self.shown);
    }
}

impl Controller {
    /// The next command of the request that the order chooses; returns whether one went out, and lowers `next` to the first cycle that may allow
    /// another.
    pub(super) fn serve_seen(&mut self, now: u64, columns: bool, rows: bool, next: &mut u64) -> bool {
        let Some(mut seeing) = self.seeing.take() else { return false };
        let served = self.serve_by(&mut seeing, now, columns, rows, next);
        self.seeing = Some(seeing);
        served
    }

    fn serve_by(&mut self, seeing: &mut Seeing, now: u64, columns: bool, rows: bool, next: &mut u64) -> bool {
        let queue = if self.writing { &self.writes } else { &self.reads };
        seeing.show(queue);
        let mut any = false;
        for waiting in &mut seeing.shown {
            let bank = usize::from(waiting.bank);
            let Some(command) = self.command_for(waiting, columns, rows) else { continue };
            let part = bank / self.span as usize;
            let ready = self.timers.shared_ready(part, command).max(self.timers.own_ready(bank, command));
            if ready > now {
                *next = (*next).min(ready);
            } else {
                (waiting.may_go, any) = (true, true);
            }
        }
        if !any {
            return false;
        }
        // What may go and is not chosen may be chosen in the next cycle.
        let Some(at) = seeing.order.0.choose(Cycle(now), &seeing.shown) else {
            *next = (*next).min(now + 1);
            return false;
        };
        order::check(&seeing.order, &seeing.shown, at);
        let (chosen, (_, place)) = (seeing.shown[at], seeing.places[at]);
        let Some(command) = self.command_for(&chosen, columns, rows) else { return false };
        self.issue_waiting(now, usize::from(chosen.bank), command, place);
        if command != Command::Precharge {
            seeing.show(if self.writing { &self.writes } else { &self.reads });
            seeing.order.0.served(Cycle(now), &chosen, &seeing.shown);
        }
        true
    }

    /// What a request needs next, where that may go out on this slot of the command bus.
    fn command_for(&self, waiting: &Waiting, columns: bool, rows: bool) -> Option<Command> {
        let bit = 1 << waiting.bank;
        match (waiting.row_hit, self.open & bit != 0) {
            (true, _) => columns.then_some(column(self.writing)),
            (false, false) => (rows && self.owed & bit == 0).then_some(Command::Activate),
            (false, true) => (rows && self.active & bit == 0).then_some(Command::Precharge),
        }
    }
}
