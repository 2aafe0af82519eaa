//! Figures of the runs, and speed-ups over runs alone and over the baseline.

use std::collections::{BTreeMap, BTreeSet};

use warpshard_lab::statistics::{harmonic_mean, mean};
use warpshard_lab::verdict::{Aggregate, Ended, Headline};

use super::job::{Job, Measured, model_name};
use super::metrics::{gpu_speedup, weighted_speedup};
use super::pairs::{Kind, Pair};
use super::runs::{cpu_alone, gpu_alone, together, without_gpu};
use super::scheme::{Scheme, System};

/// All runs of a study.
#[derive(Clone, Debug)]
pub(super) struct Results {
    runs: BTreeMap<Job, Measured>,
    /// The pairs with their numbers.
    pub(super) pairs: Vec<(usize, &'static Pair)>,
    /// The pairs that were also run on the other systems.
    pub(super) other_system_pairs: Vec<&'static Pair>,
    /// The schemes that were run, the baseline first.
    pub(super) schemes: Vec<Scheme>,
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

impl Results {
    pub(super) fn new(
        runs: impl IntoIterator<Item = (Job, Measured)>,
        pairs: Vec<(usize, &'static Pair)>,
        other_system_pairs: Vec<&'static Pair>,
        schemes: Vec<Scheme>,
    ) -> Self {
        let is_fitted = |gpu: &String| crate::catalogue().model(&model_name(gpu), 1, &[]).is_ok_and(|model| !model.fitted_to.is_empty());
        let fitted = pairs.iter().map(|(_, pair)| pair.gpu.clone()).filter(is_fitted).collect();
        Self { runs: runs.into_iter().collect(), pairs, other_system_pairs, schemes, fitted }
    }

    /// Returns the headline of a scheme over pairs on a system, in percent over 1. `ratio` computes the ratio of a group of pairs.
    pub(super) fn headline(&self, system: System, pairs: &[&Pair], scheme: Scheme, ratio: &dyn Fn(&[&Pair]) -> Option<f64>) -> Headline {
        let run = |pair: &Pair, scheme| &self.get(&together(system, pair, scheme)).counts;
        let cut =
            |pair: &Pair| [scheme, Scheme::All].into_iter().any(|scheme| !run(pair, scheme).cpu_through || !run(pair, scheme).gpu_through);
        let by = Aggregate {
            of: &|pairs: &[&Pair]| ratio(pairs).map(|ratio| (ratio - 1.0) * 100.0),
            fitted: &|pair| self.fitted.contains(&pair.gpu),
            ended: &|pair| if cut(pair) { Ended::Cut } else { Ended::Whole },
            trivial: Some(("48 warps", 0.0)),
        };
        Headline::new(pairs, &by)
    }

    /// Returns the number of runs that were cut before the CPU cores and the GPU application reached their counts.
    pub(super) fn cut_runs(&self) -> usize {
        self.runs.values().filter(|run| !run.counts.cpu_through || !run.counts.gpu_through).count()
    }

    /// Returns all runs in the order of their jobs.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&Job, &Measured)> {
        self.runs.iter()
    }

    /// Returns the measurements of a job.
    ///
    /// # Panics
    /// If the study did not run this job.
    pub(super) fn get(&self, job: &Job) -> &Measured {
        self.runs.get(job).unwrap_or_else(|| panic!("the study has no run of {job}"))
    }

    /// Returns the run of a pair on the chip of Table I.
    pub(super) fn run_of(&self, pair: &Pair, scheme: Scheme) -> &Measured {
        self.get(&together(System::Base, pair, scheme))
    }

    /// Returns SU of a run: the speed of its GPU application relative to its speed alone.
    pub(super) fn gpu_speedup(&self, job: &Job) -> Option<f64> {
        let alone = gpu_alone(job.system, job.gpu.as_deref()?);
        gpu_speedup(self.get(job).gpu_ipc(), self.get(&alone).gpu_ipc())
    }

    /// Returns WS, the CPU weighted speed-up of a run.
    pub(super) fn weighted_speedup(&self, job: &Job) -> Option<f64> {
        let alone = |name: &str| self.get(&cpu_alone(job.system, name)).cores().next().map_or(0.0, |(_, ipc)| ipc);
        weighted_speedup(self.get(job).cores().map(|(name, ipc)| (ipc, alone(name))))
    }

    /// Returns the gain of a scheme over the baseline scheme on the same system.
    pub(super) fn gain(&self, system: System, pair: &Pair, scheme: Scheme) -> Gain {
        let [ours, base] = [scheme, Scheme::All].map(|scheme| {
            let job = together(system, pair, scheme);
            Gain { cpu: self.weighted_speedup(&job).unwrap_or(f64::NAN), gpu: self.gpu_speedup(&job).unwrap_or(f64::NAN) }
        });
        Gain { cpu: ours.cpu / base.cpu, gpu: ours.gpu / base.gpu }
    }

    /// Returns the CPU performance with the GPU off, relative to the baseline.
    pub(super) fn gpu_off(&self, pair: &Pair) -> f64 {
        let of = |job: &Job| self.weighted_speedup(job).unwrap_or(f64::NAN);
        of(&without_gpu(pair)) / of(&together(System::Base, pair, Scheme::All))
    }

    /// Returns the pairs whose kind satisfies `wanted`.
    pub(super) fn pairs_of(&self, wanted: impl Fn(Kind) -> bool) -> Vec<&'static Pair> {
        self.pairs.iter().map(|(_, pair)| *pair).filter(|pair| wanted(pair.kind())).collect()
    }

    /// Returns all pairs of the study.
    pub(super) fn all(&self) -> Vec<&'static Pair> {
        self.pairs_of(|_| true)
    }

    /// Returns the harmonic mean of a scheme's gain over `pairs`.
    pub(super) fn mean_gain(&self, system: System, pairs: &[&Pair], scheme: Scheme) -> Option<Gain> {
        let gains: Vec<Gain> = pairs.iter().map(|pair| self.gain(system, pair, scheme)).collect();
        let mean = |of: fn(&Gain) -> f64| harmonic_mean(gains.iter().map(of));
        Some(Gain { cpu: mean(|gain| gain.cpu)?, gpu: mean(|gain| gain.gpu)? })
    }

    /// Returns the mean over `pairs` of a quantity relative to the baseline; pairs whose baseline is `least` or lower are left out.
    pub(super) fn mean_relative(&self, pairs: &[&Pair], scheme: Scheme, least: f64, of: impl Fn(&Measured) -> f64) -> Option<f64> {
        let relative = |pair: &&Pair| {
            let base = of(self.run_of(pair, Scheme::All));
            (base > least).then(|| of(self.run_of(pair, scheme)) / base)
        };
        mean(pairs.iter().filter_map(relative))
    }
}

/// Formats a ratio as a change in percent: 1.12 gives "+12.0".
pub(super) fn percent(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:+.1}", (ratio - 1.0) * 100.0) } else { "-".to_owned() }
}
