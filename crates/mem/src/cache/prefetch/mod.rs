//! Prefetching: what a cache fetches before a read asks for it.
//!
//! In: each load instruction, and what became of each of its accesses. Out: how many bytes ahead of the accesses of a load the cache
//! fetches, and the accesses to look up for that. A prefetch never waits: where no MSHR, no place in the miss queue or no line is free, it
//! is dropped.
//! A prefetcher that looks at more, or fetches several sectors for a read, is a [`seam::Prefetcher`] behind a trait object: it sees each read
//! with its outcome, and hears what became of its prefetches.
//! Which sectors were prefetched is remembered in a table of their numbers, in which one sector may take the place of another: then a
//! useful prefetch is not counted.

mod ghb;
mod next_line;
mod stride;

use warpshard_base::{Addr, Cycle, Ring, SECTOR_BYTES, SectorMask, Slots};
use warpshard_config::machine::Prefetch;
use warpshard_seam::{self as seam, Became, BoxedPrefetcher, CacheSite, Found, Identity, Level, Own};
use warpshard_stats::counters;

use super::index::hash;
use super::{Access, Owner, Status};

counters! {
    /// What the prefetcher of an L1 or of an LLC slice did.
    pub struct PrefetchCounters {
        prefetches_issued: "requests", "Prefetches sent to the next level.";
        prefetches_useful: "accesses", "Reads that hit a sector which a prefetch had brought, each sector once.";
        prefetches_late: "accesses", "Reads that found the prefetch of their sector on its way, each sector once.";
        prefetches_present: "requests", "Prefetches of sectors that were there or on their way, which send nothing.";
        prefetches_dropped: "requests", "Prefetches that found no free MSHR, no room in a queue, or no line that could make room, or whose address belongs to another LLC slice.";
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
    /// Whose read it is for.
    pub owner: Owner,
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
                    Prefetch::None | Prefetch::Ghb | Prefetch::Own => None,
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
    chosen: Option<Chosen>,
    /// One that sees reads, in its place.
    seeing: Option<BoxedPrefetcher>,
    /// Whether `chosen` is asked for each read, rather than for each load instruction.
    by_read: bool,
    #[state(fixed)]
    wanted: Vec<Addr>,
    waiting: Ring<Wanted>,
    /// Numbers of sectors that were prefetched and not read since; 0 for none.
    fetched: Slots<u64>,
    /// What it did.
    pub counters: PrefetchCounters,
}

impl Prefetcher {
    /// That of a cache, where it has one.
    ///
    /// # Panics
    /// When the machine says `own` and the calling program brought none, which the assembly of a machine refuses.
    pub fn new(policy: Prefetch, site: &CacheSite, own: &Own) -> Option<Self> {
        let seeing = match policy {
            Prefetch::None => return None,
            Prefetch::Ghb => Some(BoxedPrefetcher(Box::new(ghb::Ghb::new(site)))),
            Prefetch::Own => {
                let Some(maker) = &own.prefetcher else { panic!("the calling program brought no prefetcher") };
                Some(maker.make(site))
            }
            _ => None,
        };
        let lines = site.sets * site.ways;
        Some(Self {
            chosen: Chosen::new(policy, site.distance),
            seeing,
            by_read: matches!(site.level, Level::Llc(_)),
            wanted: Vec::new(),
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
        self.chosen.as_mut().map_or(0, |chosen| chosen.ahead(load))
    }

    /// Takes an access to look up; those that come later are looked up no earlier.
    pub fn want(&mut self, wanted: Wanted) {
        if self.waiting.is_full() { self.note(&wanted, Prefetched::Dropped) } else { self.waiting.push(wanted) }
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
        self.tell(
            wanted.addr,
            match became {
                Prefetched::Sent => Became::Sent,
                Prefetched::Present => Became::Present,
                Prefetched::Dropped => Became::Dropped,
            },
        );
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

    /// A read was taken in cycle `now`, and found its sector or line in this state.
    pub fn read(&mut self, access: &Access, found: Status, now: Cycle) {
        self.count_use(access.addr, found);
        let Access { addr, bytes, owner, .. } = *access;
        let identity = Identity::of(owner.kernel, owner.port, bytes);
        let mut wanted = std::mem::take(&mut self.wanted);
        if let Some(seeing) = &mut self.seeing {
            let found = match found {
                Status::Hit => Found::There,
                Status::HitReserved => Found::OnItsWay,
                Status::SectorMiss | Status::Miss | Status::Fail(_) => Found::Missing,
            };
            seeing.0.read(&seam::Read { addr, identity, found, now }, &mut wanted);
        } else if self.by_read {
            let inst = u32::from(owner.port.0) << 16 | u32::from(identity.pc.unwrap_or(u16::MAX));
            let ahead = self.ahead(LoadAt { warp: identity.warp.unwrap_or(u8::MAX), inst, addr });
            if ahead != 0 {
                wanted.push(Addr(addr.0.wrapping_add_signed(ahead)));
            }
        }
        for addr in wanted.drain(..) {
            self.want(Wanted { at: now.next(), addr: addr.sector(), sectors: SectorMask::of(addr), owner });
        }
        self.wanted = wanted;
    }

    /// Counts a prefetch that a read came to, and forgets it.
    fn count_use(&mut self, addr: Addr, found: Status) {
        let number = number(addr);
        let fetched = self.fetched.get_mut(hash(number));
        if *fetched != number {
            return;
        }
        *fetched = 0;
        let became = match found {
            Status::Hit => {
                self.counters.prefetches_useful += 1;
                Became::Useful
            }
            Status::HitReserved => {
                self.counters.prefetches_late += 1;
                Became::Late
            }
            // It was evicted before it was read.
            Status::SectorMiss | Status::Miss | Status::Fail(_) => Became::Lost,
        };
        self.tell(addr, became);
    }

    /// Tells a prefetcher that sees reads what became of its prefetch.
    fn tell(&mut self, addr: Addr, became: Became) {
        if let Some(seeing) = &mut self.seeing {
            seeing.0.became(addr, became);
        }
    }

    /// The cache is emptied: what waits is forgotten.
    pub fn clear(&mut self) {
        while self.waiting.pop().is_some() {}
        self.fetched.fill(0);
        if let Some(seeing) = &mut self.seeing {
            seeing.0.clear();
        }
    }
}

/// The number of a sector, none of which is 0.
fn number(addr: Addr) -> u64 {
    addr.0 / SECTOR_BYTES + 1
}
