//! `study hetero`: Section 6 of "Managing GPU Concurrency in Heterogeneous Architectures" (Kayiran et al., MICRO 2014): GPU
//! applications with mixes of CPU applications, under DYNCTA, CCWS, CM-CPU, CM-BAL1 to CM-BAL4 and fixed limits of warps.
//!
//! In: which pairs, how long, and where runs are stored. Out: the baseline in figures first, since gains scale with them; then what
//! every scheme gains by kind of workload, compared with what the paper states. Every run is simulated once, on one thread, all in
//! parallel, those with heavy CPU applications first; what is shown follows from the runs in the order of their jobs, so that the
//! bytes are the same on every host, however often the study was interrupted and wherever its parts were run.

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
use job::{Cpus, Job, JobTask, Lengths};
use pairs::Pair;
use results::Results;
use runs::{cpu_alone, gpu_alone, together, without_gpu};
use scheme::{ELSEWHERE, SYSTEMS, Scheme, System, schemes};

/// What is run.
#[derive(Clone, Debug)]
struct ConcurrencyOptions {
    /// Changes to every machine.
    overrides: Vec<Override>,
    /// Lengths of the runs over those of Section 5.
    scale: f64,
    /// All 36 pairs instead of one of each kind.
    full: bool,
    /// Of these pairs the ones whose numbers lie in one of these ranges, first and last; all when there is none.
    pairs: Vec<(usize, usize)>,
    /// Core cycles after which a run is cut, even when its slowest CPU core has not reached its count.
    longest: Option<u64>,
    inputs: Inputs,
}

/// What the GPU's side is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inputs {
    /// Applications are programs where there is one, and not models.
    programs: bool,
    /// SMs move once in two cycles of their clock (D-032).
    half: bool,
}

impl Inputs {
    /// The configurations, with their names.
    const ALL: [(&'static str, Self); 4] = [
        ("models", Self { programs: false, half: false }),
        ("programs", Self { programs: true, half: false }),
        ("half", Self { programs: false, half: true }),
        ("half-programs", Self { programs: true, half: true }),
    ];

    /// A configuration by name; the first without one.
    ///
    /// # Errors
    /// When there is none of this name.
    fn named(name: Option<&str>) -> Result<Self, StudyError> {
        let Some(name) = name else { return Ok(Self::default()) };
        let known = Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, inputs)| *inputs);
        known.ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            StudyError::Input(format!("--configuration {name}: expected one of {names}"))
        })
    }

    /// Its schemes: all, or, beside the first configuration, those of the headline, on the chip of Table I alone.
    fn schemes(self) -> Vec<Scheme> {
        if self == Self::default() { schemes() } else { vec![Scheme::All, Scheme::DynCta, Scheme::CmCpu, Scheme::CmBal(1)] }
    }
}

impl ConcurrencyOptions {
    /// One pair of each kind at a tenth of the lengths; with `--full` all pairs at the paper's lengths.
    ///
    /// # Errors
    /// When the configuration is not known.
    fn new(request: &Request) -> Result<Self, StudyError> {
        let inputs = Inputs::named(request.configuration.as_deref())?;
        let lengths = concurrency().own.lengths;
        let half = concurrency().own.half.set.iter().filter(|_| inputs.half).cloned();
        let (scale, longest) = if request.full { (1.0, None) } else { (lengths.scale, Some((lengths.longest * lengths.scale) as u64)) };
        Ok(Self {
            overrides: half.chain(request.machine_settings()).map(|(key, value)| Override::new(key, value)).collect(),
            scale: request.scale.unwrap_or(scale),
            full: request.full,
            pairs: request.pairs.clone(),
            longest: request.longest.or(longest),
            inputs,
        })
    }

    /// The lengths of Section 5, scaled. A warp instruction counts for 32, as one of all lanes does.
    fn lengths(&self) -> Lengths {
        let PaperLengths { warm, cpu, gpu, least, .. } = concurrency().own.lengths;
        let of = |instructions: f64| ((instructions * self.scale) as u64).max(1);
        let gpu = gpu / 32.0;
        let whole = of(gpu).max(gpu as u64);
        Lengths { warm: of(warm), cpu: of(cpu), gpu: whole, gpu_enough: (of(gpu), least * span::STEP), longest: self.longest }
    }

