//! The effects of a command on timers, rows, requests and counters.

use warpshard_base::Cycle;

use super::page::{self, AccessedRow};
use super::pick::column_command;
use super::queue::{QueueEntry, QueuePlace};
use super::{Controller, FinishedAccess, IssuedCommand};
use crate::dram::standard::Command;

impl Controller {
    /// Issues a command for a request that waits in the queue of the present direction.
    pub(super) fn issue_waiting(&mut self, now: u64, bank: usize, command: Command, place: QueuePlace) {
        let queue = if self.writing { &mut self.writes } else { &mut self.reads };
        let entry = queue.entry_mut(place);
        let row = entry.access.row;
        if !std::mem::replace(&mut entry.classified, true) {
            let counters = &mut self.bank_counters[bank];
            let (all, one) = match command {
                Command::Activate => (&mut self.counters.row_misses, &mut counters.row_misses),
                Command::Precharge => (&mut self.counters.row_conflicts, &mut counters.row_conflicts),
                _ => (&mut self.counters.row_hits, &mut counters.row_hits),
            };
            *all += 1;
            *one += 1;
        }
        if command.is_column() {
            let entry = queue.remove(place);
            self.batch = self.batch.saturating_sub(u32::from(self.writing));
            self.issue_column(now, bank, entry);
            return;
        }
        if command == Command::Precharge {
            self.record_command(now, command, bank, row);
            self.timers.issue_bank(bank, command, now);
            self.counters.precharges += 1;
            self.bank_counters[bank].precharges += 1;
            self.set_row(bank, None);
            return;
        }
        let entry = queue.remove(place);
        self.batch = self.batch.saturating_sub(u32::from(self.writing));
        self.record_command(now, command, bank, row);
        self.timers.issue_bank(bank, command, now);
        self.counters.activates += 1;
        self.bank_counters[bank].activates += 1;
        self.promotions += 1;
        self.opening_requests[bank] = (entry, self.promotions);
        self.active |= 1 << bank;
        self.columns[bank] = 0;
        if let Some(paging) = &mut self.paging {
            paging.schedule_close(bank, row);
        }
        self.set_row(bank, Some(row));
    }

    /// Issues the column command of the request that has opened the row of `bank`.
    pub(super) fn issue_active(&mut self, now: u64, bank: usize) {
        self.active &= !(1 << bank);
        let entry = self.opening_requests[bank].0;
        self.issue_column(now, bank, entry);
    }

    /// Issues a command to all banks of a pseudo channel.
    pub(super) fn issue_wide(&mut self, now: u64, pseudo_channel: u32, command: Command) {
        let first = (pseudo_channel * self.span) as usize;
        self.record_command(now, command, first, 0);
        self.timers.issue_wide(pseudo_channel as usize, command, now);
        if command == Command::Refresh {
            self.counters.refreshes += 1;
            self.refresh_done(now, pseudo_channel);
            return;
        }
        self.counters.precharges_all += 1;
        for bank in first..first + self.span as usize {
            if self.open >> bank & 1 != 0 {
                self.set_row(bank, None);
            }
        }
    }

    /// Refreshes one bank.
    pub(super) fn issue_refresh_bank(&mut self, now: u64, bank: usize) {
        self.record_command(now, Command::RefreshBank, bank, 0);
        self.timers.issue_bank(bank, Command::RefreshBank, now);
        self.counters.bank_refreshes += 1;
        self.owed_refreshes &= !(1 << bank);
    }

    /// Closes the row of one bank for a refresh.
    pub(super) fn issue_close(&mut self, now: u64, bank: usize) {
        self.record_command(now, Command::Precharge, bank, 0);
        self.timers.issue_bank(bank, Command::Precharge, now);
        self.counters.precharges += 1;
        self.bank_counters[bank].precharges += 1;
        self.set_row(bank, None);
    }

    fn issue_column(&mut self, now: u64, bank: usize, entry: QueueEntry) {
        let write = entry.access.write;
        let wanted = self.row_is_requested(bank);
        let closes = if self.paging.is_some() {
            self.closes_by_policy(now, bank, &entry, wanted)
        } else {
            page::closes(self.policy.page, AccessedRow { wanted })
        };
        let command = match (closes, write) {
            (false, _) => column_command(write),
            (true, false) => Command::ReadPrecharge,
            (true, true) => Command::WritePrecharge,
        };
        self.record_command(now, command, bank, entry.access.row);
        self.timers.issue_bank(bank, command, now);
        self.columns[bank] += 1;
        self.counters.data_cycles += u64::from(self.timing.tBL);
        if write {
            self.counters.writes += 1;
            self.bank_counters[bank].writes += 1;
            if !self.policy.posted_writes {
                self.finished.push_back(FinishedAccess { access: entry.access, arrived: Cycle(entry.arrived), at: Cycle(now) });
            }
        } else {
            self.counters.reads += 1;
            self.bank_counters[bank].reads += 1;
            self.reads_in_flight.push_back((now + u64::from(self.timing.tCL + self.timing.tBL), entry));
        }
        if closes {
            self.counters.auto_precharges += 1;
            self.set_row(bank, None);
        }
    }

    /// Returns true if another request needs the open row of a bank.
    #[inline]
    fn row_is_requested(&self, bank: usize) -> bool {
        (self.active | self.reads.hits | self.writes.hits) >> bank & 1 != 0
    }

    fn set_row(&mut self, bank: usize, row: Option<u32>) {
        self.open = self.open & !(1 << bank) | u64::from(row.is_some()) << bank;
        self.reads.set_open(bank, row);
        self.writes.set_open(bank, row);
    }

    #[inline]
    fn record_command(&mut self, at: u64, command: Command, bank: usize, row: u32) {
        if let Some(trace) = &mut self.trace {
            trace.push(at, IssuedCommand { at: Cycle(at), command, bank: bank as u8, row });
        }
    }
}
