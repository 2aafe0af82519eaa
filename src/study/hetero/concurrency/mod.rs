//! `study hetero`: Section 6 of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al., MICRO 2014): GPU
//! applications beside mixes of CPU applications, under DYNCTA, CCWS, CM-CPU, CM-BAL1 to CM-BAL4 and fixed limits of warps.
//!
//! In: which pairs, how long, and where runs are kept. Out: the baseline in figures first, since gains scale with them; then what
//! every scheme gains by kind of workload, beside what the paper states. Every run is simulated once, on one thread, all side by
//! side, those with heavy CPU applications first; what is shown follows from the runs in the order of their jobs, so that the
//! bytes are the same on every host, however often the study was interrupted and wherever its parts were run.

#[cfg(test)]
mod draw;
mod findings;
mod job;
mod metrics;
mod pairs;
mod plots;
mod results;
mod scheme;
mod span;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crossbeam_channel::Sender;
use rayon::prelude::*;

use crate::config::Override;

use super::super::lab::request::Request;
use super::super::{StudyError, StudyOutput};
use job::{Cpus, Job, Lengths};
pub(super) use pairs::GpuType;
use pairs::Pair;
use results::Results;
use scheme::{ELSEWHERE, SYSTEMS, Scheme, System, schemes};

/// What is run.
#[derive(Clone, Debug)]
pub struct ConcurrencyOptions {
    /// Changes to every machine.
    pub overrides: Vec<Override>,
    /// Lengths of the runs over those of Section 5.
    pub scale: f64,
    /// All 36 pairs instead of one of each kind.
    pub full: bool,
    /// Of these pairs the ones whose numbers lie in one of these ranges, first and last; all when there is none.
    pub pairs: Vec<(usize, usize)>,
    /// Core cycles after which a run is cut, whether or not its slowest CPU core is through.
    pub longest: Option<u64>,
    /// The folder where runs are kept; none are without one.
    pub cache: Option<PathBuf>,
    /// Where news of finished runs goes.
    pub progress: Option<Sender<Finished>>,
}

/// A run has been made, or read where an earlier one left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The run.
    pub run: String,
    /// Runs of the study.
    pub of: usize,
}

/// Core cycles of a run of the quick study at the paper's lengths: what its slowest CPU cores would need beside the heaviest GPU
/// applications is several times as much.
const QUICK_LONGEST: f64 = 30e6;

/// Core cycles for which a GPU application is measured at least where its count is not the paper's: 200 intervals of the
/// controllers, which do not shrink with the lengths and take 24 intervals from 48 warps to 1. The fastest applications reach the
/// paper's own count before.
const LEAST: u64 = 200 * span::STEP;

impl ConcurrencyOptions {
    /// One pair of each kind, at a tenth of the lengths.
    pub fn quick() -> Self {
        Self {
            overrides: Vec::new(),
            scale: 0.1,
            full: false,
            pairs: Vec::new(),
            longest: Some((QUICK_LONGEST * 0.1) as u64),
            cache: None,
            progress: None,
        }
    }

    /// All pairs at the paper's lengths.
    pub fn full() -> Self {
        Self { scale: 1.0, full: true, longest: None, ..Self::quick() }
    }

    /// Section 5: 500 thousand instructions of warm-up, 5 million of the slowest CPU core, 100 million of the GPU application's
    /// threads. A warp instruction counts for 32, as one of all lanes does.
    fn lengths(&self) -> Lengths {
        const GPU: f64 = 100e6 / 32.0;
        let of = |instructions: f64| ((instructions * self.scale) as u64).max(1);
        let whole = of(GPU).max(GPU as u64);
        Lengths { warm: of(500e3), cpu: of(5e6), gpu: whole, gpu_enough: (of(GPU), LEAST), longest: self.longest }
    }

    /// Pairs that are tried on the other systems: one of each type of CPU applications, each of another GPU type. Parts of a study
    /// have those of the whole that are among theirs.
    fn elsewhere(&self) -> Vec<&'static Pair> {
        let (own, whole) = (self.pairs(), Self { pairs: Vec::new(), ..self.clone() }.pairs());
        let wanted = pairs::GPU_TYPES.into_iter().zip(pairs::CPU_TYPES).map(|(gpu, cpu)| pairs::Kind(gpu, cpu));
        let first = wanted.filter_map(|kind| whole.iter().find(|(_, pair)| pair.kind() == kind));
        first.filter(|pair| own.contains(pair)).map(|(_, pair)| *pair).collect()
    }

    /// The pairs with their numbers.
    fn pairs(&self) -> Vec<(usize, &'static Pair)> {
        let numbers = if self.full { (1..=pairs::all().len()).collect() } else { pairs::quick() };
        let in_one = |number: &usize| self.pairs.iter().any(|(first, last)| (first..=last).contains(&number));
        let among = |number: &usize| self.pairs.is_empty() || in_one(number);
        numbers.into_iter().filter(among).map(|number| (number, &pairs::all()[number - 1])).collect()
    }
}

/// The run of a pair.
fn together(system: System, pair: &Pair, scheme: Scheme) -> Job {
    Job { system, cpus: Cpus::Mix(pair.mix.clone()), gpu: Some(pair.gpu.clone()), scheme }
}

