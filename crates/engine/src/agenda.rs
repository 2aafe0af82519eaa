//! The next event of each unit of a worker. Units without an event cost no host time.
//!
//! Inputs: next events, in global ticks. Outputs: the units with an event before the end of the epoch, and the earliest event of the
//! other units. Invariant: a unit without an event is not visited; only a message can give it an event.

use warpshard_base::Tick;

/// Next events of the units of a worker, indexed as its slots.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    next: Vec<Tick>,
    class: Vec<u16>,
    /// Bit set of the units that have a next event.
    active: Vec<u64>,
}

impl Agenda {
    /// Replaces all entries with the class and next event of each unit.
    pub(super) fn reset(&mut self, units: impl Iterator<Item = (u16, Tick)>) {
        self.next.clear();
        self.class.clear();
        for (class, next) in units {
            self.class.push(class);
            self.next.push(next);
        }
        self.active.clear();
        self.active.resize(self.next.len().div_ceil(64), 0);
        for slot_index in 0..self.next.len() {
            self.set(slot_index, self.next[slot_index]);
        }
    }

    /// Sets the next event of the unit in slot `slot`.
    #[inline]
    pub(super) fn set(&mut self, slot_index: usize, next: Tick) {
        self.next[slot_index] = next;
        let bit = 1 << (slot_index % 64);
        if next == Tick::NEVER {
            self.active[slot_index / 64] &= !bit;
        } else {
            self.active[slot_index / 64] |= bit;
        }
    }

    /// Lowers the next event of the unit in slot `slot` to `next` if `next` is earlier.
    #[inline]
    pub(super) fn lower(&mut self, slot_index: usize, next: Tick) {
        if next < self.next[slot_index] {
            self.set(slot_index, next);
        }
    }

    /// Appends the units with an event before the limit of their class to `due`, in ascending order; returns the earliest event of the
    /// other units.
    #[inline]
    pub(super) fn due(&self, limits: &[Tick], due: &mut Vec<u32>) -> Tick {
        let mut least = Tick::NEVER;
        for (word, &bits) in self.active.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let slot_index = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let next = self.next[slot_index];
                if next < limits[usize::from(self.class[slot_index])] {
                    due.push(slot_index as u32);
                } else {
                    least = least.min(next);
                }
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_units_with_an_event_before_the_limit_of_their_class_are_due() {
        let mut agenda = Agenda::default();
        agenda.reset((0..130).map(|slot_index| (slot_index % 2, Tick::NEVER)));
        let due = |agenda: &Agenda, limits: [u64; 2]| {
            let mut due = Vec::new();
            let least = agenda.due(&limits.map(Tick), &mut due);
            (due, least)
        };
        assert_eq!(due(&agenda, [100, 100]), (vec![], Tick::NEVER));
        agenda.set(3, Tick(50));
        agenda.set(64, Tick(70));
        agenda.lower(129, Tick(90));
        agenda.lower(129, Tick(95));
        assert_eq!(due(&agenda, [100, 100]), (vec![3, 64, 129], Tick::NEVER));
        assert_eq!(due(&agenda, [70, 91]), (vec![3, 129], Tick(70)));
        agenda.set(3, Tick::NEVER);
        assert_eq!(due(&agenda, [0, 91]), (vec![129], Tick(70)));
    }
}
