//! Last in, first out: the most recently inserted line is the victim.

use super::{LineSlot, Lookup, ReplacementPolicy};

/// Insertion time of each line.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Lifo {
    inserted_at: Box<[u64]>,
}

impl ReplacementPolicy for Lifo {
    fn new(sets: u32, ways: u32) -> Self {
        Self { inserted_at: vec![0; (sets * ways) as usize].into() }
    }

    fn hot_bytes(&self) -> usize {
        size_of_val(&*self.inserted_at)
    }

    fn clear(&mut self) {}

    fn victim(&self, _: u32, lines: impl Iterator<Item = u16> + Clone) -> Option<u16> {
        lines.max_by_key(|line| self.inserted_at[usize::from(*line)])
    }

    fn insert(&mut self, at: LineSlot, now: u64) {
        self.inserted_at[usize::from(at.line)] = now;
    }

    fn touch(&mut self, _: LineSlot, _: Lookup) {}

    fn remove(&mut self, _: LineSlot) {}
}
