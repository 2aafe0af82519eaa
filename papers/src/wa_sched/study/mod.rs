//! Studies of "Workload-aware scheduling techniques": the kernel models `wa_sched/*`, compared with the thesis.
//!
//! `characterise` compares the kernels one by one and owns the table of kernels (`published/characterise.toml`), which the
//! other studies also read.

pub(super) mod characterise;
pub(super) mod onac;
pub(super) mod oracle;
pub(super) mod perf_sat;
pub(super) mod phase_aware;
pub(super) mod interleave;
mod programs;
mod tail;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use warpshard_lab::error::TaskError;
use warpshard_base::CtaIndex;
use warpshard_chip::occupancies;
use warpshard_lab::output::StudyError;
use warpshard_lab::Lab;
use warpshard_lab::job::Job;
use warpshard_lab::published::{Published, read};
use warpshard_lab::request::{Candidate, Request};

/// The table of kernels and the parameters that all studies of the thesis share.
pub(super) type KernelLibrary = Published<Kernels, ()>;

/// The part of `characterise.toml` besides the sections common to all published files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernels {
    machines: Machines,
    parameters: Parameters,
    kernel: Vec<ThesisKernel>,
}

/// Names of the built-in machines, one per table of the thesis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Machines {
    phases: String,
    m2090: String,
    k20x: String,
    cores: String,
}

/// Run lengths and margins, explained in the published file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    quick: u64,
    full: u64,
    step: f64,
    few_waves: u32,
    waves: f64,
    multiple: u64,
    sampled: u32,
    longer: f64,
}

/// The published values of a kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThesisKernel {
    name: String,
    phases: Option<PhaseCells>,
    m2090: Option<CtaCells>,
    k20x: Option<CtaCells>,
    cores: Option<CoreType>,
    #[serde(default)]
    gpgpu_sim: BTreeMap<String, i64>,
    #[serde(default)]
    table_4_2: BTreeMap<String, i64>,
    /// The program launch that can replace the kernel's model.
    program: Option<ProgramLaunch>,
}

/// A launch of a program in place of a model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramLaunch {
    file: String,
    /// Name of the kernel whose first launch is run.
    kernel: String,
    parameters: Vec<(String, String)>,
    /// CTAs per core, if the program's CTAs have another size than in the thesis's table.
    ctas: Option<u32>,
}

/// The values of a kernel in Tables 3.2 and 3.3.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PhaseCells {
    table: String,
    ctas: u32,
    total: u32,
    longest: u32,
    shortest: u32,
    #[serde(default)]
    contradicted: Vec<String>,
}

/// The values of a kernel on a machine in Table 4.2.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CtaCells {
    max: u32,
    opt: u32,
    class: CtaClass,
}

/// The dependence of performance on the number of CTAs per core.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum CtaClass {
    /// Performance grows up to the maximum of CTAs.
    #[serde(rename = "C-strong")]
    Strong,
    /// Performance saturates below the maximum of CTAs.
    #[serde(rename = "C-weak")]
    Weak,
    /// Performance falls beyond the optimum.
    #[serde(rename = "MEM")]
    Mem,
}

impl CtaClass {
    const ALL: [Self; 3] = [Self::Strong, Self::Weak, Self::Mem];

    /// Returns the thesis's name of the class.
    fn name(self) -> &'static str {
        match self {
            Self::Strong => "C-strong",
            Self::Weak => "C-weak",
            Self::Mem => "MEM",
        }
    }

    /// Returns the class of a kernel; `rates` are its rates with 1 CTA per core and up.
    fn from_rates(rates: &[f64], step: f64) -> Self {
        let best = rates.iter().copied().fold(0.0, f64::max);
        match rates.last() {
            Some(&last) if last < best * (1.0 - step) => Self::Mem,
            _ if optimal_ctas(rates, step) as usize == rates.len() => Self::Strong,
            _ => Self::Weak,
        }
    }
}

/// The type of a kernel by the number of cores that it needs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum CoreType {
    /// Fewer than all cores suffice.
    A,
    /// All cores are needed.
    B,
}

/// Returns the CTA count after which no larger count improves the rate by `step` or more; `rates` starts with one CTA.
///
/// A curve may be flat between two counts and rise again, so comparing each count only with the next one is not enough.
pub(super) fn optimal_ctas(rates: &[f64], step: f64) -> u32 {
    let enough = |(i, rate): (usize, &f64)| rates[i..].iter().all(|more| *more < rate * (1.0 + step));
    1 + rates.iter().enumerate().position(enough).unwrap_or(0) as u32
}

/// Returns the CTA count after which one more CTA improves the rate by less than `step`: the other reading of [`optimal_ctas`].
fn optimal_ctas_by_steps(rates: &[f64], step: f64) -> u32 {
    1 + rates.windows(2).take_while(|pair| pair[1] >= pair[0] * (1.0 + step)).count() as u32
}

/// Returns the table of kernels.
fn kernel_library() -> &'static KernelLibrary {
    static PUBLISHED_FILE: OnceLock<KernelLibrary> = OnceLock::new();
    PUBLISHED_FILE.get_or_init(|| read("characterise", include_str!("../published/characterise.toml")))
}

