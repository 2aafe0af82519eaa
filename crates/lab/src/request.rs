//! The request of a user to a study, and the options that a study accepts.
//!
//! The options of the command line are checked against the declaration of the study, and options that the study cannot use are rejected, so
//! that no option is ignored silently.

use std::path::PathBuf;
use std::sync::Arc;

use warpshard_base::named;
use warpshard_config::Override;
use warpshard_run::Catalogue;
use warpshard_workload::Workload;

use super::job::Job;
use super::{Lab, ProgressFn};
use crate::error::TaskError;
use crate::output::{StudyError, StudyOutput};
use crate::reference::References;

named! {
    /// Options that only some studies accept.
    pub enum StudyOption {
        /// Returns the flag on the command line.
        flag: &'static str = 0;
        Machine("--machine"): "`--machine`",
        Set("--set"): "`--set`",
        Policy("--policy"): "`--policy`",
        Order("--order"): "`--order`",
        Length("--full or --quick"): "`--full` or `--quick`",
        Only("--only"): "`--only`",
        Configuration("--configuration"): "`--configuration`",
        Windows("--cpu-warm, --cpu-measure or --gpu-cycles"): "`--cpu-warm`, `--cpu-measure` or `--gpu-cycles`",
        Longest("--longest"): "`--longest`",
        Scale("--scale or --tenth"): "`--scale` or `--tenth`",
        Pairs("--pairs"): "`--pairs`",
        Workload("--workload"): "`--workload`",
        Cycles("--cycles"): "`--cycles`",
    }
}

/// A study: a row of a paper's list, or of the list of comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Study {
    /// Name on the command line.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Default machine; empty if the study simulates no machine.
    pub machine: &'static str,
    /// Accepted options.
    pub accepted_options: &'static [StudyOption],
    /// Reason for which other options are rejected, as the end of a sentence.
    pub rejection_reason: &'static str,
    /// Keys of the machine that the study sets, so that `--set` cannot override them.
    pub swept_keys: &'static [&'static str],
    /// Function that runs the study.
    pub run: fn(&Request) -> Result<StudyOutput, StudyError>,
}

/// A function that loads the workload named by the user.
pub type LoadFn = Arc<dyn Fn() -> Result<Workload, TaskError> + Send + Sync>;

/// Prefix of settings of the kernel model; other settings are for the machine.
const MODEL_PREFIX: &str = "workload.";

/// The request of a user to a study.
#[derive(Clone, Default)]
pub struct Request {
    /// Catalogue of machines, workloads and policies.
    pub catalogue: &'static Catalogue,
    /// Value of `--machine`.
    pub machine: Option<String>,
    /// Values of `--set`, as key and value.
    pub set: Vec<(String, String)>,
    /// Values of `--policy`.
    pub policy: Vec<String>,
    /// Value of `--order`, a value of `gpu.sm.order`.
    pub order: Option<String>,
    /// Flag `--full`.
    pub full: bool,
    /// Flag `--quick`.
    pub quick: bool,
    /// Value of `--only`.
    pub only: Option<String>,
    /// Value of `--configuration`.
    pub configuration: Option<String>,
    /// Value of `--cpu-warm`.
    pub cpu_warm: Option<u64>,
    /// Value of `--cpu-measure`.
    pub cpu_measure: Option<u64>,
    /// Value of `--gpu-cycles`.
    pub gpu_cycles: Option<u64>,
    /// Value of `--longest`.
    pub longest: Option<u64>,
    /// Value of `--scale`; `--tenth` is 0.1.
    pub scale: Option<f64>,
    /// Values of `--pairs`, as ranges with first and last number.
    pub pairs: Vec<(usize, usize)>,
    /// Value of `--workload`.
    pub workload: Option<String>,
    /// Loads the workload with the `workload.` settings.
    pub load: Option<LoadFn>,
    /// Value of `--cycles`.
    pub cycles: Option<u64>,
    /// Measured figures and recorded traces of the references.
    pub references: References,
    /// Folder of stored runs and generated traces; `None` stores no runs.
    pub cache: Option<PathBuf>,
    /// A function that receives a line per finished run.
    pub progress: Option<ProgressFn>,
}

impl Study {
    /// Runs the study, after checking that it accepts all given options.
    ///
    /// # Errors
    /// Fails if an option is not accepted or is invalid, or if the study fails.
    pub fn start(&self, request: &Request) -> Result<StudyOutput, StudyError> {
        self.check(request).map_err(StudyError::input)?;
        (self.run)(request)
    }

