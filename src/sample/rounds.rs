//! Rounds of simulation: which launches are simulated, until the interval is narrow enough.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::base::{KernelIndex, Rng, SECTORS_PER_LINE};
use crate::chip::{Measure, RunError, RunResult, Skipped, occupancies};
use crate::config::Machine;
use crate::frontend::{Command, Workload};
use crate::stats::{Basis, EndedBy, HostFacts};

use super::draw::{self, Share};
use super::estimate::{self, AGE, GroupEstimate, Interval, Measured, Point, STATE};
use super::extrapolate::{self, Launched};
use super::history::{History, Known, Llc};
use super::inside::{self, Inside, Long, Plan};
use super::launches::{Launch, launches};
use super::options::Options;
use super::ranges::of_ranges;
use super::strata::{Group, Stratum, groups};

/// Rounds at most.
const ROUNDS: u32 = 5;
/// Measured launches of a stratum, at least.
const OF_STRATUM: usize = 2;
/// Times that the measured launches of a stratum may become more in a round.
const GROWTH: usize = 3;
/// The share of the warp instructions above which the whole workload is simulated instead.
const WHOLE: f64 = 0.5;

/// First launches that are simulated as they are, for each group: the first of all finds no data in the caches, the second not all.
const START: usize = 2;
/// The share of the warp instructions that the start has at most, and of the launches, which may begin small.
const LONGEST_START: f64 = 0.1;
const MOST_OF_START: f64 = 0.2;
/// Times that the workload's fetches fill the LLC, from which on the start is extended until the LLC is full once, where it does not get what
/// skipped launches leave.
const FILLS: f64 = 3.0;
/// Core cycles from the end of a launch until the LLC has got what skipped launches left, at most, besides the latency of decisions.
const LEAVING: u64 = 1000;

/// Why there are no estimates.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// What sampling is not sound for, or cannot be asked for.
    #[error("a sampled run is not possible: {0}")]
    Unsuited(String),
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The user ended it.
    #[error("the sampled run was interrupted before there were estimates")]
    Interrupted,
}

/// Simulates a workload, with its launches measured one by one.
pub type Simulate<'a> = dyn FnMut(&Arc<Workload>, Option<Measure>) -> Result<RunResult, RunError> + 'a;

/// A launch as it was simulated, with its place among groups and strata.
#[derive(Debug)]
struct Sample {
    launched: Launched,
    point: Point,
    /// What its parts say, where only parts of it were simulated.
    inside: Option<Inside>,
    /// Whether the launch before it was simulated, too.
    warmed: bool,
}

impl Sample {
    /// Net cycles that were simulated, which are fewer than its own where only parts of it were.
    fn simulated_cycles(&self) -> f64 {
        if self.inside.is_some() { self.launched.end.cycles } else { self.launched.net_cycles as f64 }
    }
}

/// All that is known so far.
struct State<'a> {
    options: &'a Options,
    workload: &'a Arc<Workload>,
    launches: Vec<Launch>,
    groups: Vec<Group>,
    /// The members of each stratum of each group in the order in which they are drawn.
    drawn: Vec<Vec<Vec<usize>>>,
    long: BTreeMap<usize, Long>,
    /// Waves that are measured of long launches in the next round, where other than at first.
    waves: BTreeMap<usize, u64>,
    /// Whether caches are as skipped launches leave them: the LLC gets what these used, or holds all that the workload uses.
    caches: bool,
    /// What is known of that, where it is needed.
    history: Option<Arc<Mutex<Known>>>,
    samples: BTreeMap<usize, Sample>,
    /// Launches that were not measured and simulated without one before them: cycles.
    unwarmed: Vec<(usize, f64)>,
    /// Sectors that the LLC holds.
    llc: f64,
    /// Whether it holds all lines of the workload.
    fits: bool,
    warmed: u32,
    simulated: u64,
    rounds: u32,
}

