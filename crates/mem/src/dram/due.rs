//! The banks that can issue a command now, as masks, so that a cycle examines only these.
//!
//! In: the next command of each bank that serves a request, and the cycle from which the bank itself allows it. Out: the banks that
//! are due for a column command or for a row command under the constraints of bank and channel; those of bank groups are
//! looked up when a bank is chosen. Invariant: a bank needs one command or none, and is awake once its own time has come.

use warpshard_base::{Cycle, prefetch};

use super::bank::{Banks, Command};

/// Cycles ahead of the present that have a place of their own for the banks that wake in them.
const SPAN: u64 = 64;

/// The first of `banks`, of which there are some, from bank `first` on, wrapping.
#[inline]
pub(super) fn first_from(banks: u64, first: u32) -> usize {
    ((banks.rotate_right(first).trailing_zeros() + first) % u64::BITS) as usize
}

/// The banks that serve requests, by what they need next.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Due {
    /// Banks by the command that they need, in the order of [`Command`], and the command of each of these banks.
    needs: [u64; 4],
    command: [Command; 64],
    /// Banks whose own constraints allow it.
    awake: u64,
    /// From when on the constraints of each bank that is not awake allow it.
    from: Box<[Cycle]>,
    /// Banks by the cycle in which they are looked at, the last of the span for those that sleep longer, and the cycles, both
    /// modulo the span.
    wakes: Box<[u64; SPAN as usize]>,
    filled: u64,
    /// The first of these cycles.
    wake: Cycle,
}

impl Due {
    pub(super) fn new(banks: u32) -> Self {
        Self {
            needs: [0; 4],
            command: [Command::Read; 64],
            awake: 0,
            from: vec![Cycle(0); banks as usize].into(),
            wakes: Box::new([0; SPAN as usize]),
            filled: 0,
            wake: Cycle::NEVER,
        }
    }

    /// Prefetches the times.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&*self.from);
    }

    /// Says at `now` that `bank`, which needed nothing, needs `command`, which its own constraints allow from `from` on.
    #[inline]
    pub(super) fn need(&mut self, bank: usize, (command, from): (Command, Cycle), now: Cycle) {
        debug_assert!(self.needs.iter().all(|banks| banks >> bank & 1 == 0), "bank {bank} needs two commands");
        self.needs[command as usize] |= 1 << bank;
        self.command[bank] = command;
        if from <= now {
            self.awake |= 1 << bank;
        } else {
            self.from[bank] = from;
            self.sleep(bank, now);
        }
    }

    /// Has `bank`, which is not awake at `now`, looked at when its time has come.
    #[inline]
    fn sleep(&mut self, bank: usize, now: Cycle) {
        // Cycles before the present are past, so that no two of the span share a place.
        let at = self.from[bank].min(now.after(SPAN - 1));
        let place = at.0 % SPAN;
        self.wakes[place as usize] |= 1 << bank;
        self.filled |= 1 << place;
        self.wake = self.wake.min(at);
    }

    /// Says that `bank` needs nothing.
    #[inline]
    pub(super) fn forget(&mut self, bank: usize) {
        let keep = !(1 << bank);
        self.needs[self.command[bank] as usize] &= keep;
        self.awake &= keep;
    }

    /// The present becomes `now`: banks whose time has come are awake.
    #[inline]
    pub(super) fn advance(&mut self, now: Cycle) {
        while self.wake <= now {
            let place = self.wake.0 % SPAN;
            let mut banks = std::mem::take(&mut self.wakes[place as usize]);
            self.filled &= !(1 << place);
            // The rest begins after that position.
            let behind = self.wake.next();
            self.wake = match self.filled.rotate_right((behind.0 % SPAN) as u32) {
                0 => Cycle::NEVER,
                ahead => behind.after(u64::from(ahead.trailing_zeros())),
            };
            while banks != 0 {
                let bank = banks.trailing_zeros() as usize;
                banks &= banks - 1;
                if self.from[bank] <= now { self.awake |= 1 << bank } else { self.sleep(bank, now) }
            }
        }
    }

    #[inline]
    fn awake(&self, command: Command) -> u64 {
        self.needs[command as usize] & self.awake
    }

    /// Banks to which a read or a write of their open row may be sent at `now`, but for their groups.
    #[inline]
    pub(super) fn columns(&self, banks: &Banks, now: Cycle) -> u64 {
        let of = |command| if banks.common_from(command) <= now { self.awake(command) } else { 0 };
        of(Command::Read) | of(Command::Write)
    }

    /// Banks to which an activate or a precharge may be sent at `now`, but for their groups.
    #[inline]
    pub(super) fn rows(&self, banks: &Banks, now: Cycle) -> u64 {
        let activates = if banks.common_from(Command::Activate) <= now { self.awake(Command::Activate) } else { 0 };
        activates | self.awake(Command::Precharge)
    }

    /// The bank of `candidates` that comes first, counting from `first` on, whose group allows its command at `now`.
    #[inline]
    pub(super) fn choose(&self, candidates: u64, first: u32, banks: &Banks, now: Cycle) -> Option<usize> {
        if candidates == 0 { None } else { self.choose_among(candidates, first, banks, now) }
    }

    // Called for a few kinds of command buses, of which a channel has one.
    #[inline(always)]
    fn choose_among(&self, mut candidates: u64, first: u32, banks: &Banks, now: Cycle) -> Option<usize> {
        while candidates != 0 {
            let bank = first_from(candidates, first);
            if banks.group_from(bank, self.command(bank)) <= now {
                return Some(bank);
            }
            // What holds this bank back holds all of its group back that need the same kind of command.
            let kind = self.command(bank).kind();
            candidates &= !(banks.group_of(bank) & kind.into_iter().fold(0, |all, command| all | self.needs[command as usize]));
        }
        None
    }

    /// The first cycle at or after `from` in which any bank could be given its command, [`Cycle::NEVER`] when none needs one.
    #[inline]
    pub(super) fn next(&self, banks: &Banks, from: Cycle) -> Cycle {
        let mut next = self.wake;
        for command in Command::ALL {
            let mut left = self.awake(command);
            let common = banks.common_from(command);
            while left != 0 && next > from && common < next {
                let bank = left.trailing_zeros() as usize;
                next = next.min(common.max(banks.group_from(bank, command)));
                left &= !banks.group_of(bank);
            }
        }
        next.max(from)
    }

    /// What `bank`, which needs something, needs.
    #[inline]
    pub(super) fn command(&self, bank: usize) -> Command {
        let command = self.command[bank];
        debug_assert!(self.needs[command as usize] >> bank & 1 != 0, "bank {bank} is to be given a command that it does not need");
        command
    }
}
