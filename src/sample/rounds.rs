//! Rounds of simulation: which launches are simulated, until the interval is narrow enough.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use crate::base::{KernelIndex, SECTORS_PER_LINE};
use crate::chip::{Measure, RunError, RunResult, occupancies};
use crate::config::Machine;
use crate::frontend::{Command, Workload};
use crate::stats::{Basis, EndedBy, HostFacts};

use super::draw::{self, Share};
use super::estimate::{self, GroupEstimate, Interval, Measured, Point};
use super::extrapolate::{self, Launched};
use super::launches::{Launch, launches};
use super::options::Options;
use super::steady::{Long, Rate, Steady};
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
/// Times that the workload's fetches fill the LLC, from which on the start is extended until the LLC is full once.
const FILLS: f64 = 3.0;

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
    samples: BTreeMap<usize, Sample>,
    /// Launches that were simulated without one before them: cycles relative to those that launches like them took.
    unwarmed: Vec<(usize, f64)>,
    /// Sectors that the LLC holds.
    llc: f64,
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
        if state.cost(&kept) > WHOLE {
            return whole(workload, simulate);
        }
        state.rounds += 1;
        let result = state.round(&wanted, &kept, simulate)?;
        results.push(result);
        if state.rounds == 1
            && let Some(start) = state.longer_start()
        {
            // What was measured so far found an LLC that holds less, and less that is modified, than it does in the whole run.
            state.restart(start);
            wanted = state.first();
            continue;
        }
        let (groups, interval) = state.estimate();
        if interval.half_width <= options.error * interval.value || state.rounds == ROUNDS {
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
        let long = launches.iter().zip(resident).enumerate().filter_map(|(i, (launch, resident))| {
            let wave = u64::from(*resident) * u64::from(machine.gpu.sms);
            let llc_sectors = lines * u64::from(SECTORS_PER_LINE);
            let long = Long { ctas: u64::from(launch.ctas), wave, llc_sectors };
            (options.inside && long.is_worth_it()).then_some((i, long))
        });
        let mut state = Self {
            drawn: Vec::new(),
            groups: Vec::new(),
            long: long.collect(),
            options,
            workload,
            llc: (lines * u64::from(SECTORS_PER_LINE)) as f64,
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
        before.chain(self.drawn[0][0].iter().copied()).collect()
    }

    /// Whether a launch of a round may be cut short: nothing that follows finds caches as it leaves them.
    fn may_cut(&self, launch: usize, wanted: &BTreeSet<usize>, kept: &BTreeSet<usize>) -> bool {
        let warms = self.options.warm > 0 && kept.contains(&(launch + 1));
        wanted.contains(&launch) && !warms && self.long.contains_key(&launch)
    }

    /// The share of the workload's warp instructions that simulating a round costs with what was simulated before it.
    fn cost(&self, kept: &BTreeSet<usize>) -> f64 {
        let of = |launch: &usize| {
            let all = self.launches[*launch].warp_instructions as f64;
            // A launch that is cut short takes about as many batches as it has to.
            self.long.get(launch).map_or(all, |long| all * (10 * long.wave) as f64 / long.ctas as f64)
        };
        let all: f64 = self.launches.iter().map(|launch| launch.warp_instructions as f64).sum();
        (self.simulated as f64 + kept.iter().map(of).sum::<f64>()) / all
    }

    /// Simulates the launches of `kept`, of which those of `wanted` are measured.
    fn round(&mut self, wanted: &BTreeSet<usize>, kept: &BTreeSet<usize>, simulate: &mut Simulate<'_>) -> Result<RunResult, SampleError> {
        let part = Arc::new(part(self.workload, kept));
        let places: Vec<usize> = kept.iter().copied().collect();
        let cut = (0..).zip(&places).filter(|(_, launch)| self.may_cut(**launch, wanted, kept));
        let cut: BTreeMap<KernelIndex, Long> = cut.map(|(place, launch)| (KernelIndex(place), self.long[launch])).collect();
        let (judge, rates) = Steady::new(cut, self.options.error / 2.0, self.options.confidence);
        let result = simulate(&part, Some(Measure { judge: Some(Box::new(judge)) }))?;
        if result.outcome.ended_by == EndedBy::Interrupted {
            return Err(SampleError::Interrupted);
        }
        let rates = rates.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, launched) in extrapolate::launched(&result).into_iter().enumerate() {
            let launch = places[place];
            let done = launched.warp_instructions;
            self.simulated += done;
            let rate = rates.get(&KernelIndex(place as u16)).filter(|_| launched.steady.is_some());
            let all = self.launches[launch].warp_instructions;
            if rate.is_none() && done.max(1) != all {
                let name = &self.launches[launch].code.name;
                let problem = format!("launch {} (`{name}`) executed {done} warp instructions where {all} were counted", launch + 1);
                return Err(SampleError::Run(RunError::Panic(problem)));
            }
            if wanted.contains(&launch) {
                let point = point(&launched, all, rate);
                self.samples.insert(launch, Sample { launched: launched.completed(all, rate.map(|rate| rate.mean)), point });
            } else {
                self.warmed += 1;
                if launch > 0 && !kept.contains(&(launch - 1)) {
                    self.unwarmed.push((launch, launched.net_cycles as f64));
                }
            }
        }
        drop(rates);
        Ok(result)
    }

    /// What was measured, by group and stratum, with another value in place of the cycles where `value` says one.
    fn measured(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<Vec<Measured>> {
        let work = |launch: &usize| self.launches[*launch].warp_instructions as f64;
        let of_stratum = |members: &Vec<usize>| {
            let samples = members.iter().filter_map(|launch| self.samples.get(launch));
            let points = samples.map(|sample| value(sample).map_or(sample.point, |value| Point { value, variance: 0.0, ..sample.point }));
            Measured { works: members.iter().map(work).collect(), points: points.collect() }
        };
        self.drawn.iter().map(|strata| strata.iter().map(of_stratum).collect()).collect()
    }

    fn estimate(&self) -> (Vec<GroupEstimate>, Interval) {
        let groups: Vec<GroupEstimate> = self.measured(|_| None).iter().map(|strata| estimate::estimate(strata)).collect();
        let interval = estimate::sum(&groups, self.options.confidence);
        let known: f64 = self.samples.values().map(|sample| sample.launched.net_cycles as f64).sum();
        (groups, interval.with_resolution(known))
    }

    /// The launches of the next round.
    fn more(&self, groups: &[GroupEstimate], interval: Interval) -> BTreeSet<usize> {
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
        more.copied().filter(|launch| !self.samples.contains_key(launch)).collect()
    }

    /// The estimates as the result of a run.
    fn finish(self, results: Vec<RunResult>, resident: &[u32]) -> RunResult {
        let (groups, interval) = self.estimate();
        let kind = |launch: usize| match self.samples.get(&launch) {
            Some(sample) if sample.launched.steady.is_some() => Basis::CutShort,
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
        let unwarmed = self.unwarmed.iter().filter_map(|(launch, cycles)| {
            let (g, s) = self.place_of(*launch)?;
            let expected = groups[g].expected(s, self.launches[*launch].warp_instructions as f64);
            Some((cycles - expected, expected))
        });
        let (difference, expected) = unwarmed.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
        let facts = extrapolate::Facts {
            options: self.options,
            net_cycles: interval,
            warming: if expected > 0.0 { difference / expected } else { 0.0 },
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

/// A measured launch as the estimate sees it.
fn point(launched: &Launched, work: u64, rate: Option<&Rate>) -> Point {
    let extra = rate.map_or(0.0, |rate| work.saturating_sub(launched.warp_instructions) as f64 / rate.mean);
    let variance = rate.map_or(0.0, |rate| (extra * rate.error / rate.mean).powi(2));
    Point { work: work as f64, value: launched.net_cycles as f64 + extra, variance }
}

/// The workload with the launches of `kept` only; copies stay.
fn part(workload: &Workload, kept: &BTreeSet<usize>) -> Workload {
    let place: BTreeMap<usize, u16> = kept.iter().copied().zip(0..).collect();
    let of = |kernel: KernelIndex| place.get(&kernel.index()).map(|place| KernelIndex(*place));
    let kernels = kept.iter().map(|launch| {
        let mut kernel = workload.kernels[*launch].clone();
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
