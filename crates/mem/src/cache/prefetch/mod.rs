//! Prefetching: a cache fetches sectors before a read needs them.
//!
//! Input: each load instruction, and the outcome of each of its accesses. Output: the distance in bytes at which the cache fetches ahead of
//! the accesses of a load, and the accesses to look up for it. A prefetch never waits: it is dropped if no MSHR, no slot in the miss queue
//! or no line is free. A prefetcher that uses more information, or fetches several sectors per read, is a [`seam::Prefetcher`] behind a
//! trait object: it is notified of each read with its outcome, and of the outcomes of its prefetches. A table of sector numbers records
//! which sectors were prefetched; if one sector overwrites another there, a useful prefetch is not counted.

mod ghb;
mod next_line;
mod stride;

use warpshard_base::{Addr, Cycle, Ring, SECTOR_BYTES, SectorMask, Slots};
use warpshard_config::machine::Prefetch;
use warpshard_seam::{self as seam, BoxedPrefetcher, CacheSite, Identity, Level, PrefetchOutcome, ReadOutcome, UserPolicies};
use warpshard_stats::counters;

use super::index::hash;
use super::{AccessOrigin, AccessStatus, CacheAccess};

counters! {
    /// Counters of the prefetcher of an L1 or of an LLC slice.
    pub struct PrefetchCounters {
        prefetches_issued: "requests", "Prefetches sent to the next level.";
        prefetches_useful: "accesses", "Reads that hit a prefetched sector, each sector once.";
        prefetches_late: "accesses", "Reads that found the prefetch of their sector in flight, each sector once.";
        prefetches_present: "requests", "Prefetches of sectors that were present or being fetched, which are not sent.";
        prefetches_dropped: "requests", "Prefetches that found no free MSHR, no free queue slot or no evictable line, or whose address belongs to another LLC slice.";
    }
}

/// A load instruction of a warp.
#[derive(Clone, Copy, Debug)]
pub struct LoadAccess {
    /// The warp.
    pub warp: u8,
    /// The index of the instruction in the code.
    pub inst: u32,
    /// The lowest address of the access.
    pub addr: Addr,
}

/// An access to look up for a prefetch.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub struct PrefetchRequest {
    /// The earliest cycle of the look-up.
    pub at: Cycle,
    /// The address of the sector, or of the line if the access is for several sectors.
    pub addr: Addr,
    /// The requested sectors.
    pub sectors: SectorMask,
    /// The origin of the read that caused the prefetch.
    pub owner: AccessOrigin,
}

/// The outcome of a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchStatus {
    /// The prefetch was sent to the next level.
    Sent,
    /// The sector is present or being fetched.
    Present,
    /// The cache had no free resources for the prefetch.
    Dropped,
}

/// A prefetch policy.
trait PrefetchPolicy {
    /// Returns a policy that fetches `distance` lines or strides ahead.
    fn new(distance: u32) -> Self;

    /// Returns the distance in bytes at which to fetch ahead of each access of this load; 0 for no prefetch. It is called once for each
    /// load instruction, in the order in which these enter the load/store unit.
    fn ahead(&mut self, load: LoadAccess) -> i64;
}

/// Declares the enumeration of policies, with their words in machine files.
macro_rules! policies {
    ($($word:ident: $policy:ty,)+) => {
        #[derive(Clone, Debug, warpshard_state::State)]
        enum SelectedPrefetchPolicy {
            $($word($policy),)+
        }

        impl SelectedPrefetchPolicy {
            fn new(policy: Prefetch, distance: u32) -> Option<Self> {
                match policy {
                    Prefetch::None | Prefetch::Ghb | Prefetch::Own => None,
                    $(Prefetch::$word => Some(Self::$word(<$policy>::new(distance))),)+
                }
            }

            fn ahead(&mut self, load: LoadAccess) -> i64 {
                match self {
                    $(Self::$word(policy) => policy.ahead(load),)+
                }
            }
        }
    };
}

policies! {
    NextLine: next_line::NextLine,
    Stride: stride::Stride,
}

/// The largest number of prefetches that wait for their look-up.
const QUEUE_ENTRIES: usize = 256;
/// Sectors of a line in the table of prefetched sectors.
const TABLE_SECTORS_PER_LINE: u32 = 4;

/// A prefetcher of a cache.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Prefetcher {
    load_policy: Option<SelectedPrefetchPolicy>,
    /// A prefetcher that examines reads; it overrides `chosen`.
    read_policy: Option<BoxedPrefetcher>,
    /// True if `chosen` is called for each read instead of each load instruction.
    by_read: bool,
    #[state(fixed)]
    wanted: Vec<Addr>,
    queued_requests: Ring<PrefetchRequest>,
    /// Numbers of sectors that were prefetched and not yet read; 0 for an empty entry.
    prefetched_sectors: Slots<u64>,
    /// The counters of the prefetcher.
    pub counters: PrefetchCounters,
}

impl Prefetcher {
    /// Returns the prefetcher of a cache; `None` if prefetching is off.
    ///
    /// # Panics
    /// If the machine selects `own` and the calling program provided no prefetcher; the assembly of a machine rejects this case.
    pub fn new(policy: Prefetch, site: &CacheSite, own: &UserPolicies) -> Option<Self> {
        let read_policy = match policy {
            Prefetch::None => return None,
            Prefetch::Ghb => Some(BoxedPrefetcher(Box::new(ghb::Ghb::new(site)))),
            Prefetch::Own => {
                let Some(maker) = &own.prefetcher else { panic!("the calling program provided no prefetcher") };
                Some(maker.create(site))
            }
            _ => None,
        };
        let lines = site.sets * site.ways;
        Some(Self {
            load_policy: SelectedPrefetchPolicy::new(policy, site.distance),
            read_policy,
            by_read: matches!(site.level, Level::Llc(_)),
            wanted: Vec::new(),
            queued_requests: Ring::new(QUEUE_ENTRIES),
            prefetched_sectors: Slots::new((lines * TABLE_SECTORS_PER_LINE) as usize, 0),
            counters: PrefetchCounters::default(),
        })
    }

