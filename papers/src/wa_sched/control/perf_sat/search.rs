//! The state machine of Perf-Sat (Section 4.3.2.2 and Figure 4.4): it samples stalled cycles at successive CTA counts to find the
//! count at which performance saturates.
//!
//! In: one number of stalled cycles per sample. Out: the CTA count for the next sample, or the end of the search.
//!
//! Our reading of points that the text leaves open:
//! - A toggle between the weak states is itself a decision for the new direction, so one further agreeing sample makes it strong
//!   ("two consecutive decisions favor the same direction").
//! - All samples at one count are compared with the sample of the previous count ("the stalled cycle count for the previous block
//!   count is stored").
//! - A lower sample after a worse one at the same count restores the strong state and does not change the count: in the example of
//!   the text the search oscillates between both states and ends at 12, "the previous value", after more than three changes.
//! - Every change between the two states of an oscillation is a toggle; toggles of the second and of the third step are counted
//!   separately.
//! - A sample equal to the stored one is not lower.
//! - A lower sample at the highest or lowest count ends the search, since no further count exists.

use std::fmt;

/// Maximum number of toggles of a search; one more ends the search.
const MAX_TOGGLES: u32 = 3;

/// The state of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) enum State {
    /// No sample has been taken.
    Start,
    /// More CTAs may be better: the direction is undecided, or a worse sample is being confirmed.
    WeakIncrease,
    /// More CTAs were better each time.
    StrongIncrease,
    /// Fewer CTAs may be better.
    WeakDecrease,
    /// Fewer CTAs were better each time.
    StrongDecrease,
    /// The count is found.
    Settled,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::WeakIncrease => "weak increase",
            Self::StrongIncrease => "strong increase",
            Self::WeakDecrease => "weak decrease",
            Self::StrongDecrease => "strong decrease",
            Self::Settled => "settled",
        })
    }
}

/// The search on one core for one kernel.
#[derive(Clone, Debug, PartialEq, Eq, warpshard_state::State)]
pub(super) struct Search {
    most: u32,
    count: u32,
    state: State,
    /// `true` if the direction is decided.
    direction: bool,
    /// `true` if the last decision was for the present direction.
    history: bool,
    /// Stalled cycles with which the next sample is compared.
    stored: u64,
    toggles: u32,
}

impl Search {
    /// Creates a search among 1 to `most` CTAs that starts with half of them.
    pub(super) fn new(most: u32) -> Self {
        let state = if most <= 1 { State::Settled } else { State::Start };
        Self { most, count: Self::first_count(most), state, direction: false, history: false, stored: 0, toggles: 0 }
    }

    /// Returns the CTA count with which a search among `most` CTAs starts.
    pub(super) fn first_count(most: u32) -> u32 {
        most.div_ceil(2).max(1)
    }

    /// Returns the CTA count of the next sample, or the count found.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the state of the search.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Advances the search by a sample of `stalled` cycles at the present count.
    pub(super) fn add_sample(&mut self, stalled: u64) {
        let lower = stalled < self.stored;
        match (self.state, lower) {
            (State::Settled, _) => {}
            (State::Start, _) => {
                self.stored = stalled;
                self.count += 1;
                self.state = State::WeakIncrease;
            }
            (State::WeakIncrease, true) if !self.direction && !self.history => self.history = true,
            (State::WeakIncrease | State::WeakDecrease, true) if !self.direction => self.advance(stalled),
            (State::WeakIncrease | State::WeakDecrease, false) if !self.direction => self.reverse(stalled),
            // Neither a worse sample nor the lower sample that refutes it is stored.
            (State::WeakIncrease, true) => self.toggle(State::StrongIncrease),
            (State::WeakDecrease, true) => self.toggle(State::StrongDecrease),
            (State::WeakIncrease | State::WeakDecrease, false) => self.settle(self.previous_count()),
            (State::StrongIncrease | State::StrongDecrease, true) => self.advance(stalled),
            (State::StrongIncrease, false) => self.toggle(State::WeakIncrease),
            (State::StrongDecrease, false) => self.toggle(State::WeakDecrease),
        }
    }

    fn is_increasing(&self) -> bool {
        matches!(self.state, State::WeakIncrease | State::StrongIncrease)
    }

    /// Returns the count before the present one in the direction of the search.
    fn previous_count(&self) -> u32 {
        if self.is_increasing() { self.count - 1 } else { self.count + 1 }
    }

    /// Confirms the direction: stores the sample and moves to the next count.
    fn advance(&mut self, stalled: u64) {
        self.stored = stalled;
        if !self.direction {
            self.toggles = 0;
        }
        self.direction = true;
        self.history = true;
        let last = if self.is_increasing() { self.most } else { 1 };
        if self.count == last {
            self.settle(last);
        } else if self.is_increasing() {
            self.count += 1;
            self.state = State::StrongIncrease;
        } else {
            self.count -= 1;
            self.state = State::StrongDecrease;
        }
    }

    /// Changes to the other weak state, before a direction is decided.
    fn reverse(&mut self, stalled: u64) {
        self.toggles += 1;
        if self.toggles > MAX_TOGGLES {
            self.settle(Self::first_count(self.most) + 1);
            return;
        }
        self.stored = stalled;
        self.history = true;
        (self.count, self.state) =
            if self.is_increasing() { (self.count - 1, State::WeakDecrease) } else { (self.count + 1, State::WeakIncrease) };
    }

