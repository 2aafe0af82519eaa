//! Thread-aware dynamic re-reference interval prediction (TA-DRRIP, Jaleel et al., ISCA 2010, Section 4) over intervals of two bits.
//!
//! A line is inserted as under SRRIP, or as under BRRIP, which gives all but one of 32 lines a distant interval. Each kernel chooses
//! between the two by set dueling: a few sets always use SRRIP for it and a few always BRRIP, and a counter of ten bits counts its misses
//! in these sets, up and down. In all other sets its lines are inserted by the policy with fewer misses. Kernels with the same number
//! modulo [`KERNEL_COUNTERS`] share a counter.
//!
//! The paper has 32 sets of each kind per thread; a smaller cache has fewer, so that half of its sets are leaders of no kernel. A cache of
//! fewer than [`MIN_DUELING_SETS`] sets has no leaders and uses SRRIP.

use warpshard_seam::{Access, CacheSite, LinePosition, Replacement};

/// The predicted intervals: needed in the distant future, in the far future, and soon.
const DISTANT_INTERVAL: u8 = 3;
const LONG_INTERVAL: u8 = 2;
const NEAR_IMMEDIATE_INTERVAL: u8 = 0;

/// The number of kernels with separate counters.
const KERNEL_COUNTERS: usize = 8;
/// The largest number of leader sets of each kind per kernel.
const MAX_LEADER_SETS: u32 = 32;
/// The smallest number of sets for set dueling.
const MIN_DUELING_SETS: u32 = 4 * KERNEL_COUNTERS as u32;
/// The largest value of a counter, and the smallest value that selects BRRIP.
const COUNTER_MAX: u16 = 1023;
const COUNTER_MIDDLE: u16 = 512;
/// The number of insertions under BRRIP of which one is as under SRRIP.
const BRRIP_PERIOD: u8 = 32;

/// The dueling state of a kernel.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct DuelingState {
    /// Misses in the kernel's SRRIP sets minus misses in its BRRIP sets.
    counter: u16,
    /// Insertions under BRRIP since the last one with the interval of SRRIP.
    bimodal: u8,
}

/// The intervals of all lines, and the dueling state of each kernel.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct TaDrrip {
    ways: u32,
    /// The number of sets between two leaders of the same kernel and kind; a set number modulo `span` gives the leader role.
    span: u32,
    intervals: Box<[u8]>,
    choices: [DuelingState; KERNEL_COUNTERS],
}

impl TaDrrip {
    pub(super) fn new(site: &CacheSite) -> Self {
        let leaders = if site.sets < MIN_DUELING_SETS { 0 } else { (site.sets / MIN_DUELING_SETS).min(MAX_LEADER_SETS) };
        let span = site.sets.checked_div(leaders).unwrap_or(0);
        let intervals = vec![DISTANT_INTERVAL; (site.sets * site.ways) as usize].into();
        Self { ways: site.ways, span, intervals, choices: [DuelingState { counter: COUNTER_MIDDLE - 1, bimodal: 0 }; KERNEL_COUNTERS] }
    }

    /// Returns true if a set always uses BRRIP for a kernel, false if it always uses SRRIP, and `None` for other sets.
    fn leads(&self, set: u32, kernel: usize) -> Option<bool> {
        let place = set.checked_rem(self.span)?;
        (place as usize / 2 == kernel).then_some(place % 2 == 1)
    }

    fn interval(&mut self, at: LinePosition) -> &mut u8 {
        &mut self.intervals[(at.set * self.ways + at.way) as usize]
    }
}

impl Replacement for TaDrrip {
    fn name(&self) -> &str {
        "ta-drrip"
    }

    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32> {
        let first = access.set * self.ways;
        // Among equal intervals, the first way is selected.
        ways.min_by_key(|way| DISTANT_INTERVAL - self.intervals[(first + way) as usize])
    }

    fn hit(&mut self, at: LinePosition, _: &Access, sector: bool) {
        // An access to a missing or outstanding sector belongs to the first use of the line.
        if sector {
            *self.interval(at) = NEAR_IMMEDIATE_INTERVAL;
        }
    }

