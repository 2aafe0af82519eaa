//! The next event of each of a worker's units, so that units without one cost nothing.
//!
//! In: next events, in global ticks. Out: the units that have an event before the epoch's end, and the least event of the
//! others. Invariant: a unit without an event, which can only get one by a message, is not visited.

use warpshard_base::Tick;

/// Next events of a worker's units, by place.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    next: Vec<Tick>,
    class: Vec<u16>,
    /// A bit per unit that has a next event at all.
    active: Vec<u64>,
}

impl Agenda {
    /// Replaces all entries by one per unit: its class and its next event.
    pub(super) fn reset(&mut self, units: impl Iterator<Item = (u16, Tick)>) {
        self.next.clear();
        self.class.clear();
        for (class, next) in units {
            self.class.push(class);
            self.next.push(next);
        }
        self.active.clear();
        self.active.resize(self.next.len().div_ceil(64), 0);
        for place in 0..self.next.len() {
            self.set(place, self.next[place]);
        }
    }

    /// Sets the next event of the unit at `place`.
    #[inline]
    pub(super) fn set(&mut self, place: usize, next: Tick) {
        self.next[place] = next;
        let bit = 1 << (place % 64);
        if next == Tick::NEVER {
            self.active[place / 64] &= !bit;
        } else {
            self.active[place / 64] |= bit;
        }
    }

    /// Sets the next event of the unit at `place` to `next` unless it has an earlier one.
    #[inline]
    pub(super) fn lower(&mut self, place: usize, next: Tick) {
        if next < self.next[place] {
            self.set(place, next);
        }
    }

    /// Appends the units that have an event before the limit of their class to `due`, ascending; returns the least event of the
    /// others.
    #[inline]
    pub(super) fn due(&self, limits: &[Tick], due: &mut Vec<u32>) -> Tick {
        let mut least = Tick::NEVER;
        for (word, &bits) in self.active.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let next = self.next[place];
                if next < limits[usize::from(self.class[place])] {
                    due.push(place as u32);
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
        agenda.reset((0..130).map(|place| (place % 2, Tick::NEVER)));
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