    /// Returns the bytes of the arrays.
    pub fn hot_bytes(&self) -> usize {
        self.queued_requests.hot_bytes() + size_of_val(self.prefetched_sectors.as_slice())
    }

    /// Returns the distance in bytes at which to prefetch ahead of the accesses of a load.
    pub fn ahead(&mut self, load: LoadAccess) -> i64 {
        self.load_policy.as_mut().map_or(0, |chosen| chosen.ahead(load))
    }

    /// Queues an access for a look-up; the queue keeps its order.
    pub fn enqueue(&mut self, wanted: PrefetchRequest) {
        if self.queued_requests.is_full() {
            self.record_status(&wanted, PrefetchStatus::Dropped)
        } else {
            self.queued_requests.push(wanted)
        }
    }

    /// Returns the cycle in which the next queued access is looked up.
    pub fn next_at(&self) -> Cycle {
        self.queued_requests.front().map_or(Cycle::NEVER, |wanted| wanted.at)
    }

    /// Removes and returns the access that is looked up in cycle `now`.
    pub fn take(&mut self, now: Cycle) -> Option<PrefetchRequest> {
        if self.next_at() <= now { self.queued_requests.pop() } else { None }
    }

    /// Records the outcome of a prefetch.
    pub fn record_status(&mut self, wanted: &PrefetchRequest, outcome: PrefetchStatus) {
        self.notify_outcome(
            wanted.addr,
            match outcome {
                PrefetchStatus::Sent => PrefetchOutcome::Sent,
                PrefetchStatus::Present => PrefetchOutcome::Present,
                PrefetchStatus::Dropped => PrefetchOutcome::Dropped,
            },
        );
        match outcome {
            PrefetchStatus::Sent => {
                self.counters.prefetches_issued += 1;
                let number = number(wanted.addr);
                *self.prefetched_sectors.get_mut(hash(number)) = number;
            }
            PrefetchStatus::Present => self.counters.prefetches_present += 1,
            PrefetchStatus::Dropped => self.counters.prefetches_dropped += 1,
        }
    }

    /// Records a read that was accepted in cycle `now` with look-up result `found`.
    pub fn read(&mut self, access: &CacheAccess, found: AccessStatus, now: Cycle) {
        self.count_use(access.addr, found);
        let CacheAccess { addr, bytes, owner, .. } = *access;
        let identity = Identity::of(owner.kernel, owner.port, bytes);
        let mut wanted = std::mem::take(&mut self.wanted);
        if let Some(read_policy) = &mut self.read_policy {
            let found = match found {
                AccessStatus::Hit => ReadOutcome::Present,
                AccessStatus::HitReserved => ReadOutcome::InFlight,
                AccessStatus::SectorMiss | AccessStatus::Miss | AccessStatus::Fail(_) => ReadOutcome::Missing,
            };
            read_policy.0.read(&seam::Read { addr, identity, found, now }, &mut wanted);
        } else if self.by_read {
            let inst = u32::from(owner.port.0) << 16 | u32::from(identity.pc.unwrap_or(u16::MAX));
            let ahead = self.ahead(LoadAccess { warp: identity.warp.unwrap_or(u8::MAX), inst, addr });
            if ahead != 0 {
                wanted.push(Addr(addr.0.wrapping_add_signed(ahead)));
            }
        }
        for addr in wanted.drain(..) {
            self.enqueue(PrefetchRequest { at: now.next(), addr: addr.sector(), sectors: SectorMask::of(addr), owner });
        }
        self.wanted = wanted;
    }

    /// Counts a prefetched sector that a read accesses, and removes it from the table.
    fn count_use(&mut self, addr: Addr, found: AccessStatus) {
        let number = number(addr);
        let fetched = self.prefetched_sectors.get_mut(hash(number));
        if *fetched != number {
            return;
        }
        *fetched = 0;
        let outcome = match found {
            AccessStatus::Hit => {
                self.counters.prefetches_useful += 1;
                PrefetchOutcome::Useful
            }
            AccessStatus::HitReserved => {
                self.counters.prefetches_late += 1;
                PrefetchOutcome::Late
            }
            // The sector was evicted before it was read.
            AccessStatus::SectorMiss | AccessStatus::Miss | AccessStatus::Fail(_) => PrefetchOutcome::Lost,
        };
        self.notify_outcome(addr, outcome);
    }

    /// Notifies a prefetcher that examines reads of the outcome of its prefetch.
    fn notify_outcome(&mut self, addr: Addr, outcome: PrefetchOutcome) {
        if let Some(read_policy) = &mut self.read_policy {
            read_policy.0.outcome(addr, outcome);
        }
    }

    /// Empties the queue and the table when the cache is emptied.
    pub fn clear(&mut self) {
        while self.queued_requests.pop().is_some() {}
        self.prefetched_sectors.fill(0);
        if let Some(read_policy) = &mut self.read_policy {
            read_policy.0.clear();
        }
    }
}

/// Returns the number of a sector, which is never 0.
fn number(addr: Addr) -> u64 {
    addr.0 / SECTOR_BYTES + 1
}
