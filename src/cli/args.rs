//! The command line: all commands and options with their help.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use warpshard_run::{CpuOptions, RecordingOptions, Request, UnitNumbers, WorkloadSource, architecture};

mod bench;
mod machines;
mod monitor;
mod program;
mod results;
mod rig;
mod sampling;
mod shared;
mod sweep;

pub(crate) use bench::BenchArgs;
pub(crate) use machines::{CalibrateArgs, ImportArgs};
pub(crate) use monitor::MonitorAddress;
pub(crate) use program::{CodeArgs, CompileArgs, CubinArgs, ExecArgs, LaunchArgs, MatrixValues, PreprocessorArgs, RecordArgs};
pub(crate) use results::{CompareArgs, CompletionsArgs, ManArgs, ReportArgs};
pub(crate) use rig::{ControllerName, CpuArgs, DramArgs, NocArgs, OnOff};
pub(crate) use sampling::SamplingArgs;
pub(super) use shared::AUTO_CLOCK;
pub(crate) use shared::TraceSetArgs;
use shared::{key_value, with_clock};
pub(crate) use sweep::{BatchSystem, SubmitArgs, SweepArgs, SweepCommand};

const EXAMPLES: &str = "\
Examples:
  warpshard run                                        kernel model gemm_tiled on a V100
  warpshard run --machine m2090 --workload vecadd      another machine, another model
  warpshard run --trace traces/bfs/kernelslist.g       a recorded Accel-Sim trace
  warpshard run --set gpu.sms=56 --out results/p56     a changed machine, a named result folder
  warpshard check my.toml traces/bfs/kernelslist.g     check files without simulating
  warpshard show machine v100                          every value of a machine, with its source

`warpshard help COMMAND` describes a command; `warpshard exit-codes` lists the exit codes.";

/// A parallel, deterministic simulator of GPUs and CPU+GPU chips. It reports cycles, stall reasons, memory traffic and energy of SASS
/// traces and kernel models. Results are byte-identical for any number of threads.
#[derive(Debug, Parser)]
#[command(name = "warpshard", bin_name = "warpshard", version = super::version::version(), after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// The command to execute.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands of `warpshard`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a workload on a machine and write a result folder.
    Run(Box<RunArgs>),
    /// Check machines, kernel models and traces without simulating.
    Check(CheckArgs),
    /// List built-in machines, workloads, policies and studies.
    List(ListArgs),
    /// Show a machine or kernel model with all its values.
    Show(ShowArgs),
    /// Convert a trace between text and the native format, losslessly.
    Convert(ConvertArgs),
    /// Simulate all runs of a plan and collect their results in one table.
    Sweep(SweepArgs),
    /// Write the results of a run as a page with pictures.
    Report(ReportArgs),
    /// Show the differences between the results of runs.
    Compare(CompareArgs),
    /// Summarize and plot the decisions of a run's controllers.
    Timeline(TimelineArgs),
    /// Write a synthetic kernel as an Accel-Sim trace.
    Generate(GenerateArgs),
    /// Write a kernel model as an Accel-Sim trace, or show the sizes of a recorded one.
    Trace(TraceArgs),
    /// Show the phases of kernels, as phase-aware warp schedulers see them.
    Phases(PhasesArgs),
    /// Convert Accel-Sim configuration files to a machine.
    Import(ImportArgs),
    /// Derive a machine from measured microbenchmarks and a base machine.
    Calibrate(CalibrateArgs),
    /// Run a study: an experiment compared with published or measured results.
    Study(StudyArgs),
    /// Compile CUDA C to a program listing, without a GPU or a CUDA toolkit.
    Compile(CompileArgs),
    /// Execute a program without timing; show its results, instructions and accesses.
    Exec(ExecArgs),
    /// Record the execution of a program as an Accel-Sim trace.
    Record(RecordArgs),
    /// Simulate one CPU core with a memory.
    Cpu(CpuArgs),
    /// Measure simulation speed on the standard set of traces.
    Bench(BenchArgs),
    /// Simulate a network alone under synthetic traffic.
    Noc(NocArgs),
    /// Simulate one DRAM channel alone under synthetic load.
    Dram(DramArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Write man pages of all commands.
    Man(ManArgs),
    /// List the exit codes.
    #[command(long_about = warpshard_run::exit_codes())]
    ExitCodes,
}

