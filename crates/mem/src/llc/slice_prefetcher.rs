//! Prefetches of a slice: in each cycle, the slice looks up one queued prefetch after the request of the cycle.

use warpshard_base::{Cycle, SliceId};
use warpshard_protocol::{AddressMap, LocalMap};

use crate::cache::{AccessKind, AccessOrigin, CacheAccess, DataCache, PrefetchRequest, PrefetchStatus, Prefetcher, Waiter};

/// The prefetcher of a slice, with the address map, which identifies addresses of other slices.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct SlicePrefetcher {
    pub(super) inner: Prefetcher,
    #[state(fixed)]
    map: AddressMap,
}

/// A prefetch that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPrefetch {
    /// The origin of the read that caused the prefetch.
    pub(super) owner: AccessOrigin,
    /// Numbers of fetched sectors, and of sectors written back for them.
    pub(super) sectors: [u64; 2],
}

impl SlicePrefetcher {
    pub(super) fn new(prefetcher: Prefetcher, map: &AddressMap) -> Self {
        Self { inner: prefetcher, map: map.clone() }
    }

    /// Looks up the next queued prefetch. Returns the prefetch if it was sent to DRAM.
    #[cold]
    #[inline(never)]
    pub(super) fn look_up(&mut self, slice: SliceId, cache: &mut DataCache, now: Cycle, map: &LocalMap) -> Option<SentPrefetch> {
        let request = self.inner.take(now)?;
        let PrefetchRequest { addr, sectors, owner, .. } = request;
        if self.map.slice_of(addr) != slice {
            self.inner.record_status(&request, PrefetchStatus::Dropped);
            return None;
        }
        let set = cache.set_index(map.within_slice(addr));
        let (kind, token) = (AccessKind::Read, Waiter::NoRequest.encode());
        let queued = cache.queued_requests();
        let status = cache.prefetch(&CacheAccess { addr, set, sectors, bytes: u32::MAX, kind, local: false, token, owner }, now);
        let mut sent = SentPrefetch { owner, sectors: [0; 2] };
        cache.set_owner_since(queued, owner, |down| sent.sectors[usize::from(!down.is_fetch())] += u64::from(down.sectors().count()));
        self.inner.record_status(&request, status);
        (status == PrefetchStatus::Sent).then_some(sent)
    }
}