/// Simulates a sample of `workload` on `machine` by `simulate`, and estimates the rest.
///
/// Where the sample would be most of the workload, all of it is simulated, and the results are exact.
///
/// # Errors
/// See [`SampleError`].
pub fn sample(
    machine: &Machine,
    workload: &Arc<Workload>,
    options: &Options,
    simulate: &mut Simulate<'_>,
) -> Result<RunResult, SampleError> {
    check(machine, workload)?;
    let launches = launches(workload).map_err(|error| SampleError::Run(RunError::Trace(error)))?;
    let resident = occupancies(machine, workload).map_err(|error| SampleError::Run(RunError::Config(error)))?;
    let mut state = State::new(workload, options, launches, &resident, machine);
    let mut wanted = state.first();
    let mut results: Vec<RunResult> = Vec::new();
    loop {
        let kept = state.with_warming(&wanted);
        let parts = state.in_parts(&wanted, &kept);
        if state.cost(&kept, &parts) > WHOLE {
            return whole(workload, simulate);
        }
        state.rounds += 1;
        let result = state.round(&wanted, &kept, &parts, simulate)?;
        results.push(result);
        if state.rounds == 1
            && !state.caches
            && let Some(start) = state.longer_start()
        {
            // What was measured so far found an LLC that holds less, and less that is modified, than it does in the whole run.
            state.restart(start);
            wanted = state.first();
            continue;
        }
        let missing: BTreeSet<usize> = wanted.iter().copied().filter(|launch| !state.samples.contains_key(launch)).collect();
        if !missing.is_empty() {
            wanted = missing;
            continue;
        }
        let (groups, interval) = state.estimate();
        if interval.half_width <= options.error * interval.value || state.rounds >= ROUNDS {
            break;
        }
        let more = state.more(&groups, interval);
        if more.is_empty() {
            break;
        }
        wanted = more;
    }
    Ok(state.finish(results, &resident))
}

/// Refuses what sampling is not sound for.
fn check(machine: &Machine, workload: &Workload) -> Result<(), SampleError> {
    let problem = if machine.gpus() > 1 {
        "a system of several GPUs runs launches at once; sample the GPUs' workloads one by one"
    } else if !workload.applications.is_empty() {
        "applications that share the GPU run launches at once; sample each application alone"
    } else if workload.kernels.iter().any(|kernel| kernel.info.copy.is_some()) {
        "the workload copies between GPUs"
    } else if machine.gpu.dispatch.max_kernels > 1
        && workload.kernels.iter().any(|kernel| kernel.info.stream != workload.kernels[0].info.stream)
    {
        "launches of several streams may run at once; set gpu.dispatch.max_kernels=1 to run them one after the other"
    } else if workload.kernels.is_empty() {
        "the workload launches no kernel"
    } else {
        return Ok(());
    };
    Err(SampleError::Unsuited(problem.into()))
}

/// Simulates everything, because a sample would be most of it.
fn whole(workload: &Arc<Workload>, simulate: &mut Simulate<'_>) -> Result<RunResult, SampleError> {
    let mut result = simulate(workload, None)?;
    if result.outcome.ended_by != EndedBy::Completed {
        return Ok(result);
    }
    let note = "--sample: a sample would have been most of the workload, so all of it was simulated; the results are exact";
    result.outcome.notes.push((note.into(), 1));
    Ok(result)
}

/// Groups after the first `start` launches, which are a group of their own.
fn grouped(launches: &[Launch], start: usize) -> Vec<Group> {
    let mut all = vec![Group { name: "(start)".into(), strata: vec![Stratum { launches: (0..start).collect() }] }];
    all.extend(groups(&launches[start..], 2 * OF_STRATUM));
    for stratum in all[1..].iter_mut().flat_map(|group| &mut group.strata) {
        stratum.launches.iter_mut().for_each(|launch| *launch += start);
    }
    all
}