const RUN_HELP: &str = "\
The result folder contains stats.json (all simulation results), host.json (speed and memory of the simulator), run.toml
(every value of machine and run, with its origin), summary.txt, kernels.csv, intervals.csv (rows with --interval),
timeline.csv with --policy, and energy.csv for machines with event energies. It appears only when it is complete. The first Ctrl-C stops the
run and writes results up to that cycle; the second aborts without results.

Examples:
  warpshard run
  warpshard run --trace traces/bfs/kernelslist.g --threads 8 --kernels 3-10
  warpshard run kernel.cu --entry 'f<float>' --grid 64 --block 256 --arg n=4096 --arg x=f32[n]:uniform
  warpshard run --workload gemm_tiled --set gpu.sms=40 --set mem.dram.scheduler=fcfs
  warpshard run --trace t/kernelslist.g --max-cycles 1000000 --interval 1000 --out results/t";

/// Options of `run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// Built-in machine, or machine file (.toml).
    #[arg(long, value_name = "NAME|FILE", default_value = "v100", help_heading = "Simulation")]
    pub machine: String,
    /// Recorded trace: its kernelslist.g, a folder that contains one, or a native file.
    #[arg(long, value_name = "KERNELSLIST", conflicts_with = "workload", help_heading = "Simulation")]
    pub trace: Option<PathBuf>,
    /// Built-in kernel model, or model file (.toml) [default: gemm_tiled].
    #[arg(long, value_name = "NAME|FILE", help_heading = "Simulation")]
    pub workload: Option<String>,
    /// CUDA sources (.cu), whose kernel --entry is run, or a launch file (.toml), as with --program.
    #[arg(value_name = "FILE", conflicts_with_all = ["workload", "trace", "program", "app"])]
    pub files: Vec<PathBuf>,
    /// Launch options of a kernel in a CUDA source.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// Program of the run.
    #[command(flatten)]
    pub code: CodeArgs,
    /// An application that shares the GPU with others: a trace, a launch file or a kernel model (prefix trace:, program: or model: if
    /// ambiguous), with its priority and the core cycle of its arrival; or @FILE, a mix of applications (docs/sharing.md). Repeatable.
    #[arg(
        long,
        value_name = "NAME[,priority=N][,at=N]|@FILE",
        conflicts_with_all = ["workload", "trace", "program", "kernels"],
        help_heading = "Simulation"
    )]
    pub app: Vec<String>,
    /// Run each application once; by default an application restarts when it ends, until all have ended once.
    #[arg(long, requires = "app", help_heading = "Simulation")]
    pub once: bool,
    /// Also run each application alone, and report STP, ANTT and fairness. Such runs are cached in results/alone.
    #[arg(long, requires = "app", help_heading = "Simulation")]
    pub alone: bool,
    /// Architecture of the program's listing to run [default: the first].
    #[arg(long, value_name = "sm_70", value_parser = architecture, help_heading = "Simulation")]
    pub arch: Option<u32>,
    /// Simulate only these kernels: numbers in the trace ("1-4,7", "3-"), or a regular expression that matches names.
    #[arg(long, value_name = "RANGE|REGEX", help_heading = "Simulation")]
    pub kernels: Option<String>,
    /// Simulate only kernels whose mangled or source name matches this regular expression.
    #[arg(long, value_name = "REGEX", conflicts_with = "app", help_heading = "Simulation")]
    pub only: Option<String>,
    /// Skip the first N of the launches that --kernels and --only select.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "app", help_heading = "Simulation")]
    pub skip: usize,
    /// Override a value of the machine, or with workload.KEY a parameter of the kernel model. Repeatable. `warpshard show` lists the keys.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Simulation")]
    pub set: Vec<(String, String)>,
    /// Clock of the SMs, such as "1755 MHz": short for --set clocks.core=FREQUENCY. "auto" simulates once at the machine's clock to measure
    /// the load of the matrix units, then at the clock that the machine's table (clocks.tensor_load) gives for this load.
    #[arg(long, value_name = "FREQUENCY", help_heading = "Simulation")]
    pub clock: Option<String>,
    /// Attach a controller, with parameters after a colon. Repeatable. `warpshard list policies` lists controllers and their parameters.
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", help_heading = "Simulation")]
    pub policy: Vec<String>,
    /// Applications of the CPU cores, one per core from core 0: built-in profiles, profile files (.toml) or Ramulator traces;
    /// or @MIX: a built-in mix or mix file (.toml).
    #[arg(long, value_name = "NAME,NAME,..|@MIX", value_delimiter = ',', help_heading = "Simulation")]
    pub cpu: Vec<String>,
    /// Warm-up instructions of each CPU core. Kernels start when every core is warm.
    #[arg(long, value_name = "N", default_value_t = 500_000, requires = "cpu", help_heading = "Simulation")]
    pub cpu_warm: u64,
    /// Measured instructions of each CPU core. The core keeps running after them.
    #[arg(long, value_name = "N", default_value = "4500000", requires = "cpu", help_heading = "Simulation")]
    pub cpu_measure: NonZeroU64,
    /// Start kernels at cycle 0 instead of after the warm-up of the CPU cores.
    #[arg(long, requires = "cpu", help_heading = "Simulation")]
    pub gpu_first: bool,
    /// Event that ends the run.
    #[arg(long, value_enum, default_value = "both", requires = "cpu", help_heading = "Simulation")]
    pub until: Until,
    /// Seed for random numbers of kernel models and CPU profiles.
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "Simulation")]
    pub seed: u64,
    /// Accept traces with minor errors; a note counts each repair.
    #[arg(long, help_heading = "Simulation")]
    pub lenient: bool,

    /// Stop after N core cycles.
    #[arg(long, value_name = "N", help_heading = "Length and recording")]
    pub max_cycles: Option<NonZeroU64>,
    /// Stop after N thread instructions, at the next multiple of 1000 core cycles.
    #[arg(long, value_name = "N", help_heading = "Length and recording")]
    pub max_instructions: Option<NonZeroU64>,
    /// Record counters every N core cycles in intervals.csv.
    #[arg(long, value_name = "N", help_heading = "Length and recording")]
    pub interval: Option<NonZeroU64>,
    /// Options of sampled runs.
    #[command(flatten)]
    pub sampling: SamplingArgs,

    /// Write a trace of the run in simulated time for the Perfetto viewer (ui.perfetto.dev): kernels, decisions, counters of --interval,
    /// the CTAs of all SMs, the states of warps, bulk copies and barriers in shared memory, and the rows of DRAM banks.
    #[arg(long, value_name = "FILE", help_heading = "Length and recording")]
    pub perfetto: Option<PathBuf>,
    /// SMs whose warps are in the trace: numbers such as "0-3,7", "all" or "none".
    #[arg(long, value_name = "LIST", default_value = "0", requires = "perfetto", help_heading = "Length and recording")]
    pub perfetto_sms: UnitNumbers,
    /// Memory partitions whose DRAM banks are in the trace: numbers such as "0-3,7", "all" or "none".
    #[arg(long, value_name = "LIST", default_value = "0", requires = "perfetto", help_heading = "Length and recording")]
    pub perfetto_channels: UnitNumbers,
    /// First core cycle for which the trace has CTAs, warps and banks.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "perfetto", help_heading = "Length and recording")]
    pub perfetto_from: u64,
    /// Maximum number of events of each kind and unit in the trace; later events are left out.
    #[arg(long, value_name = "N", default_value = "200000", requires = "perfetto", help_heading = "Length and recording")]
    pub perfetto_events: NonZeroUsize,

    /// Worker threads [default and maximum: all cores that this process may use]. Fewer threads are active while that is faster. Results do
    /// not depend on the number.
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub threads: Option<NonZeroU32>,
    /// Core cycles between two barriers of the worker threads; "auto" derives the number from the lookahead of the machine. Results do not
    /// depend on it unless --relaxed is given.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = epoch, help_heading = "Execution")]
    pub epoch: Epoch,
    /// Allow epochs longer than the lookahead. Results are then approximate and marked as such.
    #[arg(long, requires = "epoch", help_heading = "Execution")]
    pub relaxed: bool,
    /// Pin each worker thread to a core.
    #[arg(long, help_heading = "Execution")]
    pub pin: bool,
    /// Simulate together with the other processes that mpirun or srun started, each with --threads threads; rank 0 writes the results,
    /// which do not depend on the number of ranks. Needs a build with MPI (docs/ranks.md).
    #[arg(long, conflicts_with_all = ["alone", "monitor", "perfetto"], help_heading = "Execution")]
    pub mpi: bool,

    /// Serve a page that shows the run in progress and can pause it, at this port of the loopback address or at another address. The run
    /// prints the address of the page with a random token. Results do not depend on the monitor.
    #[arg(long, value_name = "[ADDRESS:]PORT", help_heading = "Execution")]
    pub monitor: Option<MonitorAddress>,
    /// File with the token that the page requires, instead of a random token; required for addresses other than loopback.
    #[arg(long, value_name = "FILE", requires = "monitor", help_heading = "Execution")]
    pub monitor_token_file: Option<PathBuf>,

    /// Save the state of the run every N core cycles in DIR.checkpoint, next to the result folder --out DIR, so that --resume can continue
    /// a run that was killed; the file is removed when the run is complete. Results do not depend on checkpoints.
    #[arg(long, value_name = "N", requires = "out", conflicts_with = "perfetto", help_heading = "Execution")]
    pub checkpoint_every: Option<NonZeroU64>,
    /// Continue from a checkpoint, with the options of the run that wrote it. Threads, ranks, epoch, folders and --max-cycles may differ.
    #[arg(long, value_name = "FILE", conflicts_with = "perfetto", help_heading = "Execution")]
    pub resume: Option<PathBuf>,

    /// Result folder [default: results/MACHINE-WORKLOAD-OPTIONS-N with the first free N; OPTIONS are the options that change results].
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,
    /// Write into --out even if it contains other files, which are kept, or results of another experiment, which are replaced.
    #[arg(long, requires = "out", help_heading = "Results")]
    pub force: bool,
    /// Also write the tables of kernels and intervals as Parquet; needs a build with the feature parquet.
    #[arg(long, help_heading = "Results")]
    pub parquet: bool,
}

