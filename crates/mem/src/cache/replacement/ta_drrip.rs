//! Thread-aware dynamic re-reference interval prediction (TA-DRRIP, Jaleel et al., ISCA 2010, Section 4) over intervals of two bits.
//!
//! A line comes as under SRRIP, or as under BRRIP: with a distant interval, but for one of 32. Each kernel has its own choice between the two: a few
//! sets always take SRRIP for it and a few always BRRIP, and a counter of ten bits counts its misses in them, up and down. In all other sets its lines
//! come as under the policy that missed less. Kernels with the same number modulo [`KERNELS`] share a counter.
//!
//! The paper has 32 sets of each kind for each thread; a cache with fewer has as many as leave half of its sets to no kernel. One of fewer
//! than [`LEAST`] sets has none, and is SRRIP.

use warpshard_seam::{Access, CacheSite, Place, Replacement};

/// Needed in the distant future, in the far future, and soon.
const DISTANT: u8 = 3;
const LONG: u8 = 2;
const SOON: u8 = 0;

/// Kernels that are told apart.
const KERNELS: usize = 8;
/// Sets of each kind for each kernel, at most.
const LEADERS: u32 = 32;
/// Sets below which none duel.
const LEAST: u32 = 4 * KERNELS as u32;
/// The greatest value of a counter, and the least for which BRRIP is taken.
const MOST: u16 = 1023;
const HALF: u16 = 512;
/// Of so many lines under BRRIP one comes as under SRRIP.
const BIMODAL: u8 = 32;

/// What a kernel has learned.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct Choice {
    /// Misses in its SRRIP sets less those in its BRRIP sets.
    counter: u16,
    /// Lines under BRRIP since the last that came as under SRRIP.
    bimodal: u8,
}

/// The intervals of all lines, and the choices.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct TaDrrip {
    ways: u32,
    /// A set's number modulo this says whose leader it is.
    span: u32,
    intervals: Box<[u8]>,
    choices: [Choice; KERNELS],
}

impl TaDrrip {
    pub(super) fn new(site: &CacheSite) -> Self {
        let leaders = if site.sets < LEAST { 0 } else { (site.sets / LEAST).min(LEADERS) };
        let span = site.sets.checked_div(leaders).unwrap_or(0);
        let intervals = vec![DISTANT; (site.sets * site.ways) as usize].into();
        Self { ways: site.ways, span, intervals, choices: [Choice { counter: HALF - 1, bimodal: 0 }; KERNELS] }
    }

    /// Whether a set always takes BRRIP for a kernel, or always SRRIP.
    fn leads(&self, set: u32, kernel: usize) -> Option<bool> {
        let place = set.checked_rem(self.span)?;
        (place as usize / 2 == kernel).then_some(place % 2 == 1)
    }

    fn interval(&mut self, at: Place) -> &mut u8 {
        &mut self.intervals[(at.set * self.ways + at.way) as usize]
    }
}

impl Replacement for TaDrrip {
    fn name(&self) -> &str {
        "ta-drrip"
    }

    fn victim(&self, access: &Access, ways: &mut dyn Iterator<Item = u32>) -> Option<u32> {
        let first = access.set * self.ways;
        // Of equal ones, the first.
        ways.min_by_key(|way| DISTANT - self.intervals[(first + way) as usize])
    }

    fn hit(&mut self, at: Place, _: &Access, sector: bool) {
        // A sector that is missing or on its way is part of the first use of the line.
        if sector {
            *self.interval(at) = SOON;
        }
    }

    fn fill(&mut self, at: Place, access: &Access) {
        let kernel = access.identity.kernel.index() % KERNELS;
        let leads = self.leads(at.set, kernel);
        let choice = &mut self.choices[kernel];
        match leads {
            Some(false) => choice.counter = (choice.counter + 1).min(MOST),
            Some(true) => choice.counter = choice.counter.saturating_sub(1),
            None => {}
        }
        let bimodal = leads.unwrap_or(choice.counter >= HALF);
        let distant = bimodal && {
            choice.bimodal = (choice.bimodal + 1) % BIMODAL;
            choice.bimodal != 0
        };
        *self.interval(at) = if distant { DISTANT } else { LONG };
    }