impl<'a> State<'a> {
    fn new(workload: &'a Arc<Workload>, options: &'a Options, launches: Vec<Launch>, resident: &[u32], machine: &Machine) -> Self {
        let (map, llc) = (&machine.mem.map, &machine.mem.llc);
        let lines = u64::from(map.partitions) * u64::from(map.slices_per_partition) * u64::from(llc.sets) * u64::from(llc.ways);
        let llc_sectors = (lines * u64::from(SECTORS_PER_LINE)) as f64;
        let long = launches.iter().zip(resident).enumerate().filter_map(|(i, (launch, resident))| {
            let wave = u64::from(*resident) * u64::from(machine.gpu.sms);
            let long = Long { ctas: u64::from(launch.ctas), wave, sectors: launch.sectors, measured: false, llc_sectors };
            (options.inside && long.is_worth_it()).then_some((i, long))
        });
        // Later they would come into the next launch.
        let reads = options.caches && machine.gpu.dispatch.launch_latency >= machine.decision_latency + LEAVING;
        let lines_used: Option<f64> = launches.iter().map(|launch| launch.new_lines).sum();
        let fits = options.caches && lines_used.is_some_and(|used| used <= lines as f64);
        // A native trace says what each launch uses, and that is cheap to read.
        let stored = workload.kernels.first().is_some_and(|kernel| kernel.source.used_lines(0).is_some());
        let mut state = Self {
            drawn: Vec::new(),
            groups: Vec::new(),
            long: long.collect(),
            options,
            workload,
            waves: BTreeMap::new(),
            caches: fits || reads,
            history: (reads && (stored || !fits)).then(Arc::default),
            fits,
            llc: llc_sectors,
            samples: BTreeMap::new(),
            unwarmed: Vec::new(),
            warmed: 0,
            simulated: 0,
            rounds: 0,
            launches,
        };
        let most = ((state.launches.len() as f64 * LONGEST_START) as usize).max(1);
        state.restart(most.min(START * groups(&state.launches, 1).len()));
        state
    }

    /// Forgets what was measured, and begins with the first `start` launches simulated as they are.
    fn restart(&mut self, start: usize) {
        self.groups = grouped(&self.launches, start);
        let seed = self.options.seed;
        let strata = self.groups.iter().enumerate().map(|(g, group)| {
            let strata = group.strata.iter().enumerate();
            strata.map(|(s, stratum)| draw::order(&stratum.launches, seed, g, s)).collect()
        });
        self.drawn = strata.collect();
        self.samples.clear();
        self.unwarmed.clear();
    }

    /// How many first launches fill the LLC, where the workload fills it many times, and where that is not known of the present start.
    fn longer_start(&self) -> Option<usize> {
        let mut fetches = vec![0.0; self.launches.len()];
        for members in self.drawn.iter().flatten() {
            let samples = || members.iter().filter_map(|launch| self.samples.get(launch).map(|sample| (*launch, sample)));
            let work: f64 = samples().map(|(launch, _)| self.launches[launch].warp_instructions as f64).sum();
            let fetched: f64 = samples().map(|(_, sample)| sample.launched.llc_fills as f64).sum();
            members.iter().for_each(|launch| fetches[*launch] = fetched / work.max(1.0) * self.launches[*launch].warp_instructions as f64);
        }
        if fetches.iter().sum::<f64>() < FILLS * self.llc {
            return None;
        }
        let all: f64 = self.launches.iter().map(|launch| launch.warp_instructions as f64).sum();
        let most = (self.launches.len() as f64 * MOST_OF_START) as usize;
        let (mut start, mut filled, mut work) = (0, 0.0, 0.0);
        while start < most && filled < self.llc && work < LONGEST_START * all {
            filled += fetches[start];
            work += self.launches[start].warp_instructions as f64;
            start += 1;
        }
        (start > self.drawn[0][0].len()).then_some(start)
    }

