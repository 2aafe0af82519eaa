//! What a slice fetches in advance: one access that its prefetcher wants is looked up per cycle, after the request of the cycle.

use warpshard_base::{Cycle, SliceId};
use warpshard_protocol::{AddressMap, LocalMap};

use crate::cache::{Access, AccessKind, DataCache, Owner, Prefetched, Prefetcher, Waiter, Wanted};

/// A prefetcher, and which addresses belong to the slice.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ahead {
    pub(super) prefetcher: Prefetcher,
    #[state(fixed)]
    map: AddressMap,
}

/// A prefetch that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Whose read it is for.
    pub(super) owner: Owner,
    /// Sectors that are fetched, and those that are written back for them.
    pub(super) sectors: [u64; 2],
}

impl Ahead {
    pub(super) fn new(prefetcher: Prefetcher, map: &AddressMap) -> Self {
        Self { prefetcher, map: map.clone() }
    }

    /// Looks up one access that the prefetcher wants; returns what was sent for it.
    #[cold]
    #[inline(never)]
    pub(super) fn look_up(&mut self, slice: SliceId, cache: &mut DataCache, now: Cycle, map: &LocalMap) -> Option<Sent> {
        let wanted = self.prefetcher.take(now)?;
        let Wanted { addr, sectors, owner, .. } = wanted;
        if self.map.slice_of(addr) != slice {
            self.prefetcher.note(&wanted, Prefetched::Dropped);
            return None;
        }
        let set = cache.set_index(map.within_slice(addr));
        let (kind, token) = (AccessKind::Read, Waiter::Nobody.encode());
        let queued = cache.queued();
        let became = cache.prefetch(&Access { addr, set, sectors, bytes: u32::MAX, kind, local: false, token, owner }, now);
        let mut sent = Sent { owner, sectors: [0; 2] };
        cache.own_since(queued, owner, |down| sent.sectors[usize::from(!down.is_fetch())] += u64::from(down.sectors().count()));
        self.prefetcher.note(&wanted, became);
        (became == Prefetched::Sent).then_some(sent)
    }
}
