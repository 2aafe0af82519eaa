//! Banks: their rows, and from when on each command is allowed.

use crate::base::Cycle;
use crate::config::machine::Dram;

use super::timing::Timing;

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
        Self {
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
        }
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

    /// Whether any row is open in `bank`.
    #[inline]
    pub(super) fn has_row(&self, bank: usize) -> bool {
        self.open >> bank & 1 != 0
    }

    #[inline]
    fn group(&self, bank: usize) -> usize {
        ((bank as u32 >> self.group_shift) & self.group_mask) as usize
    }

    /// From when on a column command to the open row is allowed.
    #[inline]
    pub(super) fn column_from(&self, bank: usize, write: bool) -> Cycle {
        let common = self.column_from.max(self.groups[self.group(bank)].column_from);
        let own = if write { self.banks[bank].write_from.max(self.write_from) } else { self.banks[bank].read_from.max(self.read_from) };
        common.max(own)
    }

    /// From when on the row command that a request for another row needs is allowed: activate without an open row, else
    /// precharge.
    #[inline]
    pub(super) fn row_from(&self, bank: usize) -> Cycle {
        if self.has_row(bank) {
            self.banks[bank].precharge_from.max(self.groups[self.group(bank)].precharge_from)
        } else {
            self.banks[bank].activate_from.max(self.activate_from)
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
