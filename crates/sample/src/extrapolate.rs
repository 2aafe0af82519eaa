//! Extrapolation from measured launches to the results of a whole run: every counter is the weighted sum of its values in these launches.

use warpshard_base::KernelIndex;
use warpshard_chip::{CounterMark, RunResult};
use warpshard_stats::{
    ComponentStats, EndedBy, Estimate, IntervalSeries, KernelStats, LaunchCounters, Outcome, ResultBasis, SampledStratum, SamplingData,
};
use warpshard_workload::Workload;

use super::estimate::ConfidenceInterval;
use super::launches::SampledLaunch;
use super::long_launch::{CountsAt, PartMeasurements};
use super::options::SamplingOptions;

/// A simulated launch.
#[derive(Clone, Debug)]
pub(super) struct SimulatedLaunch {
    /// Kernel statistics of the launch.
    pub(super) row: KernelStats,
    /// Core cycles from the launch to the start of its first CTA.
    pub(super) latency: u64,
    /// Core cycles from the start of the first CTA to the end of the last CTA.
    pub(super) net_cycles: u64,
    /// Simulated warp instructions.
    pub(super) warp_instructions: u64,
    /// Counters of all components from the end of the previous launch to the end of this launch.
    pub(super) values: Vec<u64>,
    /// Counts at the launch's marks, if it has marks, and at its end.
    pub(super) marks: Vec<CountsAt>,
    pub(super) end: CountsAt,
    /// DRAM bursts.
    pub(super) dram_bursts: u64,
    /// LLC misses, in sectors.
    pub(super) llc_fills: u64,
}

/// Returns the positions of the named counters of a kind of component among the values of all components.
fn counter_positions(components: &[ComponentStats], kind: &str, names: &[&str]) -> Vec<usize> {
    let all = components.iter().flat_map(|component| component.counters.iter().map(|counted| (component.kind, counted.info.name)));
    all.enumerate().filter(|(_, (known, name))| *known == kind && names.contains(name)).map(|(place, _)| place).collect()
}

/// Returns the counters of all components for a launch with `own` warp instructions. The end of a launch takes effect some cycles late, and
/// the next launch may begin in these cycles if the launch latency is short; the values are therefore scaled to the launch's exact number
/// of instructions.
fn scaled_to_instructions(values: Vec<u64>, issued: &[usize], own: u64) -> Vec<u64> {
    let counted: u64 = issued.iter().map(|place| values[*place]).sum();
    if counted == own || counted == 0 {
        return values;
    }
    let factor = own as f64 / counted as f64;
    values.into_iter().map(|value| (value as f64 * factor).round() as u64).collect()
}

/// Returns the launches of a measured run in their order.
pub(super) fn simulated_launches(result: &RunResult) -> Vec<SimulatedLaunch> {
    let components = &result.outcome.components;
    let issued = counter_positions(components, "sm", &["warp_instructions"]);
    let (bursts, fills) = (counter_positions(components, "dram", &["reads", "writes"]), counter_positions(components, "llc", &["misses"]));
    let mut before = CounterMark::default();
    let difference = |now: &[u64], before: &[u64]| -> Vec<u64> {
        now.iter().enumerate().map(|(i, value)| value - before.get(i).copied().unwrap_or(0)).collect()
    };
    let one = |measured: &warpshard_chip::LaunchMeasurement| {
        let row = result.outcome.kernels[measured.kernel.index()].clone();
        let values = difference(&measured.end.values, &before.values);
        let own = row.counters.get("warp_instructions").unwrap_or(0);
        let values = scaled_to_instructions(values, &issued, own);
        let (launched, started, ended) = (row.launched.unwrap_or(0), row.started.unwrap_or(0), row.ended.unwrap_or(0));
        let reached = |mark: &CounterMark| CountsAt {
            cycles: mark.cycle.saturating_sub(started) as f64,
            warp_instructions: (mark.warp_instructions - before.warp_instructions) as f64,
            llc_misses: (mark.llc_misses - before.llc_misses) as f64,
            values: difference(&mark.values, &before.values),
        };
        let marks = measured.marks.iter().map(reached).collect();
        // The cut at the end of a launch is some cycles later than the end.
        let end = CountsAt { cycles: ended.saturating_sub(started) as f64, ..reached(&measured.end) };
        before.clone_from(&measured.end);
        SimulatedLaunch {
            latency: started - launched,
            net_cycles: ended - started,
            warp_instructions: own,
            dram_bursts: bursts.iter().map(|place| values[*place]).sum(),
            llc_fills: fills.iter().map(|place| values[*place]).sum(),
            row,
            values,
            marks,
            end,
        }
    };
    result.measured.iter().map(one).collect()
}

