//! Global history buffer (Nesbit and Smith, HPCA 2004), address correlation: what followed a miss the last time is fetched when the miss comes again.
//!
//! The buffer holds the addresses of the last misses, first in, first out; a table finds the last occurrence of an address. Reads that found what
//! was prefetched count as the misses that they would have been, or a pattern would be forgotten as soon as it is followed. What follows
//! is taken from the entries of the same warp alone, since between two loads of one there are those of others, as Lee et al. (MICRO 2010)
//! do for strides: `distance` entries on, `degree` of them.

use warpshard_base::{Addr, SECTOR_BYTES};
use warpshard_seam::{Became, CacheSite, Found, Prefetcher, Read};

/// Entries of the buffer and of the table.
const ENTRIES: u64 = 2048;
/// Entries after an occurrence that are looked at.
const LOOK: u64 = 256;

/// A miss.
#[derive(Clone, Copy, Debug, Default, warpshard_state::State)]
struct Miss {
    /// The number of the sector plus one; 0 for none.
    sector: u64,
    /// Port and warp.
    stream: u32,
}

/// The buffer and the table.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Ghb {
    distance: u64,
    degree: u64,
    buffer: Box<[Miss]>,
    /// By a hash of the sector: the number of the miss that was the last there.
    last: Box<[u64]>,
    /// Misses so far.
    misses: u64,
    /// The sector of which it was just said that its prefetch was of use.
    met: Option<u64>,
}

impl Ghb {
    pub(super) fn new(site: &CacheSite) -> Self {
        Self {
            distance: u64::from(site.distance),
            degree: u64::from(site.degree),
            buffer: vec![Miss::default(); ENTRIES as usize].into(),
            last: vec![u64::MAX; ENTRIES as usize].into(),
            misses: 0,
            met: None,
        }
    }

    fn miss(&self, number: u64) -> Miss {
        self.buffer[(number % ENTRIES) as usize]
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
        let met = self.met.take() == Some(sector);
        if read.found != Found::Missing && !met {
            return;
        }
        let stream = u32::from(read.identity.port.0) << 8 | u32::from(read.identity.warp.unwrap_or(u8::MAX));
        let place = (sector ^ sector >> 11 ^ sector >> 22) % ENTRIES;
        let before = self.last[place as usize];
        let known = before < self.misses && self.misses - before <= ENTRIES && self.miss(before).sector == sector;
        if known {
            let after = (before + 1..self.misses.min(before + LOOK)).map(|number| self.miss(number));
            let followers = after.filter(|miss| miss.stream == stream).skip(self.distance as usize - 1).take(self.degree as usize);
            wanted.extend(followers.map(|miss| Addr((miss.sector - 1) * SECTOR_BYTES)));
        }
        self.buffer[(self.misses % ENTRIES) as usize] = Miss { sector, stream };
        self.last[place as usize] = self.misses;
        self.misses += 1;
    }

    fn became(&mut self, addr: Addr, became: Became) {
        if matches!(became, Became::Useful | Became::Late) {
            self.met = Some(sector_of(addr));
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

    fn read(ghb: &mut Ghb, sector: u64, warp: u8, found: Found) -> Vec<u64> {
        let identity = Identity { warp: Some(warp), port: PortId(1), ..Identity::default() };
        let mut wanted = Vec::new();
        ghb.read(&Read { addr: Addr(sector * 32), identity, found, now: Cycle(0) }, &mut wanted);
        wanted.iter().map(|addr| addr.0 / 32).collect()
    }

    #[test]
    fn what_followed_a_miss_of_a_warp_is_fetched_when_it_misses_again() {
        let mut history = ghb(1, 2);
        for (sector, warp) in [(5, 0), (70, 1), (900, 0), (71, 1), (3, 0), (44, 0)] {
            assert_eq!(read(&mut history, sector, warp, Found::Missing), []);
        }
        assert_eq!(read(&mut history, 5, 0, Found::There), [], "hits are no misses");
        assert_eq!(read(&mut history, 5, 0, Found::Missing), [900, 3]);
        history.became(Addr(900 * 32), Became::Useful);
        assert_eq!(read(&mut history, 900, 0, Found::There), [3, 44], "unless a prefetch brought them");
        assert_eq!(read(&mut history, 70, 1, Found::Missing), [71]);
    }

    #[test]
    fn the_distance_leaves_out_what_would_come_too_late() {
        let mut history = ghb(2, 1);
        (0..6).for_each(|sector| assert_eq!(read(&mut history, sector * 7, 0, Found::Missing), []));
        assert_eq!(read(&mut history, 7, 0, Found::Missing), [21]);
    }

    #[test]
    fn misses_are_forgotten_in_their_order() {
        let mut history = ghb(1, 1);
        (0..ENTRIES + 10).for_each(|sector| assert_eq!(read(&mut history, sector, 0, Found::Missing), []));
        assert_eq!(read(&mut history, 3, 0, Found::Missing), []);
        assert_eq!(read(&mut history, 2000, 0, Found::Missing), [2001]);
    }
}
