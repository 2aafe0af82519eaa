//! The look-ups of a cycle: the accesses at the ends of the banks' pipes, up to one per bank.

use warpshard_base::{Addr, Cycle, KernelIndex, SectorMask};
use warpshard_mem::cache::{Access as Lookup, AccessKind, Outcome, Owner, Probe, Status};

use super::{L1, Requester};

/// An access that the tags took.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct Served {
    pub(in crate::sm) addr: Addr,
    /// The [`Requester`], as the cache keeps it.
    name: u32,
    pub(in crate::sm) kernel: KernelIndex,
    pub(in crate::sm) sectors: SectorMask,
    pub(in crate::sm) write: bool,
    pub(in crate::sm) outcome: Outcome,
    /// The state of the tags before the access, if a consumer needs it.
    pub(in crate::sm) before: Option<Probe>,
}

impl Served {
    /// For whom the access is.
    #[inline]
    pub(in crate::sm) fn requester(&self) -> Requester {
        Requester::decode(self.name)
    }
}

impl L1 {
    /// Looks up the first accesses of the banks that are due at cycle `now`, up to one that is taken; `ahead` are the banks that
    /// were not passed in this cycle. With `watched`, says what the tags knew before.
    // Called from one place, for every access.
    #[inline(always)]
    pub(in crate::sm) fn serve(&mut self, ahead: &mut u64, watched: bool, now: Cycle) -> Option<Served> {
        loop {
            let due = self.heads.due() & *ahead;
            if due == 0 {
                return None;
            }
            let bank = due.trailing_zeros();
            *ahead = u64::MAX << bank << 1;
            if let Some(served) = self.look_up(bank as usize, watched, now) {
                return Some(served);
            }
        }
    }

    /// Looks up the first access of a bank.
    // Called from one place, for every access.
    #[inline(always)]
    fn look_up(&mut self, bank: usize, watched: bool, now: Cycle) -> Option<Served> {
        let Some(first) = self.pipes[bank].front() else { unreachable!("an empty pipe has nothing to look up") };
        let (addr, sectors, write, set) = (first.addr, first.part.sectors(), first.write, u32::from(first.set));
        let kind = if write { AccessKind::Write } else { AccessKind::Read };
        let kernel = first.part.kernel();
        let owner = Owner { port: self.port, kernel };
        let lookup = Lookup { addr, set, sectors, bytes: first.bytes, kind, local: first.local, token: first.name, owner };
        let name = first.name;
        let before = watched.then(|| {
            self.cache.note(&lookup, now);
            self.probe(addr, sectors, write)
        });
        let line = addr.line();
        if !write && let Some(reason) = self.cache.refuses_read(addr, set, sectors) {
            // It may lack more than that, which will be found when there is room.
            self.heads.refuse(bank, reason, write, line, self.concerned(sectors));
            return None;
        }
        let outcome = self.cache.access(&lookup, now);
        if let Status::Fail(reason) = outcome.status {
            self.heads.refuse(bank, reason, write, line, self.concerned(sectors));
            return None;
        }
        let served = Served { addr, name, kernel, sectors, write, outcome, before };
        self.heads.take(bank, self.free(), !self.cache.mshr().is_full());
        self.full &= !(1 << bank);
        if let Some(next) = self.pipes[bank].next_front() {
            self.heads.follow(bank, next.at, now);
            self.cache.expect_look_up(next.addr);
        }
        if outcome.status == Status::Miss {
            // Another line is the one that makes room for the next of the set.
            self.cache.expect_room(set);
        }
        self.tags_changed(line, sectors);
        if self.prefetcher.is_some() && !write {
            self.note_read(&lookup, outcome.status, now);
        }
        Some(served)
    }
}
