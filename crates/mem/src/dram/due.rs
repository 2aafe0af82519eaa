//! The banks that can issue a command in the present cycle, as masks, so that a cycle examines only these banks.
//!
//! Input: the next command of each bank that serves a request, and the cycle from which the bank's constraints allow it. Output: the banks
//! for which a column command or a row command is due under the constraints of bank and channel; the constraints of bank groups are checked
//! when a bank is chosen. Invariant: a bank needs at most one command, and is awake once its constraints allow it.

use warpshard_base::{Cycle, prefetch};

use super::bank::{Banks, ChannelCommand};

/// The number of cycles ahead of the present with a separate set of waking banks.
const SPAN_CYCLES: u64 = 64;

/// Returns the first of `banks`, at least one, from bank `first` on, wrapping.
#[inline]
pub(super) fn first_from(banks: u64, first: u32) -> usize {
    ((banks.rotate_right(first).trailing_zeros() + first) % u64::BITS) as usize
}

/// The banks that serve requests, by their next command.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct BankWakeups {
    /// The set of banks that need each command, indexed by [`ChannelCommand`], and the command of each bank.
    needs: [u64; 4],
    command: [ChannelCommand; 64],
    /// Banks whose own constraints allow their command.
    awake_banks: u64,
    /// The cycle from which the own constraints of each sleeping bank allow its command.
    earliest: Box<[Cycle]>,
    /// Banks by the cycle in which they are examined, modulo the span, and the set of these cycles; banks that sleep longer are examined in
    /// the last cycle of the span.
    wakes: Box<[u64; SPAN_CYCLES as usize]>,
    wake_cycles_filled: u64,
    /// The first of the cycles in `wakes`.
    wake: Cycle,
}

impl BankWakeups {
    pub(super) fn new(banks: u32) -> Self {
        Self {
            needs: [0; 4],
            command: [ChannelCommand::Read; 64],
            awake_banks: 0,
            earliest: vec![Cycle(0); banks as usize].into(),
            wakes: Box::new([0; SPAN_CYCLES as usize]),
            wake_cycles_filled: 0,
            wake: Cycle::NEVER,
        }
    }

    /// Prefetches the arrays of times.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&*self.earliest);
    }

    /// Records at `now` that `bank`, which had no command, needs `command`, which its own constraints allow from cycle `from` on.
    #[inline]
    pub(super) fn set_needed_command(&mut self, bank: usize, (command, from): (ChannelCommand, Cycle), now: Cycle) {
        debug_assert!(self.needs.iter().all(|banks| banks >> bank & 1 == 0), "bank {bank} needs two commands");
        self.needs[command as usize] |= 1 << bank;
        self.command[bank] = command;
        if from <= now {
            self.awake_banks |= 1 << bank;
        } else {
            self.earliest[bank] = from;
            self.sleep(bank, now);
        }
    }

    /// Schedules `bank`, which sleeps at `now`, for the cycle in which its constraints allow the command.
    #[inline]
    fn sleep(&mut self, bank: usize, now: Cycle) {
        // Only cycles from the present on are in use, so no two cycles of the span share an entry.
        let at = self.earliest[bank].min(now.after(SPAN_CYCLES - 1));
        let place = at.0 % SPAN_CYCLES;
        self.wakes[place as usize] |= 1 << bank;
        self.wake_cycles_filled |= 1 << place;
        self.wake = self.wake.min(at);
    }

    /// Records that `bank` needs no command.
    #[inline]
    pub(super) fn clear(&mut self, bank: usize) {
        let keep = !(1 << bank);
        self.needs[self.command[bank] as usize] &= keep;
        self.awake_banks &= keep;
    }

    /// Advances the present to `now` and wakes the banks whose time has come.
    #[inline]
    pub(super) fn advance(&mut self, now: Cycle) {
        while self.wake <= now {
            let place = self.wake.0 % SPAN_CYCLES;
            let mut banks = std::mem::take(&mut self.wakes[place as usize]);
            self.wake_cycles_filled &= !(1 << place);
            // The remaining cycles start after this position.
            let behind = self.wake.next();
            self.wake = match self.wake_cycles_filled.rotate_right((behind.0 % SPAN_CYCLES) as u32) {
                0 => Cycle::NEVER,
                ahead => behind.after(u64::from(ahead.trailing_zeros())),
            };
            while banks != 0 {
                let bank = banks.trailing_zeros() as usize;
                banks &= banks - 1;
                if self.earliest[bank] <= now { self.awake_banks |= 1 << bank } else { self.sleep(bank, now) }
            }
        }
    }

    #[inline]
    fn awake_banks(&self, command: ChannelCommand) -> u64 {
        self.needs[command as usize] & self.awake_banks
    }

    /// Returns the banks to which a read or write of their open row may be sent at `now`, except for constraints of their groups.
    #[inline]
    pub(super) fn column_banks(&self, banks: &Banks, now: Cycle) -> u64 {
        let of = |command| if banks.common_from(command) <= now { self.awake_banks(command) } else { 0 };
        of(ChannelCommand::Read) | of(ChannelCommand::Write)
    }

    /// Returns the banks to which an activate or precharge may be sent at `now`, except for constraints of their groups.
    #[inline]
    pub(super) fn row_banks(&self, banks: &Banks, now: Cycle) -> u64 {
        let activates = if banks.common_from(ChannelCommand::Activate) <= now { self.awake_banks(ChannelCommand::Activate) } else { 0 };
        activates | self.awake_banks(ChannelCommand::Precharge)
    }

    /// Returns the first bank of `candidates`, from `first` on, whose group allows its command at `now`.
    #[inline]
    pub(super) fn choose(&self, candidates: u64, first: u32, banks: &Banks, now: Cycle) -> Option<usize> {
        if candidates == 0 { None } else { self.choose_among(candidates, first, banks, now) }
    }

    // The function is compiled for a few kinds of command buses, of which a channel has one.
    #[inline(always)]
    fn choose_among(&self, mut candidates: u64, first: u32, banks: &Banks, now: Cycle) -> Option<usize> {
        while candidates != 0 {
            let bank = first_from(candidates, first);
            if banks.group_from(bank, self.command(bank)) <= now {
                return Some(bank);
            }
            // A constraint that delays this bank delays all banks of its group that need the same kind of command.
            let kind = self.command(bank).kind();
            candidates &= !(banks.group_of(bank) & kind.into_iter().fold(0, |all, command| all | self.needs[command as usize]));
        }
        None
    }

    /// Returns the first cycle at or after `from` in which any bank could get its command; [`Cycle::NEVER`] if no bank needs one.
    #[inline]
    pub(super) fn next(&self, banks: &Banks, from: Cycle) -> Cycle {
        let mut next = self.wake;
        for command in ChannelCommand::ALL {
            let mut left = self.awake_banks(command);
            let common = banks.common_from(command);
            while left != 0 && next > from && common < next {
                let bank = left.trailing_zeros() as usize;
                next = next.min(common.max(banks.group_from(bank, command)));
                left &= !banks.group_of(bank);
            }
        }
        next.max(from)
    }

    /// Returns the command that `bank` needs.
    #[inline]
    pub(super) fn command(&self, bank: usize) -> ChannelCommand {
        let command = self.command[bank];
        debug_assert!(self.needs[command as usize] >> bank & 1 != 0, "bank {bank} gets a command that it does not need");
        command
    }
}