    /// Pairs that are tried on the other systems: one of each type of CPU applications, each of another GPU type. Parts of a study
    /// have those of the whole that are among theirs.
    fn elsewhere(&self) -> Vec<&'static Pair> {
        if self.inputs != Inputs::default() {
            return Vec::new();
        }
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

/// All runs that the pairs need, each once.
///
/// # Errors
/// When a mix is not known.
fn jobs(pairs: &[(usize, &'static Pair)], elsewhere: &[&'static Pair], schemes: &[Scheme]) -> Result<BTreeSet<Job>, StudyError> {
    let mut jobs = BTreeSet::new();
    let mut with_alone = |system: System, pair: &Pair, schemes: &[Scheme]| -> Result<(), StudyError> {
        jobs.extend(schemes.iter().map(|scheme| together(system, pair, *scheme)));
        jobs.insert(gpu_alone(system, &pair.gpu));
        let mix = warpshard_cpu_load::CpuMix::named(&pair.mix).map_err(StudyError::input)?;
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

/// Runs the study.
///
/// # Errors
/// When no pair is left, the configuration is not known, or a run is not possible as asked.
pub(crate) fn study(request: &Request) -> Result<StudyOutput, StudyError> {
    let options = ConcurrencyOptions::new(request)?;
    run(&options, &options.inputs.schemes(), &request.lab())
}

fn run(options: &ConcurrencyOptions, schemes: &[Scheme], lab: &Lab) -> Result<StudyOutput, StudyError> {
    let pairs = options.pairs();
    if pairs.is_empty() {
        let known: Vec<String> =
            ConcurrencyOptions { pairs: Vec::new(), ..options.clone() }.pairs().iter().map(|(n, _)| n.to_string()).collect();
        return Err(StudyError::Input(format!("`--pairs`: none of the pairs {} is among them", known.join(", "))));
    }
    let elsewhere = options.elsewhere();
    let mut jobs: Vec<Job> = jobs(&pairs, &elsewhere, schemes)?.into_iter().collect();
    // Those that take long come first, so that no host core is left with one at the end.
    jobs.sort_by_key(|job| (std::cmp::Reverse(matches!(&job.cpus, Cpus::Mix(mix) if mix.starts_with('H'))), job.clone()));
    let (lengths, overrides) = (options.lengths(), options.overrides.as_slice());
    let tasks: Vec<JobTask<'_>> = jobs.iter().map(|job| JobTask { job: job.clone(), lengths, overrides, programs: options.inputs.programs }).collect();
    let measured = lab.all(&tasks).map_err(StudyError::input)?;
    let results = Results::new(jobs.into_iter().zip(measured), pairs, elsewhere, schemes.to_vec());
    Ok(report(&results, options))
}

fn report(results: &Results, options: &ConcurrencyOptions) -> StudyOutput {
    let named = Inputs::ALL.iter().find(|(_, inputs)| *inputs == options.inputs).map_or("", |(name, _)| *name);
    let of = if options.full { "all pairs" } else { "one pair of each kind" };
    let (cut, runs) = (results.cut(), results.runs().count());
    let title = format!("GPU concurrency with CPU applications ({named}): {of}, {} of the paper's lengths; {cut} of {runs} runs cut", options.scale);
    let mut output = StudyOutput::new("hetero", title);
    tables::add(results, &mut output);
    compare(&concurrency().values, &findings::findings(results), &mut output);
    plots::add(results, &mut output);
    if let Some(longest) = options.longest {
        output.note(format!("runs are cut {longest} core cycles after the GPU begins; runs.csv shows what had not reached its count"));
    }
    output.note(format!("pairs were drawn with seed {} (configs/workloads/hetero/pairs.toml)", pairs::drawn_from().0));
    output
}