    fn fill(&mut self, at: LinePosition, access: &Access) {
        let kernel = access.identity.kernel.index() % KERNEL_COUNTERS;
        let leads = self.leads(at.set, kernel);
        let choice = &mut self.choices[kernel];
        match leads {
            Some(false) => choice.counter = (choice.counter + 1).min(COUNTER_MAX),
            Some(true) => choice.counter = choice.counter.saturating_sub(1),
            None => {}
        }
        let bimodal = leads.unwrap_or(choice.counter >= COUNTER_MIDDLE);
        let distant = bimodal && {
            choice.bimodal = (choice.bimodal + 1) % BRRIP_PERIOD;
            choice.bimodal != 0
        };
        *self.interval(at) = if distant { DISTANT_INTERVAL } else { LONG_INTERVAL };
    }

    fn evict(&mut self, at: LinePosition) {
        let interval = std::mem::replace(self.interval(at), DISTANT_INTERVAL);
        // The other lines age by the difference between the victim's interval and the longest interval.
        let first = (at.set * self.ways) as usize;
        let others = &mut self.intervals[first..first + self.ways as usize];
        others.iter_mut().for_each(|other| *other = (*other + DISTANT_INTERVAL - interval).min(DISTANT_INTERVAL));
    }

    fn clear(&mut self) {
        self.intervals.fill(DISTANT_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::{Addr, KernelIndex};
    use warpshard_seam::{Identity, Level};

    use super::*;

    const SET_COUNT: u32 = 64;
    const WAY_COUNT: u32 = 4;

    /// Returns the hits, over all sets, of a kernel that reads private lines in the order of `lines`.
    fn hits(kernel: u32, lines: impl Iterator<Item = u64> + Clone, policy: &mut TaDrrip) -> usize {
        let mut held: Vec<Option<u64>> = vec![None; (SET_COUNT * WAY_COUNT) as usize];
        let mut hits = 0;
        for line in lines {
            for set in 0..SET_COUNT {
                let identity = Identity { kernel: KernelIndex(kernel), ..Identity::default() };
                let access = Access { addr: Addr(line), set, identity, ..Access::default() };
                let ways = &mut held[(set * WAY_COUNT) as usize..((set + 1) * WAY_COUNT) as usize];
                if let Some(way) = ways.iter().position(|held| *held == Some(line)) {
                    policy.hit(LinePosition { set, way: way as u32 }, &access, true);
                    hits += 1;
                    continue;
                }
                let way =
                    ways.iter().position(Option::is_none).unwrap_or_else(|| policy.victim(&access, &mut (0..WAY_COUNT)).unwrap() as usize);
                let at = LinePosition { set, way: way as u32 };
                if ways[way].replace(line).is_some() {
                    policy.evict(at);
                }
                policy.fill(at, &access);
            }
        }
        hits
    }

    fn policy(sets: u32) -> TaDrrip {
        TaDrrip::new(&CacheSite::new(Level::Llc(0), sets, WAY_COUNT, 128))
    }

    #[test]
    fn a_kernel_that_thrashes_keeps_a_part_of_its_lines_and_another_kernel_its_intervals() {
        // Six lines are read cyclically in four ways: under SRRIP, none of them stays.
        let circle = (0..600u64).map(|i| i % 6);
        let mut duels = policy(SET_COUNT);
        let kept = hits(1, circle.clone(), &mut duels);
        // Without leader sets the policy is SRRIP.
        let mut static_policy = TaDrrip { span: 0, ..policy(SET_COUNT) };
        assert_eq!(hits(1, circle, &mut static_policy), 0);
        assert!(kept > 600 * SET_COUNT as usize / 4, "{kept} hits of {}", 600 * SET_COUNT);
        assert!(duels.choices[1].counter >= COUNTER_MIDDLE && duels.choices[2].counter < COUNTER_MIDDLE, "{:?}", duels.choices);
        // Two lines are read again and again: hits do not change a kernel's counter.
        assert_eq!(hits(2, (0..100).map(|i| 100 + i % 2), &mut duels), 98 * SET_COUNT as usize);
        assert!(duels.choices[2].counter < COUNTER_MIDDLE);
    }

    #[test]
    fn leader_sets_are_balanced_and_at_most_half() {
        for (sets, leaders) in [(16, 0), (32, 1), (64, 2), (2048, 32), (8192, 32)] {
            let policy = policy(sets);
            for kernel in 0..KERNEL_COUNTERS {
                let of = |bimodal| (0..sets).filter(|set| policy.leads(*set, kernel) == Some(bimodal)).count();
                assert_eq!((of(false), of(true)), (leaders, leaders), "{sets} sets, kernel {kernel}");
            }
        }
    }
}