/// Events that end a run with CPU cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Until {
    /// Every kernel has ended and every CPU core is measured.
    Both,
    /// Every kernel has ended.
    Gpu,
    /// Every CPU core is measured.
    Cpu,
}

impl RunArgs {
    /// Returns the request that corresponds to the options.
    pub(crate) fn request(&self) -> Request {
        let apps =
            (!self.app.is_empty()).then(|| WorkloadSource::Applications { apps: self.app.clone(), once: self.once, alone: self.alone });
        let trace = self.trace.clone().map(WorkloadSource::Trace);
        let program = self.code.program.clone().map(|file| WorkloadSource::Program { file, arch: self.arch });
        let model = self.workload.clone().map(WorkloadSource::Model);
        let record = self.perfetto.as_ref().map(|_| RecordingOptions {
            sms: self.perfetto_sms.clone(),
            partitions: self.perfetto_channels.clone(),
            from: self.perfetto_from,
            most: self.perfetto_events,
        });
        Request {
            machine: self.machine.clone(),
            workload: apps.or(trace).or(program).or(model),
            set: with_clock(self.clock.as_deref(), &self.set),
            policies: self.policy.clone(),
            kernels: self.kernels.clone(),
            only: self.only.clone(),
            skip: self.skip,
            cpu: CpuOptions {
                applications: self.cpu.clone(),
                warm: self.cpu_warm,
                measure: self.cpu_measure,
                gpu_first: self.gpu_first,
                until: match self.until {
                    Until::Both => warpshard_run::RunCondition::Both,
                    Until::Gpu => warpshard_run::RunCondition::Gpu,
                    Until::Cpu => warpshard_run::RunCondition::Cpu,
                },
            },
            seed: self.seed,
            lenient: self.lenient,
            skip_matrix_values: self.code.matrix_values == MatrixValues::Skip,
            max_cycles: self.max_cycles,
            max_instructions: self.max_instructions,
            interval: self.interval,
            sample: self.sampling.sample.as_ref().map(|sampling| sampling.text.clone()),
            record,
            threads: self.threads,
            epoch: match self.epoch {
                Epoch::Auto => None,
                Epoch::Cycles(cycles) => Some(cycles),
            },
            relaxed: self.relaxed,
            pin: self.pin,
            checkpoint_every: self.checkpoint_every,
            checkpoint_file: self.out.as_deref().map(Request::checkpoint_of),
            resume: self.resume.clone(),
        }
    }
}

