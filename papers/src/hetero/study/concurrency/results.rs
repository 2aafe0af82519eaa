//! The runs' figures, and what follows from several of them: speed-ups over runs alone, and over the baseline.

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
    /// Those that were run on the other systems.
    pub(super) elsewhere: Vec<&'static Pair>,
    /// The schemes, the baseline first.
    pub(super) schemes: Vec<Scheme>,
    /// GPU applications whose models were fitted to their type.
    fitted: BTreeSet<String>,
}

/// Speed-ups of a pair; 1 is what they are over.
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
        elsewhere: Vec<&'static Pair>,
        schemes: Vec<Scheme>,
    ) -> Self {
        let is_fitted = |gpu: &String| crate::catalogue().model(&model_name(gpu), 1, &[]).is_ok_and(|model| !model.fitted_to.is_empty());
        let fitted = pairs.iter().map(|(_, pair)| pair.gpu.clone()).filter(is_fitted).collect();
        Self { runs: runs.into_iter().collect(), pairs, elsewhere, schemes, fitted }
    }

    /// A headline over pairs on a system: in percent over 1, from a ratio of several pairs under a scheme.
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

    /// Runs that were cut before everything had reached its count.
    pub(super) fn cut(&self) -> usize {
        self.runs.values().filter(|run| !run.counts.cpu_through || !run.counts.gpu_through).count()
    }

    /// All runs in the order of their jobs.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&Job, &Measured)> {
        self.runs.iter()
    }

    /// A run.
    ///
    /// # Panics
    /// When the study has none of this job.
    pub(super) fn get(&self, job: &Job) -> &Measured {
        self.runs.get(job).unwrap_or_else(|| panic!("the study has no run of {job}"))
    }

    /// The run of a pair on the baseline's system.
    pub(super) fn of(&self, pair: &Pair, scheme: Scheme) -> &Measured {
        self.get(&together(System::Base, pair, scheme))
    }

    /// SU of a run: its GPU application's speed over that alone.
    pub(super) fn gpu_speedup(&self, job: &Job) -> Option<f64> {
        let alone = gpu_alone(job.system, job.gpu.as_deref()?);
        gpu_speedup(self.get(job).gpu_ipc(), self.get(&alone).gpu_ipc())
    }

    /// WS of a run.
    pub(super) fn weighted_speedup(&self, job: &Job) -> Option<f64> {
        let alone = |name: &str| self.get(&cpu_alone(job.system, name)).cores().next().map_or(0.0, |(_, ipc)| ipc);
        weighted_speedup(self.get(job).cores().map(|(name, ipc)| (ipc, alone(name))))
    }

    /// What a scheme gains over the baseline's scheme on the same system.
    pub(super) fn gain(&self, system: System, pair: &Pair, scheme: Scheme) -> Gain {
        let [ours, base] = [scheme, Scheme::All].map(|scheme| {
            let job = together(system, pair, scheme);
            Gain { cpu: self.weighted_speedup(&job).unwrap_or(f64::NAN), gpu: self.gpu_speedup(&job).unwrap_or(f64::NAN) }
        });
        Gain { cpu: ours.cpu / base.cpu, gpu: ours.gpu / base.gpu }
    }

    /// CPU performance with the GPU off, over the baseline's.
    pub(super) fn gpu_off(&self, pair: &Pair) -> f64 {
        let of = |job: &Job| self.weighted_speedup(job).unwrap_or(f64::NAN);
        of(&without_gpu(pair)) / of(&together(System::Base, pair, Scheme::All))
    }

    /// The pairs of which `wanted` holds.
    pub(super) fn pairs_of(&self, wanted: impl Fn(Kind) -> bool) -> Vec<&'static Pair> {
        self.pairs.iter().map(|(_, pair)| *pair).filter(|pair| wanted(pair.kind())).collect()
    }

    /// All pairs.
    pub(super) fn all(&self) -> Vec<&'static Pair> {
        self.pairs_of(|_| true)
    }

    /// The harmonic means over `pairs` of what a scheme gains.
    pub(super) fn mean_gain(&self, system: System, pairs: &[&Pair], scheme: Scheme) -> Option<Gain> {
        let gains: Vec<Gain> = pairs.iter().map(|pair| self.gain(system, pair, scheme)).collect();
        let mean = |of: fn(&Gain) -> f64| harmonic_mean(gains.iter().map(of));
        Some(Gain { cpu: mean(|gain| gain.cpu)?, gpu: mean(|gain| gain.gpu)? })
    }

    /// The mean over `pairs` of a quantity over that of the baseline; pairs whose baseline is `least` or lower are left out.
    pub(super) fn mean_relative(&self, pairs: &[&Pair], scheme: Scheme, least: f64, of: impl Fn(&Measured) -> f64) -> Option<f64> {
        let relative = |pair: &&Pair| {
            let base = of(self.of(pair, Scheme::All));
            (base > least).then(|| of(self.of(pair, scheme)) / base)
        };
        mean(pairs.iter().filter_map(relative))
    }
}

/// "+12.0" of a ratio of 1.12, in percent.
pub(super) fn percent(ratio: f64) -> String {
    if ratio.is_finite() { format!("{:+.1}", (ratio - 1.0) * 100.0) } else { "-".to_owned() }
}
