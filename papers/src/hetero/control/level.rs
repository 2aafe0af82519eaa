//! CM-BAL on one core (Section 4.2): its level of concurrency, the moving averages of `stall_gpu` per level, and the
//! three rules of part 2.
//!
//! In: `stall_gpu` of an interval and what part 1 calls for. Out: the next level, and the rule that chose it.
//!
//! Precedence, from the example of Figure 14: first the fourth interval at one level, then rising when that is predicted to help,
//! then not falling when that is predicted to hurt, then part 1. The paper does not order the second and third rule; this is our
//! reading.

use super::congestion::Call;

/// Active warps by level (Section 4.2).
const LEVELS: [u32; 9] = [1, 2, 3, 4, 6, 8, 16, 24, 48];
/// Intervals at one level after which the level changes regardless of the metrics.
const PATIENCE: u32 = 4;
/// Below this number of warps, the change after [`PATIENCE`] intervals is upwards; otherwise downwards.
const TURN: u32 = 6;
/// Weight of the newest interval in the moving average.
const NEWEST: f64 = 0.75;

/// Why a level was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Part 1: the congestion of the memory side.
    Congestion,
    /// Part 2: going down would raise `stall_gpu` by more than k.
    NotDown,
    /// Part 2: going up would lower `stall_gpu` by more than k.
    Up,
    /// Part 2: four intervals at one level; only to renew the neighbours' averages.
    Refresh,
}

impl Rule {
    /// The reason's text for the timeline.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Congestion => "part 1: congestion of the memory side",
            Self::NotDown => "part 2: fewer warps would stall the core",
            Self::Up => "part 2: more warps would stall the core less",
            Self::Refresh => "part 2: four intervals at one level",
        }
    }
}

/// What a core decided at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Active warps from now on.
    pub(super) warps: u32,
    /// Whether that is a change.
    pub(super) changed: bool,
    /// Why.
    pub(super) rule: Rule,
    /// Predicted increase of `stall_gpu` one level down, if known.
    pub(super) diff_low: Option<f64>,
    /// Predicted decrease of `stall_gpu` one level up, if known.
    pub(super) diff_up: Option<f64>,
}

/// A core's level and the averages of the neighbouring levels.
#[derive(Clone, Debug, PartialEq, warpshard_state::State)]
pub(super) struct Concurrency {
    level: usize,
    /// The highest level that the SM has warps for.
    top: usize,
    averages: [Option<f64>; LEVELS.len()],
    intervals: u32,
}

impl Concurrency {
    /// A core of `warps` warps, all of them active. Only levels that it has warps for are used.
    pub(super) fn new(warps: u32) -> Self {
        let top = LEVELS.iter().rposition(|&level| level <= warps).unwrap_or(0);
        Self { level: top, top, averages: [None; LEVELS.len()], intervals: 0 }
    }

    /// Active warps.
    pub(super) fn warps(&self) -> u32 {
        LEVELS[self.level]
    }

    /// Clears the averages, as at the start and the end of a kernel.
    pub(super) fn forget(&mut self) {
        self.averages = [None; LEVELS.len()];
        self.intervals = 0;
    }

    /// Takes `stall_gpu` of the interval that ends and chooses the level of the next one.
    pub(super) fn step(&mut self, stall_gpu: f64, call: Call, k: f64) -> Step {
        let average = self.averages[self.level].map_or(stall_gpu, |old| (1.0 - NEWEST) * old + NEWEST * stall_gpu);
        self.averages[self.level] = Some(average);
        self.intervals += 1;
        let diff_low = self.level.checked_sub(1).and_then(|lower| self.averages[lower]).map(|lower| lower - average);
        let diff_up = if self.level < self.top { self.averages[self.level + 1].map(|upper| average - upper) } else { None };
        let exceeds = |diff: Option<f64>| diff.is_some_and(|diff| diff > k);
        let (level, rule) = if self.intervals >= PATIENCE {
            (if self.warps() < TURN { self.up() } else { self.down() }, Rule::Refresh)
        } else if exceeds(diff_up) {
            (self.up(), Rule::Up)
        } else if call == Call::Fewer && exceeds(diff_low) {
            (self.level, Rule::NotDown)
        } else {
            let level = match call {
                Call::Fewer => self.down(),
                Call::More => self.up(),
                Call::Same => self.level,
            };
            (level, Rule::Congestion)
        };
        let changed = level != self.level;
        if changed {
            self.intervals = 0;
        }
        self.level = level;
        Step { warps: self.warps(), changed, rule, diff_low, diff_up }
    }

    fn up(&self) -> usize {
        (self.level + 1).min(self.top)
    }