/// Options of `generate`.
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// Synthetic kernel; `warpshard list synthetic` lists all.
    pub name: String,
    /// Folder of the trace, new or empty.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Options of `timeline`.
#[derive(Args, Debug)]
pub(crate) struct TimelineArgs {
    /// Result folder of a run with --policy.
    pub run: PathBuf,
    /// SM to show [default: the first with records].
    #[arg(long, value_name = "N")]
    pub sm: Option<u16>,
    /// First core cycle to show [default: 0].
    #[arg(long, value_name = "CYCLE")]
    pub from: Option<u64>,
    /// Last core cycle to show [default: the end of the run].
    #[arg(long, value_name = "CYCLE")]
    pub to: Option<u64>,
}

/// Options of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Machines and kernel models (.toml); traces (kernelslist.g or native).
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Accept traces with minor errors, as `run --lenient` does.
    #[arg(long)]
    pub lenient: bool,
    /// Also report if the GPU of this machine can execute the code of traces and programs.
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
}

const STUDY_HELP: &str = "\
A study accepts the options that apply to it and rejects others. Studies of kernels show a --policy or --order as an additional column.

Examples:
  warpshard list studies
  warpshard study characterise --only lud
  warpshard study phase-aware --order gto
  warpshard study oracle --workload wa_sched/lud --machine m2090 --cycles 60000 --policy dyncta";