impl Kernels {
    fn kernel_named(&self, name: &str) -> Option<&ThesisKernel> {
        self.kernel.iter().find(|kernel| kernel.name == name)
    }
}

impl ThesisKernel {
    /// Returns the name of the kernel's model.
    fn model_name(&self) -> String {
        format!("wa_sched/{}", self.name)
    }

    /// Returns the machines and values of Table 4.2 for the kernel.
    fn machine_columns(&self) -> impl Iterator<Item = (&'static str, &'static str, CtaCells)> {
        let machines = &kernel_library().own.machines;
        let column = |machine: &'static String, name, cells: Option<CtaCells>| cells.map(|cells| (machine.as_str(), name, cells));
        [column(&machines.m2090, "M2090", self.m2090), column(&machines.k20x, "K20X", self.k20x)].into_iter().flatten()
    }
}

/// A study of the thesis: its request, and the lab that runs its jobs.
struct Thesis<'a> {
    request: &'a Request,
    lab: Lab,
    /// Length of a run in core cycles.
    cycles: u64,
    candidate: Option<Candidate>,
}

impl<'a> Thesis<'a> {
    fn new(request: &'a Request) -> Self {
        let Parameters { quick, full, .. } = kernel_library().own.parameters;
        let cycles = if request.full { full } else { quick };
        Self { request, lab: request.lab(), cycles, candidate: request.candidate() }
    }

    /// Returns the kernels of `--only`, or all, for which `wanted` is true; `of` names their table in the error.
    fn kernels(&self, of: &str, wanted: impl Fn(&ThesisKernel) -> bool) -> Result<Vec<&'static ThesisKernel>, StudyError> {
        let kernels: Vec<&ThesisKernel> =
            kernel_library().own.kernel.iter().filter(|kernel| wanted(kernel) && self.request.includes(&kernel.name)).collect();
        let asked = self.request.only.as_deref().unwrap_or_default();
        if kernels.is_empty() { Err(StudyError::Input(format!("--only {asked}: no kernel of {of} has this name"))) } else { Ok(kernels) }
    }

    /// Returns a job of `kernel` on `machine`, with its parameters and those in `more`, and the run length of the study.
    fn kernel_job(&self, kernel: &ThesisKernel, machine: &str, more: &BTreeMap<String, i64>) -> Job {
        let parameters = kernel.gpgpu_sim.iter().chain(more).map(|(name, value)| (name.clone(), value.to_string()));
        Job {
            catalogue: crate::catalogue(),
            machine: machine.to_owned(),
            settings: self.request.machine_settings(),
            workload: kernel.model_name(),
            parameters: parameters.collect(),
            policies: Vec::new(),
            cycles: Some(self.cycles),
        }
    }

    /// Returns the name of the column of the user's policy and warp order.
    fn candidate_name(&self) -> Option<String> {
        self.candidate.as_ref().map(Candidate::name)
    }
}

/// The grid of a kernel on a machine.
#[derive(Clone, Debug, PartialEq)]
struct KernelGrid {
    /// CTAs of the grid.
    ctas: u32,
    /// Maximum number of CTAs on a core.
    most: u32,
    /// `true` if the grid has few waves and runs to its end.
    whole: bool,
    /// Warp instructions per CTA, the mean over a sample evenly spaced over the grid.
    per_cta: f64,
    /// Warps per CTA.
    warps: u32,
    /// Published figures to which the model was fitted.
    fitted_to: Vec<String>,
}

impl KernelGrid {
    /// Returns the grid of a job's model on the job's machine.
    ///
    /// # Errors
    /// Fails if the model or the machine is invalid; a message for the user.
    fn from_job(job: &Job) -> Result<Self, TaskError> {
        let Parameters { few_waves, sampled, .. } = kernel_library().own.parameters;
        let machine = job.load()?.machine;
        let model = crate::catalogue().model(&job.workload, 1, &job.parameters)?;
        let most = occupancies(&machine, &model.workload())?[0];
        let source = &model.kernels[0].kernel;
        let ctas = source.info.ctas();
        let sampled = sampled.min(ctas);
        let instructions = |i: u32| {
            let cta = (u64::from(i) * u64::from(ctas) / u64::from(sampled)) as u32;
            source.source.cta(CtaIndex(cta)).warps.iter().map(|warp| u64::from(warp.len())).sum::<u64>()
        };
        let per_cta = (0..sampled).map(instructions).sum::<u64>() as f64 / f64::from(sampled);
        let (whole, warps) = (ctas <= few_waves * most * machine.gpu.sms, source.info.warps_per_cta());
        Ok(Self { ctas, most, whole, per_cta, warps, fitted_to: model.fitted_to })
    }

    /// Returns the warp instructions of the grid.
    fn grid_instructions(&self) -> f64 {
        self.per_cta * f64::from(self.ctas)
    }

