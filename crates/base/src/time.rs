//! Time without rounding: an integer count of a base tick that divides every clock period exactly.

use std::fmt;

/// A clock frequency in kilohertz, so that "1132 MHz" and "1.2 GHz" are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(pub u64);

impl Frequency {
    /// Returns a frequency of `mhz` megahertz.
    pub const fn mhz(mhz: u64) -> Self {
        Self(mhz * 1000)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1000) {
            write!(f, "{} MHz", self.0 / 1000)
        } else {
            write!(f, "{}.{:03} MHz", self.0 / 1000, self.0 % 1000)
        }
    }
}

/// A point in time or a time span, in base ticks since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Tick(pub u64);

impl Tick {
    /// A tick that is later than every event.
    pub const NEVER: Self = Self(u64::MAX);
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tick {}", self.0)
    }
}

/// A clock edge, counted from 0 at the start of the run, in the clock domain of the unit that holds the value.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, warpshard_state::State,
)]
pub struct Cycle(pub u64);

impl Cycle {
    /// A cycle that is later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns this cycle plus `cycles`; [`Cycle::NEVER`] stays [`Cycle::NEVER`].
    #[inline]
    #[must_use]
    pub fn after(self, cycles: u64) -> Self {
        Self(self.0.saturating_add(cycles))
    }

    /// Returns the next cycle; `self` must not be [`Cycle::NEVER`].
    #[inline]
    #[must_use]
    pub fn next(self) -> Self {
        debug_assert!(self != Self::NEVER, "no cycle follows NEVER");
        Self(self.0.wrapping_add(1))
    }

    /// Returns the cycle whose low half is `low`, provided that it is less than 2^31 cycles away from this cycle.
    #[inline]
    #[must_use]
    pub fn nearest(self, low: u32) -> Self {
        Self(self.0.wrapping_add_signed(i64::from(low.wrapping_sub(self.0 as u32) as i32)))
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}", self.0)
    }
}

/// A clock whose edges are at multiples of `period` base ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct ClockDomain {
    /// Base ticks between two edges, at least 1.
    pub period: u64,
}

impl ClockDomain {
    /// Returns the tick of an edge.
    #[inline]
    pub fn tick(self, cycle: Cycle) -> Tick {
        Tick(cycle.0.saturating_mul(self.period))
    }

    /// Returns the first edge at or after `tick`.
    #[inline]
    pub fn edge_at_or_after(self, tick: Tick) -> Cycle {
        if tick == Tick::NEVER { Cycle::NEVER } else { Cycle(tick.0.div_ceil(self.period)) }
    }
}

/// A conversion of cycles of one clock into cycles of another without a division; a memory partition needs it in every cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub struct Crossing {
    from: u64,
    to: u64,
    /// 2^64 divided by the period of the other clock, rounded up; 0 if both periods are equal.
    reciprocal: u64,
}

impl Crossing {
    /// Returns a conversion from cycles of `from` to cycles of `to`.
    pub fn new(from: ClockDomain, to: ClockDomain) -> Self {
        let reciprocal = if from == to || to.period == 1 { 0 } else { u64::MAX / to.period + 1 };
        Self { from: from.period, to: to.period, reciprocal }
    }

    /// Returns the last cycle of the other clock that begins at or before `cycle` does.
    #[inline]
    pub fn last_at_or_before(self, cycle: Cycle) -> Cycle {
        if self.from == self.to { cycle } else { Cycle(self.divide(cycle.0 * self.from)) }
    }

    /// Returns the first cycle of the other clock that begins at or after `cycle` does; [`Cycle::NEVER`] stays [`Cycle::NEVER`].
    #[inline]
    pub fn first_at_or_after(self, cycle: Cycle) -> Cycle {
        if self.from == self.to || cycle == Cycle::NEVER { cycle } else { Cycle(self.divide(cycle.0 * self.from + (self.to - 1))) }
    }

    /// Returns the quotient of `ticks` and the other clock's period. The product with the rounded reciprocal is exact or one too large.
    #[inline]
    fn divide(self, ticks: u64) -> u64 {
        if self.to == 1 {
            return ticks;
        }
        let quotient = ((u128::from(ticks) * u128::from(self.reciprocal)) >> 64) as u64;
        quotient - u64::from(quotient * self.to > ticks)
    }
}

/// The base tick of a machine: the least common multiple of its frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBase {
    ticks_per_ms: u64,
}

impl TimeBase {
    /// Returns the coarsest base tick that divides the periods of all `frequencies` exactly.
    ///
    /// Returns `None` if a frequency is zero or the common multiple does not fit.
    pub fn of(frequencies: &[Frequency]) -> Option<Self> {
        let mut common = 1u64;
        for frequency in frequencies {
            if frequency.0 == 0 {
                return None;
            }
            common = (common / gcd(common, frequency.0)).checked_mul(frequency.0)?;
        }
        (common < 1 << 40).then_some(Self { ticks_per_ms: common })
    }

    /// Returns the clock of `frequency`, one of the frequencies for which the time base was computed.
    pub fn domain(self, frequency: Frequency) -> ClockDomain {
        assert!(self.ticks_per_ms.is_multiple_of(frequency.0), "{frequency} is not one of the frequencies of this time base");
        ClockDomain { period: self.ticks_per_ms / frequency.0 }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_tick_divides_every_period() {
        let base = TimeBase::of(&[Frequency::mhz(1132), Frequency::mhz(850)]).unwrap();
        assert_eq!(base.domain(Frequency::mhz(1132)).period, 425);
        assert_eq!(base.domain(Frequency::mhz(850)).period, 566);
    }

    #[test]
    fn a_low_half_restores_the_cycle_nearest_to_the_present() {
        let now = Cycle((7 << 32) + 5);
        for away in [0, 1, 6, 1000, (1 << 31) - 1] {
            for cycle in [Cycle(now.0 + away), Cycle(now.0 - away)] {
                assert_eq!(now.nearest(cycle.0 as u32), cycle);
            }
        }
    }

    #[test]
    fn edges_at_or_after_a_tick_include_the_tick() {
        let clock = ClockDomain { period: 425 };
        assert_eq!(clock.edge_at_or_after(Tick(850)), Cycle(2));
        assert_eq!(clock.edge_at_or_after(Tick(851)), Cycle(3));
        assert_eq!(clock.edge_at_or_after(Tick::NEVER), Cycle::NEVER);
    }

    #[test]
    fn crossing_from_clock_to_clock_equals_dividing_ticks() {
        for (from, to) in [(425, 566), (566, 425), (1, 3), (3, 1), (7, 7), (1, 1), (1_000_003, 2), (2, 1_000_003), (64, 4)] {
            let (from, to) = (ClockDomain { period: from }, ClockDomain { period: to });
            let crossing = Crossing::new(from, to);
            let far = (1 << 40) / from.period.max(to.period) * to.period;
            for cycle in (0..5000).chain(far - 1000..far + 1000).map(Cycle) {
                let tick = from.tick(cycle);
                assert_eq!(crossing.first_at_or_after(cycle), to.edge_at_or_after(tick), "{cycle} of {from:?} in {to:?}");
                assert_eq!(crossing.last_at_or_before(cycle), Cycle(tick.0 / to.period), "{cycle} of {from:?} in {to:?}");
            }
        }
        assert_eq!(Crossing::new(ClockDomain { period: 2 }, ClockDomain { period: 3 }).first_at_or_after(Cycle::NEVER), Cycle::NEVER);
    }

    #[test]
    fn a_zero_frequency_has_no_base() {
        assert_eq!(TimeBase::of(&[Frequency(0)]), None);
    }
}