/// Options of `study`.
#[derive(Args, Debug)]
#[command(after_help = STUDY_HELP)]
pub(crate) struct StudyArgs {
    /// Study to run; `warpshard list studies` describes all.
    #[arg(value_parser = PossibleValuesParser::new(crate::studies().into_iter().map(|study| PossibleValue::new(study.name).help(study.summary))))]
    pub name: String,
    /// A controller, as in `run`: studies of kernels show it as an additional column. Repeatable.
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]")]
    pub policy: Vec<String>,
    /// A warp order, a value of gpu.sm.order: studies of kernels show it as an additional column.
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
    /// Configuration of the reference simulator to compare with [default: the configuration from which the machine was imported, otherwise
    /// SM7_QV100].
    #[arg(long, value_name = "NAME")]
    pub configuration: Option<String>,
    /// Short runs, the default.
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Long runs: five times the length, whole grids, or all pairs at the paper's lengths.
    #[arg(long)]
    pub full: bool,
    /// Only kernels whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Warm-up instructions of each CPU core before the measurement, with memory-heavy applications.
    #[arg(long, value_name = "N")]
    pub cpu_warm: Option<NonZeroU64>,
    /// Measured instructions of each CPU core, with memory-heavy applications.
    #[arg(long, value_name = "N")]
    pub cpu_measure: Option<NonZeroU64>,
    /// Maximum core cycles of a run with CPU cores, even if its slowest CPU core has not reached its instruction count.
    #[arg(long, value_name = "N")]
    pub longest: Option<NonZeroU64>,
    /// Lengths of the runs relative to the paper's lengths [default: 0.1, with --full 1].
    #[arg(long, value_name = "F", value_parser = scale)]
    pub scale: Option<f64>,
    /// Use a tenth of the paper's lengths, even with --full.
    #[arg(long, conflicts_with = "scale")]
    pub tenth: bool,
    /// Only pairs with these numbers; to combine parts that were run with different --cache folders, copy the files of these folders into
    /// one.
    #[arg(long, value_name = "A..B,C,..", value_delimiter = ',', value_parser = number_range)]
    pub pairs: Vec<(usize, usize)>,
    /// Core cycles of runs without CPU cores.
    #[arg(long, value_name = "N")]
    pub gpu_cycles: Option<NonZeroU64>,
    /// A built-in kernel model, a model file (.toml), or a trace.
    #[arg(long, value_name = "NAME|FILE|DIR")]
    pub workload: Option<String>,
    /// Core cycles of a run [default: until the workload ends].
    #[arg(long, value_name = "N")]
    pub cycles: Option<NonZeroU64>,
    /// Options of the traces and the machine.
    #[command(flatten)]
    pub traces: TraceSetArgs,
}

