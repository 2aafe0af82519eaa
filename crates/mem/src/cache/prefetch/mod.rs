//! Prefetching: what a cache fetches before a load asks for it.
//!
//! In: each load instruction, and what became of each of its accesses. Out: how many bytes ahead of the accesses of a load the cache
//! fetches, and the accesses to look up for that. A prefetch never waits: where no MSHR, no place in the miss queue or no line is free, it
//! is dropped.
//! Which sectors were prefetched is remembered in a table of their numbers, in which one sector may take the place of another: then a
//! useful prefetch is not counted.

mod next_line;
mod stride;

use warpshard_base::{Addr, Cycle, KernelIndex, Ring, SECTOR_BYTES, SectorMask, Slots};
use warpshard_config::machine::Prefetch;
use warpshard_stats::counters;

use super::Status;
use super::index::hash;

counters! {
    /// What the prefetcher of an L1 did.
    pub struct PrefetchCounters {
        prefetches_issued: "requests", "Prefetches sent to the next level.";
        prefetches_useful: "accesses", "Reads that hit a sector which a prefetch had brought, each sector once.";
        prefetches_late: "accesses", "Reads that found the prefetch of their sector on its way, each sector once.";
        prefetches_present: "requests", "Prefetches of sectors that were there or on their way, which send nothing.";
        prefetches_dropped: "requests", "Prefetches that found no free MSHR, no room in a queue, or no line that could make room.";
    }
}

/// A load instruction of a warp.
#[derive(Clone, Copy, Debug)]
pub struct LoadAt {
    /// The warp.
    pub warp: u8,
    /// The instruction, by its place in the code.
    pub inst: u32,
    /// The lowest address that it accesses.
    pub addr: Addr,
}

/// An access that is looked up for a prefetch.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
pub struct Wanted {
    /// When.
    pub at: Cycle,
    /// Address of the sector, or of the line where several sectors are meant.
    pub addr: Addr,
    /// The sectors meant.
    pub sectors: SectorMask,
    /// The kernel of the load.
    pub kernel: KernelIndex,
}

/// What became of a prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetched {
    /// It was sent to the next level.
    Sent,
    /// The sector is there or on its way.
    Present,
    /// There was no room for it.
    Dropped,
}

/// A policy of prefetching.
trait Policy {
    /// One that fetches `distance` lines or strides ahead.
    fn new(distance: u32) -> Self;

    /// How many bytes ahead of each access of this load to fetch; 0 for no prefetch. Called once for each load instruction, in the order
    /// in which these enter the load/store unit.
    fn ahead(&mut self, load: LoadAt) -> i64;
}

/// One of the policies, by its word in the machine.
macro_rules! policies {
    ($($word:ident: $policy:ty,)+) => {
        #[derive(Clone, Debug, warpshard_state::State)]
        enum Chosen {
            $($word($policy),)+
        }

        impl Chosen {
            fn new(policy: Prefetch, distance: u32) -> Option<Self> {
                match policy {
                    Prefetch::None => None,
                    $(Prefetch::$word => Some(Self::$word(<$policy>::new(distance))),)+
                }
            }

            fn ahead(&mut self, load: LoadAt) -> i64 {
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

/// Prefetches that wait for their look-up.
const WAITING: usize = 256;
/// Sectors of a line, in the table of those that were prefetched.
const SECTORS: u32 = 4;

/// A prefetcher.
#[derive(Clone, Debug, warpshard_state::State)]
pub struct Prefetcher {
    chosen: Chosen,
    waiting: Ring<Wanted>,
    /// Numbers of sectors that were prefetched and not read since; 0 for none.
    fetched: Slots<u64>,
    /// What it did.
    pub counters: PrefetchCounters,
}

impl Prefetcher {
    /// That of a cache of so many lines, where it has one.
    pub fn new(policy: Prefetch, distance: u32, lines: u32) -> Option<Self> {
        Some(Self {
            chosen: Chosen::new(policy, distance)?,
            waiting: Ring::new(WAITING),
            fetched: Slots::new((lines * SECTORS) as usize, 0),
            counters: PrefetchCounters::default(),
        })
    }

    /// Bytes of its arrays.
    pub fn hot_bytes(&self) -> usize {
        self.waiting.hot_bytes() + size_of_val(self.fetched.as_slice())
    }

    /// How many bytes ahead of the accesses of a load to prefetch.
    pub fn ahead(&mut self, load: LoadAt) -> i64 {
        self.chosen.ahead(load)
    }

    /// Takes an access to look up; those that come later are looked up no earlier.
    pub fn want(&mut self, wanted: Wanted) {
        if self.waiting.is_full() { self.counters.prefetches_dropped += 1 } else { self.waiting.push(wanted) }
    }

    /// When the next one is looked up.
    pub fn next_at(&self) -> Cycle {
        self.waiting.front().map_or(Cycle::NEVER, |wanted| wanted.at)
    }

    /// The one that is looked up at cycle `now`.
    pub fn take(&mut self, now: Cycle) -> Option<Wanted> {
        if self.next_at() <= now { self.waiting.pop() } else { None }
    }

    /// Notes what became of a prefetch.
    pub fn note(&mut self, wanted: &Wanted, became: Prefetched) {
        match became {
            Prefetched::Sent => {
                self.counters.prefetches_issued += 1;
                let number = number(wanted.addr);
                *self.fetched.get_mut(hash(number)) = number;
            }
            Prefetched::Present => self.counters.prefetches_present += 1,
            Prefetched::Dropped => self.counters.prefetches_dropped += 1,
        }
    }

    /// A load read a sector or a line.
    pub fn read(&mut self, addr: Addr, found: Status) {
        let number = number(addr);
        let fetched = self.fetched.get_mut(hash(number));
        if *fetched != number {
            return;
        }
        *fetched = 0;
        match found {
            Status::Hit => self.counters.prefetches_useful += 1,
            Status::HitReserved => self.counters.prefetches_late += 1,
            // It was evicted before it was read.
            Status::SectorMiss | Status::Miss | Status::Fail(_) => {}
        }
    }

    /// The cache is emptied: what waits is forgotten.
    pub fn clear(&mut self) {
        while self.waiting.pop().is_some() {}
        self.fetched.fill(0);
    }
}

/// The number of a sector, none of which is 0.
fn number(addr: Addr) -> u64 {
    addr.0 / SECTOR_BYTES + 1
}
