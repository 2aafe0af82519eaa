//! Banks: their rows, and from when on each command is allowed.
//!
//! A command is allowed from the latest of three times on: its bank's own, that of the bank's group, and that of the channel.
//! They are kept apart, since a bank's own time stands still while the bank waits for one command.

use crate::base::{Cycle, touch};
use crate::config::machine::Dram;

use super::timing::Timing;

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Command {
    /// Reads a burst of the open row.
    Read,
    /// Writes a burst of the open row.
    Write,
    /// Closes the row.
    Precharge,
    /// Opens a row.
    Activate,
}

impl Command {
    pub(super) const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Precharge, Self::Activate];

    /// The commands that the group's constraints hold back together with this one.
    #[inline]
    pub(super) fn kind(self) -> [Self; 2] {
        match self {
            Self::Read | Self::Write => [Self::Read, Self::Write],
            Self::Precharge | Self::Activate => [self, self],
        }
    }
}

/// A bank.
#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    /// The row that is open, or was last; row 0 before the first, as in the reference.
    row: u32,
    read_from: Cycle,
    write_from: Cycle,
    precharge_from: Cycle,
    activate_from: Cycle,
}

/// A bank group.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Its banks.
    banks: u64,
    column_from: Cycle,
    precharge_from: Cycle,
}

/// The banks of a channel and the constraints between them.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    timing: Timing,
    banks: Box<[Bank]>,
    groups: Box<[Group]>,
    /// Shift or mask that makes a bank number a group number.
    group_shift: u32,
    group_mask: u32,
    /// Banks with an open row.
    open: u64,
    column_from: Cycle,
    activate_from: Cycle,
    read_from: Cycle,
    write_from: Cycle,
}

impl Banks {
    pub(super) fn new(spec: &Dram, timing: Timing) -> Self {
        let groups = spec.bank_groups.max(1);
        let (group_shift, group_mask) =
            if spec.group_low_bits { (0, groups - 1) } else { ((spec.banks / groups).trailing_zeros(), u32::MAX) };
        let mut banks = Self {
            timing,
            banks: vec![Bank::default(); spec.banks as usize].into(),
            groups: vec![Group::default(); groups as usize].into(),
            group_shift,
            group_mask,
            open: 0,
            column_from: Cycle(0),
            activate_from: Cycle(0),
            read_from: Cycle(0),
            write_from: Cycle(0),
        };
        for bank in 0..spec.banks as usize {
            let group = banks.group(bank);
            banks.groups[group].banks |= 1 << bank;
        }
        banks
    }

    /// Asks the host for all banks and groups.
    #[inline]
    pub(super) fn touch(&self) {
        touch(&*self.banks);
        touch(&*self.groups);
    }

    /// The row that is open in `bank` or was last.
    #[inline]
    pub(super) fn row(&self, bank: usize) -> u32 {
        self.banks[bank].row
    }

    /// Whether `row` is open in `bank`.
    #[inline]
    pub(super) fn is_open(&self, bank: usize, row: u32) -> bool {
        self.open >> bank & 1 != 0 && self.banks[bank].row == row
    }

    #[inline]
    fn group(&self, bank: usize) -> usize {
        ((bank as u32 >> self.group_shift) & self.group_mask) as usize
    }

    /// The banks of a bank's group.
    #[inline]
    pub(super) fn group_of(&self, bank: usize) -> u64 {
        self.groups[self.group(bank)].banks
    }

    /// The next command for a request to read or write `row` of `bank`, and from when on the bank itself allows it.
    #[inline]
    pub(super) fn next(&self, bank: usize, row: u32, write: bool) -> (Command, Cycle) {
        let own = &self.banks[bank];
        match (self.open >> bank & 1 != 0, own.row == row, write) {
            (true, true, true) => (Command::Write, own.write_from),
            (true, true, false) => (Command::Read, own.read_from),
            (true, false, _) => (Command::Precharge, own.precharge_from),
            (false, ..) => (Command::Activate, own.activate_from),
        }
    }

    /// From when on the channel allows a command.
    #[inline]
    pub(super) fn common_from(&self, command: Command) -> Cycle {
        match command {
            Command::Read => self.column_from.max(self.read_from),
            Command::Write => self.column_from.max(self.write_from),
            Command::Precharge => Cycle(0),
            Command::Activate => self.activate_from,
        }
    }

    /// From when on the group of `bank` allows a command.
    #[inline]
    pub(super) fn group_from(&self, bank: usize, command: Command) -> Cycle {
        let group = &self.groups[self.group(bank)];
        match command {
            Command::Read | Command::Write => group.column_from,
            Command::Precharge => group.precharge_from,
            Command::Activate => Cycle(0),
        }
    }

    pub(super) fn column(&mut self, bank: usize, write: bool, now: Cycle) {
        let t = &self.timing;
        let group = self.group(bank);
        self.column_from = now.after(t.column_to_column[0]);
        self.groups[group].column_from = now.after(t.column_to_column[1]);
        let bank = &mut self.banks[bank];
        if write {
            self.read_from = now.after(t.write_to_read);
            bank.precharge_from = bank.precharge_from.max(now.after(t.write_to_precharge));
        } else {
            self.write_from = now.after(t.read_to_write);
            bank.precharge_from = bank.precharge_from.max(now.after(t.read_to_precharge));
            self.groups[group].precharge_from = now.after(t.group_read_to_precharge);
        }
    }

    pub(super) fn activate(&mut self, bank: usize, row: u32, now: Cycle) {
        let t = &self.timing;
        self.open |= 1 << bank;
        self.activate_from = now.after(t.activate_to_activate);
        let bank = &mut self.banks[bank];
        bank.row = row;
        bank.read_from = now.after(t.activate_to_read);
        bank.write_from = now.after(t.activate_to_write);
        bank.precharge_from = bank.precharge_from.max(now.after(t.activate_to_precharge));
        bank.activate_from = now.after(t.row_cycle);
    }

    pub(super) fn precharge(&mut self, bank: usize, now: Cycle) {
        self.open &= !(1 << bank);
        let bank = &mut self.banks[bank];
        bank.activate_from = bank.activate_from.max(now.after(self.timing.precharge_to_activate));
    }
}
