//! The request of a run.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpshard_program::WorkloadOptions;

use super::Error as RunError;
use super::numbers::UnitNumbers;

/// The kernel model of a run without a named workload.
pub const DEFAULT_MODEL: &str = "gemm_tiled";

/// The prefix of settings that are parameters of the kernel model.
pub const MODEL_PREFIX: &str = "workload.";

/// Default number of warm-up instructions of CPU cores.
const CPU_WARM_INSTRUCTIONS: u64 = 500_000;
/// Default number of measured instructions of CPU cores.
const CPU_MEASURE_INSTRUCTIONS: NonZeroU64 = NonZeroU64::new(4_500_000).unwrap();

/// The request of a run. [`Request::default`] equals `warpshard run` without options.
///
/// ```
/// use warpshard_run::{Request, WorkloadSource};
///
/// let request = Request {
///     machine: "tiny".into(),
///     workload: Some(WorkloadSource::Model("vecadd".into())),
///     set: vec![("workload.n".into(), "4096".into())],
///     ..Request::default()
/// };
/// assert_eq!(request.seed, 1);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The machine: a name of the catalogue, or a path.
    pub machine: String,
    /// The workload; by default [`DEFAULT_MODEL`].
    pub workload: Option<WorkloadSource>,
    /// Overrides of machine values as key and value; keys that begin with [`MODEL_PREFIX`] are parameters of the kernel model or program.
    pub set: Vec<(String, String)>,
    /// Controllers, each as `NAME` or `NAME:KEY=VALUE,KEY=VALUE`.
    pub policies: Vec<String>,
    /// Selection of the simulated kernels: numbers ("1-4,7", "3-"), or a regular expression for names; by default all.
    pub kernels: Option<String>,
    /// Further selection of the simulated kernels: a regular expression for names; by default all.
    pub only: Option<String>,
    /// Number of launches that are skipped before the first simulated launch, counted after the selection by `kernels` and `only`.
    pub skip: usize,
    /// The applications of the CPU cores.
    pub cpu: CpuOptions,
    /// The seed of random numbers of kernel models and CPU profiles.
    pub seed: u64,
    /// True if traces with minor errors are accepted.
    pub lenient: bool,
    /// True if the matrix products of a program are not computed. It is an error if the cycles depend on a product.
    pub skip_matrix_values: bool,
    /// Limit of core cycles, at which the run ends.
    pub max_cycles: Option<NonZeroU64>,
    /// Thread instructions after which the run ends, at the next multiple of 1,000 core cycles.
    pub max_instructions: Option<NonZeroU64>,
    /// Core cycles between two samples of the counters.
    pub interval: Option<NonZeroU64>,
    /// Targets of a sampled run, as `KEY=VALUE,..`; empty for the defaults.
    pub sample: Option<String>,
    /// Selection of the units and events that are recorded.
    pub record: Option<RecordingOptions>,
    /// Worker threads; by default one per core that this process may use. Results do not depend on the number.
    pub threads: Option<NonZeroU32>,
    /// Core cycles between two barriers of the worker threads; by default the lookahead. Results do not depend on this value unless
    /// `relaxed` is set.
    pub epoch: Option<NonZeroU64>,
    /// True if epochs may be longer than the lookahead, which makes results approximate.
    pub relaxed: bool,
    /// True if each worker thread is pinned to one core.
    pub pin: bool,
    /// Core cycles between two checkpoints, which are written to `checkpoint_file`.
    pub checkpoint_every: Option<NonZeroU64>,
    /// Path of the checkpoint file.
    pub checkpoint_file: Option<PathBuf>,
    /// Path of the checkpoint from which the run resumes.
    pub resume: Option<PathBuf>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            machine: "v100".into(),
            workload: None,
            set: Vec::new(),
            policies: Vec::new(),
            kernels: None,
            only: None,
            skip: 0,
            cpu: CpuOptions::default(),
            seed: 1,
            lenient: false,
            skip_matrix_values: false,
            max_cycles: None,
            max_instructions: None,
            interval: None,
            sample: None,
            record: None,
            threads: None,
            epoch: None,
            relaxed: false,
            pin: false,
            checkpoint_every: None,
            checkpoint_file: None,
            resume: None,
        }
    }
}

