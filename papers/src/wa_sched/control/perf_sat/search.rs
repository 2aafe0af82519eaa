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
pub(super) enum SearchState {
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

impl fmt::Display for SearchState {
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
pub(super) struct CtaCountSearch {
    max_ctas: u32,
    count: u32,
    state: SearchState,
    /// `true` if the direction is decided.
    is_direction_decided: bool,
    /// `true` if the last decision was for the present direction.
    history: bool,
    /// Stalled cycles with which the next sample is compared.
    stored_stalls: u64,
    toggles: u32,
}

impl CtaCountSearch {
    /// Creates a search among 1 to `most` CTAs that starts with half of them.
    pub(super) fn new(most: u32) -> Self {
        let state = if most <= 1 { SearchState::Settled } else { SearchState::Start };
        Self { max_ctas: most, count: Self::first_count(most), state, is_direction_decided: false, history: false, stored_stalls: 0, toggles: 0 }
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
    pub(super) fn state(&self) -> SearchState {
        self.state
    }

    /// Advances the search by a sample of `stalled` cycles at the present count.
    pub(super) fn add_sample(&mut self, stalled: u64) {
        let lower = stalled < self.stored_stalls;
        match (self.state, lower) {
            (SearchState::Settled, _) => {}
            (SearchState::Start, _) => {
                self.stored_stalls = stalled;
                self.count += 1;
                self.state = SearchState::WeakIncrease;
            }
            (SearchState::WeakIncrease, true) if !self.is_direction_decided && !self.history => self.history = true,
            (SearchState::WeakIncrease | SearchState::WeakDecrease, true) if !self.is_direction_decided => self.confirm_direction(stalled),
            (SearchState::WeakIncrease | SearchState::WeakDecrease, false) if !self.is_direction_decided => self.reverse_direction(stalled),
            // Neither a worse sample nor the lower sample that refutes it is stored.
            (SearchState::WeakIncrease, true) => self.toggle_strength(SearchState::StrongIncrease),
            (SearchState::WeakDecrease, true) => self.toggle_strength(SearchState::StrongDecrease),
            (SearchState::WeakIncrease | SearchState::WeakDecrease, false) => self.settle(self.previous_count()),
            (SearchState::StrongIncrease | SearchState::StrongDecrease, true) => self.confirm_direction(stalled),
            (SearchState::StrongIncrease, false) => self.toggle_strength(SearchState::WeakIncrease),
            (SearchState::StrongDecrease, false) => self.toggle_strength(SearchState::WeakDecrease),
        }
    }

    fn is_increasing(&self) -> bool {
        matches!(self.state, SearchState::WeakIncrease | SearchState::StrongIncrease)
    }

    /// Returns the count before the present one in the direction of the search.
    fn previous_count(&self) -> u32 {
        if self.is_increasing() { self.count - 1 } else { self.count + 1 }
    }

    /// Confirms the direction: stores the sample and moves to the next count.
    fn confirm_direction(&mut self, stalled: u64) {
        self.stored_stalls = stalled;
        if !self.is_direction_decided {
            self.toggles = 0;
        }
        self.is_direction_decided = true;
        self.history = true;
        let last = if self.is_increasing() { self.max_ctas } else { 1 };
        if self.count == last {
            self.settle(last);
        } else if self.is_increasing() {
            self.count += 1;
            self.state = SearchState::StrongIncrease;
        } else {
            self.count -= 1;
            self.state = SearchState::StrongDecrease;
        }
    }

    /// Changes to the other weak state, before a direction is decided.
    fn reverse_direction(&mut self, stalled: u64) {
        self.toggles += 1;
        if self.toggles > MAX_TOGGLES {
            self.settle(Self::first_count(self.max_ctas) + 1);
            return;
        }
        self.stored_stalls = stalled;
        self.history = true;
        (self.count, self.state) =
            if self.is_increasing() { (self.count - 1, SearchState::WeakDecrease) } else { (self.count + 1, SearchState::WeakIncrease) };
    }

    /// Changes between the weak and the strong state of a direction at the same count; ends the search after too many changes.
    fn toggle_strength(&mut self, to: SearchState) {
        self.toggles += 1;
        self.history = matches!(to, SearchState::StrongIncrease | SearchState::StrongDecrease);
        self.state = to;
        if self.toggles > MAX_TOGGLES {
            self.settle(self.previous_count());
        }
    }

    fn settle(&mut self, count: u32) {
        self.count = count;
        self.state = SearchState::Settled;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the count and the state after each sample.
    fn search_steps(search: &mut CtaCountSearch, samples: &[u64]) -> Vec<(u32, SearchState)> {
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
        let mut search = CtaCountSearch::new(15);
        assert_eq!(search.count(), 8);
        let mut counts = Vec::new();
        while search.state() != SearchState::Settled {
            search.add_sample(stalled(search.count()));
            counts.push(search.count());
        }
        // Two samples at 9 decide the direction, and 13 is sampled twice.
        assert_eq!(counts, [9, 9, 10, 11, 12, 13, 13, 12]);
    }

    #[test]
    fn a_direction_needs_two_agreeing_samples() {
        let mut search = CtaCountSearch::new(8);
        let seen = search_steps(&mut search, &[100, 90, 80]);
        assert_eq!(seen, [(5, SearchState::WeakIncrease), (5, SearchState::WeakIncrease), (6, SearchState::StrongIncrease)]);
    }

    #[test]
    fn a_worse_second_sample_turns_to_fewer_ctas() {
        let mut search = CtaCountSearch::new(8);
        let seen = search_steps(&mut search, &[100, 110, 90, 80]);
        assert_eq!(seen, [(5, SearchState::WeakIncrease), (4, SearchState::WeakDecrease), (3, SearchState::StrongDecrease), (2, SearchState::StrongDecrease)]);
    }

    #[test]
    fn one_disagreeing_sample_reverts_the_first_step() {
        let mut search = CtaCountSearch::new(8);
        assert_eq!(search_steps(&mut search, &[100, 90, 110]).last(), Some(&(4, SearchState::WeakDecrease)));
    }

    #[test]
    fn more_than_three_toggles_around_the_start_settle_one_above_it() {
        let mut search = CtaCountSearch::new(8);
        let seen = search_steps(&mut search, &[100, 110, 120, 130, 140]);
        let counts: Vec<u32> = seen.iter().map(|step| step.0).collect();
        assert_eq!(counts, [5, 4, 5, 4, 5]);
        assert_eq!(seen[4].1, SearchState::Settled);
    }

    #[test]
    fn two_samples_worse_than_the_stored_one_settle_on_the_count_before() {
        let mut search = CtaCountSearch::new(8);
        let seen = search_steps(&mut search, &[100, 90, 80, 85, 81]);
        assert_eq!(seen[3..], [(6, SearchState::WeakIncrease), (5, SearchState::Settled)]);
    }

    #[test]
    fn a_lower_sample_after_a_worse_one_restores_the_strong_state_at_the_same_count() {
        let mut search = CtaCountSearch::new(8);
        let seen = search_steps(&mut search, &[100, 90, 80, 85, 70, 75, 60]);
        assert_eq!(seen[3..5], [(6, SearchState::WeakIncrease), (6, SearchState::StrongIncrease)]);
        // Both samples at 6 are compared with the sample at 5, which is 80.
        assert_eq!(seen[5..], [(7, SearchState::StrongIncrease), (8, SearchState::StrongIncrease)]);
    }

    #[test]
    fn more_than_three_toggles_before_convergence_settle_on_the_previous_count_of_the_papers_example() {
        // Stalls fall up to 12 of 15 CTAs; the samples at 13 alternate above and below the sample at 12.
        let mut search = CtaCountSearch::new(15);
        search_steps(&mut search, &[1000, 950, 940, 900, 850, 800]);
        assert_eq!((search.count(), search.state()), (13, SearchState::StrongIncrease));
        let seen = search_steps(&mut search, &[810, 790, 810, 790]);
        assert_eq!(seen[..3], [(13, SearchState::WeakIncrease), (13, SearchState::StrongIncrease), (13, SearchState::WeakIncrease)]);
        assert_eq!(seen[3], (12, SearchState::Settled));
    }

    #[test]
    fn toggles_around_the_start_are_not_those_before_convergence() {
        let mut search = CtaCountSearch::new(8);
        // The samples cause three turns, a decided direction, and one toggle.
        let seen = search_steps(&mut search, &[100, 110, 120, 130, 120, 125]);
        assert_eq!(seen[3..], [(4, SearchState::WeakDecrease), (3, SearchState::StrongDecrease), (3, SearchState::WeakDecrease)]);
        assert_eq!(search_steps(&mut search, &[110])[0], (3, SearchState::StrongDecrease));
    }

    #[test]
    fn a_search_that_goes_down_ends_at_one_cta_or_above_the_first_worse_one() {
        let mut search = CtaCountSearch::new(4);
        assert_eq!(search_steps(&mut search, &[100, 110, 90, 80]).last(), Some(&(1, SearchState::Settled)));
        let mut search = CtaCountSearch::new(8);
        let seen = search_steps(&mut search, &[100, 110, 90, 95, 96]);
        assert_eq!(seen[2..], [(3, SearchState::StrongDecrease), (3, SearchState::WeakDecrease), (4, SearchState::Settled)]);
    }

    #[test]
    fn the_greatest_count_ends_the_search_when_it_is_the_best() {
        let mut search = CtaCountSearch::new(3);
        assert_eq!(search_steps(&mut search, &[100, 90, 80]).last(), Some(&(3, SearchState::Settled)));
        assert_eq!(CtaCountSearch::new(1).state(), SearchState::Settled);
    }
}