/// The mix of a pair beside idle SMs.
fn without_gpu(pair: &Pair) -> Job {
    Job { gpu: None, ..together(System::Base, pair, Scheme::All) }
}

/// A GPU application alone.
fn gpu_alone(system: System, application: &str) -> Job {
    Job { system, cpus: Cpus::Off, gpu: Some(application.to_owned()), scheme: Scheme::All }
}

/// A CPU application alone. With all SMs idle, chips that differ in their number alone are one.
fn cpu_alone(system: System, application: &str) -> Job {
    let system = if matches!(system, System::Two | System::Six) { System::Base } else { system };
    Job { system, cpus: Cpus::One(application.to_owned()), gpu: None, scheme: Scheme::All }
}

/// All runs that the pairs need, each once.
///
/// # Errors
/// When a mix is not known.
fn jobs(pairs: &[(usize, &'static Pair)], elsewhere: &[&'static Pair], schemes: &[Scheme]) -> Result<BTreeSet<Job>, StudyError> {
    let mut jobs = BTreeSet::new();
    let mut with_alone = |system: System, pair: &Pair, schemes: &[Scheme]| -> Result<(), StudyError> {
        jobs.extend(schemes.iter().map(|scheme| together(system, pair, *scheme)));
        jobs.insert(gpu_alone(system, &pair.gpu));
        let mix = crate::frontend::cpu::CpuMix::named(&pair.mix).map_err(|error| StudyError::Input(error.to_string()))?;
        jobs.extend(mix.applications.iter().map(|application| cpu_alone(system, application)));
        if system == System::Base {
            jobs.insert(without_gpu(pair));
        }
        Ok(())
    };
    for (_, pair) in pairs {
        with_alone(System::Base, pair, schemes)?;
    }
    for system in SYSTEMS {
        for pair in elsewhere {
            with_alone(system, pair, &ELSEWHERE)?;
        }
    }
    Ok(jobs)
}

/// Runs the study as asked.
///
/// # Errors
/// As [`run`].
pub(in crate::study) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let mut options = if request.full { ConcurrencyOptions::full() } else { ConcurrencyOptions::quick() };
    options.scale = request.scale.unwrap_or(options.scale);
    options.longest = request.longest.or(options.longest);
    options.pairs.clone_from(&request.pairs);
    options.overrides = request.machine_settings().into_iter().map(|(key, value)| Override::new(key, value)).collect();
    options.cache = request.cache.as_ref().map(|cache| cache.join("hetero"));
    run(&options)
}

/// Runs the study.
///
/// # Errors
/// When no pair is left, or a run is not possible as asked.
pub fn run(options: &ConcurrencyOptions) -> Result<StudyOutput, StudyError> {
    run_with(options, &schemes())
}

fn run_with(options: &ConcurrencyOptions, schemes: &[Scheme]) -> Result<StudyOutput, StudyError> {
    let pairs = options.pairs();
    if pairs.is_empty() {
        let known: Vec<String> =
            ConcurrencyOptions { pairs: Vec::new(), ..options.clone() }.pairs().iter().map(|(n, _)| n.to_string()).collect();
        return Err(StudyError::Input(format!("`--pairs`: none of the pairs {} is among them", known.join(", "))));
    }
    let lengths = options.lengths();
    let elsewhere = options.elsewhere();
    let mut jobs: Vec<Job> = jobs(&pairs, &elsewhere, schemes)?.into_iter().collect();
    // Those that take long come first, so that no host core is left with one at the end.
    jobs.sort_by_key(|job| (std::cmp::Reverse(matches!(&job.cpus, Cpus::Mix(mix) if mix.starts_with('H'))), job.clone()));
    let of = jobs.len();
    let measure = |job: &Job| {
        let measured = job.measure(lengths, &options.overrides, options.cache.as_deref());
        if let Some(progress) = &options.progress {
            // Nobody may be listening.
            let _ = progress.send(Finished { run: job.to_string(), of });
        }
        measured.map_err(|why| StudyError::Input(format!("{job}: {why}")))
    };
    let measured: Vec<_> = jobs.par_iter().with_max_len(1).map(measure).collect::<Result<_, _>>()?;
    let results = Results::new(jobs.into_iter().zip(measured), pairs, elsewhere, schemes.to_vec());
    Ok(report(&results, options))
}

fn report(results: &Results, options: &ConcurrencyOptions) -> StudyOutput {
    let of = if options.full { "all pairs" } else { "one pair of each kind" };
    let title = format!("GPU concurrency beside CPU applications: {of}, {} of the paper's lengths", options.scale);
    let mut output = StudyOutput::new("hetero", title);
    tables::add(results, &mut output);
    findings::add(results, &mut output);
    plots::add(results, &mut output);
    if let Some(longest) = options.longest {
        output.note(format!("runs are cut {longest} core cycles after the GPU begins; runs.csv says what had not its count by then"));
    }
    output.note(format!("pairs were drawn with seed {} (configs/workloads/hetero/pairs.toml)", pairs::drawn_from().0));
    output
}