impl Request {
    /// Checks that the parts of the request do not contradict each other. Each part alone is checked where it is used.
    ///
    /// # Errors
    /// The first contradiction, in terms of the command line.
    pub(crate) fn check(&self) -> Result<(), RunError> {
        let applications = matches!(self.workload, Some(WorkloadSource::Applications { .. }));
        let sampled = self.sample.is_some();
        let cores = !self.cpu.applications.is_empty();
        let contradictions = [
            (
                !cores && self.cpu != CpuOptions::default(),
                "--cpu-warm, --cpu-measure, --gpu-first and --until need --cpu, which names the applications of the CPU cores",
            ),
            (self.relaxed && self.epoch.is_none(), "--relaxed needs --epoch"),
            (applications && self.kernels.is_some(), "--kernels selects kernels of one workload; it cannot be used with --app"),
            (applications && self.only.is_some(), "--only selects kernels of one workload; it cannot be used with --app"),
            (applications && self.skip > 0, "--skip selects kernels of one workload; it cannot be used with --app"),
            (
                self.skip_matrix_values
                    && !matches!(self.workload, Some(WorkloadSource::Program { .. } | WorkloadSource::Applications { .. })),
                "--matrix-values skip is for programs, whose instructions have values; a trace or a kernel model has none",
            ),
            (
                self.checkpoint_every.is_some() && self.checkpoint_file.is_none(),
                "--checkpoint-every needs --out; checkpoints are stored next to that folder",
            ),
            (
                self.record.is_some() && self.checkpoint_every.is_some(),
                "--perfetto records a whole run; it cannot be used with --checkpoint-every",
            ),
            (self.record.is_some() && self.resume.is_some(), "--perfetto records a whole run; it cannot be used with --resume"),
            (sampled && applications, "--sample cannot be used with --app"),
            (sampled && cores, "--sample cannot be used with --cpu"),
            (sampled && !self.policies.is_empty(), "--sample cannot be used with --policy"),
            (sampled && self.max_cycles.is_some(), "--sample cannot be used with --max-cycles"),
            (sampled && self.max_instructions.is_some(), "--sample cannot be used with --max-instructions"),
            (sampled && self.interval.is_some(), "--sample cannot be used with --interval"),
            (sampled && self.record.is_some(), "--sample cannot be used with --perfetto"),
            (sampled && self.relaxed, "--sample cannot be used with --relaxed"),
        ];
        let found = contradictions.into_iter().find_map(|(contradicts, what)| contradicts.then_some(what));
        found.map_or(Ok(()), |what| Err(RunError::Usage(what.to_owned())))
    }

    /// Returns the options of programs for a run with `threads` threads.
    pub(crate) fn workload_options(&self, threads: usize) -> WorkloadOptions {
        WorkloadOptions { ahead: threads > 1, skip_products: self.skip_matrix_values }
    }

    /// Returns the path of the checkpoint file of `warpshard run`, next to the result folder `out`.
    pub fn checkpoint_of(out: &Path) -> PathBuf {
        let mut path = out.as_os_str().to_owned();
        path.push(".checkpoint");
        path.into()
    }
}

/// The source of a run's workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum WorkloadSource {
    /// A kernel model: a name of the catalogue, or a file.
    Model(String),
    /// A recorded trace: its `kernelslist.g`, a folder that contains one, or a native file.
    Trace(PathBuf),
    /// A program.
    Program {
        /// Path of the launch file.
        file: PathBuf,
        /// Architecture of the listing that is executed (70 for sm_70); by default the listing that suits the GPU best, else the first.
        #[serde(default)]
        arch: Option<u32>,
    },
    /// Several applications that share the GPU.
    Applications {
        /// The applications; each is a trace, launch file or kernel model as `[SOURCE:]NAME[,priority=N][,at=N][,gpu=N]`, or a mix as
        /// `@FILE`.
        apps: Vec<String>,
        /// True if no application restarts when it ends.
        #[serde(default)]
        once: bool,
        /// True if each application is also run alone.
        #[serde(default)]
        alone: bool,
    },
}

impl WorkloadSource {
    /// Returns the option of the source on the command line, and its values; there are several for applications.
    pub fn named(&self) -> (&'static str, Vec<String>) {
        match self {
            Self::Model(name) => ("workload", vec![name.clone()]),
            Self::Trace(path) => ("trace", vec![path.display().to_string()]),
            Self::Program { file, .. } => ("program", vec![file.display().to_string()]),
            Self::Applications { apps, .. } => ("app", apps.clone()),
        }
    }
}