    /// The launches of the first round: of each stratum the fewest that say something of its variance, of each group those asked for.
    fn first(&self) -> BTreeSet<usize> {
        let mut wanted = BTreeSet::new();
        wanted.extend(&self.drawn[0][0]);
        for strata in &self.drawn[1..] {
            let mut taken: Vec<usize> = strata.iter().map(|members| members.len().min(OF_STRATUM)).collect();
            let all: usize = strata.iter().map(Vec::len).sum();
            while taken.iter().sum::<usize>() < all.min(self.options.least as usize) {
                // The stratum of which a measured launch stands for the most.
                let open = (0..strata.len()).filter(|s| taken[*s] < strata[*s].len());
                let Some(next) = open.max_by_key(|s| (strata[*s].len() / taken[*s], std::cmp::Reverse(*s))) else { break };
                taken[next] += 1;
            }
            wanted.extend(strata.iter().zip(taken).flat_map(|(members, taken)| &members[..taken]));
        }
        wanted
    }

    /// The same with the launches that warm the caches for them, of which the start comes first in every round.
    fn with_warming(&self, wanted: &BTreeSet<usize>) -> BTreeSet<usize> {
        let before = wanted.iter().flat_map(|launch| launch.saturating_sub(self.options.warm as usize)..=*launch);
        // Where the lines of skipped launches are put into the LLC, a round starts with the first launch alone.
        let start = if self.history.is_some() { 1 } else { self.drawn[0][0].len() };
        before.chain(0..start).chain(self.compared(wanted)).collect()
    }

    /// Launches that are simulated so that one of each group follows the launch before it: what that changes is what filling the LLC lacks.
    fn compared(&self, wanted: &BTreeSet<usize>) -> impl Iterator<Item = usize> {
        let groups = if self.caches && self.options.warm == 0 { &self.drawn[1..] } else { &[] };
        let largest = groups.iter().filter_map(|strata| strata.iter().max_by_key(|members| members.len()));
        largest.filter(|members| members.len() > OF_STRATUM && wanted.contains(&members[0])).map(|members| members[0] - 1)
    }

    /// The launches of a round of which only parts are simulated: nothing that follows finds caches as they leave them.
    fn in_parts(&self, wanted: &BTreeSet<usize>, kept: &BTreeSet<usize>) -> BTreeMap<usize, Plan> {
        let warms = |launch: usize| (self.options.warm > 0 || self.caches) && kept.contains(&(launch + 1));
        let long: Vec<usize> = wanted.iter().copied().filter(|launch| self.long.contains_key(launch) && !warms(*launch)).collect();
        let plan = |launch: usize| {
            let mut random = Rng::keyed(self.options.seed, &[0x70_6172_7473, launch as u64, u64::from(self.rounds)]);
            let waves = self.waves.get(&launch).copied().unwrap_or(inside::FIRST);
            (launch, self.long[&launch].plan(waves, &mut random))
        };
        long.into_iter().map(plan).collect()
    }

    /// The share of the workload's warp instructions that simulating a round costs with what was simulated before it.
    fn cost(&self, kept: &BTreeSet<usize>, parts: &BTreeMap<usize, Plan>) -> f64 {
        let of = |launch: &usize| {
            let all = self.launches[*launch].warp_instructions as f64;
            let ctas = |plan: &Plan| plan.ranges.iter().map(Range::len).sum::<usize>() as f64;
            parts.get(launch).map_or(all, |plan| all * ctas(plan) / f64::from(self.launches[*launch].ctas))
        };
        let all: f64 = self.launches.iter().map(|launch| launch.warp_instructions as f64).sum();
        (self.simulated as f64 + kept.iter().map(of).sum::<f64>()) / all
    }