    fn evict(&mut self, at: Place) {
        let interval = std::mem::replace(self.interval(at), DISTANT);
        // The others age by as much as the victim lacked of the longest interval.
        let first = (at.set * self.ways) as usize;
        let others = &mut self.intervals[first..first + self.ways as usize];
        others.iter_mut().for_each(|other| *other = (*other + DISTANT - interval).min(DISTANT));
    }

    fn clear(&mut self) {
        self.intervals.fill(DISTANT);
    }
}

#[cfg(test)]
mod tests {
    use warpshard_base::{Addr, KernelIndex};
    use warpshard_seam::{Identity, Level};

    use super::*;

    const SETS: u32 = 64;
    const WAYS: u32 = 4;

    /// Hits of one kernel that reads lines of its own in a cache, in the order of `lines`, over all sets.
    fn hits(kernel: u32, lines: impl Iterator<Item = u64> + Clone, policy: &mut TaDrrip) -> usize {
        let mut held: Vec<Option<u64>> = vec![None; (SETS * WAYS) as usize];
        let mut hits = 0;
        for line in lines {
            for set in 0..SETS {
                let identity = Identity { kernel: KernelIndex(kernel), ..Identity::default() };
                let access = Access { addr: Addr(line), set, identity, ..Access::default() };
                let ways = &mut held[(set * WAYS) as usize..((set + 1) * WAYS) as usize];
                if let Some(way) = ways.iter().position(|held| *held == Some(line)) {
                    policy.hit(Place { set, way: way as u32 }, &access, true);
                    hits += 1;
                    continue;
                }
                let way = ways.iter().position(Option::is_none).unwrap_or_else(|| policy.victim(&access, &mut (0..WAYS)).unwrap() as usize);
                let at = Place { set, way: way as u32 };
                if ways[way].replace(line).is_some() {
                    policy.evict(at);
                }
                policy.fill(at, &access);
            }
        }
        hits
    }

    fn policy(sets: u32) -> TaDrrip {
        TaDrrip::new(&CacheSite::new(Level::Llc(0), sets, WAYS, 128))
    }

    #[test]
    fn a_kernel_that_thrashes_keeps_a_part_of_its_lines_and_another_kernel_its_intervals() {
        // Six lines in four ways, in a circle: nothing is left of them under SRRIP.
        let circle = (0..600u64).map(|i| i % 6);
        let mut duels = policy(SETS);
        let kept = hits(1, circle.clone(), &mut duels);
        // Without sets that duel it is SRRIP.
        let mut static_policy = TaDrrip { span: 0, ..policy(SETS) };
        assert_eq!(hits(1, circle, &mut static_policy), 0);
        assert!(kept > 600 * SETS as usize / 4, "{kept} hits of {}", 600 * SETS);
        assert!(duels.choices[1].counter >= HALF && duels.choices[2].counter < HALF, "{:?}", duels.choices);
        // Two lines that are read again: a kernel that finds its lines learns nothing.
        assert_eq!(hits(2, (0..100).map(|i| 100 + i % 2), &mut duels), 98 * SETS as usize);
        assert!(duels.choices[2].counter < HALF);
    }

    #[test]
    fn sets_that_lead_are_as_many_of_each_kind_and_at_most_half() {
        for (sets, leaders) in [(16, 0), (32, 1), (64, 2), (2048, 32), (8192, 32)] {
            let policy = policy(sets);
            for kernel in 0..KERNELS {
                let of = |bimodal| (0..sets).filter(|set| policy.leads(*set, kernel) == Some(bimodal)).count();
                assert_eq!((of(false), of(true)), (leaders, leaders), "{sets} sets, kernel {kernel}");
            }
        }
    }
}
