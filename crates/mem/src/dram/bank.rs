//! The banks: their rows, and the cycles from which commands are allowed.
//!
//! A command is allowed from the latest of three times: the time of its bank, of the bank's group, and of the channel. They are stored
//! separately, because the bank's time does not change while the bank waits for a command.

use std::ops::{Index, IndexMut};

use warpshard_base::{Cycle, Slots, prefetch};
use warpshard_config::machine::Dram;

use super::timing::Timing;

/// A DRAM command to a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
#[repr(u8)]
pub(super) enum ChannelCommand {
    /// Reads a burst of the open row.
    Read,
    /// Writes a burst of the open row.
    Write,
    /// Closes the row.
    Precharge,
    /// Opens a row.
    Activate,
}

impl ChannelCommand {
    pub(super) const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Precharge, Self::Activate];

    /// Returns the commands that the same constraints of the bank group delay.
    #[inline]
    pub(super) fn kind(self) -> [Self; 2] {
        match self {
            Self::Read | Self::Write => [Self::Read, Self::Write],
            Self::Precharge | Self::Activate => [self, self],
        }
    }
}

/// The cycle from which each command is allowed.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct EarliestCycles([Cycle; 4]);

impl EarliestCycles {
    /// Delays `command` to cycle `at`, unless it is already delayed longer.
    #[inline]
    fn delay(&mut self, command: ChannelCommand, at: Cycle) {
        self[command] = self[command].max(at);
    }
}

impl Index<ChannelCommand> for EarliestCycles {
    type Output = Cycle;

    #[inline]
    fn index(&self, command: ChannelCommand) -> &Cycle {
        &self.0[command as usize]
    }
}

impl IndexMut<ChannelCommand> for EarliestCycles {
    #[inline]
    fn index_mut(&mut self, command: ChannelCommand) -> &mut Cycle {
        &mut self.0[command as usize]
    }
}

/// A bank.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Bank {
    /// The open row or the last open row; initially row 0, as in GPGPU-Sim.
    row: u32,
    earliest: EarliestCycles,
}

/// A bank group.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct BankGroup {
    /// The banks of the group.
    banks: u64,
    earliest: EarliestCycles,
}

/// The banks of a channel and the constraints between them.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Banks {
    timing: Timing,
    banks: Slots<Bank>,
    groups: Slots<BankGroup>,
    /// The shift or mask that converts a bank number to a group number.
    group_shift: u32,
    group_mask: u32,
    /// Banks with an open row.
    open_banks: u64,
    /// The constraints of the channel.
    earliest: EarliestCycles,
}

impl Banks {
    pub(super) fn new(spec: &Dram, timing: Timing) -> Self {
        let groups = spec.bank_groups.max(1);
        let (group_shift, group_mask) =
            if spec.group_low_bits { (0, groups - 1) } else { ((spec.banks / groups).trailing_zeros(), u32::MAX) };
        let mut banks = Self {
            timing,
            banks: Slots::new(spec.banks as usize, Bank::default()),
            groups: Slots::new(groups as usize, BankGroup::default()),
            group_shift,
            group_mask,
            open_banks: 0,
            earliest: EarliestCycles::default(),
        };
        for bank in 0..spec.banks as usize {
            let group = banks.group(bank);
            banks.groups.get_mut(group).banks |= 1 << bank;
        }
        banks
    }

    /// Prefetches all banks and groups.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self.banks.as_slice());
        prefetch(self.groups.as_slice());
    }

    #[inline]
    fn group(&self, bank: usize) -> u32 {
        (bank as u32 >> self.group_shift) & self.group_mask
    }

    /// Returns the banks of a bank's group.
    #[inline]
    pub(super) fn group_of(&self, bank: usize) -> u64 {
        self.groups.get(self.group(bank)).banks
    }

    /// Returns the next command for a request to read or write `row` of `bank`, and the cycle from which the bank's constraints allow it.
    #[inline]
    pub(super) fn next_command(&self, bank: usize, row: u32, write: bool) -> (ChannelCommand, Cycle) {
        let own = self.banks.get(bank as u32);
        let command = match (self.open_banks >> bank & 1 != 0, own.row == row, write) {
            (true, true, true) => ChannelCommand::Write,
            (true, true, false) => ChannelCommand::Read,
            (true, false, _) => ChannelCommand::Precharge,
            (false, ..) => ChannelCommand::Activate,
        };
        (command, own.earliest[command])
    }

    /// Returns the cycle from which the channel's constraints allow a command.
    #[inline]
    pub(super) fn common_from(&self, command: ChannelCommand) -> Cycle {
        self.earliest[command]
    }

    /// Returns the cycle from which the constraints of the group of `bank` allow a command.
    #[inline]
    pub(super) fn group_from(&self, bank: usize, command: ChannelCommand) -> Cycle {
        self.groups.get(self.group(bank)).earliest[command]
    }

    #[inline]
    pub(super) fn column(&mut self, bank: usize, write: bool, now: Cycle) {
        let t = &self.timing;
        let after = |cycles| Cycle(now.0 + cycles);
        let group = self.group(bank);
        let group = &mut self.groups.get_mut(group).earliest;
        let bank = &mut self.banks.get_mut(bank as u32).earliest;
        // The latest column command determines the delay of the group's other column commands.
        group[ChannelCommand::Read] = after(t.column_to_column[1]);
        group[ChannelCommand::Write] = after(t.column_to_column[1]);
        self.earliest.delay(ChannelCommand::Read, after(t.column_to_column[0]));
        self.earliest.delay(ChannelCommand::Write, after(t.column_to_column[0]));
        if write {
            self.earliest.delay(ChannelCommand::Read, after(t.write_to_read));
            bank.delay(ChannelCommand::Precharge, after(t.write_to_precharge));
        } else {
            self.earliest.delay(ChannelCommand::Write, after(t.read_to_write));
            bank.delay(ChannelCommand::Precharge, after(t.read_to_precharge));
            group[ChannelCommand::Precharge] = after(t.group_read_to_precharge);
        }
    }

    pub(super) fn activate(&mut self, bank: usize, row: u32, now: Cycle) {
        let t = &self.timing;
        let after = |cycles| Cycle(now.0 + cycles);
        self.open_banks |= 1 << bank;
        self.earliest[ChannelCommand::Activate] = after(t.activate_to_activate);
        let bank = self.banks.get_mut(bank as u32);
        bank.row = row;
        bank.earliest[ChannelCommand::Read] = after(t.activate_to_read);
        bank.earliest[ChannelCommand::Write] = after(t.activate_to_write);
        bank.earliest[ChannelCommand::Activate] = after(t.row_cycle);
        bank.earliest.delay(ChannelCommand::Precharge, after(t.activate_to_precharge));
    }

    pub(super) fn precharge(&mut self, bank: usize, now: Cycle) {
        self.open_banks &= !(1 << bank);
        let from = Cycle(now.0 + self.timing.precharge_to_activate);
        self.banks.get_mut(bank as u32).earliest.delay(ChannelCommand::Activate, from);
    }
}
