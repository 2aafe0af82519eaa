//! Static re-reference interval prediction with hit priority (SRRIP-HP, Jaleel et al., ISCA 2010, Section 4) of two bits.
//!
//! A line is inserted with a long predicted interval, and a hit of its sector predicts that it is needed soon. The victim is the first line
//! of the set with the longest predicted interval; the other lines age by the difference between the victim's interval and the longest
//! possible one. So lines that are read once are evicted before lines that are read again, even if there are many of the former. In a
//! sectored line, an access to a missing or outstanding sector belongs to the first use of the line and changes nothing.

use super::{LineSlot, Lookup, ReplacementPolicy};

/// The predicted intervals: needed in the distant future, in the far future (new lines), and soon.
const DISTANT_INTERVAL: u8 = 3;
const LONG_INTERVAL: u8 = 2;
const NEAR_IMMEDIATE_INTERVAL: u8 = 0;

/// The predicted interval of each line; distant for an empty way, so that its use ages no other line.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Srrip {
    ways: u32,
    interval: Box<[u8]>,
}

impl ReplacementPolicy for Srrip {
    fn new(sets: u32, ways: u32) -> Self {
        Self { ways, interval: vec![DISTANT_INTERVAL; (sets * ways) as usize].into() }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.interval)
    }

    fn clear(&mut self) {
        self.interval.fill(DISTANT_INTERVAL);
    }

    fn victim(&self, _: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        // Among equal intervals, the first line is selected.
        lines.min_by_key(|line| DISTANT_INTERVAL - self.interval[usize::from(*line)])
    }

    fn insert(&mut self, at: LineSlot, _: u64) {
        let missing = DISTANT_INTERVAL - self.interval[usize::from(at.line)];
        if missing > 0 {
            let first = (at.set * self.ways) as usize;
            let set = &mut self.interval[first..first + self.ways as usize];
            set.iter_mut().for_each(|interval| *interval = (*interval + missing).min(DISTANT_INTERVAL));
        }
        self.interval[usize::from(at.line)] = LONG_INTERVAL;
    }

    fn touch(&mut self, at: LineSlot, found: Lookup) {
        if found == Lookup::Hit {
            self.interval[usize::from(at.line)] = NEAR_IMMEDIATE_INTERVAL;
        }
    }

    fn remove(&mut self, at: LineSlot) {
        self.interval[usize::from(at.line)] = DISTANT_INTERVAL;
    }
}