    /// Simulates the launches of `kept`, of which those of `wanted` are measured, and of some of them only `parts`.
    fn round(
        &mut self,
        wanted: &BTreeSet<usize>,
        kept: &BTreeSet<usize>,
        parts: &BTreeMap<usize, Plan>,
        simulate: &mut Simulate<'_>,
    ) -> Result<RunResult, SampleError> {
        let places: Vec<usize> = kept.iter().copied().collect();
        let part = Arc::new(part(self.workload, kept, parts));
        let marked = (0..).zip(&places).filter_map(|(place, launch)| Some((KernelIndex(place), parts.get(launch)?.marks.clone())));
        let history = self.history.as_ref().map(|known| {
            let llc = Llc { sectors: self.llc, holds_all: self.fits };
            History::new(self.workload, &self.launches, &places, llc, known)
        });
        let skipped = history.map(|history| Box::new(history) as Box<dyn Skipped>);
        let result = simulate(&part, Some(Measure { marks: marked.collect(), skipped }))?;
        if result.outcome.ended_by == EndedBy::Interrupted {
            return Err(SampleError::Interrupted);
        }
        for (place, launched) in extrapolate::launched(&result).into_iter().enumerate() {
            let launch = places[place];
            let warmed = launch == 0 || kept.contains(&(launch - 1));
            self.simulated += launched.warp_instructions;
            if parts.contains_key(&launch) {
                self.take_parts(launch, launched, warmed);
                continue;
            }
            let (done, all) = (launched.warp_instructions, self.launches[launch].warp_instructions);
            if done.max(1) != all {
                let name = &self.launches[launch].code.name;
                let problem = format!("launch {} (`{name}`) executed {done} warp instructions where {all} were counted", launch + 1);
                return Err(SampleError::Run(RunError::Panic(problem)));
            }
            if wanted.contains(&launch) {
                let point = Point { work: all as f64, value: launched.net_cycles as f64, variance: 0.0, freedom: 0.0 };
                self.samples.insert(launch, Sample { launched, point, inside: None, warmed });
            } else {
                self.warmed += 1;
                if !warmed {
                    self.unwarmed.push((launch, launched.net_cycles as f64));
                }
            }
        }
        Ok(result)
    }

    /// Takes a launch of which parts were simulated. Where these say too little, others are simulated in the next round, or all of it.
    fn take_parts(&mut self, launch: usize, launched: Launched, warmed: bool) {
        let all = self.launches[launch].warp_instructions;
        let Some(known) = Inside::of(&launched.marks, &launched.end, all as f64, self.llc) else {
            let corrected = self.long.remove(&launch).and_then(|long| long.with_misses(launched.marks.first()?));
            self.long.extend(corrected.map(|long| (launch, long)));
            self.samples.remove(&launch);
            return;
        };
        let before = self.samples.get(&launch).and_then(|sample| sample.inside.as_ref());
        let known = before.map_or(known.clone(), |before| known.with(before));
        let (value, variance, freedom) = known.cycles(all as f64);
        let point = Point { work: all as f64, value, variance, freedom };
        self.samples.insert(launch, Sample { launched: launched.completed(all, &known), point, inside: Some(known), warmed });
    }

