//! Global history buffer (Nesbit and Smith, HPCA 2004) with address correlation: when a miss recurs, the misses that followed it last time
//! are fetched.
//!
//! The buffer holds the addresses of recent misses, first in, first out; a table finds the last occurrence of an address. A read that hits
//! a prefetched sector counts as the miss that it would have been, because otherwise a pattern would be lost as soon as it is predicted.
//! Only entries of the same warp are used, because loads of other warps lie between two loads of a warp; Lee et al. (MICRO 2010) do the
//! same for strides. The prefetcher skips `distance` entries and fetches the next `degree` ones.

use warpshard_base::{Addr, SECTOR_BYTES};
use warpshard_seam::{CacheSite, PrefetchOutcome, Prefetcher, Read, ReadOutcome};

/// The number of entries of the buffer and of the table.
const TABLE_ENTRIES: u64 = 2048;
/// The number of entries after an occurrence that are examined.
const SEARCH_WINDOW: u64 = 256;

/// A miss.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Miss {
    /// The sector number plus one; 0 for an empty entry.
    sector: u64,
    /// The port and the warp of the miss.
    stream: u32,
}

/// A global history buffer with its table.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ghb {
    distance: u64,
    degree: u64,
    buffer: Box<[Miss]>,
    /// The number of the last miss of each hash of a sector.
    last_misses: Box<[u64]>,
    /// The total number of misses.
    misses: u64,
    /// The sector whose prefetch was just reported as useful.
    useful_sector: Option<u64>,
}

impl Ghb {
    pub(super) fn new(site: &CacheSite) -> Self {
        Self {
            distance: u64::from(site.distance),
            degree: u64::from(site.degree),
            buffer: vec![Miss::default(); TABLE_ENTRIES as usize].into(),
            last_misses: vec![u64::MAX; TABLE_ENTRIES as usize].into(),
            misses: 0,
            useful_sector: None,
        }
    }

    fn miss(&self, number: u64) -> Miss {
        self.buffer[(number % TABLE_ENTRIES) as usize]
    }
}

fn sector_of(addr: Addr) -> u64 {
    addr.0 / SECTOR_BYTES + 1
}

impl Prefetcher for Ghb {
    fn name(&self) -> &str {
        "ghb"
    }

    fn read(&mut self, read: &Read, wanted: &mut Vec<Addr>) {
        let sector = sector_of(read.addr);
        let met = self.useful_sector.take() == Some(sector);
        if read.found != ReadOutcome::Missing && !met {
            return;
        }
        let stream = u32::from(read.identity.port.0) << 8 | u32::from(read.identity.warp.unwrap_or(u8::MAX));
        let place = (sector ^ sector >> 11 ^ sector >> 22) % TABLE_ENTRIES;
        let before = self.last_misses[place as usize];
        let known = before < self.misses && self.misses - before <= TABLE_ENTRIES && self.miss(before).sector == sector;
        if known {
            let after = (before + 1..self.misses.min(before + SEARCH_WINDOW)).map(|number| self.miss(number));
            let followers = after.filter(|miss| miss.stream == stream).skip(self.distance as usize - 1).take(self.degree as usize);
            wanted.extend(followers.map(|miss| Addr((miss.sector - 1) * SECTOR_BYTES)));
        }
        self.buffer[(self.misses % TABLE_ENTRIES) as usize] = Miss { sector, stream };
        self.last_misses[place as usize] = self.misses;
        self.misses += 1;
    }

    fn outcome(&mut self, addr: Addr, outcome: PrefetchOutcome) {
        if matches!(outcome, PrefetchOutcome::Useful | PrefetchOutcome::Late) {
            self.useful_sector = Some(sector_of(addr));
        }
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::{Cycle, PortId};
    use warpshard_seam::{Identity, Level};

    use super::*;

    fn ghb(distance: u32, degree: u32) -> Ghb {
        Ghb::new(&CacheSite { distance, degree, ..CacheSite::new(Level::L1(0), 4, 4, 128) })
    }

    fn read(ghb: &mut Ghb, sector: u64, warp: u8, found: ReadOutcome) -> Vec<u64> {
        let identity = Identity { warp: Some(warp), port: PortId(1), ..Identity::default() };
        let mut wanted = Vec::new();
        ghb.read(&Read { addr: Addr(sector * 32), identity, found, now: Cycle(0) }, &mut wanted);
        wanted.iter().map(|addr| addr.0 / 32).collect()
    }

    #[test]
    fn misses_that_followed_a_miss_of_a_warp_are_prefetched() {
        let mut history = ghb(1, 2);
        for (sector, warp) in [(5, 0), (70, 1), (900, 0), (71, 1), (3, 0), (44, 0)] {
            assert_eq!(read(&mut history, sector, warp, ReadOutcome::Missing), []);
        }
        assert_eq!(read(&mut history, 5, 0, ReadOutcome::Present), [], "hits are not recorded");
        assert_eq!(read(&mut history, 5, 0, ReadOutcome::Missing), [900, 3]);
        history.outcome(Addr(900 * 32), PrefetchOutcome::Useful);
        assert_eq!(read(&mut history, 900, 0, ReadOutcome::Present), [3, 44], "except hits of prefetched sectors");
        assert_eq!(read(&mut history, 70, 1, ReadOutcome::Missing), [71]);
    }

    #[test]
    fn the_distance_skips_entries_that_would_be_late() {
        let mut history = ghb(2, 1);
        (0..6).for_each(|sector| assert_eq!(read(&mut history, sector * 7, 0, ReadOutcome::Missing), []));
        assert_eq!(read(&mut history, 7, 0, ReadOutcome::Missing), [21]);
    }

    #[test]
    fn misses_leave_the_history_in_order() {
        let mut history = ghb(1, 1);
        (0..TABLE_ENTRIES + 10).for_each(|sector| assert_eq!(read(&mut history, sector, 0, ReadOutcome::Missing), []));
        assert_eq!(read(&mut history, 3, 0, ReadOutcome::Missing), []);
        assert_eq!(read(&mut history, 2000, 0, ReadOutcome::Missing), [2001]);
    }
}
