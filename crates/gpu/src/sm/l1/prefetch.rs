//! The L1's side of its prefetcher: accesses that loads want ahead, one of which is looked up per cycle after those of the loads.
//!
//! Apart from the L1's own code, since most L1s prefetch nothing.

use warpshard_base::{Addr, Cycle, SectorMask};
use warpshard_mem::cache::{Access as Lookup, AccessKind, Owner, Prefetched, Status, Wanted};

use super::super::coalesce::Access;
use super::{Common, L1, Requester};

impl L1 {
    /// Accesses of a load entered the pipes: what lies ahead of them is looked up when they are, at cycle `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn want_ahead(&mut self, accesses: &[Access], common: Common, at: Cycle) {
        let Some(prefetcher) = &mut self.prefetcher else { return };
        for access in accesses.iter().rev() {
            let addr = Addr(access.addr.0.wrapping_add_signed(common.ahead.into()));
            let whole = access.sectors.count() > 1;
            let (addr, sectors) = if whole { (addr.line(), access.sectors) } else { (addr.sector(), SectorMask::of(addr)) };
            prefetcher.want(Wanted { at, addr, sectors, owner: Owner { port: self.port, kernel: common.kernel } });
        }
    }

    /// When an access is looked up for a prefetch.
    #[cold]
    #[inline(never)]
    pub(in crate::sm) fn next_prefetch(&self) -> Cycle {
        self.prefetcher.as_ref().map_or(Cycle::NEVER, |prefetcher| prefetcher.next_at())
    }

    /// A load read a sector.
    #[cold]
    #[inline(never)]
    pub(super) fn note_read(&mut self, access: &Lookup, found: Status, now: Cycle) {
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.read(access, found, now);
        }
    }

    /// The next request whose data came, after that of a prefetch, which nobody waits for.
    #[cold]
    #[inline(never)]
    pub(super) fn next_awaited(&mut self) -> Option<Requester> {
        self.next_ready()
    }

    /// Looks up one access for a prefetch.
    #[cold]
    #[inline(never)]
    pub(in crate::sm) fn prefetch_ahead(&mut self, now: Cycle) {
        let Some(wanted) = self.prefetcher.as_mut().and_then(|prefetcher| prefetcher.take(now)) else { return };
        let Wanted { addr, sectors, owner, .. } = wanted;
        let set = self.cache.set_index(addr.0);
        let token = Requester::Prefetch.encode();
        let lookup = Lookup { addr, set, sectors, bytes: u32::MAX, kind: AccessKind::Read, local: false, token, owner };
        let became = self.cache.prefetch(&lookup, now);
        if became == Prefetched::Sent {
            self.tags_changed(addr.line(), sectors);
        }
        if let Some(prefetcher) = &mut self.prefetcher {
            prefetcher.note(&wanted, became);
        }
    }
}
