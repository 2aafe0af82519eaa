//! CM-BAL on one core (Section 4.2): its level of concurrency, the moving averages of `stall_gpu` per level, and the
//! three rules of part 2.
//!
//! In: `stall_gpu` of an interval and the call of part 1. Out: the next level, and the rule that chose it.
//!
//! Precedence, from the example of Figure 14: first the change after four intervals at one level, then going up if that is predicted
//! to help, then staying if going down is predicted to hurt, then part 1. The paper does not order the second and the third rule; this
//! order is our reading.

use super::congestion::WarpChange;

/// Active warps of each level (Section 4.2).
const WARPS_OF_LEVEL: [u32; 9] = [1, 2, 3, 4, 6, 8, 16, 24, 48];
/// Intervals at one level after which the level changes regardless of the metrics.
const MAX_INTERVALS_AT_LEVEL: u32 = 4;
/// Warps below which the change after [`MAX_INTERVALS_AT_LEVEL`] intervals goes up; otherwise it goes down.
const REFRESH_UP_BELOW_WARPS: u32 = 6;
/// Weight of the newest interval in the moving average.
const NEWEST_WEIGHT: f64 = 0.75;

/// The rule that chose a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LevelRule {
    /// Part 1: the congestion of the memory side decides.
    Congestion,
    /// Part 2: going down would raise `stall_gpu` by more than k.
    NotDown,
    /// Part 2: going up would lower `stall_gpu` by more than k.
    Up,
    /// Part 2: four intervals have passed at one level; the change only renews the averages of neighbouring levels.
    Refresh,
}

impl LevelRule {
    /// Returns the reason's text for the timeline.
    pub(super) fn reason_text(self) -> &'static str {
        match self {
            Self::Congestion => "part 1: congestion of the memory side",
            Self::NotDown => "part 2: fewer warps would stall the core",
            Self::Up => "part 2: more warps would stall the core less",
            Self::Refresh => "part 2: four intervals at one level",
        }
    }
}

/// The decision of a core at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LevelStep {
    /// Active warps of the next interval.
    pub(super) warps: u32,
    /// `true` if the level changes.
    pub(super) changed: bool,
    /// The rule that chose the level.
    pub(super) rule: LevelRule,
    /// Predicted increase of `stall_gpu` one level down; `None` without an average of that level.
    pub(super) diff_low: Option<f64>,
    /// Predicted decrease of `stall_gpu` one level up; `None` without an average of that level.
    pub(super) diff_up: Option<f64>,
}

/// A core's level and the averages of `stall_gpu` per level.
#[derive(Clone, Debug, PartialEq, warpshard_state::State)]
pub(super) struct CoreLevel {
    level: usize,
    /// The highest level whose warps fit on the SM.
    top_level: usize,
    averages: [Option<f64>; WARPS_OF_LEVEL.len()],
    intervals_at_level: u32,
}

impl CoreLevel {
    /// Creates a core of `warps` warps at the highest level that they allow.
    pub(super) fn new(warps: u32) -> Self {
        let top = WARPS_OF_LEVEL.iter().rposition(|&level| level <= warps).unwrap_or(0);
        Self { level: top, top_level: top, averages: [None; WARPS_OF_LEVEL.len()], intervals_at_level: 0 }
    }

    /// Returns the active warps of the core's level.
    pub(super) fn warps(&self) -> u32 {
        WARPS_OF_LEVEL[self.level]
    }

    /// Clears the averages, as at the start and the end of a kernel.
    pub(super) fn clear_averages(&mut self) {
        self.averages = [None; WARPS_OF_LEVEL.len()];
        self.intervals_at_level = 0;
    }