    /// What was measured, by group and stratum, with another value in place of the cycles where `value` says one.
    fn measured(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<Vec<Measured>> {
        let work = |launch: &usize| self.launches[*launch].warp_instructions as f64;
        let of_stratum = |members: &Vec<usize>| {
            let samples = members.iter().filter_map(|launch| self.samples.get(launch));
            let replaced = |sample: &Sample, value: f64| {
                // What is counted is as uncertain as the cycles.
                let scale = value / sample.point.value.max(1.0);
                Point { value, variance: sample.point.variance * scale * scale, ..sample.point }
            };
            let points = samples.map(|sample| value(sample).map_or(sample.point, |value| replaced(sample, value)));
            Measured { works: members.iter().map(work).collect(), points: points.collect() }
        };
        self.drawn.iter().map(|strata| strata.iter().map(of_stratum).collect()).collect()
    }

    fn estimate(&self) -> (Vec<GroupEstimate>, Interval) {
        let groups: Vec<GroupEstimate> = self.measured(|_| None).iter().map(|strata| estimate::estimate(strata)).collect();
        let interval = estimate::sum(&groups, self.options.confidence);
        (groups, interval)
    }

    /// The same interval with what may be wrong although the drawn launches agree; more launches would not narrow it.
    fn with_biases(&self, groups: &[GroupEstimate], interval: Interval) -> Interval {
        let simulated: f64 = self.samples.values().map(Sample::simulated_cycles).sum();
        let rest = (interval.value - simulated).max(0.0);
        let weights = self.drawn.iter().flatten().zip(groups.iter().flat_map(|group| &group.weights));
        let samples = weights.flat_map(|(members, weights)| members.iter().filter_map(|launch| self.samples.get(launch)).zip(weights));
        let in_parts = samples.filter(|(sample, _)| sample.inside.is_some());
        let rest_of_parts: f64 = in_parts.map(|(sample, weight)| weight * sample.point.value - sample.simulated_cycles()).sum();
        // Where launches take longer or shorter after a simulated one, the others may be wrong by as much.
        let warming = if self.caches { self.difference(groups).abs() } else { 0.0 };
        let biases = [warming * rest, STATE * rest, AGE * rest_of_parts];
        biases.into_iter().fold(interval, Interval::with_bias)
    }

    /// By how much launches whose predecessor was not simulated took longer than those whose was, relative to these: the mean over groups that
    /// have both, by their cycles.
    fn difference(&self, groups: &[GroupEstimate]) -> f64 {
        let measured = self.samples.iter().map(|(launch, sample)| (*launch, sample.point.value, sample.warmed));
        let all = measured.chain(self.unwarmed.iter().map(|(launch, cycles)| (*launch, *cycles, false)));
        // Sums of residuals and their number, with a predecessor and without.
        let mut sums = vec![[(0.0, 0.0); 2]; groups.len()];
        for (launch, cycles, warmed) in all {
            let Some((g, s)) = self.place_of(launch).filter(|(g, _)| *g > 0) else { continue };
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

    /// The launches of the next round.
    fn more(&mut self, groups: &[GroupEstimate], interval: Interval) -> BTreeSet<usize> {
        let cost = |members: &[usize]| {
            let of = |launch: &usize| self.launches[*launch].warp_instructions as f64;
            members.iter().map(of).sum::<f64>() / members.len() as f64
        };
        let strata = || self.drawn.iter().zip(groups).flat_map(|(strata, group)| strata.iter().zip(&group.deviations));
        let shares: Vec<Share> = strata()
            .map(|(members, deviation)| Share {
                launches: members.len(),
                measured: members.iter().filter(|launch| self.samples.contains_key(launch)).count(),
                deviation: *deviation,
                cost: cost(members),
            })
            .collect();
        // Nothing is known of the quantile that more launches will have, except that it is not larger.
        let quantile = interval.half_width / interval.variance.sqrt().max(f64::MIN_POSITIVE);
        let aim = 0.8 * self.options.error * interval.value / quantile.min(2.3);
        let taken = draw::allocate(&shares, aim * aim);
        // What is known of few launches may be far off: their number grows step by step.
        let taken = taken.into_iter().zip(&shares).map(|(taken, share)| taken.min(GROWTH * share.measured));
        let more = strata().zip(taken).flat_map(|((members, _), taken)| &members[..taken]);
        let mut more: BTreeSet<usize> = more.copied().filter(|launch| !self.samples.contains_key(launch)).collect();
        // Launches of which parts are known take more parts where these say too little.
        let factor = (interval.variance / (aim * aim)).min((1 + GROWTH) as f64) - 1.0;
        let weights = self.drawn.iter().flatten().zip(groups.iter().flat_map(|group| &group.weights));
        let weighted =
            weights.flat_map(|(members, weights)| members.iter().filter(|launch| self.samples.contains_key(launch)).zip(weights));
        let uncertain = weighted.filter_map(|(launch, weight)| {
            let sample = &self.samples[launch];
            let known = sample.inside.as_ref()?;
            let variance = weight * weight * sample.point.variance;
            let waves = self.long[launch].waves(known.measured(), self.launches[*launch].warp_instructions as f64);
            (variance > 0.1 * interval.variance && factor > 0.0).then(|| (*launch, (waves * factor).ceil() as u64))
        });
        let waves: BTreeMap<usize, u64> = uncertain.collect();
        more.extend(waves.keys());
        self.waves = waves;
        more
    }

    /// The estimates as the result of a run.
    fn finish(self, results: Vec<RunResult>, resident: &[u32]) -> RunResult {
        let (groups, drawn) = self.estimate();
        let interval = self.with_biases(&groups, drawn);
        let kind = |launch: usize| match self.samples.get(&launch) {
            Some(sample) if sample.inside.is_some() => Basis::InParts,
            Some(_) => Basis::Simulated,
            None => Basis::Estimated,
        };
        let bases: Vec<Basis> = (0..self.launches.len()).map(kind).collect();
        let of_all = |pick: &dyn Fn(&Launched) -> f64| {
            let groups = self.measured(|sample| Some(pick(&sample.launched)));
            let groups: Vec<GroupEstimate> = groups.iter().map(|strata| estimate::estimate(strata)).collect();
            estimate::sum(&groups, self.options.confidence)
        };
        let mut rows = extrapolate::Rows::new(self.workload, &self.launches);
        for ((group, drawn), estimate) in self.groups.iter().zip(&self.drawn).zip(&groups) {
            for (s, members) in drawn.iter().enumerate() {
                let samples = members.iter().filter_map(|launch| self.samples.get(launch).map(|sample| (*launch, &sample.launched)));
                rows.stratum(&group.name, members, samples.zip(estimate.weights[s].iter().copied()), |work| estimate.expected(s, work));
                rows.deviation(estimate.deviations[s]);
            }
        }
        let facts = extrapolate::Facts {
            options: self.options,
            net_cycles: interval,
            warming: self.difference(&groups),
            warmed: self.warmed,
            rounds: self.rounds,
            simulated: self.simulated,
            bases,
            resident,
        };
        let host = results.iter().map(|result| &result.host).fold(HostFacts::default(), added);
        let Some(last) = results.into_iter().next_back() else { unreachable!("there is a round at least") };
        let outcome = rows.outcome(last.outcome, facts, &of_all);
        RunResult { outcome, host, measured: Vec::new(), ..last }
    }

    /// The group and stratum of a launch.
    fn place_of(&self, launch: usize) -> Option<(usize, usize)> {
        let in_group = |(g, strata): (usize, &Vec<Vec<usize>>)| Some((g, strata.iter().position(|members| members.contains(&launch))?));
        self.drawn.iter().enumerate().find_map(in_group)
    }
}

/// The workload with the launches of `kept` only, and of some of them only `parts`; copies stay.
fn part(workload: &Workload, kept: &BTreeSet<usize>, parts: &BTreeMap<usize, Plan>) -> Workload {
    for (launch, kernel) in workload.kernels.iter().enumerate() {
        kernel.source.choose(parts.get(&launch).map(|plan| &*plan.ranges));
    }
    let place: BTreeMap<usize, u16> = kept.iter().copied().zip(0..).collect();
    let of = |kernel: KernelIndex| place.get(&kernel.index()).map(|place| KernelIndex(*place));
    let kernels = kept.iter().map(|launch| {
        let whole = &workload.kernels[*launch];
        let mut kernel = parts.get(launch).map_or_else(|| whole.clone(), |plan| of_ranges(whole, &plan.ranges));
        kernel.info.after = kernel.info.after.iter().filter_map(|before| of(*before)).collect();
        kernel
    });
    let commands = workload.commands.iter().filter_map(|command| match *command {
        Command::Launch(kernel) => of(kernel).map(Command::Launch),
        copy @ Command::CopyToDevice { .. } => Some(copy),
    });
    Workload { kernels: kernels.collect(), commands: commands.collect(), ..workload.clone() }
}

/// The host's times of two simulations, one after the other; what is no time is the latter's.
fn added(sum: HostFacts, host: &HostFacts) -> HostFacts {
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