    /// Returns `true` if the model was fitted to a figure of `table` whose name contains all of `words`.
    fn is_fitted_to(&self, table: &str, words: &[&str]) -> bool {
        self.fitted_to.iter().any(|figure| figure.starts_with(table) && words.iter().all(|word| figure.contains(word)))
    }

    /// Returns the length of a run in core cycles: `least`, or more if a core that issues one instruction per cycle needs more for a few
    /// waves. `None` for a grid of few waves, which runs to its end.
    fn cycles(&self, least: u64) -> Option<u64> {
        let Parameters { waves, multiple, .. } = kernel_library().own.parameters;
        let wanted = (waves * self.per_cta * f64::from(self.most)) as u64;
        (!self.whole).then(|| least.max(wanted.next_multiple_of(multiple)))
    }
}

#[cfg(test)]
mod tests {
    use warpshard_configs::Kind;

    use super::*;

    #[test]
    fn every_published_kernel_has_a_model_and_every_model_is_published() {
        let kernels = &kernel_library().own.kernel;
        let mut named: Vec<String> = kernels.iter().map(ThesisKernel::model_name).collect();
        named.sort();
        let mut models: Vec<&str> = crate::catalogue().files().names(Kind::Model).filter(|name| name.starts_with("wa_sched/")).collect();
        models.sort_unstable();
        assert_eq!(named, models);
        assert_eq!(kernels.iter().filter(|kernel| kernel.phases.is_some()).count(), 14);
        assert_eq!(kernels.iter().filter(|kernel| kernel.machine_columns().count() == 2).count(), 16);
        assert_eq!(kernels.iter().filter(|kernel| kernel.cores.is_some()).count(), 20);
    }

    #[test]
    fn runs_last_a_few_waves_and_small_grids_are_run_to_their_end() {
        let grid = |ctas: u32| KernelGrid {
            ctas,
            most: 6,
            whole: ctas < 1000,
            per_cta: 2500.0,
            warps: 8,
            fitted_to: vec!["Table 4.2 Type on M2090".into()],
        };
        assert_eq!(grid(65535).cycles(40_000), Some(48_000), "3 waves of 6 CTAs");
        assert_eq!(grid(65535).cycles(80_000), Some(80_000));
        assert_eq!(grid(500).cycles(40_000), None);
        let fitted = |table: &str, words: &[&str]| grid(1).is_fitted_to(table, words);
        assert!(fitted("Table 4.2", &["Type", "M2090"]) && fitted("Table 4.2", &[]));
        assert!(!fitted("Table 4.2", &["Type", "K20X"]) && !fitted("Table 3.2", &["Type"]));
    }

    #[test]
    fn texture_blocks_overlap_where_gpgpu_sim_is_reproduced_and_nowhere_else() {
        let request = Request::default();
        let kernels: Vec<&ThesisKernel> = kernel_library().own.kernel.iter().filter(|kernel| !kernel.gpgpu_sim.is_empty()).collect();
        assert_eq!(kernels.len(), 3);
        for kernel in kernels {
            let (parameter, value) = kernel.gpgpu_sim.first_key_value().unwrap();
            let words = |parameters: &[(String, String)]| {
                let model = crate::catalogue().model(&kernel.model_name(), 1, parameters).unwrap();
                model.parameters.iter().find(|(key, _)| key == parameter).map(|(_, value)| *value)
            };
            let job = Thesis::new(&request).kernel_job(kernel, "fermi32", &kernel.table_4_2);
            assert_eq!((words(&[]), words(&job.parameters)), (Some(32), Some(*value)), "{}", kernel.name);
        }
    }

    #[test]
    fn the_optimum_is_the_count_after_which_no_increase_gives_2_percent() {
        let best = |rates: &[f64]| optimal_ctas(rates, 0.02);
        assert_eq!(best(&[1.0, 1.5, 1.9, 1.93, 1.935]), 3);
        assert_eq!(best(&[1.0, 1.5, 1.9, 1.93, 2.5]), 5, "a flat step is not the end");
        assert_eq!(best(&[1.0, 1.5, 1.9, 1.93, 1.95]), 4, "two steps of less than 2 % are one of more");
        assert_eq!([best(&[1.0, 1.5, 1.4, 1.2]), best(&[1.0, 1.1, 1.2])], [2, 3]);
        assert_eq!([best(&[1.0]), best(&[0.0, 0.0])], [1, 1]);
        let by_steps = |rates: &[f64]| optimal_ctas_by_steps(rates, 0.02);
        assert_eq!([by_steps(&[1.0, 1.5, 1.9, 1.93, 2.5]), by_steps(&[1.0, 1.1, 1.2])], [3, 3]);
    }

    #[test]
    fn classes_follow_from_the_end_of_the_curve() {
        assert_eq!(CtaClass::from_rates(&[1.0, 1.5, 1.9], 0.02), CtaClass::Strong);
        assert_eq!(CtaClass::from_rates(&[1.0, 1.5, 1.51], 0.02), CtaClass::Weak);
        assert_eq!(CtaClass::from_rates(&[1.0, 1.5, 1.4], 0.02), CtaClass::Mem);
    }
}
