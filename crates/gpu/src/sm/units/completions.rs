//! Completion cycles that execution units have reserved.

use super::super::kinds::{ALL_UNIT_KINDS, ClassRoute, UNIT_KIND_COUNT, UnitKind};

/// Completion cycles of instructions by unit, for unit kinds of which two instruction classes could complete in the same cycle.
///
/// Each such unit has a ring of words with a bit per cycle. Each word has the number of its 64 cycles, so that words of past cycles need no
/// clearing.
#[derive(Debug, warpshard_state::State)]
pub(super) struct Completions {
    kinds: u16,
    first: [u16; UNIT_KIND_COUNT],
    per_unit: usize,
    words: Box<[(u64, u64)]>,
}

impl Completions {
    pub(super) fn new(routes: &[ClassRoute], slots_per_kind: &[usize; UNIT_KIND_COUNT]) -> Self {
        let mut kinds = 0u16;
        for long in routes {
            for short in routes {
                let overlap = long.latency > short.latency && long.latency - short.latency >= long.initiation;
                if long.kind == short.kind && long.kind != UnitKind::Mem && overlap {
                    kinds |= 1 << long.kind as u8;
                }
            }
        }
        let concerned = routes.iter().filter(|route| kinds >> route.kind as u8 & 1 != 0);
        let longest = concerned.map(|route| usize::from(route.latency)).max().unwrap_or(0);
        let per_unit = (longest / 64 + 2).next_power_of_two();
        let (mut first, mut count) = ([0; UNIT_KIND_COUNT], 0);
        for kind in ALL_UNIT_KINDS {
            if kinds >> kind as u8 & 1 != 0 {
                first[kind as usize] = count as u16;
                count += slots_per_kind[kind as usize] * per_unit;
            }
        }
        Self { kinds, first, per_unit, words: vec![(0, 0); count].into() }
    }

    /// Returns the bytes of the array.
    pub(super) fn hot_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Reserves the completion cycle `done` of a unit; returns true if it was free.
    #[inline]
    pub(super) fn reserve(&mut self, kind: UnitKind, unit: usize, done: u64) -> bool {
        if self.kinds >> kind as u8 & 1 == 0 {
            return true;
        }
        let at = usize::from(self.first[kind as usize]) + unit * self.per_unit + (done as usize >> 6 & (self.per_unit - 1));
        let (span, bits) = &mut self.words[at];
        let reserved = if *span == done >> 6 { *bits } else { 0 };
        (*span, *bits) = (done >> 6, reserved | 1 << (done & 63));
        reserved >> (done & 63) & 1 == 0
    }
}
