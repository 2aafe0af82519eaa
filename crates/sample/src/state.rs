//! The state of a sampled run, and one round of simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use warpshard_base::{KernelIndex, SECTORS_PER_LINE};
use warpshard_chip::{LaunchSelection, RunError, RunResult, Skipped};
use warpshard_config::Machine;
use warpshard_stats::EndedBy;
use warpshard_workload::{Command, Workload};

use super::draw;
use super::estimate::MeasuredLaunch;
use super::extrapolate::{self, SimulatedLaunch};
use super::history::{LlcProperties, ReadLaunches, SkippedLines};
use super::launches::SampledLaunch;
use super::long_launch::{LongLaunch, PartMeasurements, PartPlan};
use super::options::SamplingOptions;
use super::ranges::launch_of_ranges;
use super::simulate::{SampleError, SimulateFn};
use super::strata::{LaunchGroup, Stratum, groups};

/// Minimum number of measured launches of a stratum.
pub(super) const MIN_PER_STRATUM: usize = 2;

/// Number of first launches per group that are always simulated: the first launch finds empty caches, and the second launch finds only part
/// of its data there.
const START_LAUNCHES_PER_GROUP: usize = 2;
/// Maximum share of the warp instructions in the start.
pub(super) const MAX_START_WORK_SHARE: f64 = 0.1;
/// Maximum number of core cycles, beyond the latency of decisions, from the end of a launch until the LLC has received the lines of skipped
/// launches.
const LLC_FILL_CYCLES: u64 = 1000;

/// A simulated launch with its measurements.
#[derive(Debug)]
pub(super) struct LaunchSample {
    pub(super) launched: SimulatedLaunch,
    pub(super) point: MeasuredLaunch,
    /// Measurements of its parts, if only parts of it were simulated.
    pub(super) inside: Option<PartMeasurements>,
    /// True if the previous launch was simulated, too.
    pub(super) warmed: bool,
}

impl LaunchSample {
    /// Returns the simulated net cycles, which are fewer than the net cycles of a launch that was simulated in parts.
    pub(super) fn simulated_cycles(&self) -> f64 {
        if self.inside.is_some() { self.launched.end.cycles } else { self.launched.net_cycles as f64 }
    }
}

/// The state of a sampled run.
pub(super) struct SamplingState<'a> {
    pub(super) options: &'a SamplingOptions,
    pub(super) workload: &'a Arc<Workload>,
    pub(super) launches: Vec<SampledLaunch>,
    pub(super) groups: Vec<LaunchGroup>,
    /// Members of each stratum of each group, in the order in which they are drawn.
    pub(super) draw_orders: Vec<Vec<Vec<usize>>>,
    pub(super) long_launches: BTreeMap<usize, LongLaunch>,
    /// Measurements of the head and tail of long launches whose segments are not measured yet.
    pub(super) head_and_tail: BTreeMap<usize, PartMeasurements>,
    /// Waves to measure in the next round, for long launches that do not use the initial number.
    pub(super) waves: BTreeMap<usize, u64>,
    /// True if caches are in the state that skipped launches leave: the LLC receives their lines, or holds all lines of the workload.
    pub(super) caches: bool,
    /// The lines of skipped launches; `None` if they are not needed.
    pub(super) history: Option<Arc<Mutex<ReadLaunches>>>,
    pub(super) samples: BTreeMap<usize, LaunchSample>,
    /// Launches that were simulated without their predecessor and not measured, with their cycles.
    pub(super) unwarmed: Vec<(usize, f64)>,
    /// Capacity of the LLC in sectors.
    pub(super) llc: f64,
    /// True if the LLC holds all lines of the workload.
    pub(super) llc_holds_all: bool,
    /// True if the lines of each launch are known without executing it.
    pub(super) lines_stored: bool,
    pub(super) warmed: u32,
    pub(super) simulated: u64,
    pub(super) rounds: u32,
}

