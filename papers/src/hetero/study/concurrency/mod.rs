//! `study hetero`: Section 6 of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al., MICRO 2014): GPU
//! applications with mixes of CPU applications, under DYNCTA, CCWS, CM-CPU, CM-BAL1 to CM-BAL4 and fixed warp limits.
//!
//! In: the pairs, the run lengths, and the folder of stored runs. Out: first the figures of the baseline, since gains scale with them;
//! then the gain of every scheme per kind of workload, compared with the paper. Every run is simulated once, on one thread, and all runs
//! in parallel, starting with heavy CPU applications. The report depends only on the runs in the order of their jobs, so its bytes are
//! the same on every host, even if the study was interrupted or its parts were run elsewhere.

#[cfg(test)]
mod draw;
mod findings;
mod job;
mod metrics;
mod pairs;
mod plots;
mod results;
mod runs;
mod scheme;
mod span;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use warpshard_config::Override;
use warpshard_lab::Lab;
use warpshard_lab::request::Request;
use warpshard_lab::output::{StudyError, StudyOutput};

use super::published::{PaperLengths, compare, concurrency};
use job::{Cpus, ConcurrencyJob, JobTask, JobLengths};
use pairs::WorkloadPair;
use results::ConcurrencyResults;
use runs::{cpu_alone_job, gpu_alone_job, pair_job, cpus_only_job};
use scheme::{OTHER_SYSTEM_SCHEMES, OTHER_SYSTEMS, ConcurrencyScheme, System, all_schemes};

/// Options of the study.
#[derive(Clone, Debug)]
struct ConcurrencyOptions {
    /// Machine settings that apply to every chip.
    overrides: Vec<Override>,
    /// Factor on the run lengths of Section 5.
    scale: f64,
    /// `true` for all 36 pairs instead of one pair of each kind.
    full: bool,
    /// Ranges of pair numbers, first and last, to which the study is limited; empty for no limit.
    pairs: Vec<(usize, usize)>,
    /// Core cycles after which a run is cut, even if its slowest CPU core has not reached its count.
    longest: Option<u64>,
    configuration: Configuration,
}

/// A configuration: kind of workloads and clock of the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Configuration {
    /// `true` to run programs in place of models, for the GPU applications that exist as programs.
    programs: bool,
    /// `true` if the SM clock is halved (D-032).
    half: bool,
}

impl Configuration {
    /// All configurations with their names.
    const ALL: [(&'static str, Self); 4] = [
        ("models", Self { programs: false, half: false }),
        ("programs", Self { programs: true, half: false }),
        ("half", Self { programs: false, half: true }),
        ("half-programs", Self { programs: true, half: true }),
    ];

    /// Returns the configuration called `name`; without a name, the first one.
    ///
    /// # Errors
    /// Fails if no configuration has this name.
    fn named(name: Option<&str>) -> Result<Self, StudyError> {
        let Some(name) = name else { return Ok(Self::default()) };
        let known = Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, configuration)| *configuration);
        known.ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            StudyError::Input(format!("--configuration {name}: expected one of {names}"))
        })
    }

    /// Returns the schemes to run: all with the default configuration, otherwise the schemes of the headline results.
    fn schemes(self) -> Vec<ConcurrencyScheme> {
        if self == Self::default() { all_schemes() } else { vec![ConcurrencyScheme::All, ConcurrencyScheme::DynCta, ConcurrencyScheme::CmCpu, ConcurrencyScheme::CmBal(1)] }
    }
}

impl ConcurrencyOptions {
    /// Reads the options of a request: one pair of each kind at a tenth of the lengths, or all pairs at the paper's lengths with `--full`.
    ///
    /// # Errors
    /// Fails if the configuration is unknown.
    fn new(request: &Request) -> Result<Self, StudyError> {
        let configuration = Configuration::named(request.configuration.as_deref())?;
        let lengths = concurrency().own.lengths;
        let half = concurrency().own.half.set.iter().filter(|_| configuration.half).cloned();
        let (scale, longest) = if request.full { (1.0, None) } else { (lengths.scale, Some((lengths.longest * lengths.scale) as u64)) };
        Ok(Self {
            overrides: half.chain(request.machine_settings()).map(|(key, value)| Override::new(key, value)).collect(),
            scale: request.scale.unwrap_or(scale),
            full: request.full,
            pairs: request.pairs.clone(),
            longest: request.longest.or(longest),
            configuration,
        })
    }

    /// Returns the scaled lengths of Section 5. A warp instruction counts as 32 of the paper's thread instructions.
    fn lengths(&self) -> JobLengths {
        let PaperLengths { warm, cpu, gpu, least, .. } = concurrency().own.lengths;
        let of = |instructions: f64| ((instructions * self.scale) as u64).max(1);
        let gpu = gpu / 32.0;
        let whole = of(gpu).max(gpu as u64);
        JobLengths { warm: of(warm), cpu: of(cpu), gpu: whole, gpu_enough: (of(gpu), least * span::STEP_CYCLES), longest: self.longest }
    }

