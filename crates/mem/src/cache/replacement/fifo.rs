//! First in, first out: the line that was filled first is evicted; hits have no effect.
//!
//! Lines that were inserted in the same cycle are ordered by way, as in GPGPU-Sim's tag array.

use super::{LineSlot, Lookup, ReplacementPolicy};

/// The cycle in which each line was inserted.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Fifo {
    insertion_cycles: Box<[u64]>,
}

impl ReplacementPolicy for Fifo {
    fn new(sets: u32, ways: u32) -> Self {
        Self { insertion_cycles: vec![0; (sets * ways) as usize].into() }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.insertion_cycles)
    }

    fn clear(&mut self) {}

    fn victim(&self, _: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        lines.min_by_key(|line| self.insertion_cycles[usize::from(*line)])
    }

    fn insert(&mut self, at: LineSlot, now: u64) {
        self.insertion_cycles[usize::from(at.line)] = now;
    }

    fn touch(&mut self, _: LineSlot, _: Lookup) {}

    fn remove(&mut self, _: LineSlot) {}
}
