//! Which command a slot of the command bus takes.

use crate::mem::dram::standard::Command;

use super::queue::{Place, Queue};
use super::{Controller, Order};

/// A command that could go out.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    order: u64,
    bank: u8,
    command: Command,
    place: Place,
}

impl Controller {
    /// Fills one slot of the command bus with a column or a row command. Returns whether it did; if not, when it might.
    pub(super) fn slot(&mut self, now: u64, columns: bool, rows: bool) -> (bool, u64) {
        let mut next = u64::MAX;
        if columns && self.active != 0 && self.pick_active(now, &mut next) {
            return (true, 0);
        }
        if let Some(&pseudo_channel) = self.refreshing.front() {
            // Requests that have opened their row still get their column command; nothing else starts before the refresh.
            return (rows && self.pick_refresh(now, pseudo_channel, &mut next), next);
        }
        self.choose_direction();
        match self.pick_waiting(now, columns, rows, &mut next) {
            Some(Candidate { bank, command, place, .. }) => {
                self.issue_waiting(now, usize::from(bank), command, place);
                (true, 0)
            }
            None => (false, next),
        }
    }

    /// The column command of the oldest request that has opened its row.
    fn pick_active(&mut self, now: u64, next: &mut u64) -> bool {
        let (mut left, mut best) = (self.active, None);
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            let (entry, promoted) = &self.opened[bank];
            let ready = self.timers.bank_ready(bank, column(entry.access.write));
            if ready > now {
                *next = (*next).min(ready);
                continue;
            }
            let age = (entry.arrived, *promoted);
            if best.is_none_or(|(oldest, _)| age < oldest) {
                best = Some((age, bank));
            }
        }
        let Some((_, bank)) = best else { return false };
        self.issue_active(now, bank);
        true
    }

    /// The next command towards a refresh: closing all rows, unless a request still needs one, then the refresh.
    fn pick_refresh(&mut self, now: u64, pseudo_channel: u32, next: &mut u64) -> bool {
        let banks = self.banks_of(pseudo_channel);
        let command = if self.open & banks != 0 { Command::PrechargeAll } else { Command::Refresh };
        if command == Command::PrechargeAll && self.active & banks != 0 {
            return false;
        }
        let ready = self.timers.wide_ready(pseudo_channel as usize, command);
        if ready > now {
            *next = (*next).min(ready);
            return false;
        }
        self.issue_wide(now, pseudo_channel, command);
        true
    }

    /// Banks of a pseudo channel, as a mask.
    pub(super) fn banks_of(&self, pseudo_channel: u32) -> u64 {
        (u64::MAX >> (64 - self.span)) << (pseudo_channel * self.span)
    }

    /// Writes are drained in batches: from the high mark, or without reads, down to the low mark.
    #[inline]
    fn choose_direction(&mut self) {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        self.writing =
            if self.writing { !(writes < self.policy.drain_below && reads != 0) } else { writes > self.policy.drain_above || reads == 0 };
    }

    /// The oldest allowed command of the present direction; `next` is lowered to the first cycle that allows one.
    fn pick_waiting(&self, now: u64, columns: bool, rows: bool, next: &mut u64) -> Option<Candidate> {
        let queue = if self.writing { &self.writes } else { &self.reads };
        let strict = self.policy.order == Order::Fcfs;
        let oldest = if strict || self.policy.hit_cap.is_some() { queue.oldest_order() } else { 0 };
        let (mut best, mut fallback): (Option<Candidate>, Option<Candidate>) = (None, None);
        let mut left = queue.banks;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            for (command, place) in self.wishes(queue, bank).into_iter().flatten() {
                if !(if command.is_column() { columns } else { rows }) {
                    continue;
                }
                let order = queue.entry(place).order;
                if strict && order != oldest || best.is_some_and(|best| best.order < order) {
                    continue;
                }
                // Beyond the cap, a hit goes only when nothing is older.
                let capped = command.is_column() && self.policy.hit_cap.is_some_and(|cap| self.columns[bank] > cap);
                if capped && order != oldest {
                    continue;
                }
                let ready = self.timers.bank_ready(bank, command);
                if ready > now {
                    *next = (*next).min(ready);
                } else {
                    let chosen = if capped { &mut fallback } else { &mut best };
                    *chosen = Some(Candidate { order, bank: bank as u8, command, place });
                }
            }
        }
        best.or(fallback)
    }

    /// What the requests of a bank ask for: the column command of the oldest hit, and a row command.
    #[inline]
    fn wishes(&self, queue: &Queue, bank: usize) -> [Option<(Command, Place)>; 2] {
        if self.open >> bank & 1 == 0 {
            return [None, queue.oldest(bank).map(|place| (Command::Activate, place))];
        }
        let hit = queue.hit(bank);
        let closing = queue.miss(bank).filter(|&miss| {
            let protected = self.policy.protect_hits && hit.is_some_and(|hit| queue.entry(hit).arrived <= queue.entry(miss).arrived);
            self.active >> bank & 1 == 0 && !protected
        });
        [hit.map(|place| (column(self.writing), place)), closing.map(|place| (Command::Precharge, place))]
    }
}

/// The column command of a direction.
pub(super) const fn column(write: bool) -> Command {
    if write { Command::Write } else { Command::Read }
}
