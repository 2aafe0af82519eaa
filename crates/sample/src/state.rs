//! What is known of a sampled workload so far, and one round of simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use warpshard_base::{KernelIndex, SECTORS_PER_LINE};
use warpshard_chip::{Measure, RunError, RunResult, Skipped};
use warpshard_config::Machine;
use warpshard_stats::EndedBy;
use warpshard_workload::{Command, Workload};

use super::draw;
use super::estimate::Point;
use super::extrapolate::{self, Launched};
use super::history::{History, Known, Llc};
use super::inside::{Inside, Long, Plan};
use super::launches::Launch;
use super::options::Options;
use super::ranges::of_ranges;
use super::simulate::{SampleError, Simulate};
use super::strata::{Group, Stratum, groups};

/// Measured launches of a stratum, at least.
pub(super) const OF_STRATUM: usize = 2;

/// First launches that are simulated as they are, for each group: the first of all finds no data in the caches, the second not all.
const START: usize = 2;
/// The share of the warp instructions that the start has at most.
pub(super) const LONGEST_START: f64 = 0.1;
/// Core cycles from the end of a launch until the LLC has got what skipped launches left, at most, besides the latency of decisions.
const LEAVING: u64 = 1000;

/// A launch as it was simulated, with its place among groups and strata.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) launched: Launched,
    pub(super) point: Point,
    /// What its parts say, where only parts of it were simulated.
    pub(super) inside: Option<Inside>,
    /// Whether the launch before it was simulated, too.
    pub(super) warmed: bool,
}

impl Sample {
    /// Net cycles that were simulated, which are fewer than its own where only parts of it were.
    pub(super) fn simulated_cycles(&self) -> f64 {
        if self.inside.is_some() { self.launched.end.cycles } else { self.launched.net_cycles as f64 }
    }
}

/// All that is known so far.
pub(super) struct State<'a> {
    pub(super) options: &'a Options,
    pub(super) workload: &'a Arc<Workload>,
    pub(super) launches: Vec<Launch>,
    pub(super) groups: Vec<Group>,
    /// The members of each stratum of each group in the order in which they are drawn.
    pub(super) drawn: Vec<Vec<Vec<usize>>>,
    pub(super) long: BTreeMap<usize, Long>,
    /// Head and tail of long launches whose segments are not known yet.
    pub(super) begun: BTreeMap<usize, Inside>,
    /// Waves that are measured of long launches in the next round, where other than at first.
    pub(super) waves: BTreeMap<usize, u64>,
    /// Whether caches are as skipped launches leave them: the LLC gets what these used, or holds all that the workload uses.
    pub(super) caches: bool,
    /// What is known of that, where it is needed.
    pub(super) history: Option<Arc<Mutex<Known>>>,
    pub(super) samples: BTreeMap<usize, Sample>,
    /// Launches that were not measured and simulated without one before them: cycles.
    pub(super) unwarmed: Vec<(usize, f64)>,
    /// Sectors that the LLC holds.
    pub(super) llc: f64,
    /// Whether it holds all lines of the workload.
    pub(super) fits: bool,
    /// Whether the lines that each launch uses are known without executing it.
    pub(super) stored: bool,
    pub(super) warmed: u32,
    pub(super) simulated: u64,
    pub(super) rounds: u32,
}

impl<'a> State<'a> {
    pub(super) fn new(
        workload: &'a Arc<Workload>,
        options: &'a Options,
        launches: Vec<Launch>,
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
            let long = Long { ctas, row, wave, sectors, measured: false, llc_sectors };
            // Of a cluster all CTAs run, or none.
            let alone = workload.kernels[i].info.cluster_ctas() == 1;
            (options.inside && alone && long.is_worth_it()).then_some((i, long))
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
            begun: BTreeMap::new(),
            waves: BTreeMap::new(),
            caches: fits || reads,
            history: (reads && (stored || !fits)).then(Arc::default),
            fits,
            stored,
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
    pub(super) fn restart(&mut self, start: usize) {
        self.groups = grouped(&self.launches, start);
        let seed = self.options.seed;
        let strata = self.groups.iter().enumerate().map(|(g, group)| {
            let strata = group.strata.iter().enumerate();
            strata.map(|(s, stratum)| draw::order(&stratum.launches, seed, g, s)).collect()
        });
        self.drawn = strata.collect();
        self.samples.clear();
        self.begun.clear();
        self.unwarmed.clear();
    }

    /// Simulates the launches of `kept`, of which those of `wanted` are measured, and of some of them only `parts`.
    pub(super) fn round(
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
            let llc = Llc { sectors: self.llc, holds_all: self.fits, lines_known: self.stored };
            let places: Vec<(usize, bool)> = places.iter().map(|launch| (*launch, self.stored && parts.contains_key(launch))).collect();
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
        // Where the launch was simulated before, that is known.
        let before = self.samples.get(&launch).and_then(|sample| sample.inside.as_ref()).or(self.begun.get(&launch)).cloned();
        let too_short = before.is_none() && launched.marks.first().is_some_and(|head| self.long[&launch].settled_too_short(head));
        let known = Inside::of(&launched.marks, &launched.end, all as f64, self.llc).filter(|_| !too_short);
        let Some(known) = known else {
            let corrected = self.long.remove(&launch).and_then(|long| long.with_misses(launched.marks.first()?));
            if corrected.is_some() && before.is_none() {
                let begun = Inside::begun(&launched.marks, &launched.end, self.llc);
                self.begun.extend(begun.map(|begun| (launch, begun)));
            }
            self.long.extend(corrected.map(|long| (launch, long)));
            self.samples.remove(&launch);
            return;
        };
        let known = before.map_or(known.clone(), |before| before.with(&known));
        let (value, variance, freedom) = known.cycles(all as f64);
        let point = Point { work: all as f64, value, variance, freedom };
        self.samples.insert(launch, Sample { launched: launched.completed(all, &known), point, inside: Some(known), warmed });
    }

    /// The group and stratum of a launch.
    pub(super) fn place_of(&self, launch: usize) -> Option<(usize, usize)> {
        let in_group = |(g, strata): (usize, &Vec<Vec<usize>>)| Some((g, strata.iter().position(|members| members.contains(&launch))?));
        self.drawn.iter().enumerate().find_map(in_group)
    }
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

/// The workload with the launches of `kept` only, and of some of them only `parts`; copies stay.
fn part(workload: &Workload, kept: &BTreeSet<usize>, parts: &BTreeMap<usize, Plan>) -> Workload {
    for (launch, kernel) in workload.kernels.iter().enumerate() {
        kernel.source.choose(parts.get(&launch).map(|plan| &*plan.ranges));
    }
    let place: BTreeMap<usize, u32> = kept.iter().copied().zip(0..).collect();
    let of = |kernel: KernelIndex| place.get(&kernel.index()).map(|place| KernelIndex(*place));
    let kernels = kept.iter().map(|launch| {
        let whole = &workload.kernels[*launch];
        let mut kernel = parts.get(launch).map_or_else(|| whole.clone(), |plan| of_ranges(whole, &plan.ranges, plan.wave));
        kernel.info.after = kernel.info.after.iter().filter_map(|before| of(*before)).collect();
        kernel
    });
    let commands = workload.commands.iter().filter_map(|command| match *command {
        Command::Launch(kernel) => of(kernel).map(Command::Launch),
        copy @ Command::CopyToDevice { .. } => Some(copy),
    });
    Workload { kernels: kernels.collect(), commands: commands.collect(), ..workload.clone() }
}
