//! The estimates for all launches from the simulated launches, with their intervals.

use warpshard_chip::RunResult;
use warpshard_stats::{HostFacts, ResultBasis};

use super::estimate::{self, AGE_BIAS, ConfidenceInterval, GroupEstimate, MeasuredLaunch, MeasuredStratum, STATE_BIAS};
use super::extrapolate::{self, SimulatedLaunch};
use super::state::{LaunchSample, SamplingState};

impl SamplingState<'_> {
    /// Returns the measurements by group and stratum; `value` may replace the cycles of a sample by another value.
    fn measured(&self, value: impl Fn(&LaunchSample) -> Option<f64>) -> Vec<Vec<MeasuredStratum>> {
        let work = |launch: &usize| self.launches[*launch].warp_instructions as f64;
        let of_stratum = |members: &Vec<usize>| {
            let samples = members.iter().filter_map(|launch| self.samples.get(launch));
            let replaced = |sample: &LaunchSample, value: f64| {
                // A counter has the same relative error as the cycles.
                let scale = value / sample.point.value.max(1.0);
                MeasuredLaunch { value, variance: sample.point.variance * scale * scale, ..sample.point }
            };
            let points = samples.map(|sample| value(sample).map_or(sample.point, |value| replaced(sample, value)));
            MeasuredStratum { works: members.iter().map(work).collect(), points: points.collect() }
        };
        self.draw_orders.iter().map(|strata| strata.iter().map(of_stratum).collect()).collect()
    }

    pub(super) fn estimate(&self) -> (Vec<GroupEstimate>, ConfidenceInterval) {
        let groups: Vec<GroupEstimate> = self.measured(|_| None).iter().map(|strata| estimate::estimate(strata)).collect();
        let interval = estimate::sum(&groups, self.options.confidence);
        (groups, interval)
    }

    /// Widens the interval by biases that remain even if the drawn launches agree; more launches would not reduce them.
    fn with_biases(&self, groups: &[GroupEstimate], interval: ConfidenceInterval) -> ConfidenceInterval {
        let simulated: f64 = self.samples.values().map(LaunchSample::simulated_cycles).sum();
        let rest = (interval.value - simulated).max(0.0);
        let weights = self.draw_orders.iter().flatten().zip(groups.iter().flat_map(|group| &group.weights));
        let samples = weights.flat_map(|(members, weights)| members.iter().filter_map(|launch| self.samples.get(launch)).zip(weights));
        let in_parts = samples.filter(|(sample, _)| sample.inside.is_some());
        let rest_of_parts: f64 = in_parts.map(|(sample, weight)| weight * sample.point.value - sample.simulated_cycles()).sum();
        // If the cycles of launches differ after a simulated predecessor, the other launches may have the same bias.
        let warming = if self.caches { self.difference(groups).abs() } else { 0.0 };
        let biases = [warming * rest, STATE_BIAS * rest, AGE_BIAS * rest_of_parts];
        biases.into_iter().fold(interval, ConfidenceInterval::with_bias)
    }

    /// Returns the relative additional time of launches without a simulated predecessor, compared with launches with one: the mean over
    /// groups that have both, weighted by their cycles.
    fn difference(&self, groups: &[GroupEstimate]) -> f64 {
        let measured = self.samples.iter().map(|(launch, sample)| (*launch, sample.point.value, sample.warmed));
        let all = measured.chain(self.unwarmed.iter().map(|(launch, cycles)| (*launch, *cycles, false)));
        // Sums and numbers of residuals, without and with a simulated predecessor.
        let mut sums = vec![[(0.0, 0.0); 2]; groups.len()];
        for (launch, cycles, warmed) in all {
            let Some((g, s)) = self.stratum_of(launch).filter(|(g, _)| *g > 0) else { continue };
            let expected = groups[g].expected(s, self.launches[launch].warp_instructions as f64);
            if expected > 0.0 {
                let (sum, count) = &mut sums[g][usize::from(warmed)];
                *sum += cycles / expected - 1.0;
                *count += 1.0;
            }
        }
        let both = groups.iter().zip(&sums).filter(|(_, [without, with])| without.1 > 0.0 && with.1 > 0.0);
        let of_group =
            |(group, [without, with]): (&GroupEstimate, &[(f64, f64); 2])| (group.total, without.0 / without.1 - with.0 / with.1);
        let (difference, cycles) =
            both.map(of_group).fold((0.0, 0.0), |(sum, all), (cycles, difference)| (sum + cycles * difference, all + cycles));
        if cycles > 0.0 { difference / cycles } else { 0.0 }
    }

    /// Returns the estimates as the result of a run.
    pub(super) fn finish(self, results: Vec<RunResult>, resident: &[u32]) -> RunResult {
        let (groups, drawn) = self.estimate();
        let interval = self.with_biases(&groups, drawn);
        let kind = |launch: usize| match self.samples.get(&launch) {
            Some(sample) if sample.inside.is_some() => ResultBasis::InParts,
            Some(_) => ResultBasis::Simulated,
            None => ResultBasis::Estimated,
        };
        let bases: Vec<ResultBasis> = (0..self.launches.len()).map(kind).collect();
        let of_all = |pick: &dyn Fn(&SimulatedLaunch) -> f64| {
            let groups = self.measured(|sample| Some(pick(&sample.launched)));
            let groups: Vec<GroupEstimate> = groups.iter().map(|strata| estimate::estimate(strata)).collect();
            estimate::sum(&groups, self.options.confidence)
        };
        let mut rows = extrapolate::LaunchRows::new(self.workload, &self.launches);
        for ((group, drawn), estimate) in self.groups.iter().zip(&self.draw_orders).zip(&groups) {
            for (s, members) in drawn.iter().enumerate() {
                let samples = members.iter().filter_map(|launch| self.samples.get(launch).map(|sample| (*launch, &sample.launched)));
                rows.add_stratum(&group.name, members, samples.zip(estimate.weights[s].iter().copied()), |work| estimate.expected(s, work));
                rows.set_deviation(estimate.deviations[s]);
            }
        }
        let facts = extrapolate::SampleFacts {
            options: self.options,
            net_cycles: interval,
            warming: self.difference(&groups),
            warmed: self.warmed,
            rounds: self.rounds,
            simulated: self.simulated,
            bases,
            resident,
        };
        let host = results.iter().map(|result| &result.host).fold(HostFacts::default(), combined_host_facts);
        let Some(last) = results.into_iter().next_back() else { unreachable!("there is a round at least") };
        let outcome = rows.outcome(last.outcome, facts, &of_all);
        RunResult { outcome, host, measured: Vec::new(), ..last }
    }
}

/// Adds the host times of two successive simulations; other values come from the later simulation.
fn combined_host_facts(sum: HostFacts, host: &HostFacts) -> HostFacts {
    HostFacts {
        startup_seconds: sum.startup_seconds + host.startup_seconds,
        simulate_seconds: sum.simulate_seconds + host.simulate_seconds,
        epochs: sum.epochs + host.epochs,
        cuts: sum.cuts + host.cuts,
        messages: sum.messages + host.messages,
        worker_changes: sum.worker_changes + host.worker_changes,
        ..host.clone()
    }
}
