//! The selection of a command for a slot of the command bus.

use super::queue::{DirectionQueue, QueuePlace};
use super::refresh::{self, OpenRows, RefreshStep};
use super::{Controller, WriteDrain};
use crate::dram::order;
use crate::dram::standard::Command;

/// A command that could be issued.
#[derive(Clone, Copy, Debug)]
struct CommandCandidate {
    order: u64,
    bank: u8,
    command: Command,
    place: QueuePlace,
}

impl Controller {
    /// Fills one slot of the command bus with a column or a row command. Returns true if it did; otherwise also the next cycle
    /// in which it may succeed.
    pub(super) fn fill_bus_slot(&mut self, now: u64, columns: bool, rows: bool) -> (bool, u64) {
        let mut next = u64::MAX;
        if columns && self.active != 0 && self.pick_active(now, &mut next) {
            return (true, 0);
        }
        if !self.refreshing.is_empty()
            && let Some(pseudo_channel) = self.refresh_to_do(now, &mut next)
        {
            // Requests that have opened their row still get their column command; nothing else starts before the refresh.
            return (rows && self.pick_refresh(now, pseudo_channel, &mut next), next);
        }
        if rows && self.owed_refreshes != 0 && self.pick_bank_refresh(now, &mut next) {
            return (true, 0);
        }
        self.choose_direction();
        if self.queue_order.is_some() {
            let served = self.serve_by_order(now, columns, rows, &mut next) || rows && self.close_idle(now, &mut next);
            return (served, next);
        }
        match self.pick_waiting(now, columns, rows, &mut next) {
            Some(CommandCandidate { bank, command, place, .. }) => {
                self.issue_waiting(now, usize::from(bank), command, place);
                (true, 0)
            }
            None if rows && self.paging.is_some() => (self.close_idle(now, &mut next), next),
            None => (false, next),
        }
    }

    /// Issues the column command of the oldest request that has opened its row. Returns true if the timing allows one.
    fn pick_active(&mut self, now: u64, next: &mut u64) -> bool {
        let (mut left, mut best) = (self.active, None);
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            let (entry, promoted) = &self.opening_requests[bank];
            let ready = self.timers.bank_ready(bank, column_command(entry.access.write));
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

    /// Issues the next command towards a refresh: the precharges that its policy selects, then the refresh. Returns true if the timing
    /// allows it.
    fn pick_refresh(&mut self, now: u64, pseudo_channel: u32, next: &mut u64) -> bool {
        let banks = self.banks_of(pseudo_channel);
        let rows = OpenRows { open: self.open & banks, needed: self.active & banks };
        if rows.open == 0 {
            return self.pick_wide(now, pseudo_channel, Command::Refresh, next);
        }
        match refresh::next(self.policy.refresh_close, rows) {
            RefreshStep::CloseAll => self.pick_wide(now, pseudo_channel, Command::PrechargeAll, next),
            RefreshStep::CloseOneOf(banks) => self.pick_close(now, banks, next),
        }
    }

    /// Issues the next command towards the refresh of a bank that is due: the precharge once no request needs the row, then the refresh.
    /// Other banks continue to serve requests.
    fn pick_bank_refresh(&mut self, now: u64, next: &mut u64) -> bool {
        let mut left = self.owed_refreshes & !self.active;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            let open = self.open >> bank & 1 != 0;
            let ready = self.timers.bank_ready(bank, if open { Command::Precharge } else { Command::RefreshBank });
            if ready > now {
                *next = (*next).min(ready);
                continue;
            }
            if open {
                self.issue_close(now, bank);
            } else {
                self.issue_refresh_bank(now, bank);
            }
            return true;
        }
        false
    }

    /// Issues a command to all banks of a pseudo channel. Returns true if the timing allows it.
    fn pick_wide(&mut self, now: u64, pseudo_channel: u32, command: Command, next: &mut u64) -> bool {
        let ready = self.timers.wide_ready(pseudo_channel as usize, command);
        if ready > now {
            *next = (*next).min(ready);
            return false;
        }
        self.issue_wide(now, pseudo_channel, command);
        true
    }

    /// Closes the row of the first bank of `banks` for which the timing allows it.
    pub(super) fn pick_close(&mut self, now: u64, mut banks: u64, next: &mut u64) -> bool {
        while banks != 0 {
            let bank = banks.trailing_zeros() as usize;
            banks &= banks - 1;
            let ready = self.timers.bank_ready(bank, Command::Precharge);
            if ready <= now {
                self.issue_close(now, bank);
                return true;
            }
            *next = (*next).min(ready);
        }
        false
    }

    /// Returns the banks of a pseudo channel, as a mask.
    pub(super) fn banks_of(&self, pseudo_channel: u32) -> u64 {
        (u64::MAX >> (64 - self.span)) << (pseudo_channel * self.span)
    }