    fn down(&self) -> usize {
        self.level.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: f64 = 32.0;

    /// A core at `warps` whose averages are these, by level.
    fn core(warps: u32, averages: &[(u32, f64)]) -> Concurrency {
        let level = |warps| LEVELS.iter().position(|&level| level == warps).expect("a level");
        let mut core = Concurrency { level: level(warps), ..Concurrency::new(48) };
        averages.iter().for_each(|&(warps, average)| core.averages[level(warps)] = Some(average));
        core
    }

    fn chosen(core: &mut Concurrency, stall_gpu: f64, call: Call) -> (u32, Rule) {
        let step = core.step(stall_gpu, call, K);
        (step.warps, step.rule)
    }

    #[test]
    fn part_1_moves_by_levels() {
        assert_eq!(chosen(&mut core(48, &[]), 100.0, Call::Fewer), (24, Rule::Congestion));
        assert_eq!(chosen(&mut core(6, &[]), 100.0, Call::More), (8, Rule::Congestion));
        assert_eq!(chosen(&mut core(6, &[]), 100.0, Call::Same), (6, Rule::Congestion));
        assert_eq!(chosen(&mut core(48, &[]), 100.0, Call::More), (48, Rule::Congestion));
        assert_eq!(chosen(&mut core(1, &[]), 100.0, Call::Fewer), (1, Rule::Congestion));
    }

    #[test]
    fn the_average_weighs_the_newest_interval_by_three_quarters() {
        let mut core = core(16, &[]);
        core.step(100.0, Call::Same, K);
        assert_eq!(core.averages[6], Some(100.0), "the first interval makes the entry");
        core.step(200.0, Call::Same, K);
        assert_eq!(core.averages[6], Some(175.0));
    }

    #[test]
    fn a_predicted_rise_beyond_k_forbids_going_down() {
        assert_eq!(chosen(&mut core(16, &[(8, 133.0)]), 100.0, Call::Fewer), (16, Rule::NotDown));
        assert_eq!(chosen(&mut core(16, &[(8, 132.0)]), 100.0, Call::Fewer), (8, Rule::Congestion));
        assert_eq!(chosen(&mut core(16, &[(8, 900.0)]), 100.0, Call::More), (24, Rule::Congestion), "it forbids only going down");
    }

    #[test]
    fn a_predicted_fall_beyond_k_goes_up() {
        assert_eq!(chosen(&mut core(16, &[(24, 67.0)]), 100.0, Call::Fewer), (24, Rule::Up));
        assert_eq!(chosen(&mut core(16, &[(24, 68.0)]), 100.0, Call::Fewer), (8, Rule::Congestion));
    }

    #[test]
    fn unknown_neighbours_override_nothing() {
        let step = core(16, &[]).step(100.0, Call::Fewer, K);
        assert_eq!((step.diff_low, step.diff_up, step.warps), (None, None, 8));
    }

    #[test]
    fn four_intervals_at_one_level_change_it() {
        let after = |warps, call| {
            let mut core = core(warps, &[]);
            (0..4).map(|_| chosen(&mut core, 100.0, call)).last()
        };
        assert_eq!(after(4, Call::Same), Some((6, Rule::Refresh)));
        assert_eq!(after(6, Call::Same), Some((4, Rule::Refresh)));
        assert_eq!(after(48, Call::More), Some((24, Rule::Refresh)));
        let mut core = core(16, &[(8, 900.0)]);
        let walk: Vec<_> = (0..5).map(|_| chosen(&mut core, 100.0, Call::Fewer)).collect();
        assert_eq!(walk[..3], [(16, Rule::NotDown); 3]);
        assert_eq!(walk[3], (8, Rule::Refresh), "it comes before the other rules");
        assert_eq!(walk[4], (16, Rule::Up), "the level above was measured to stall less");
    }

    #[test]
    fn figure_14s_walk_from_a_to_d() {
        // A: more warps were measured to stall less by more than k.
        assert_eq!(chosen(&mut core(8, &[(6, 200.0), (16, 100.0)]), 140.0, Call::Fewer), (16, Rule::Up));
        // B: the memory side is congested, but fewer warps would stall the core by more than k.
        let mut at_b = core(16, &[(8, 200.0), (24, 100.0)]);
        assert_eq!(chosen(&mut at_b, 100.0, Call::Fewer), (16, Rule::NotDown));
        // C: the same holds, but the level has been held for four intervals.
        assert_eq!([chosen(&mut at_b, 100.0, Call::Fewer), chosen(&mut at_b, 100.0, Call::Fewer)], [(16, Rule::NotDown); 2]);
        assert_eq!(chosen(&mut at_b, 100.0, Call::Fewer), (8, Rule::Refresh));
        // D: neither difference exceeds k, so part 1 decides.
        assert_eq!(chosen(&mut core(16, &[(8, 110.0), (24, 95.0)]), 100.0, Call::Fewer), (8, Rule::Congestion));
    }

    #[test]
    fn the_begin_and_end_of_a_kernel_forget_the_averages() {
        let mut core = core(16, &[(8, 900.0), (24, 1.0)]);
        core.forget();
        assert_eq!(chosen(&mut core, 100.0, Call::Fewer), (8, Rule::Congestion));
    }

    #[test]
    fn an_sm_with_fewer_warps_has_fewer_levels() {
        assert_eq!(Concurrency::new(32).warps(), 24);
        assert_eq!(Concurrency::new(1).warps(), 1);
    }

    #[test]
    fn an_infinite_k_leaves_part_1_and_the_refresh() {
        let mut core = core(16, &[(8, 900.0), (24, 1.0)]);
        assert_eq!(core.step(100.0, Call::Fewer, f64::INFINITY).warps, 8);
    }
}