impl SimulatedLaunch {
    /// Extrapolates a partly simulated launch to all its `all` warp instructions.
    pub(super) fn extrapolated_to(self, all: u64, inside: &PartMeasurements) -> Self {
        let (counts, span) = inside.values();
        let left = all.saturating_sub(self.warp_instructions);
        let more = |value: u64, count: u64| value + (count as f64 * left as f64 / span.max(1.0)).round() as u64;
        let values: Vec<u64> = self.values.iter().zip(counts).map(|(value, count)| more(*value, *count)).collect();
        let factor = all as f64 / self.warp_instructions.max(1) as f64;
        let scaled = |value: u64| (value as f64 * factor).round() as u64;
        let mut row = self.row.clone();
        row.counters = row.counters.map(scaled);
        let net_cycles = inside.cycles(all as f64).0.round() as u64;
        Self { values, row, net_cycles, dram_bursts: scaled(self.dram_bursts), ..self }
    }
}

/// A function that estimates the sum over all launches of a value per launch.
pub(super) type SumEstimator<'a> = dyn Fn(&dyn Fn(&SimulatedLaunch) -> f64) -> ConfidenceInterval + 'a;

/// Results of a sampled run other than its counters.
pub(super) struct SampleFacts<'a> {
    pub(super) options: &'a SamplingOptions,
    pub(super) net_cycles: ConfidenceInterval,
    pub(super) warming: f64,
    pub(super) warmed: u32,
    pub(super) rounds: u32,
    pub(super) simulated: u64,
    pub(super) bases: Vec<ResultBasis>,
    /// Maximum number of CTAs of each launch per SM.
    pub(super) resident: &'a [u32],
}

/// The results of all launches, and the sums of the counters of all components, under construction.
pub(super) struct LaunchRows<'a> {
    workload: &'a Workload,
    launches: &'a [SampledLaunch],
    /// Net cycles, launch latency and counters of each launch.
    rows: Vec<Option<(f64, f64, LaunchCounters)>>,
    values: Vec<f64>,
    strata: Vec<SampledStratum>,
}

impl<'a> LaunchRows<'a> {
    pub(super) fn new(workload: &'a Workload, launches: &'a [SampledLaunch]) -> Self {
        Self { workload, launches, rows: vec![None; launches.len()], values: Vec::new(), strata: Vec::new() }
    }