    /// Returns the pairs that are also run on the other systems: one pair per type of CPU applications, each of another GPU type. If the
    /// study is limited to some pairs, other pairs are left out.
    fn other_system_pairs(&self) -> Vec<&'static WorkloadPair> {
        if self.configuration != Configuration::default() {
            return Vec::new();
        }
        let (own, whole) = (self.pairs(), Self { pairs: Vec::new(), ..self.clone() }.pairs());
        let wanted = pairs::GPU_TYPES.into_iter().zip(pairs::CPU_TYPES).map(|(gpu, cpu)| pairs::WorkloadKind(gpu, cpu));
        let first = wanted.filter_map(|kind| whole.iter().find(|(_, pair)| pair.kind() == kind));
        first.filter(|pair| own.contains(pair)).map(|(_, pair)| *pair).collect()
    }

    /// Returns the pairs of the study with their numbers.
    fn pairs(&self) -> Vec<(usize, &'static WorkloadPair)> {
        let numbers = if self.full { (1..=pairs::all_pairs().len()).collect() } else { pairs::quick_numbers() };
        let in_one = |number: &usize| self.pairs.iter().any(|(first, last)| (first..=last).contains(&number));
        let among = |number: &usize| self.pairs.is_empty() || in_one(number);
        numbers.into_iter().filter(among).map(|number| (number, &pairs::all_pairs()[number - 1])).collect()
    }
}

/// Returns all runs that the pairs need, each once.
///
/// # Errors
/// Fails if a mix is unknown.
fn jobs(pairs: &[(usize, &'static WorkloadPair)], other_system_pairs: &[&'static WorkloadPair], schemes: &[ConcurrencyScheme]) -> Result<BTreeSet<ConcurrencyJob>, StudyError> {
    let mut jobs = BTreeSet::new();
    let mut with_alone = |system: System, pair: &WorkloadPair, schemes: &[ConcurrencyScheme]| -> Result<(), StudyError> {
        jobs.extend(schemes.iter().map(|scheme| pair_job(system, pair, *scheme)));
        jobs.insert(gpu_alone_job(system, &pair.gpu));
        let mix = warpshard_cpu_load::CpuMix::named(&pair.mix).map_err(StudyError::input)?;
        jobs.extend(mix.applications.iter().map(|application| cpu_alone_job(system, application)));
        if system == System::Base {
            jobs.insert(cpus_only_job(pair));
        }
        Ok(())
    };
    for (_, pair) in pairs {
        with_alone(System::Base, pair, schemes)?;
    }
    for system in OTHER_SYSTEMS {
        for pair in other_system_pairs {
            with_alone(system, pair, &OTHER_SYSTEM_SCHEMES)?;
        }
    }
    Ok(jobs)
}

/// Runs the study.
///
/// # Errors
/// Fails if no pair is left, the configuration is unknown, or a run is impossible with the given settings.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let options = ConcurrencyOptions::new(request)?;
    run(&options, &options.configuration.schemes(), &request.lab())
}

fn run(options: &ConcurrencyOptions, schemes: &[ConcurrencyScheme], lab: &Lab) -> Result<StudyOutput, StudyError> {
    let pairs = options.pairs();
    if pairs.is_empty() {
        let known: Vec<String> =
            ConcurrencyOptions { pairs: Vec::new(), ..options.clone() }.pairs().iter().map(|(n, _)| n.to_string()).collect();
        return Err(StudyError::Input(format!("`--pairs`: expected at least one of the pairs {}", known.join(", "))));
    }
    let other_system_pairs = options.other_system_pairs();
    let mut jobs: Vec<ConcurrencyJob> = jobs(&pairs, &other_system_pairs, schemes)?.into_iter().collect();
    // Long jobs start first, so that the last job to end is a short one.
    jobs.sort_by_key(|job| (std::cmp::Reverse(matches!(&job.cpus, Cpus::Mix(mix) if mix.starts_with('H'))), job.clone()));
    let (lengths, overrides) = (options.lengths(), options.overrides.as_slice());
    let tasks: Vec<JobTask<'_>> = jobs.iter().map(|job| JobTask { job: job.clone(), lengths, overrides, programs: options.configuration.programs }).collect();
    let measured = lab.run_tasks(&tasks).map_err(StudyError::input)?;
    let results = ConcurrencyResults::new(jobs.into_iter().zip(measured), pairs, other_system_pairs, schemes.to_vec());
    Ok(report(&results, options))
}

fn report(results: &ConcurrencyResults, options: &ConcurrencyOptions) -> StudyOutput {
    let named = Configuration::ALL.iter().find(|(_, configuration)| *configuration == options.configuration).map_or("", |(name, _)| *name);
    let of = if options.full { "all pairs" } else { "one pair of each kind" };
    let (cut, runs) = (results.cut_runs(), results.runs().count());
    let title = format!("GPU concurrency with CPU applications ({named}): {of}, {} of the paper's lengths; {cut} of {runs} runs cut", options.scale);
    let mut output = StudyOutput::new("hetero", title);
    tables::add_tables(results, &mut output);
    compare(&concurrency().values, &findings::findings(results), &mut output);
    plots::add_plots(results, &mut output);
    if let Some(longest) = options.longest {
        output.note(format!("runs are cut {longest} core cycles after the GPU begins; runs.csv marks unfinished measurements"));
    }
    output.note(format!("pairs were drawn with seed {} (papers/src/hetero/published/pairs.toml)", pairs::recorded_draw().0));
    output
}