impl<'a> SamplingState<'a> {
    pub(super) fn new(
        workload: &'a Arc<Workload>,
        options: &'a SamplingOptions,
        launches: Vec<SampledLaunch>,
        resident: &[u32],
        machine: &Machine,
    ) -> Self {
        let (map, llc) = (&machine.mem.map, &machine.mem.llc);
        let lines = u64::from(map.partitions) * u64::from(map.slices_per_partition) * u64::from(llc.sets) * u64::from(llc.ways);
        let llc_sectors = (lines * u64::from(SECTORS_PER_LINE)) as f64;
        let long = launches.iter().zip(resident).enumerate().filter_map(|(i, (launch, resident))| {
            let wave = u64::from(*resident) * u64::from(machine.gpu.sms);
            let (ctas, row) = (u64::from(launch.ctas), u64::from(launch.row));
            let sectors = launch.fetches(llc_sectors);
            let long = LongLaunch { ctas, row, wave, sectors, measured: false, llc_sectors };
            // The CTAs of a cluster cannot be simulated separately.
            let alone = workload.kernels[i].info.cluster_ctas() == 1;
            (options.inside && alone && long.is_economical()).then_some((i, long))
        });
        // With a shorter launch latency the lines would arrive during the next launch.
        let reads = options.caches && machine.gpu.dispatch.launch_latency >= machine.decision_latency + LLC_FILL_CYCLES;
        let lines_used: Option<f64> = launches.iter().map(|launch| launch.new_lines).sum();
        let llc_holds_all = options.caches && lines_used.is_some_and(|used| used <= lines as f64);
        // A native trace stores the lines of each launch, which are cheap to read.
        let lines_stored = workload.kernels.first().is_some_and(|kernel| kernel.source.used_lines(0).is_some());
        let mut state = Self {
            draw_orders: Vec::new(),
            groups: Vec::new(),
            long_launches: long.collect(),
            options,
            workload,
            head_and_tail: BTreeMap::new(),
            waves: BTreeMap::new(),
            caches: llc_holds_all || reads,
            history: (reads && (lines_stored || !llc_holds_all)).then(Arc::default),
            llc_holds_all,
            lines_stored,
            llc: llc_sectors,
            samples: BTreeMap::new(),
            unwarmed: Vec::new(),
            warmed: 0,
            simulated: 0,
            rounds: 0,
            launches,
        };
        let most = ((state.launches.len() as f64 * MAX_START_WORK_SHARE) as usize).max(1);
        state.restart(most.min(START_LAUNCHES_PER_GROUP * groups(&state.launches, 1).len()));
        state
    }

    /// Discards all measurements, and starts again with a start of the first `start` launches, which are always simulated.
    pub(super) fn restart(&mut self, start: usize) {
        self.groups = groups_with_start(&self.launches, start);
        let seed = self.options.seed;
        let strata = self.groups.iter().enumerate().map(|(g, group)| {
            let strata = group.strata.iter().enumerate();
            strata.map(|(s, stratum)| draw::draw_order(&stratum.launches, seed, g, s)).collect()
        });
        self.draw_orders = strata.collect();
        self.samples.clear();
        self.head_and_tail.clear();
        self.unwarmed.clear();
    }

    /// Simulates the launches of `kept`, some of them only in `parts`, and measures the launches of `wanted`.
    pub(super) fn round(
        &mut self,
        wanted: &BTreeSet<usize>,
        kept: &BTreeSet<usize>,
        parts: &BTreeMap<usize, PartPlan>,
        simulate: &mut SimulateFn<'_>,
    ) -> Result<RunResult, SampleError> {
        let places: Vec<usize> = kept.iter().copied().collect();
        let part = Arc::new(partial_workload(self.workload, kept, parts));
        let marked = (0..).zip(&places).filter_map(|(place, launch)| Some((KernelIndex(place), parts.get(launch)?.marks.clone())));
        let history = self.history.as_ref().map(|known| {
            let llc = LlcProperties { sectors: self.llc, holds_all: self.llc_holds_all, lines_known: self.lines_stored };
            let places: Vec<(usize, bool)> =
                places.iter().map(|launch| (*launch, self.lines_stored && parts.contains_key(launch))).collect();
            SkippedLines::new(self.workload, &self.launches, &places, llc, known)
        });
        let skipped = history.map(|history| Box::new(history) as Box<dyn Skipped>);
        let result = simulate(&part, Some(LaunchSelection { marks: marked.collect(), skipped }))?;
        if result.outcome.ended_by == EndedBy::Interrupted {
            return Err(SampleError::Interrupted);
        }
        for (place, launched) in extrapolate::simulated_launches(&result).into_iter().enumerate() {
            let launch = places[place];
            let warmed = launch == 0 || kept.contains(&(launch - 1));
            self.simulated += launched.warp_instructions;
            if parts.contains_key(&launch) {
                self.record_parts(launch, launched, warmed);
                continue;
            }
            let (done, all) = (launched.warp_instructions, self.launches[launch].warp_instructions);
            if done.max(1) != all {
                let name = &self.launches[launch].code.name;
                let problem = format!("launch {} (`{name}`) executed {done} warp instructions where {all} were counted", launch + 1);
                return Err(SampleError::Run(RunError::Panic(problem)));
            }
            if wanted.contains(&launch) {
                let point = MeasuredLaunch { work: all as f64, value: launched.net_cycles as f64, variance: 0.0, freedom: 0.0 };
                self.samples.insert(launch, LaunchSample { launched, point, inside: None, warmed });
            } else {
                self.warmed += 1;
                if !warmed {
                    self.unwarmed.push((launch, launched.net_cycles as f64));
                }
            }
        }
        Ok(result)
    }

