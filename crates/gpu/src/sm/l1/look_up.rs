//! The look-ups of a cycle: the accesses at the ends of the pipes of the banks, up to one per bank.

use warpshard_base::{Addr, Cycle, KernelIndex, SectorMask};
use warpshard_mem::cache::{AccessKind, AccessOrigin, AccessOutcome, AccessStatus, CacheAccess as Lookup, Probe};

use super::{L1, Requester};

/// An access that the tags accepted.
#[derive(Clone, Copy, Debug)]
pub(in crate::sm) struct AcceptedAccess {
    pub(in crate::sm) addr: Addr,
    /// The encoded [`Requester`].
    requester_bits: u32,
    pub(in crate::sm) kernel: KernelIndex,
    pub(in crate::sm) sectors: SectorMask,
    pub(in crate::sm) write: bool,
    pub(in crate::sm) outcome: AccessOutcome,
    /// The state of the tags before the access, if a consumer needs it.
    pub(in crate::sm) before: Option<Probe>,
}

impl AcceptedAccess {
    /// Returns the requester of the access.
    #[inline]
    pub(in crate::sm) fn requester(&self) -> Requester {
        Requester::decode(self.requester_bits)
    }
}

impl L1 {
    /// Looks up the first accesses of the banks that are due at cycle `now`, until one is accepted; `ahead` are the banks that remain in
    /// this cycle. With `watched`, the result includes the state of the tags before the access.
    // There is one caller, which runs for every access.
    #[inline(always)]
    pub(in crate::sm) fn serve(&mut self, ahead: &mut u64, watched: bool, now: Cycle) -> Option<AcceptedAccess> {
        loop {
            let due = self.heads.due_banks() & *ahead;
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
    // There is one caller, which runs for every access.
    #[inline(always)]
    fn look_up(&mut self, bank: usize, watched: bool, now: Cycle) -> Option<AcceptedAccess> {
        let Some(first) = self.pipes[bank].front() else { unreachable!("a due bank has an access in its pipe") };
        let (addr, sectors, write, set) = (first.addr, first.part.sectors(), first.write, u32::from(first.set));
        let kind = if write { AccessKind::Write } else { AccessKind::Read };
        let kernel = first.part.kernel();
        let owner = AccessOrigin { port: self.port, kernel };
        let lookup = Lookup { addr, set, sectors, bytes: first.bytes, kind, local: first.local, token: first.requester_bits, owner };
        let requester_bits = first.requester_bits;
        let before = watched.then(|| {
            self.cache.notify_policy(&lookup, now);
            self.probe(addr, sectors, write)
        });
        let line = addr.line();
        if !write && let Some(reason) = self.cache.read_failure(addr, set, sectors) {
            // The access may lack further resources; the next look-up finds them.
            self.heads.refuse(bank, reason, write, line, self.affected_sectors(sectors));
            return None;
        }
        let outcome = self.cache.access(&lookup, now);
        if let AccessStatus::Fail(reason) = outcome.status {
            self.heads.refuse(bank, reason, write, line, self.affected_sectors(sectors));
            return None;
        }
        let served = AcceptedAccess { addr, requester_bits, kernel, sectors, write, outcome, before };
        self.heads.access_accepted(bank, self.free_queue_entries(), !self.cache.mshr().is_full());
        self.full_banks &= !(1 << bank);
        if let Some(next) = self.pipes[bank].next_front() {
            self.heads.set_first(bank, next.at, now);
            self.cache.expect_look_up(next.addr);
        }
        if outcome.status == AccessStatus::Miss {
            // A different line is the victim of the next miss in the set.
            self.cache.expect_room(set);
        }
        self.tags_changed(line, sectors);
        if self.prefetcher.is_some() && !write {
            self.train_prefetcher(&lookup, outcome.status, now);
        }
        Some(served)
    }
}