    /// Chooses between reads and writes; the result depends only on the queues, not on the number of calls.
    #[inline]
    fn choose_direction(&mut self) {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        self.writing = match self.policy.drain {
            WriteDrain::Marks { below, .. } if self.writing => !(writes < below && reads != 0),
            WriteDrain::Marks { above, .. } => writes > above || reads == 0,
            WriteDrain::Batch { idle } => {
                if self.batch == 0 && (self.writes.is_full() || reads == 0 && writes >= idle) {
                    self.batch = writes;
                }
                self.batch > 0
            }
        };
    }

    /// Returns the oldest allowed command of the present direction; `next` is lowered to the first cycle that may allow one.
    fn pick_waiting(&self, now: u64, columns: bool, rows: bool, next: &mut u64) -> Option<CommandCandidate> {
        let queue = if self.writing { &self.writes } else { &self.reads };
        let ordered = order::only_oldest(self.policy.order) || self.policy.hit_cap.is_some() || self.policy.age_cap.is_some();
        let (oldest, arrived) = if ordered { queue.oldest_of_all() } else { (0, u64::MAX) };
        let mut strict = order::only_oldest(self.policy.order);
        if let Some(cap) = self.policy.age_cap {
            let due = arrived.saturating_add(u64::from(cap) + 1);
            strict |= now >= due;
            // A request that exceeds the age limit changes the choice, even if no further command becomes allowed.
            if !strict {
                *next = (*next).min(due);
            }
        }
        let mut search = CommandSearch { controller: self, queue, now, strict, oldest, next: *next, best: None, fallback: None };
        for pseudo_channel in 0..self.pseudo_channels {
            let banks = self.banks_of(pseudo_channel);
            if columns {
                search.examine(pseudo_channel, queue.hits & banks, column_command(self.writing));
            }
            if rows {
                search.examine(pseudo_channel, queue.banks & banks & !self.open & !self.owed_refreshes, Command::Activate);
                search.examine(pseudo_channel, queue.misses & banks & self.open & !self.active, Command::Precharge);
            }
        }
        *next = search.next;
        search.best.or(search.fallback)
    }
}

/// A search for the oldest allowed command.
struct CommandSearch<'a> {
    controller: &'a Controller,
    queue: &'a DirectionQueue,
    now: u64,
    /// True if only the oldest request is served.
    strict: bool,
    /// The arrival number of the oldest request, if the policy needs it.
    oldest: u64,
    /// The first cycle that may allow a further command.
    next: u64,
    best: Option<CommandCandidate>,
    /// A hit beyond the cap, used if no older request can be served.
    fallback: Option<CommandCandidate>,
}

impl CommandSearch<'_> {
    /// Examines one command for all given banks of a pseudo channel.
    #[inline]
    fn examine(&mut self, pseudo_channel: u32, banks: u64, command: Command) {
        if banks == 0 {
            return;
        }
        let shared = self.controller.timers.shared_ready(pseudo_channel as usize, command);
        if shared > self.now {
            self.next = self.next.min(shared);
            return;
        }
        let mut left = banks;
        while left != 0 {
            let bank = left.trailing_zeros() as usize;
            left &= left - 1;
            self.consider(bank, command);
        }
    }

    #[inline]
    fn consider(&mut self, bank: usize, command: Command) {
        let policy = &self.controller.policy;
        let place = match command {
            Command::Activate => self.queue.oldest(bank),
            Command::Precharge => self.queue.miss(bank),
            _ => self.queue.hit(bank),
        };
        let entry = self.queue.entry(place);
        let strict = self.strict;
        if strict && entry.order != self.oldest || self.best.is_some_and(|best| best.order < entry.order) {
            return;
        }
        // With strict order the oldest request must be able to close a row that other requests need.
        if command == Command::Precharge && policy.protect_hits && !strict && self.queue.hits >> bank & 1 != 0 {
            let hit = self.queue.entry(self.queue.hit(bank));
            if hit.arrived <= entry.arrived {
                return;
            }
        }
        // A hit beyond the cap is served only if no older request can be served.
        let capped = command.is_column() && policy.hit_cap.is_some_and(|cap| self.controller.columns[bank] > cap);
        if capped && entry.order != self.oldest {
            return;
        }
        let ready = self.controller.timers.own_ready(bank, command);
        if ready > self.now {
            self.next = self.next.min(ready);
            return;
        }
        let chosen = if capped { &mut self.fallback } else { &mut self.best };
        *chosen = Some(CommandCandidate { order: entry.order, bank: bank as u8, command, place });
    }
}

/// Returns the column command of a direction.
pub(super) const fn column_command(write: bool) -> Command {
    if write { Command::Write } else { Command::Read }
}