/// Options of `list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// List to print [default: all but counters].
    pub what: Option<ListWhat>,
}

/// Lists that `list` can print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListWhat {
    /// Built-in machines.
    Machines,
    /// Built-in kernel models.
    Workloads,
    /// Synthetic kernels of `warpshard generate`.
    Synthetic,
    /// Controllers, with their parameters.
    Policies,
    /// Profiles of CPU applications.
    Profiles,
    /// Mixes of CPU applications.
    Mixes,
    /// Studies: experiments compared with published or measured results.
    Studies,
    /// Counters of the results, with units and meanings.
    Counters,
}

/// Options of `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// Kind of the object.
    pub what: ShowWhat,
    /// Built-in name, or file (.toml).
    #[arg(value_name = "NAME|FILE")]
    pub name: String,
    /// Override a value of the machine, or with workload.KEY a parameter of the model. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
}

/// Kinds of objects that `show` can print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowWhat {
    /// A machine with all its values and their origins.
    Machine,
    /// A kernel model with its parameters and kernels.
    Workload,
}

const CONVERT_HELP: &str = "\
A native file contains a whole trace, including its kernel list. The conversion is lossless: converted back, every file has
the same bytes. A native file is at most a tenth of the size of the text and decodes several times faster. All commands
that read traces accept it.

Examples:
  warpshard convert traces/bfs bfs.wst                 from a folder with kernelslist.g, or the list itself
  warpshard run --trace bfs.wst
  warpshard convert bfs.wst bfs-text                   to a folder, with the original compression
  warpshard convert bfs.wst bfs-text --compress none";

/// Options of `convert`.
#[derive(Args, Debug)]
#[command(after_help = CONVERT_HELP)]
pub(crate) struct ConvertArgs {
    /// Text trace (kernelslist.g, its folder, or a .traceg file) to convert to native, or native file to convert to text.
    pub input: PathBuf,
    /// Native file to write (.wst by convention), or folder for the text; if the native file holds a single .traceg file, the .traceg file
    /// to write.
    pub output: PathBuf,
    /// Output format [default: text for native input, native for text input].
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<TraceFormat>,
    /// Compression. Native: zstd or none [default: zstd]. Text: none [default: the compression of the original files].
    #[arg(long, value_name = "HOW")]
    pub compress: Option<Compression>,
    /// Replace the output file, or files with the same names in the output folder.
    #[arg(long)]
    pub force: bool,
    /// Accept traces with minor errors, as `run --lenient` does.
    #[arg(long)]
    pub lenient: bool,
}

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// The native format of warpshard.
    Native,
    /// The text format of Accel-Sim.
    Text,
}

/// Compressions of converted traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compression {
    /// Zstandard.
    Zstd,
    /// No compression.
    None,
}

/// Options of `trace`.
#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// Built-in kernel model or model file (.toml) to write as a trace; without --out, a trace whose sizes are shown.
    #[arg(value_name = "NAME|FILE")]
    pub workload: String,
    /// Folder to write, new or empty; with --native, file to write.
    #[arg(long, value_name = "DIR|FILE")]
    pub out: Option<PathBuf>,
    /// Write a native file instead of text.
    #[arg(long, requires = "out")]
    pub native: bool,
    /// Seed for random numbers.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Override a parameter of the model. Repeatable.
    #[arg(long, value_name = "workload.KEY=VALUE", value_parser = model_key_value)]
    pub set: Vec<(String, String)>,
}