    /// Changes between the weak and the strong state of a direction at the same count; ends the search after too many changes.
    fn toggle(&mut self, to: State) {
        self.toggles += 1;
        self.history = matches!(to, State::StrongIncrease | State::StrongDecrease);
        self.state = to;
        if self.toggles > MAX_TOGGLES {
            self.settle(self.previous_count());
        }
    }

    fn settle(&mut self, count: u32) {
        self.count = count;
        self.state = State::Settled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the count and the state after each sample.
    fn steps(search: &mut Search, samples: &[u64]) -> Vec<(u32, State)> {
        let step = |&stalled| {
            search.add_sample(stalled);
            (search.count(), search.state())
        };
        samples.iter().map(step).collect()
    }

    #[test]
    fn the_papers_example_finds_12_of_15() {
        // Stalled cycles fall up to 12 CTAs and rise at 13 (Section 4.3.2.2, step 3).
        let stalled = |count: u32| if count <= 12 { 1000 - 50 * u64::from(count) } else { 900 };
        let mut search = Search::new(15);
        assert_eq!(search.count(), 8);
        let mut counts = Vec::new();
        while search.state() != State::Settled {
            search.add_sample(stalled(search.count()));
            counts.push(search.count());
        }
        // Two samples at 9 decide the direction, and 13 is sampled twice.
        assert_eq!(counts, [9, 9, 10, 11, 12, 13, 13, 12]);
    }

    #[test]
    fn a_direction_needs_two_agreeing_samples() {
        let mut search = Search::new(8);
        let seen = steps(&mut search, &[100, 90, 80]);
        assert_eq!(seen, [(5, State::WeakIncrease), (5, State::WeakIncrease), (6, State::StrongIncrease)]);
    }

    #[test]
    fn a_worse_second_sample_turns_to_fewer_ctas() {
        let mut search = Search::new(8);
        let seen = steps(&mut search, &[100, 110, 90, 80]);
        assert_eq!(seen, [(5, State::WeakIncrease), (4, State::WeakDecrease), (3, State::StrongDecrease), (2, State::StrongDecrease)]);
    }

    #[test]
    fn one_disagreeing_sample_reverts_the_first_step() {
        let mut search = Search::new(8);
        assert_eq!(steps(&mut search, &[100, 90, 110]).last(), Some(&(4, State::WeakDecrease)));
    }

    #[test]
    fn more_than_three_toggles_around_the_start_settle_one_above_it() {
        let mut search = Search::new(8);
        let seen = steps(&mut search, &[100, 110, 120, 130, 140]);
        let counts: Vec<u32> = seen.iter().map(|step| step.0).collect();
        assert_eq!(counts, [5, 4, 5, 4, 5]);
        assert_eq!(seen[4].1, State::Settled);
    }

    #[test]
    fn two_samples_worse_than_the_stored_one_settle_on_the_count_before() {
        let mut search = Search::new(8);
        let seen = steps(&mut search, &[100, 90, 80, 85, 81]);
        assert_eq!(seen[3..], [(6, State::WeakIncrease), (5, State::Settled)]);
    }

    #[test]
    fn a_lower_sample_after_a_worse_one_restores_the_strong_state_at_the_same_count() {
        let mut search = Search::new(8);
        let seen = steps(&mut search, &[100, 90, 80, 85, 70, 75, 60]);
        assert_eq!(seen[3..5], [(6, State::WeakIncrease), (6, State::StrongIncrease)]);
        // Both samples at 6 are compared with the sample at 5, which is 80.
        assert_eq!(seen[5..], [(7, State::StrongIncrease), (8, State::StrongIncrease)]);
    }

    #[test]
    fn more_than_three_toggles_before_convergence_settle_on_the_previous_count_of_the_papers_example() {
        // Stalls fall up to 12 of 15 CTAs; the samples at 13 alternate above and below the sample at 12.
        let mut search = Search::new(15);
        steps(&mut search, &[1000, 950, 940, 900, 850, 800]);
        assert_eq!((search.count(), search.state()), (13, State::StrongIncrease));
        let seen = steps(&mut search, &[810, 790, 810, 790]);
        assert_eq!(seen[..3], [(13, State::WeakIncrease), (13, State::StrongIncrease), (13, State::WeakIncrease)]);
        assert_eq!(seen[3], (12, State::Settled));
    }

    #[test]
    fn toggles_around_the_start_are_not_those_before_convergence() {
        let mut search = Search::new(8);
        // The samples cause three turns, a decided direction, and one toggle.
        let seen = steps(&mut search, &[100, 110, 120, 130, 120, 125]);
        assert_eq!(seen[3..], [(4, State::WeakDecrease), (3, State::StrongDecrease), (3, State::WeakDecrease)]);
        assert_eq!(steps(&mut search, &[110])[0], (3, State::StrongDecrease));
    }

    #[test]
    fn a_search_that_goes_down_ends_at_one_cta_or_above_the_first_worse_one() {
        let mut search = Search::new(4);
        assert_eq!(steps(&mut search, &[100, 110, 90, 80]).last(), Some(&(1, State::Settled)));
        let mut search = Search::new(8);
        let seen = steps(&mut search, &[100, 110, 90, 95, 96]);
        assert_eq!(seen[2..], [(3, State::StrongDecrease), (3, State::WeakDecrease), (4, State::Settled)]);
    }

    #[test]
    fn the_greatest_count_ends_the_search_when_it_is_the_best() {
        let mut search = Search::new(3);
        assert_eq!(steps(&mut search, &[100, 90, 80]).last(), Some(&(3, State::Settled)));
        assert_eq!(Search::new(1).state(), State::Settled);
    }
}