    fn check(&self, request: &Request) -> Result<(), TaskError> {
        if let Some(option) = request.given_options().into_iter().find(|option| !self.accepted_options.contains(option)) {
            return Err(format!("study `{}` does not take {}: {}", self.name, option.flag(), self.rejection_reason).into());
        }
        if let Some((key, _)) = request.set.iter().find(|(key, _)| self.swept_keys.contains(&key.as_str())) {
            return Err(format!("study `{}` sets {key} itself; it does not take --set {key}=..", self.name).into());
        }
        if let Some((key, _)) =
            request.set.iter().find(|(key, _)| key.starts_with(MODEL_PREFIX) && !self.accepted_options.contains(&StudyOption::Workload))
        {
            return Err(format!("study `{}` does not take --set {key}=..: the study sets the parameters of its models", self.name).into());
        }
        let machine = request.machine.as_deref().unwrap_or(self.machine);
        if !machine.is_empty() && (request.machine.is_some() || !request.set.is_empty() || request.order.is_some()) {
            let order = request.order.iter().map(|order| ("gpu.sm.order".to_owned(), order.clone()));
            let overrides: Vec<Override> =
                request.machine_settings().into_iter().chain(order).map(|(key, value)| Override::new(key, value)).collect();
            request.catalogue.machine(machine, &overrides)?;
        }
        request
            .policy
            .iter()
            .try_for_each(|policy| request.catalogue.controller(policy).map(drop).map_err(|why| format!("--policy {policy}: {why}")))
            .map_err(TaskError::from)
    }
}

impl Request {
    /// Returns the given options.
    fn given_options(&self) -> Vec<StudyOption> {
        let given = |option: &StudyOption| match option {
            StudyOption::Machine => self.machine.is_some(),
            StudyOption::Set => !self.set.is_empty(),
            StudyOption::Policy => !self.policy.is_empty(),
            StudyOption::Order => self.order.is_some(),
            StudyOption::Length => self.full || self.quick,
            StudyOption::Only => self.only.is_some(),
            StudyOption::Configuration => self.configuration.is_some(),
            StudyOption::Windows => self.cpu_warm.is_some() || self.cpu_measure.is_some() || self.gpu_cycles.is_some(),
            StudyOption::Longest => self.longest.is_some(),
            StudyOption::Scale => self.scale.is_some(),
            StudyOption::Pairs => !self.pairs.is_empty(),
            StudyOption::Workload => self.workload.is_some(),
            StudyOption::Cycles => self.cycles.is_some(),
        };
        StudyOption::ALL.into_iter().filter(given).collect()
    }

    /// Returns the settings of the machine.
    pub fn machine_settings(&self) -> Vec<(String, String)> {
        self.set.iter().filter(|(key, _)| !key.starts_with(MODEL_PREFIX)).cloned().collect()
    }

    /// Returns an executor for the tasks of the study.
    pub fn lab(&self) -> Lab {
        let store = self.cache.as_ref().map(|cache| cache.join("studies"));
        Lab { store, progress: self.progress.clone(), ..Lab::default() }
    }

    /// Returns true if the study includes a kernel.
    pub fn includes(&self, kernel: &str) -> bool {
        self.only.as_ref().is_none_or(|only| kernel.contains(only.as_str()))
    }

    /// Returns the user's policy and warp order, which studies of kernels show as an additional column.
    pub fn candidate(&self) -> Option<Candidate> {
        let Self { policy, order, .. } = self;
        (!policy.is_empty() || order.is_some()).then(|| Candidate { policies: policy.clone(), order: order.clone() })
    }
}

/// A policy and a warp order of the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    policies: Vec<String>,
    /// A value of `gpu.sm.order`.
    pub order: Option<String>,
}

impl Candidate {
    /// Returns the name of the candidate in columns.
    pub fn name(&self) -> String {
        let order = self.order.iter().map(|order| format!("order {order}"));
        order.chain(self.policies.iter().cloned()).collect::<Vec<_>>().join(" + ")
    }

    /// Returns the job with the candidate's policies and order.
    pub fn apply(&self, job: &Job) -> Job {
        let mut job = job.clone();
        job.policies.extend(self.policies.iter().cloned());
        match &self.order {
            Some(order) => job.set("gpu.sm.order", order),
            None => job,
        }
    }
}