    /// Adds a stratum: all its launches, the measured launches with their weights, and the expected cycles of the others by their work.
    pub(super) fn add_stratum<'b>(
        &mut self,
        kernel: &str,
        members: &[usize],
        measured: impl Iterator<Item = ((usize, &'b SimulatedLaunch), f64)>,
        expected: impl Fn(f64) -> f64,
    ) {
        let (mut sums, mut work, mut latency, mut count) = (LaunchCounters::default(), 0.0, 0.0, 0_u32);
        let mut cycles = 0.0;
        for ((launch, launched), weight) in measured {
            self.values.resize(launched.values.len(), 0.0);
            self.values.iter_mut().zip(&launched.values).for_each(|(sum, value)| *sum += weight * *value as f64);
            sums = sums.plus(&launched.row.counters);
            work += self.launches[launch].warp_instructions as f64;
            latency += launched.latency as f64;
            count += 1;
            cycles += launched.net_cycles as f64;
            self.rows[launch] = Some((launched.net_cycles as f64, launched.latency as f64, launched.row.counters.clone()));
        }
        for &launch in members {
            if self.rows[launch].is_none() {
                let own = self.launches[launch].warp_instructions as f64;
                let share = own / work.max(1.0);
                let counters = sums.map(|sum| (sum as f64 * share).round() as u64);
                cycles += expected(own);
                self.rows[launch] = Some((expected(own), latency / f64::from(count.max(1)), counters));
            }
        }
        let instructions = members.iter().map(|launch| self.launches[*launch].warp_instructions).sum();
        self.strata.push(SampledStratum {
            kernel: kernel.to_owned(),
            launches: members.len() as u32,
            measured: count,
            warp_instructions: instructions,
            cycles,
            deviation: 0.0,
        });
    }

    /// Sets the deviation of a launch in the last added stratum.
    pub(super) fn set_deviation(&mut self, deviation: f64) {
        if let Some(last) = self.strata.last_mut() {
            last.deviation = deviation;
        }
    }

    /// Returns the outcome of the whole run; `part` is the outcome of a simulated part and supplies the components.
    pub(super) fn outcome(self, part: Outcome, facts: SampleFacts<'_>, of_all: &SumEstimator<'_>) -> Outcome {
        let mut components = part.components;
        let counters = components.iter_mut().flat_map(|component| &mut component.counters);
        counters.zip(&self.values).for_each(|(counted, value)| counted.value = value.max(0.0).round() as u64);
        let (mut at, mut kernels) = (0.0, Vec::with_capacity(self.rows.len()));
        for (index, (kernel, row)) in self.workload.kernels.iter().zip(self.rows).enumerate() {
            let (net, latency, counters) = row.unwrap_or_default();
            let info = &kernel.info;
            let (launched, started, ended) = (at, at + latency, at + latency + net);
            at = ended;
            let rounded = |cycle: f64| cycle.round() as u64;
            kernels.push(KernelStats {
                index: KernelIndex(index as u32),
                name: info.name.clone(),
                id: info.id,
                app: info.app,
                stream: info.stream,
                ctas: info.ctas(),
                ctas_done: info.ctas(),
                ctas_per_sm: facts.resident[index],
                launched: Some(rounded(launched)),
                started: Some(rounded(started)),
                ended: Some(rounded(ended)),
                launch_latency_cycles: rounded(started) - rounded(launched),
                counters,
            });
        }
        let cycles = at.round() as u64;
        let launches = self.launches;
        let work: u64 = launches.iter().map(|launch| launch.warp_instructions).sum();
        let count = |basis: ResultBasis| facts.bases.iter().filter(|known| **known == basis).count() as u32;
        let estimate = |name, value, half_width| Estimate { name, value, half_width };
        let net = facts.net_cycles;
        let bursts = of_all(&|launched| launched.dram_bursts as f64);
        let of_work = work as f64 / at.max(1.0);
        let sampled = SamplingData {
            confidence: facts.options.confidence,
            wanted: facts.options.error,
            seed: facts.options.seed,
            launches: launches.len() as u32,
            measured: count(ResultBasis::Simulated) + count(ResultBasis::InParts),
            in_parts: count(ResultBasis::InParts),
            warmed: facts.warmed,
            rounds: facts.rounds,
            warp_instructions: work,
            simulated_warp_instructions: facts.simulated,
            warming: facts.warming,
            estimates: vec![
                estimate("cycles", at, net.half_width),
                estimate("net_cycles", net.value, net.half_width),
                // Instructions are exact, so the relative error of the ratio equals the relative error of the cycles.
                estimate("warp_ipc", of_work, of_work * net.half_width / at.max(1.0)),
                estimate("dram_bursts", bursts.value, bursts.half_width),
            ],
            strata: self.strata,
            kernels: facts.bases,
        };
        Outcome {
            ended_by: EndedBy::Sampled,
            cycles,
            counted_until: cycles,
            kernels,
            components,
            dram_read_latencies: Vec::new(),
            intervals: IntervalSeries::default(),
            timeline: Vec::new(),
            sampled: Some(sampled),
            notes: self.workload.notes.clone(),
            ..part
        }
    }
}