    /// Records `stall_gpu` of the interval that ends and chooses the level of the next interval.
    pub(super) fn step(&mut self, stall_gpu: f64, change: WarpChange, k: f64) -> LevelStep {
        let average = self.averages[self.level].map_or(stall_gpu, |old| (1.0 - NEWEST_WEIGHT) * old + NEWEST_WEIGHT * stall_gpu);
        self.averages[self.level] = Some(average);
        self.intervals_at_level += 1;
        let diff_low = self.level.checked_sub(1).and_then(|lower| self.averages[lower]).map(|lower| lower - average);
        let diff_up = if self.level < self.top_level { self.averages[self.level + 1].map(|upper| average - upper) } else { None };
        let exceeds = |diff: Option<f64>| diff.is_some_and(|diff| diff > k);
        let (level, rule) = if self.intervals_at_level >= MAX_INTERVALS_AT_LEVEL {
            (if self.warps() < REFRESH_UP_BELOW_WARPS { self.level_above() } else { self.level_below() }, LevelRule::Refresh)
        } else if exceeds(diff_up) {
            (self.level_above(), LevelRule::Up)
        } else if change == WarpChange::Fewer && exceeds(diff_low) {
            (self.level, LevelRule::NotDown)
        } else {
            let level = match change {
                WarpChange::Fewer => self.level_below(),
                WarpChange::More => self.level_above(),
                WarpChange::Same => self.level,
            };
            (level, LevelRule::Congestion)
        };
        let changed = level != self.level;
        if changed {
            self.intervals_at_level = 0;
        }
        self.level = level;
        LevelStep { warps: self.warps(), changed, rule, diff_low, diff_up }
    }

    fn level_above(&self) -> usize {
        (self.level + 1).min(self.top_level)
    }

