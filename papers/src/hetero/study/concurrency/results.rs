//! Figures of the runs, and speed-ups over runs alone and over the baseline.

use std::collections::{BTreeMap, BTreeSet};

use warpshard_lab::statistics::{harmonic_mean, mean};
use warpshard_lab::verdict::{Aggregate, RunEnd, Headline};

use super::job::{ConcurrencyJob, JobMeasurements, model_name};
use super::metrics::{gpu_speedup, weighted_speedup};
use super::pairs::{WorkloadKind, WorkloadPair};
use super::runs::{cpu_alone_job, gpu_alone_job, pair_job, cpus_only_job};
use super::scheme::{ConcurrencyScheme, System};

/// All runs of a study.
#[derive(Clone, Debug)]
pub(super) struct ConcurrencyResults {
    runs: BTreeMap<ConcurrencyJob, JobMeasurements>,
    /// The pairs with their numbers.
    pub(super) pairs: Vec<(usize, &'static WorkloadPair)>,
    /// The pairs that were also run on the other systems.
    pub(super) other_system_pairs: Vec<&'static WorkloadPair>,
    /// The schemes that were run, the baseline first.
    pub(super) schemes: Vec<ConcurrencyScheme>,
    /// GPU applications whose models were fitted to their type.
    fitted: BTreeSet<String>,
}

/// Speed-ups of a pair over the baseline, which is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    /// CPU weighted speed-up.
    pub(super) cpu: f64,
    /// GPU speed-up.
    pub(super) gpu: f64,
}

impl ConcurrencyResults {
    pub(super) fn new(
        runs: impl IntoIterator<Item = (ConcurrencyJob, JobMeasurements)>,
        pairs: Vec<(usize, &'static WorkloadPair)>,
        other_system_pairs: Vec<&'static WorkloadPair>,
        schemes: Vec<ConcurrencyScheme>,
    ) -> Self {
        let is_fitted = |gpu: &String| crate::catalogue().model(&model_name(gpu), 1, &[]).is_ok_and(|model| !model.fitted_to.is_empty());
        let fitted = pairs.iter().map(|(_, pair)| pair.gpu.clone()).filter(is_fitted).collect();
        Self { runs: runs.into_iter().collect(), pairs, other_system_pairs, schemes, fitted }
    }

    /// Returns the headline of a scheme over pairs on a system, in percent over 1. `ratio` computes the ratio of a group of pairs.
    pub(super) fn headline(&self, system: System, pairs: &[&WorkloadPair], scheme: ConcurrencyScheme, ratio: &dyn Fn(&[&WorkloadPair]) -> Option<f64>) -> Headline {
        let run = |pair: &WorkloadPair, scheme| &self.get(&pair_job(system, pair, scheme)).counts;
        let cut =
            |pair: &WorkloadPair| [scheme, ConcurrencyScheme::All].into_iter().any(|scheme| !run(pair, scheme).cpu_through || !run(pair, scheme).gpu_through);
        let by = Aggregate {
            of: &|pairs: &[&WorkloadPair]| ratio(pairs).map(|ratio| (ratio - 1.0) * 100.0),
            fitted: &|pair| self.fitted.contains(&pair.gpu),
            ended: &|pair| if cut(pair) { RunEnd::Cut } else { RunEnd::Whole },
            trivial: Some(("48 warps", 0.0)),
        };
        Headline::new(pairs, &by)
    }

    /// Returns the number of runs that were cut before the CPU cores and the GPU application reached their counts.
    pub(super) fn cut_runs(&self) -> usize {
        self.runs.values().filter(|run| !run.counts.cpu_through || !run.counts.gpu_through).count()
    }

    /// Returns all runs in the order of their jobs.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&ConcurrencyJob, &JobMeasurements)> {
        self.runs.iter()
    }

    /// Returns the measurements of a job.
    ///
    /// # Panics
    /// If the study did not run this job.
    pub(super) fn get(&self, job: &ConcurrencyJob) -> &JobMeasurements {
        self.runs.get(job).unwrap_or_else(|| panic!("the study has no run of {job}"))
    }

