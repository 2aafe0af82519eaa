//! The interface of the L1 to its prefetcher: loads request accesses ahead, and one of them is looked up per cycle after the accesses of
//! the loads.
//!
//! The code is separate from the rest of the L1, since most L1s have no prefetcher.

use warpshard_base::{Addr, Cycle, SectorMask};
use warpshard_mem::cache::{AccessKind, AccessOrigin, AccessStatus, CacheAccess as Lookup, PrefetchRequest, PrefetchStatus};

use super::super::coalesce::CoalescedAccess;
use super::{AccessGroup, L1, Requester};

impl L1 {
    /// Requests prefetches ahead of the accesses of a load that entered the pipes; they are looked up at cycle `at` together with the
    /// accesses.
    #[cold]
    #[inline(never)]
    pub(super) fn request_prefetches(&mut self, accesses: &[CoalescedAccess], group: AccessGroup, at: Cycle) {
        let Some(prefetcher) = &mut self.prefetcher else { return };
        for access in accesses.iter().rev() {
            let addr = Addr(access.addr.0.wrapping_add_signed(group.ahead.into()));
            let whole = access.sectors.count() > 1;
            let (addr, sectors) = if whole { (addr.line(), access.sectors) } else { (addr.sector(), SectorMask::of(addr)) };
            prefetcher.enqueue(PrefetchRequest { at, addr, sectors, owner: AccessOrigin { port: self.port, kernel: group.kernel } });
        }
    }

    /// Returns the cycle of the next prefetch look-up.
    #[cold]
    #[inline(never)]
    pub(in crate::sm) fn next_prefetch(&self) -> Cycle {
        self.prefetcher.as_ref().map_or(Cycle::NEVER, |prefetcher| prefetcher.next_at())
    }

    /// Notifies the prefetcher that a load read a sector.
    #[cold]
    #[inline(never)]
    pub(super) fn train_prefetcher(&mut self, access: &Lookup, found: AccessStatus, now: Cycle) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.read(access, found, now);
        }
    }

    /// Returns the next request whose data arrived after the data of a prefetch, for which nothing waits.
    #[cold]
    #[inline(never)]
    pub(super) fn next_demand(&mut self) -> Option<Requester> {
        self.next_ready()
    }

    /// Looks up one access for a prefetch.
    #[cold]
    #[inline(never)]
    pub(in crate::sm) fn prefetch_ahead(&mut self, now: Cycle) {
        let Some(wanted) = self.prefetcher.as_mut().and_then(|prefetcher| prefetcher.take(now)) else { return };
        let PrefetchRequest { addr, sectors, owner, .. } = wanted;
        let set = self.cache.set_index(addr.0);
        let token = Requester::Prefetch.encode();
        let lookup = Lookup { addr, set, sectors, bytes: u32::MAX, kind: AccessKind::Read, local: false, token, owner };
        let status = self.cache.prefetch(&lookup, now);
        if status == PrefetchStatus::Sent {
            self.tags_changed(addr.line(), sectors);
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.record_status(&wanted, status);
        }
    }
}
