//! Random replacement: each line is evicted with the same probability.
//!
//! The random number is keyed by the set and by the number of insertions into it, so that it does not depend on the number of calls. Caches
//! with the same shape draw the same numbers.

use warpshard_base::Rng;

use super::{LineSlot, Lookup, ReplacementPolicy};

/// The key that distinguishes these random numbers from others.
const SEED: u64 = 0x7265_706c_6163_6521;

/// The number of insertions into each set.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Random {
    insertion_counts: Box<[u64]>,
}

impl ReplacementPolicy for Random {
    fn new(sets: u32, _: u32) -> Self {
        Self { insertion_counts: vec![0; sets as usize].into() }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.insertion_counts)
    }

    fn clear(&mut self) {}

    fn victim(&self, set: u32, mut lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        let mut draw = Rng::keyed(SEED, &[u64::from(set), self.insertion_counts[set as usize]]);
        let nth = draw.below(lines.clone().count().max(1) as u64);
        lines.nth(nth as usize)
    }

    fn insert(&mut self, at: LineSlot, _: u64) {
        self.insertion_counts[at.set as usize] += 1;
    }

    fn touch(&mut self, _: LineSlot, _: Lookup) {}

    fn remove(&mut self, _: LineSlot) {}
}