    /// Returns the run of a pair on the chip of Table I.
    pub(super) fn run_of(&self, pair: &WorkloadPair, scheme: ConcurrencyScheme) -> &JobMeasurements {
        self.get(&pair_job(System::Base, pair, scheme))
    }

    /// Returns SU of a run: the speed of its GPU application relative to its speed alone.
    pub(super) fn gpu_speedup(&self, job: &ConcurrencyJob) -> Option<f64> {
        let alone = gpu_alone_job(job.system, job.gpu.as_deref()?);
        gpu_speedup(self.get(job).gpu_ipc(), self.get(&alone).gpu_ipc())
    }

    /// Returns WS, the CPU weighted speed-up of a run.
    pub(super) fn weighted_speedup(&self, job: &ConcurrencyJob) -> Option<f64> {
        let alone = |name: &str| self.get(&cpu_alone_job(job.system, name)).core_ipcs().next().map_or(0.0, |(_, ipc)| ipc);
        weighted_speedup(self.get(job).core_ipcs().map(|(name, ipc)| (ipc, alone(name))))
    }

    /// Returns the gain of a scheme over the baseline scheme on the same system.
    pub(super) fn gain(&self, system: System, pair: &WorkloadPair, scheme: ConcurrencyScheme) -> Gain {
        let [ours, base] = [scheme, ConcurrencyScheme::All].map(|scheme| {
            let job = pair_job(system, pair, scheme);
            Gain { cpu: self.weighted_speedup(&job).unwrap_or(f64::NAN), gpu: self.gpu_speedup(&job).unwrap_or(f64::NAN) }
        });
        Gain { cpu: ours.cpu / base.cpu, gpu: ours.gpu / base.gpu }
    }

    /// Returns the CPU performance with the GPU off, relative to the baseline.
    pub(super) fn gpu_off(&self, pair: &WorkloadPair) -> f64 {
        let of = |job: &ConcurrencyJob| self.weighted_speedup(job).unwrap_or(f64::NAN);
        of(&cpus_only_job(pair)) / of(&pair_job(System::Base, pair, ConcurrencyScheme::All))
    }

    /// Returns the pairs whose kind satisfies `wanted`.
    pub(super) fn pairs_of(&self, wanted: impl Fn(WorkloadKind) -> bool) -> Vec<&'static WorkloadPair> {
        self.pairs.iter().map(|(_, pair)| *pair).filter(|pair| wanted(pair.kind())).collect()
    }

    /// Returns all pairs of the study.
    pub(super) fn all(&self) -> Vec<&'static WorkloadPair> {
        self.pairs_of(|_| true)
    }

    /// Returns the harmonic mean of a scheme's gain over `pairs`.
    pub(super) fn mean_gain(&self, system: System, pairs: &[&WorkloadPair], scheme: ConcurrencyScheme) -> Option<Gain> {
        let gains: Vec<Gain> = pairs.iter().map(|pair| self.gain(system, pair, scheme)).collect();
        let mean = |of: fn(&Gain) -> f64| harmonic_mean(gains.iter().map(of));
        Some(Gain { cpu: mean(|gain| gain.cpu)?, gpu: mean(|gain| gain.gpu)? })
    }

    /// Returns the mean over `pairs` of a quantity relative to the baseline; pairs whose baseline is `least` or lower are left out.
    pub(super) fn mean_relative(&self, pairs: &[&WorkloadPair], scheme: ConcurrencyScheme, least: f64, of: impl Fn(&JobMeasurements) -> f64) -> Option<f64> {
        let relative = |pair: &&WorkloadPair| {
            let base = of(self.run_of(pair, ConcurrencyScheme::All));
            (base > least).then(|| of(self.run_of(pair, scheme)) / base)
        };
        mean(pairs.iter().filter_map(relative))
    }
}

/// Formats a ratio as a change in percent: 1.12 gives "+12.0".
pub(super) fn percent(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:+.1}", (ratio - 1.0) * 100.0) } else { "-".to_owned() }
}