    /// Records a launch that was simulated in parts. If the parts are not sufficient, the next round simulates other parts, or the whole
    /// launch.
    fn record_parts(&mut self, launch: usize, launched: SimulatedLaunch, warmed: bool) {
        let all = self.launches[launch].warp_instructions;
        // Measurements from an earlier simulation of the launch.
        let before = self.samples.get(&launch).and_then(|sample| sample.inside.as_ref()).or(self.head_and_tail.get(&launch)).cloned();
        let too_short =
            before.is_none() && launched.marks.first().is_some_and(|head| self.long_launches[&launch].settled_too_briefly(head));
        let known = PartMeasurements::of(&launched.marks, &launched.end, all as f64, self.llc).filter(|_| !too_short);
        let Some(known) = known else {
            let corrected = self.long_launches.remove(&launch).and_then(|long| long.with_measured_misses(launched.marks.first()?));
            if corrected.is_some() && before.is_none() {
                let head_and_tail = PartMeasurements::head_and_tail(&launched.marks, &launched.end, self.llc);
                self.head_and_tail.extend(head_and_tail.map(|head_and_tail| (launch, head_and_tail)));
            }
            self.long_launches.extend(corrected.map(|long| (launch, long)));
            self.samples.remove(&launch);
            return;
        };
        let known = before.map_or(known.clone(), |before| before.merged_with(&known));
        let (value, variance, freedom) = known.cycles(all as f64);
        let point = MeasuredLaunch { work: all as f64, value, variance, freedom };
        self.samples.insert(launch, LaunchSample { launched: launched.extrapolated_to(all, &known), point, inside: Some(known), warmed });
    }

    /// Returns the group and stratum of a launch.
    pub(super) fn stratum_of(&self, launch: usize) -> Option<(usize, usize)> {
        let in_group = |(g, strata): (usize, &Vec<Vec<usize>>)| Some((g, strata.iter().position(|members| members.contains(&launch))?));
        self.draw_orders.iter().enumerate().find_map(in_group)
    }
}

/// Returns the groups of the launches after the first `start` launches, preceded by a group of these first launches.
fn groups_with_start(launches: &[SampledLaunch], start: usize) -> Vec<LaunchGroup> {
    let mut all = vec![LaunchGroup { name: "(start)".into(), strata: vec![Stratum { launches: (0..start).collect() }] }];
    all.extend(groups(&launches[start..], 2 * MIN_PER_STRATUM));
    for stratum in all[1..].iter_mut().flat_map(|group| &mut group.strata) {
        stratum.launches.iter_mut().for_each(|launch| *launch += start);
    }
    all
}

/// Returns the workload with only the launches of `kept`, some of them only in `parts`; copies are kept.
fn partial_workload(workload: &Workload, kept: &BTreeSet<usize>, parts: &BTreeMap<usize, PartPlan>) -> Workload {
    for (launch, kernel) in workload.kernels.iter().enumerate() {
        kernel.source.select_ctas(parts.get(&launch).map(|plan| &*plan.ranges));
    }
    let place: BTreeMap<usize, u32> = kept.iter().copied().zip(0..).collect();
    let of = |kernel: KernelIndex| place.get(&kernel.index()).map(|place| KernelIndex(*place));
    let kernels = kept.iter().map(|launch| {
        let whole = &workload.kernels[*launch];
        let mut kernel = parts.get(launch).map_or_else(|| whole.clone(), |plan| launch_of_ranges(whole, &plan.ranges, plan.wave));
        kernel.info.after = kernel.info.after.iter().filter_map(|before| of(*before)).collect();
        kernel
    });
    let commands = workload.commands.iter().filter_map(|command| match *command {
        Command::Launch(kernel) => of(kernel).map(Command::Launch),
        copy @ Command::CopyToDevice { .. } => Some(copy),
    });
    Workload { kernels: kernels.collect(), commands: commands.collect(), ..workload.clone() }
}