    fn level_below(&self) -> usize {
        self.level.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_K: f64 = 32.0;

    /// A core at `warps` with the given averages, each a pair of warps and `stall_gpu`.
    fn core(warps: u32, averages: &[(u32, f64)]) -> CoreLevel {
        let level = |warps| WARPS_OF_LEVEL.iter().position(|&level| level == warps).expect("a level");
        let mut core = CoreLevel { level: level(warps), ..CoreLevel::new(48) };
        averages.iter().for_each(|&(warps, average)| core.averages[level(warps)] = Some(average));
        core
    }

    fn choose_level(core: &mut CoreLevel, stall_gpu: f64, change: WarpChange) -> (u32, LevelRule) {
        let step = core.step(stall_gpu, change, TEST_K);
        (step.warps, step.rule)
    }

    #[test]
    fn part_1_moves_by_levels() {
        assert_eq!(choose_level(&mut core(48, &[]), 100.0, WarpChange::Fewer), (24, LevelRule::Congestion));
        assert_eq!(choose_level(&mut core(6, &[]), 100.0, WarpChange::More), (8, LevelRule::Congestion));
        assert_eq!(choose_level(&mut core(6, &[]), 100.0, WarpChange::Same), (6, LevelRule::Congestion));
        assert_eq!(choose_level(&mut core(48, &[]), 100.0, WarpChange::More), (48, LevelRule::Congestion));
        assert_eq!(choose_level(&mut core(1, &[]), 100.0, WarpChange::Fewer), (1, LevelRule::Congestion));
    }

    #[test]
    fn the_average_weighs_the_newest_interval_by_three_quarters() {
        let mut core = core(16, &[]);
        core.step(100.0, WarpChange::Same, TEST_K);
        assert_eq!(core.averages[6], Some(100.0), "the first interval makes the entry");
        core.step(200.0, WarpChange::Same, TEST_K);
        assert_eq!(core.averages[6], Some(175.0));
    }

    #[test]
    fn a_predicted_rise_beyond_k_forbids_going_down() {
        assert_eq!(choose_level(&mut core(16, &[(8, 133.0)]), 100.0, WarpChange::Fewer), (16, LevelRule::NotDown));
        assert_eq!(choose_level(&mut core(16, &[(8, 132.0)]), 100.0, WarpChange::Fewer), (8, LevelRule::Congestion));
        assert_eq!(choose_level(&mut core(16, &[(8, 900.0)]), 100.0, WarpChange::More), (24, LevelRule::Congestion), "it forbids only going down");
    }

    #[test]
    fn a_predicted_fall_beyond_k_goes_up() {
        assert_eq!(choose_level(&mut core(16, &[(24, 67.0)]), 100.0, WarpChange::Fewer), (24, LevelRule::Up));
        assert_eq!(choose_level(&mut core(16, &[(24, 68.0)]), 100.0, WarpChange::Fewer), (8, LevelRule::Congestion));
    }

    #[test]
    fn unknown_neighbours_override_nothing() {
        let step = core(16, &[]).step(100.0, WarpChange::Fewer, TEST_K);
        assert_eq!((step.diff_low, step.diff_up, step.warps), (None, None, 8));
    }

    #[test]
    fn four_intervals_at_one_level_change_it() {
        let after = |warps, change| {
            let mut core = core(warps, &[]);
            (0..4).map(|_| choose_level(&mut core, 100.0, change)).last()
        };
        assert_eq!(after(4, WarpChange::Same), Some((6, LevelRule::Refresh)));
        assert_eq!(after(6, WarpChange::Same), Some((4, LevelRule::Refresh)));
        assert_eq!(after(48, WarpChange::More), Some((24, LevelRule::Refresh)));
        let mut core = core(16, &[(8, 900.0)]);
        let walk: Vec<_> = (0..5).map(|_| choose_level(&mut core, 100.0, WarpChange::Fewer)).collect();
        assert_eq!(walk[..3], [(16, LevelRule::NotDown); 3]);
        assert_eq!(walk[3], (8, LevelRule::Refresh), "it comes before the other rules");
        assert_eq!(walk[4], (16, LevelRule::Up), "the level above was measured to stall less");
    }

    #[test]
    fn points_a_to_d_of_figure_14_are_reproduced() {
        // Point A of Figure 14: the average one level up is lower by more than k.
        assert_eq!(choose_level(&mut core(8, &[(6, 200.0), (16, 100.0)]), 140.0, WarpChange::Fewer), (16, LevelRule::Up));
        // Point B: the memory side is congested, but fewer warps would stall the core by more than k.
        let mut at_b = core(16, &[(8, 200.0), (24, 100.0)]);
        assert_eq!(choose_level(&mut at_b, 100.0, WarpChange::Fewer), (16, LevelRule::NotDown));
        // Point C: the metrics are the same, but the core has been at this level for four intervals.
        assert_eq!([choose_level(&mut at_b, 100.0, WarpChange::Fewer), choose_level(&mut at_b, 100.0, WarpChange::Fewer)], [(16, LevelRule::NotDown); 2]);
        assert_eq!(choose_level(&mut at_b, 100.0, WarpChange::Fewer), (8, LevelRule::Refresh));
        // Point D: neither difference exceeds k, so part 1 decides.
        assert_eq!(choose_level(&mut core(16, &[(8, 110.0), (24, 95.0)]), 100.0, WarpChange::Fewer), (8, LevelRule::Congestion));
    }

    #[test]
    fn a_kernel_start_or_end_clears_the_averages() {
        let mut core = core(16, &[(8, 900.0), (24, 1.0)]);
        core.clear_averages();
        assert_eq!(choose_level(&mut core, 100.0, WarpChange::Fewer), (8, LevelRule::Congestion));
    }

    #[test]
    fn an_sm_with_fewer_warps_has_fewer_levels() {
        assert_eq!(CoreLevel::new(32).warps(), 24);
        assert_eq!(CoreLevel::new(1).warps(), 1);
    }

    #[test]
    fn an_infinite_k_leaves_part_1_and_the_refresh() {
        let mut core = core(16, &[(8, 900.0), (24, 1.0)]);
        assert_eq!(core.step(100.0, WarpChange::Fewer, f64::INFINITY).warps, 8);
    }
}