/// The applications of the CPU cores, and the length of their measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CpuOptions {
    /// Applications of the cores from core 0 on: profiles, profile files (.toml), recorded traces; or `@MIX`. Empty for a run without CPU
    /// cores.
    pub applications: Vec<String>,
    /// Warm-up instructions of each core. Kernels start when every core has completed its warm-up.
    pub warm: u64,
    /// Measured instructions of each core, which continues to run after them.
    pub measure: NonZeroU64,
    /// True if kernels start at cycle 0, without waiting for the warm-up of the CPU cores.
    pub gpu_first: bool,
    /// Condition for the end of the run.
    pub until: RunCondition,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self {
            applications: Vec::new(),
            warm: CPU_WARM_INSTRUCTIONS,
            measure: CPU_MEASURE_INSTRUCTIONS,
            gpu_first: false,
            until: RunCondition::Both,
        }
    }
}

/// The condition for the end of a run with CPU cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunCondition {
    /// Every kernel has ended and every CPU core has completed its measurement.
    #[default]
    Both,
    /// Every kernel has ended.
    Gpu,
    /// Every CPU core has completed its measurement.
    Cpu,
}

/// The error of an invalid architecture name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an architecture is written as sm_70")]
pub struct ArchitectureError;

/// Reads `sm_70` as 70.
///
/// # Errors
/// Fails if the text does not have this form.
pub fn architecture(text: &str) -> Result<u32, ArchitectureError> {
    let digits = text.strip_prefix("sm_").filter(|digits| (2..=3).contains(&digits.len()));
    digits.and_then(|digits| digits.parse().ok()).ok_or(ArchitectureError)
}

/// Selection of the units and events that are recorded for a trace of the run in simulated time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingOptions {
    /// The SMs whose warps are recorded.
    pub sms: UnitNumbers,
    /// The memory partitions whose DRAM banks are recorded.
    pub partitions: UnitNumbers,
    /// First core cycle in which CTAs, warps and banks are recorded.
    pub from: u64,
    /// Maximum number of events of each kind per unit; further events are not recorded.
    pub most: NonZeroUsize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_a_round_trip() {
        let record = RecordingOptions { sms: UnitNumbers::All, partitions: "0-1".parse().unwrap(), from: 5, most: NonZeroUsize::MIN };
        let request = Request {
            workload: Some(WorkloadSource::Program { file: "a.toml".into(), arch: Some(80) }),
            cpu: CpuOptions { applications: vec!["mcf".into()], until: RunCondition::Gpu, ..CpuOptions::default() },
            record: Some(record),
            ..Request::default()
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        assert_eq!(serde_json::from_str::<Request>("{}").unwrap(), Request::default());
        assert!(serde_json::from_str::<Request>("{\"machin\": \"x\"}").unwrap_err().to_string().contains("machin"));
    }

    #[test]
    fn contradictory_options_are_rejected() {
        let message = |request: Request| request.check().unwrap_err().to_string();
        let plain = Request::default;
        assert!(plain().check().is_ok());
        assert!(message(Request { relaxed: true, ..plain() }).contains("--epoch"));
        assert!(message(Request { checkpoint_every: NonZeroU64::new(5), ..plain() }).contains("--out"));
        let apps = WorkloadSource::Applications { apps: vec!["stream".into()], once: false, alone: false };
        assert!(message(Request { workload: Some(apps), kernels: Some("1".into()), ..plain() }).contains("--kernels"));
        assert!(message(Request { cpu: CpuOptions { gpu_first: true, ..CpuOptions::default() }, ..plain() }).contains("--cpu"));
        let sampled = || Request { sample: Some(String::new()), ..plain() };
        assert!(message(Request { policies: vec!["dyncta".into()], ..sampled() }).contains("--policy"));
        let cpu = CpuOptions { applications: vec!["mcf".into()], ..CpuOptions::default() };
        assert!(message(Request { cpu, ..sampled() }).contains("--cpu"));
        assert!(message(Request { interval: NonZeroU64::new(5), ..sampled() }).contains("--interval"));
    }

    #[test]
    fn an_architecture_is_written_as_compilers_write_it() {
        assert_eq!(
            (architecture("sm_70"), architecture("70"), architecture("sm_7")),
            (Ok(70), Err(ArchitectureError), Err(ArchitectureError))
        );
    }
}
