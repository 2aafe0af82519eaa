//! A calendar of the ports at which messages become visible in each cycle, so that cycles without messages cost nothing.

use warpshard_base::{Cycle, Slots};

/// Cycles ahead of the present that have a separate bucket.
const SPAN_CYCLES: u64 = 256;
const SPAN_WORDS: usize = (SPAN_CYCLES / 64) as usize;

/// A position in an iteration over the ports of a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CalendarCursor {
    /// The number of words already read, and the remaining ports of the last word.
    word: usize,
    ports: u64,
}

/// A set of ports per cycle.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Calendar {
    words: usize,
    /// A set of ports per cycle: `words` words in a slot of 2^`shift` words.
    buckets: Slots<u64>,
    shift: u32,
    /// The cycles with a non-empty set.
    filled_cycles: [u64; SPAN_WORDS],
    /// Ports due beyond the buckets. They are rare, because messages arrive about one epoch ahead.
    far_ports: Vec<(Cycle, u32)>,
}

impl Calendar {
    /// Returns a calendar for `ports` ports.
    pub(super) fn new(ports: usize) -> Self {
        let words = ports.div_ceil(64);
        let places = words.next_power_of_two();
        let buckets = Slots::new(places * SPAN_CYCLES as usize, 0);
        Self { words, buckets, shift: places.trailing_zeros(), filled_cycles: [0; SPAN_WORDS], far_ports: Vec::new() }
    }

    /// Adds `port` at cycle `at`, which is not before `now`.
    #[inline]
    pub(super) fn add(&mut self, now: Cycle, at: Cycle, port: usize) {
        if at.0 - now.0 >= SPAN_CYCLES {
            self.far_ports.push((at, port as u32));
            return;
        }
        debug_assert!(port / 64 < self.words, "port {port} of {} words", self.words);
        let bucket = (at.0 % SPAN_CYCLES) as usize;
        let word = port / 64;
        *self.word(bucket, word) |= 1 << (port % 64);
        self.filled_cycles[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Returns the first cycle at or after `now` that has a port.
    #[inline]
    pub(super) fn next(&self, now: Cycle) -> Cycle {
        let near = self.next_bucket(now);
        if self.far_ports.is_empty() { near } else { self.far_ports.iter().fold(near, |least, (at, _)| least.min(*at)) }
    }

    #[inline]
    fn next_bucket(&self, now: Cycle) -> Cycle {
        let first = (now.0 % SPAN_CYCLES) as usize;
        let (word, bit) = (first / 64, first % 64);
        // The word of the present is examined twice: first its bits from the present on, at the end the bits below.
        for step in 0..=SPAN_WORDS {
            let at = (word + step) % SPAN_WORDS;
            let mask = match step {
                0 => u64::MAX << bit,
                SPAN_WORDS => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let found = self.filled_cycles[at] & mask;
            if found != 0 {
                let bucket = at as u64 * 64 + u64::from(found.trailing_zeros());
                return now.after((bucket + SPAN_CYCLES - first as u64) % SPAN_CYCLES);
            }
        }
        Cycle::NEVER
    }

    /// Removes and returns the next port of cycle `now`, in ascending order. Call [`Calendar::arrive`] first.
    #[inline]
    pub(super) fn take(&mut self, now: Cycle, cursor: &mut CalendarCursor) -> Option<usize> {
        while cursor.ports == 0 {
            if cursor.word == self.words {
                return None;
            }
            cursor.ports = std::mem::take(self.word((now.0 % SPAN_CYCLES) as usize, cursor.word));
            cursor.word += 1;
        }
        let port = (cursor.word - 1) * 64 + cursor.ports.trailing_zeros() as usize;
        cursor.ports &= cursor.ports - 1;
        Some(port)
    }

    #[inline]
    fn word(&mut self, bucket: usize, word: usize) -> &mut u64 {
        self.buckets.get_mut(((bucket << self.shift) + word) as u32)
    }

    /// Advances the present to `now`; returns true if that cycle has a port.
    #[inline]
    pub(super) fn arrive(&mut self, now: Cycle) -> bool {
        if !self.far_ports.is_empty() {
            let mut i = 0;
            while i < self.far_ports.len() {
                let (at, port) = self.far_ports[i];
                if at.0 - now.0 < SPAN_CYCLES {
                    self.far_ports.swap_remove(i);
                    self.add(now, at, port as usize);
                } else {
                    i += 1;
                }
            }
        }
        let bucket = (now.0 % SPAN_CYCLES) as usize;
        let bit = 1 << (bucket % 64);
        let found = self.filled_cycles[bucket / 64] & bit != 0;
        self.filled_cycles[bucket / 64] &= !bit;
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_become_visible_in_their_cycle() {
        let mut calendar = Calendar::new(4200);
        let now = Cycle(1000);
        let all = [(1000, 0), (1063, 64), (1255, 129), (1256, 3), (5000, 7), (5000, 4031), (5000, 4032), (5000, 4199)];
        for (at, port) in all {
            calendar.add(now, Cycle(at), port);
        }
        let mut seen = Vec::new();
        let mut now = now;
        while calendar.next(now) != Cycle::NEVER {
            now = calendar.next(now);
            assert!(calendar.arrive(now));
            let mut cursor = CalendarCursor::default();
            while let Some(port) = calendar.take(now, &mut cursor) {
                seen.push((now.0, port));
            }
        }
        assert_eq!(seen, all);
        assert!(!calendar.arrive(now));
    }
}
