//! What a slice fetches in advance: one access that its prefetcher wants is looked up per cycle, after the request of the cycle.

use warpshard_base::Cycle;
use warpshard_protocol::{AddressMap, LocalMap};

use super::Slice;
use crate::cache::{Access, AccessKind, PrefetchCounters, Prefetched, Prefetcher, Waiter, Wanted};

/// A prefetcher, and which addresses belong to the slice.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ahead {
    pub(super) prefetcher: Prefetcher,
    #[state(fixed)]
    pub(super) map: AddressMap,
}

impl Slice {
    /// What its prefetcher did, where it has one.
    pub fn prefetches(&self) -> Option<&PrefetchCounters> {
        self.ahead.as_ref().map(|ahead| &ahead.prefetcher.counters)
    }

    /// Looks up one access that the prefetcher wants.
    #[cold]
    #[inline(never)]
    pub(super) fn prefetch_ahead(&mut self, now: Cycle, map: &LocalMap) {
        let Some(ahead) = &mut self.ahead else { return };
        let Some(wanted) = ahead.prefetcher.take(now) else { return };
        let Wanted { addr, sectors, owner, .. } = wanted;
        let mut became = Prefetched::Dropped;
        if ahead.map.slice_of(addr) == self.id {
            let set = self.cache.set_index(map.within_slice(addr));
            let (kind, token) = (AccessKind::Read, Waiter::Nobody.encode());
            let queued = self.cache.queued();
            became = self.cache.prefetch(&Access { addr, set, sectors, bytes: u32::MAX, kind, local: false, token, owner }, now);
            let mut sent = [0; 2];
            self.cache.own_since(queued, owner, |down| sent[usize::from(!down.is_fetch())] += u64::from(down.sectors.count()));
            if let Some(counters) = self.kernels.get_mut(owner.kernel.index()) {
                counters.dram_reads += sent[0];
                counters.dram_writes += sent[1];
            }
            if became == Prefetched::Sent {
                // The oldest request may find now what it lacked.
                self.stuck = None;
            }
        }
        ahead.prefetcher.note(&wanted, became);
    }
}
