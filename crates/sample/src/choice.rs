//! The choice of the launches that a round simulates, and of their simulated parts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use warpshard_base::Rng;

use super::draw::{self, StratumShare};
use super::estimate::{ConfidenceInterval, GroupEstimate};
use super::long_launch::PartPlan;
use super::state::{MAX_START_WORK_SHARE, MIN_PER_STRATUM, SamplingState};

/// Maximum growth factor of the number of measured launches of a stratum per round.
const MAX_GROWTH: usize = 3;
/// Maximum share of the launches in an extended start, since the first launches may be small.
const MAX_START_SHARE: f64 = 0.2;
/// Ratio of the workload's fetches to the LLC capacity from which the start is extended until the LLC has been filled once. Applies only if
/// the LLC does not receive the lines of skipped launches.
const LONG_START_LLC_FILLS: f64 = 3.0;

impl SamplingState<'_> {
    /// Returns the number of first launches that fill the LLC, if the workload fills it many times and the present start is shorter.
    pub(super) fn extended_start(&self) -> Option<usize> {
        let mut fetches = vec![0.0; self.launches.len()];
        for members in self.draw_orders.iter().flatten() {
            let samples = || members.iter().filter_map(|launch| self.samples.get(launch).map(|sample| (*launch, sample)));
            let work: f64 = samples().map(|(launch, _)| self.launches[launch].warp_instructions as f64).sum();
            let fetched: f64 = samples().map(|(_, sample)| sample.launched.llc_fills as f64).sum();
            members.iter().for_each(|launch| fetches[*launch] = fetched / work.max(1.0) * self.launches[*launch].warp_instructions as f64);
        }
        if fetches.iter().sum::<f64>() < LONG_START_LLC_FILLS * self.llc {
            return None;
        }
        let all: f64 = self.launches.iter().map(|launch| launch.warp_instructions as f64).sum();
        let most = (self.launches.len() as f64 * MAX_START_SHARE) as usize;
        let (mut start, mut filled, mut work) = (0, 0.0, 0.0);
        while start < most && filled < self.llc && work < MAX_START_WORK_SHARE * all {
            filled += fetches[start];
            work += self.launches[start].warp_instructions as f64;
            start += 1;
        }
        (start > self.draw_orders[0][0].len()).then_some(start)
    }

    /// Returns the launches of the first round: the minimum number per stratum for a variance, and the requested number per group.
    pub(super) fn first_round(&self) -> BTreeSet<usize> {
        let mut wanted = BTreeSet::new();
        wanted.extend(&self.draw_orders[0][0]);
        for strata in &self.draw_orders[1..] {
            let mut taken: Vec<usize> = strata.iter().map(|members| members.len().min(MIN_PER_STRATUM)).collect();
            let all: usize = strata.iter().map(Vec::len).sum();
            while taken.iter().sum::<usize>() < all.min(self.options.least as usize) {
                // Selects the stratum with the most launches per measured launch.
                let open = (0..strata.len()).filter(|s| taken[*s] < strata[*s].len());
                let Some(next) = open.max_by_key(|s| (strata[*s].len() / taken[*s], std::cmp::Reverse(*s))) else { break };
                taken[next] += 1;
            }
            wanted.extend(strata.iter().zip(taken).flat_map(|(members, taken)| &members[..taken]));
        }
        wanted
    }

    /// Returns the launches with the launches that warm the caches for them; every round begins with the start.
    pub(super) fn with_warming_launches(&self, wanted: &BTreeSet<usize>) -> BTreeSet<usize> {
        let before = wanted.iter().flat_map(|launch| launch.saturating_sub(self.options.warm as usize)..=*launch);
        // If the LLC receives the lines of skipped launches, a round starts with only the first launch.
        let start = if self.history.is_some() { 1 } else { self.draw_orders[0][0].len() };
        before.chain(0..start).chain(self.comparison_launches(wanted)).collect()
    }

    /// Returns launches that are simulated only so that one measured launch of each group directly follows its predecessor. The resulting
    /// change of its cycles shows the state that filling the LLC does not restore.
    fn comparison_launches(&self, wanted: &BTreeSet<usize>) -> impl Iterator<Item = usize> {
        let groups = if self.caches && self.options.warm == 0 { &self.draw_orders[1..] } else { &[] };
        let largest = groups.iter().filter_map(|strata| strata.iter().max_by_key(|members| members.len()));
        largest.filter(|members| members.len() > MIN_PER_STRATUM && wanted.contains(&members[0])).map(|members| members[0] - 1)
    }

    /// Returns the launches of a round of which only parts are simulated: launches without a simulated successor that finds their caches,
    /// or all long launches if the LLC receives the lines that the whole launch used last.
    pub(super) fn partial_launches(&self, wanted: &BTreeSet<usize>, kept: &BTreeSet<usize>) -> BTreeMap<usize, PartPlan> {
        let filled = self.lines_stored && self.history.is_some();
        let warms = |launch: usize| (self.options.warm > 0 || self.caches && !filled) && kept.contains(&(launch + 1));
        let long: Vec<usize> = wanted.iter().copied().filter(|launch| self.long_launches.contains_key(launch) && !warms(*launch)).collect();
        let launches = long.len();
        let plan = |launch: usize| {
            let mut random = Rng::keyed(self.options.seed, &[0x70_6172_7473, launch as u64, u64::from(self.rounds)]);
            let again = self.head_and_tail.contains_key(&launch) || self.samples.contains_key(&launch);
            (launch, self.long_launches[&launch].plan(launches, again, self.waves.get(&launch).copied(), &mut random))
        };
        long.into_iter().map(plan).collect()
    }

    /// Returns the cost of a round including all previous rounds, as a share of the workload's warp instructions.
    pub(super) fn cost(&self, kept: &BTreeSet<usize>, parts: &BTreeMap<usize, PartPlan>) -> f64 {
        let of = |launch: &usize| {
            let all = self.launches[*launch].warp_instructions as f64;
            let ctas = |plan: &PartPlan| plan.ranges.iter().map(Range::len).sum::<usize>() as f64;
            parts.get(launch).map_or(all, |plan| all * ctas(plan) / f64::from(self.launches[*launch].ctas))
        };
        let all: f64 = self.launches.iter().map(|launch| launch.warp_instructions as f64).sum();
        (self.simulated as f64 + kept.iter().map(of).sum::<f64>()) / all
    }

    /// Returns the launches of the next round.
    pub(super) fn next_round(&mut self, groups: &[GroupEstimate], interval: ConfidenceInterval) -> BTreeSet<usize> {
        let cost = |members: &[usize]| {
            let of = |launch: &usize| self.launches[*launch].warp_instructions as f64;
            members.iter().map(of).sum::<f64>() / members.len() as f64
        };
        let strata = || self.draw_orders.iter().zip(groups).flat_map(|(strata, group)| strata.iter().zip(&group.deviations));
        let shares: Vec<StratumShare> = strata()
            .map(|(members, deviation)| StratumShare {
                launches: members.len(),
                measured_launches: members.iter().filter(|launch| self.samples.contains_key(launch)).count(),
                deviation: *deviation,
                cost: cost(members),
            })
            .collect();
        // The quantile for more launches is not known, except that it is not larger.
        let quantile = interval.half_width / interval.variance.sqrt().max(f64::MIN_POSITIVE);
        let aim = 0.8 * self.options.error * interval.value / quantile.min(2.3);
        let taken = draw::allocate(&shares, aim * aim);
        // The deviation of few launches is uncertain, so their number grows step by step.
        let taken = taken.into_iter().zip(&shares).map(|(taken, share)| taken.min(MAX_GROWTH * share.measured_launches));
        let more = strata().zip(taken).flat_map(|((members, _), taken)| &members[..taken]);
        let mut more: BTreeSet<usize> = more.copied().filter(|launch| !self.samples.contains_key(launch)).collect();
        // Partly simulated launches are simulated in further parts if their variance is too large.
        let factor = (interval.variance / (aim * aim)).min((1 + MAX_GROWTH) as f64) - 1.0;
        let weights = self.draw_orders.iter().flatten().zip(groups.iter().flat_map(|group| &group.weights));
        let weighted =
            weights.flat_map(|(members, weights)| members.iter().filter(|launch| self.samples.contains_key(launch)).zip(weights));
        let uncertain = weighted.filter_map(|(launch, weight)| {
            let sample = &self.samples[launch];
            let known = sample.inside.as_ref()?;
            let variance = weight * weight * sample.point.variance;
            let waves = self.long_launches[launch].waves(known.measured(), self.launches[*launch].warp_instructions as f64);
            (variance > 0.1 * interval.variance && factor > 0.0).then(|| (*launch, (waves * factor).ceil() as u64))
        });
        let waves: BTreeMap<usize, u64> = uncertain.collect();
        more.extend(waves.keys());
        self.waves = waves;
        more
    }
}