const PHASES_HELP: &str = "\
A phase is a sequence of instructions of one basic block in which no instruction reads a register that a load, store,
branch or barrier of the same sequence wrote. Its length is the sum of the latencies of its instructions.

Examples:
  warpshard phases gemm_tiled
  warpshard phases traces/bfs/kernelslist.g --kernels 1 --machine m2090";

/// Options of `phases`.
#[derive(Args, Debug)]
#[command(after_help = PHASES_HELP)]
pub(crate) struct PhasesArgs {
    /// Built-in kernel model, model file (.toml), or trace (kernelslist.g or native).
    #[arg(value_name = "NAME|FILE|KERNELSLIST")]
    pub workload: String,
    /// Machine whose latencies are used [default: the latencies by operation of GPGPU-Sim's Fermi].
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// End phases only at accesses to global and local memory.
    #[arg(long)]
    pub device_memory: bool,
    /// Only these kernels: numbers ("1-4,7", "3-"), or a regular expression that matches names.
    #[arg(long, value_name = "RANGE|REGEX")]
    pub kernels: Option<String>,
    /// Omit the listings of instructions.
    #[arg(long, conflicts_with = "json")]
    pub summary: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Seed for random numbers of a kernel model.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Override a value of the machine, or with workload.KEY a parameter of the model. Repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Accept traces with minor errors, as `run --lenient` does.
    #[arg(long)]
    pub lenient: bool,
}

/// The length of an epoch (`--epoch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// The lookahead of the machine, or twice the lookahead if halves of the machine are stepped in turn.
    Auto,
    /// A fixed number of core cycles.
    Cycles(NonZeroU64),
}

fn epoch(text: &str) -> Result<Epoch, String> {
    if text == "auto" {
        return Ok(Epoch::Auto);
    }
    text.parse().map(Epoch::Cycles).map_err(|_| "expected \"auto\" or a whole number of cycles, at least 1".to_owned())
}

fn scale(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|scale: &f64| scale.is_finite() && *scale > 0.0)
        .ok_or_else(|| "expected a number above 0, such as 0.1".to_owned())
}

fn number_range(text: &str) -> Result<(usize, usize), String> {
    let parsed = match text.split_once("..") {
        Some((first, last)) => first.parse().ok().zip(last.parse().ok()),
        None => text.parse().ok().map(|only| (only, only)),
    };
    parsed.filter(|(first, last)| 1 <= *first && first <= last).ok_or_else(|| "expected A..B with 1 <= A <= B, or one number".to_owned())
}

fn model_key_value(text: &str) -> Result<(String, String), String> {
    key_value(text).and_then(|pair| match pair.0.starts_with("workload.") {
        true => Ok(pair),
        false => Err("only parameters of the kernel model can be set; expected workload.KEY=VALUE".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn run(arguments: &[&str]) -> Result<RunArgs, clap::Error> {
        let cli = Cli::try_parse_from(["warpshard", "run"].iter().chain(arguments))?;
        match cli.command {
            Command::Run(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_defaults_to_a_v100_and_auto_epoch() {
        let args = run(&[]).unwrap();
        assert_eq!((args.machine.as_str(), args.trace, args.workload, args.epoch), ("v100", None, None, Epoch::Auto));
    }

    #[test]
    fn a_value_to_set_may_contain_an_equals_sign() {
        let args = run(&["--set", "a.b=c=d", "--set", "x= 1"]).unwrap();
        assert_eq!(args.set, [("a.b".to_owned(), "c=d".to_owned()), ("x".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn zero_is_rejected_for_epoch_interval_and_threads() {
        for option in ["--epoch", "--interval", "--threads", "--max-cycles"] {
            assert!(run(&[option, "0"]).is_err(), "{option}");
            assert!(run(&[option, "7"]).is_ok(), "{option}");
        }
    }

    #[test]
    fn trace_and_workload_conflict() {
        assert!(run(&["--trace", "a", "--workload", "b"]).is_err());
    }
}
