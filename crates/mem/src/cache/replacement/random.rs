//! Random: any line makes room with the same probability.
//!
//! The draw is keyed by the set and by how many lines were placed in it, so that it does not depend on how often it is asked for.
//! Caches of one shape draw alike.

use warpshard_base::Rng;

use super::{Lookup, Policy, Spot};

/// Keys these draws apart from others.
const SEED: u64 = 0x7265_706c_6163_6521;

/// How many lines were placed in each set.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Random {
    placed: Box<[u64]>,
}

impl Policy for Random {
    fn new(sets: u32, _: u32) -> Self {
        Self { placed: vec![0; sets as usize].into() }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.placed)
    }

    fn clear(&mut self) {}

    fn victim(&self, set: u32, mut lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        let mut draw = Rng::keyed(SEED, &[u64::from(set), self.placed[set as usize]]);
        let nth = draw.below(lines.clone().count().max(1) as u64);
        lines.nth(nth as usize)
    }

    fn place(&mut self, at: Spot, _: u64) {
        self.placed[at.set as usize] += 1;
    }

    fn renew(&mut self, _: Spot, _: Lookup) {}

    fn remove(&mut self, _: Spot) {}
}
