//! Static re-reference interval prediction with hit priority (SRRIP-HP, Jaleel et al., ISCA 2010, Section 4) of two bits.
//!
//! A line comes with the prediction of a long interval, and is predicted to be needed soon once its sector was found. The first
//! line of the set with the longest prediction makes room; the others age by as much as that lacked of the longest there is. So
//! lines that are read once leave before lines that are read again, however many of the former come.
//! Of a sectored line, a sector that is missing or on its way is part of the first use of the line and changes nothing.

use super::{Lookup, Policy, Spot};

/// Needed in the distant future, in the far future (new lines), and soon.
const DISTANT: u8 = 3;
const LONG: u8 = 2;
const SOON: u8 = 0;

/// The predicted interval of each line; distant for a way without a line, whose use ages no other.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Srrip {
    ways: u32,
    interval: Box<[u8]>,
}

impl Policy for Srrip {
    fn new(sets: u32, ways: u32) -> Self {
        Self { ways, interval: vec![DISTANT; (sets * ways) as usize].into() }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.interval)
    }

    fn clear(&mut self) {
        self.interval.fill(DISTANT);
    }

    fn victim(&self, _: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        // Of equal ones, the first.
        lines.min_by_key(|line| DISTANT - self.interval[usize::from(*line)])
    }

    fn place(&mut self, at: Spot, _: u64) {
        let missing = DISTANT - self.interval[usize::from(at.line)];
        if missing > 0 {
            let first = (at.set * self.ways) as usize;
            let set = &mut self.interval[first..first + self.ways as usize];
            set.iter_mut().for_each(|interval| *interval = (*interval + missing).min(DISTANT));
        }
        self.interval[usize::from(at.line)] = LONG;
    }

    fn renew(&mut self, at: Spot, found: Lookup) {
        if found == Lookup::Hit {
            self.interval[usize::from(at.line)] = SOON;
        }
    }

    fn remove(&mut self, at: Spot) {
        self.interval[usize::from(at.line)] = DISTANT;
    }
}
