//! The command line: every command and option with its help.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::mem::dram::standard::{STANDARDS, Standard};
use crate::noc::mesh::{Pipeline, Topology};
use crate::rig::cpu::CpuMemory;
use crate::rig::{PATTERNS, Pattern};

use super::exit;

const EXAMPLES: &str = "\
Examples:
  warpshard run                                        the default: kernel model gemm_tiled on a V100
  warpshard run --machine m2090 --workload vecadd      another machine, another model
  warpshard run --trace traces/bfs/kernelslist.g       a recorded Accel-Sim trace
  warpshard run --set gpu.sms=56 --out results/p56     a changed machine, a folder of one's own
  warpshard check my.toml traces/bfs/kernelslist.g     is that valid? nothing is simulated
  warpshard show machine v100                          every value of a machine, with its source

`warpshard help COMMAND` tells more, `warpshard help exit-codes` lists the exit codes.";

/// A parallel, deterministic simulator of GPUs: cycles, stall reasons and memory traffic of real SASS traces or kernel
/// models, the same bytes for every number of threads.
#[derive(Debug, Parser)]
#[command(name = "warpshard", version = super::VERSION, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a workload on a machine and write a result folder.
    Run(Box<RunArgs>),
    /// Check machines, kernel models and traces without simulating.
    Check(CheckArgs),
    /// List what is built in.
    List(ListArgs),
    /// Show a machine or a kernel model with all its values.
    Show(ShowArgs),
    /// Write a kernel model as an Accel-Sim trace.
    Trace(TraceArgs),
    /// Translate a pair of Accel-Sim's configuration files into a machine.
    Import(ImportArgs),
    /// Run an experiment and compare it with a reference.
    Study(StudyArgs),
    /// Run one CPU core on one memory.
    Cpu(CpuArgs),
    /// Measure how fast this host simulates the standard set of traces.
    Bench(BenchArgs),
    /// Measure latency and throughput of a network alone under synthetic traffic.
    Noc(NocArgs),
    /// Run one DRAM channel alone under synthetic load.
    Dram(DramArgs),
    /// List the exit codes.
    #[command(long_about = exit::table())]
    ExitCodes,
}

const RUN_HELP: &str = "\
The result folder holds stats.json (everything simulated), host.json (what the host did), run.toml (every value of the
run, resolved), intervals.csv with --interval, timeline.csv with controllers, and summary.txt. It appears when it is
complete and not before. Ctrl-C ends the run at the next cut with complete results; a second Ctrl-C aborts.

Examples:
  warpshard run
  warpshard run --trace traces/bfs/kernelslist.g --threads 8 --kernels 3-10
  warpshard run --workload gemm_tiled --set gpu.sms=40 --set mem.dram.scheduler=fcfs
  warpshard run --trace t/kernelslist.g --max-cycles 1000000 --interval 1000 --out results/t";

/// Options of `run`.
#[derive(Args, Debug)]
#[command(after_help = RUN_HELP)]
pub struct RunArgs {
    /// A built-in machine, or a file that describes one.
    #[arg(long, value_name = "NAME|FILE", default_value = "v100", help_heading = "What")]
    pub machine: String,
    /// A recorded trace: its kernelslist.g, whose paths are relative to it.
    #[arg(long, value_name = "KERNELSLIST", conflicts_with = "workload", help_heading = "What")]
    pub trace: Option<PathBuf>,
    /// A built-in kernel model, or a file that describes one [default: gemm_tiled].
    #[arg(long, value_name = "NAME|FILE", help_heading = "What")]
    pub workload: Option<String>,
    /// Only these kernels: their numbers in the trace ("1-4,7", "3-") or a regular expression on their names.
    #[arg(long, value_name = "RANGE|REGEX", help_heading = "What")]
    pub kernels: Option<String>,
    /// Change a value of the machine, or with workload.KEY a parameter of the kernel model; may be given several times.
    /// `warpshard show` lists the keys.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value, help_heading = "What")]
    pub set: Vec<(String, String)>,
    /// Attach a controller: NAME, or NAME:KEY=VALUE,KEY=VALUE; may be given several times. `warpshard list policies` names
    /// them and their parameters.
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", help_heading = "What")]
    pub policy: Vec<String>,
    /// Applications of the first CPU cores, one each: built-in profiles, profiles in .toml files, or paths of Ramulator traces;
    /// or @MIX, a built-in mix or a .toml file that names an application for every core.
    #[arg(long, value_name = "NAME,NAME,..|@MIX", value_delimiter = ',', help_heading = "What")]
    pub cpu: Vec<String>,
    /// Instructions that each CPU core retires before it is measured; kernels wait for the slowest core.
    #[arg(long, value_name = "N", default_value_t = 500_000, requires = "cpu", help_heading = "What")]
    pub cpu_warm: u64,
    /// Instructions of each CPU core that are measured; the core keeps running behind them.
    #[arg(long, value_name = "N", default_value = "4500000", requires = "cpu", help_heading = "What")]
    pub cpu_measure: NonZeroU64,
    /// Let kernels start at once instead of with warm CPU cores.
    #[arg(long, requires = "cpu", help_heading = "What")]
    pub gpu_first: bool,
    /// What ends the run: the last kernel, the slowest CPU core's count, or the later of both.
    #[arg(long, value_enum, default_value = "both", requires = "cpu", help_heading = "What")]
    pub until: Until,
    /// Seed of all random choices of kernel models.
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = "What")]
    pub seed: u64,
    /// Guess where a trace is slightly broken, with a counted note, instead of refusing it.
    #[arg(long, help_heading = "What")]
    pub lenient: bool,

    /// Stop after this many core cycles.
    #[arg(long, value_name = "N", help_heading = "How long and what to record")]
    pub max_cycles: Option<NonZeroU64>,
    /// Record a row of counters every N core cycles in intervals.csv.
    #[arg(long, value_name = "N", help_heading = "How long and what to record")]
    pub interval: Option<NonZeroU64>,

    /// Worker threads [default: all cores]. Results do not depend on it.
    #[arg(long, value_name = "N", help_heading = "How")]
    pub threads: Option<NonZeroU32>,
    /// Core cycles between two barriers; "auto" is the machine's lookahead. Results do not depend on it.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = epoch, help_heading = "How")]
    pub epoch: Epoch,
    /// Allow epochs longer than the lookahead, which makes results approximate; they say so.
    #[arg(long, help_heading = "How")]
    pub relaxed: bool,
    /// Bind each worker thread to a core.
    #[arg(long, help_heading = "How")]
    pub pin: bool,

    /// The result folder [default: results/MACHINE-WORKLOAD-N with the first N that is free].
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub out: Option<PathBuf>,
    /// Write into --out even when it holds files that are no results; they stay.
    #[arg(long, requires = "out", help_heading = "Results")]
    pub force: bool,
}

/// What ends a run with CPU cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// Kernels and CPU cores are done.
    Both,
    /// The last kernel ended.
    Gpu,
    /// The slowest CPU core has reached its count.
    Cpu,
}

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Machines and kernel models (.toml), traces (kernelslist.g).
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Accept what `run --lenient` accepts.
    #[arg(long)]
    pub lenient: bool,
}

/// What studies and the benchmark have in common.
#[derive(Args, Debug)]
pub struct TraceSetArgs {
    /// A built-in machine, or a file that describes one.
    #[arg(long, value_name = "NAME|FILE", default_value = Self::MACHINE)]
    pub machine: String,
    /// Change a value of the machine; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// The folder of reference data: traces, the trace generator, measured results.
    #[arg(long, value_name = "DIR", default_value = "../shared/reference")]
    pub reference: PathBuf,
    /// Where generated traces are kept between studies.
    #[arg(long, value_name = "DIR", default_value = "target/traces")]
    pub cache: PathBuf,
    /// The result folder [default: results/study-NAME or results/bench, replaced].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl TraceSetArgs {
    /// The machine when none is named.
    pub const MACHINE: &'static str = "v100";
}

/// Options of `study`.
#[derive(Args, Debug)]
pub struct StudyArgs {
    /// Which study; `warpshard list studies` says what each shows.
    pub name: StudyName,
    /// The reference's configuration whose results are compared with.
    #[arg(long, value_name = "NAME", default_value = "SM7_QV100")]
    pub configuration: String,
    /// hetero-directions: instructions of each CPU core before it is measured, with memory-heavy applications.
    #[arg(long, value_name = "N")]
    pub cpu_warm: Option<NonZeroU64>,
    /// hetero-directions: measured instructions of each CPU core, with memory-heavy applications.
    #[arg(long, value_name = "N")]
    pub cpu_measure: Option<NonZeroU64>,
    /// hetero-directions: core cycles after which a run is cut, whether or not its slowest CPU core is through.
    #[arg(long, value_name = "N")]
    pub longest: Option<NonZeroU64>,
    /// hetero-directions: core cycles of runs without CPU cores.
    #[arg(long, value_name = "N")]
    pub gpu_cycles: Option<NonZeroU64>,
    /// Traces and machine.
    #[command(flatten)]
    pub traces: TraceSetArgs,
}

/// A study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StudyName {
    /// Net cycles of recorded and generated traces beside Accel-Sim's.
    AccelSim,
    /// IPC of a CPU core on recorded traces beside Ramulator 1's.
    Cpu,
    /// What binding CTAs ahead costs, against dispatch within a cycle.
    Dispatch,
    /// The CPU+GPU chip beside what its paper states of it; --machine is read as hetero where it is not given.
    HeteroDirections,
    /// Latency and throughput of networks beside BookSim 2's.
    Noc,
    /// A DRAM channel beside Ramulator 2 and DRAMsim3, point by point.
    Dram,
}

const CPU_HELP: &str = "\
Traces were filtered by caches, so that the core has none, and works as Ramulator's: 4-wide, 128 entries. Profiles go
through private caches of 32 KB and 256 KB on a core that is 3-wide with 128 entries.

Examples:
  warpshard cpu --trace traces/403.gcc.gz --memory ddr4-2400r
  warpshard cpu --profile mcf --memory fixed:200 --instructions 10000000 --json";

/// Options of `cpu`.
#[derive(Args, Debug)]
#[command(after_help = CPU_HELP)]
pub struct CpuArgs {
    /// A memory trace: `<bubbles> <read> [<writeback>]` per line, plain or compressed.
    #[arg(long, value_name = "FILE", required_unless_present = "profile", conflicts_with = "profile")]
    pub trace: Option<PathBuf>,
    /// A built-in profile, or a .toml file; `warpshard list profiles` names them.
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// What the core runs on: "ideal", "fixed:N" (a latency in cycles), or a DRAM standard, with the ratio of the core's
    /// clock to the DRAM's where another is wanted: "ddr4-2400r@8:3".
    #[arg(long, value_name = "MEMORY", value_parser = CpuMemory::parse)]
    pub memory: CpuMemory,
    /// Instructions fetched, executed and retired per cycle [default: 4 for traces, 3 for profiles].
    #[arg(long, value_name = "N")]
    pub width: Option<u32>,
    /// Instructions in the window [default: 128].
    #[arg(long, value_name = "N")]
    pub window: Option<u32>,
    /// Instructions in all [default: one pass of a trace, 5 million of a profile after the warm-up].
    #[arg(long, value_name = "N")]
    pub instructions: Option<NonZeroU64>,
    /// Instructions before the measurement.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warm: u64,
    /// Let each load of the trace wait for the one before it, as in a pointer chase.
    #[arg(long, requires = "trace")]
    pub dependent: bool,
    /// Put the private caches in front of a trace, for one that was not filtered.
    #[arg(long, requires = "trace")]
    pub unfiltered: bool,
    /// Seed of a profile's random choices.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl CpuArgs {
    /// Whether the core has its private caches.
    pub fn caches(&self) -> bool {
        self.profile.is_some() || self.unfiltered
    }
}

/// Options of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Numbers of worker threads, each compared with the first.
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', default_value = "1,2")]
    pub threads: Vec<NonZeroU32>,
    /// Runs of each trace and number of threads; the median counts.
    #[arg(long, value_name = "N", default_value = "5")]
    pub runs: NonZeroU32,
    /// Only traces whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Traces and machine.
    #[command(flatten)]
    pub traces: TraceSetArgs,
}

const DRAM_HELP: &str = "\
Requests arrive at a fixed rate and wait in an unbounded queue when the controller is full; the first eleventh warms up.

Examples:
  warpshard dram --standard gddr6-14g --pattern random --load 0.2
  warpshard dram --standard hbm2-2000 --pattern seq_bg --writes 0.5 --load 0.8 --refresh on --json
  warpshard dram --standard gddr5-6g --pattern random --sweep --out results/gddr5";

/// Options of `dram`.
#[derive(Args, Debug)]
#[command(after_help = DRAM_HELP)]
pub struct DramArgs {
    /// The device; a wrong name lists all.
    #[arg(long, value_name = "NAME", default_value = "gddr6-14g", value_parser = standard)]
    pub standard: &'static Standard,
    /// The stream of requests; a wrong name lists all.
    #[arg(long, value_name = "NAME", default_value = "seq_bg", value_parser = pattern)]
    pub pattern: Pattern,
    /// Fraction of the requests that write.
    #[arg(long, value_name = "F", default_value_t = 0.0, value_parser = fraction)]
    pub writes: f64,
    /// Requests that arrive, as a fraction of what the data bus can move; above 1 saturates.
    #[arg(long, value_name = "F", default_value_t = 0.5, value_parser = load)]
    pub load: f64,
    /// Whether banks are refreshed.
    #[arg(long, value_name = "on|off", default_value = "off")]
    pub refresh: OnOff,
    /// Requests, with those that warm up.
    #[arg(long, value_name = "N", default_value_t = 220_000, value_parser = clap::value_parser!(u64).range(11..=u64::from(u32::MAX)))]
    pub requests: u64,
    /// The controller's policy.
    #[arg(long, value_name = "NAME", default_value = "ramulator2")]
    pub controller: ControllerName,
    /// Close a row with the last request that wants it.
    #[arg(long)]
    pub closed_page: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Run loads from 0.05 to 1.2 and write a table and a latency-load plot.
    #[arg(long, conflicts_with_all = ["load", "json"])]
    pub sweep: bool,
    /// The sweep's result folder [default: results/dram-STANDARD-PATTERN, replaced].
    #[arg(long, value_name = "DIR", requires = "sweep")]
    pub out: Option<PathBuf>,
}

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// On.
    On,
    /// Off.
    Off,
}

/// A controller's policy by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControllerName {
    /// Ramulator 2.1: FR-FCFS that protects row hits, queues of 64.
    Ramulator2,
    /// Ramulator 1: FR-FCFS with a cap of 16 row hits, queues of 32.
    Ramulator1,
    /// What of DRAMsim3 is a policy: queues of 32, writes posted and drained in batches, refresh bank by bank.
    Dramsim3,
    /// First come, first served, otherwise as ramulator2.
    Fcfs,
}

fn standard(text: &str) -> Result<&'static Standard, String> {
    let known: Vec<&str> = STANDARDS.iter().map(|standard| standard.name).collect();
    Standard::named(text).ok_or_else(|| format!("known standards: {}", known.join(", ")))
}

fn pattern(text: &str) -> Result<Pattern, String> {
    let known: Vec<&str> = PATTERNS.iter().map(|(name, _)| *name).collect();
    Pattern::named(text).ok_or_else(|| format!("known patterns: {}", known.join(", ")))
}

fn fraction(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value| (0.0..=1.0).contains(value)).ok_or_else(|| "a number from 0 to 1".to_owned())
}

fn load(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value| (1e-6..=16.0).contains(value)).ok_or_else(|| "a number from 0.000001 to 16".to_owned())
}

/// Options of `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Only this; machines, workloads and studies when left out.
    pub what: Option<ListWhat>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListWhat {
    /// Built-in machines.
    Machines,
    /// Built-in kernel models.
    Workloads,
    /// Controllers, with their parameters.
    Policies,
    /// Built-in profiles of CPU applications.
    Profiles,
    /// Built-in mixes of CPU applications.
    Mixes,
    /// Comparisons with published or measured figures.
    Studies,
    /// Counters of the results, with units and meanings.
    Counters,
}

/// Options of `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// A machine or a kernel model.
    pub what: ShowWhat,
    /// Its built-in name, or a file.
    #[arg(value_name = "NAME|FILE")]
    pub name: String,
    /// Change a value of the machine, or with workload.KEY a parameter of the model, first; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowWhat {
    /// A machine, resolved.
    Machine,
    /// A kernel model.
    Workload,
}

/// Options of `trace`.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// A built-in kernel model, or a file that describes one.
    #[arg(value_name = "NAME|FILE")]
    pub workload: String,
    /// The folder for kernelslist.g and the kernels' traces; must not exist yet, or be empty.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Seed of all random choices.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Change a parameter of the model; may be given several times.
    #[arg(long, value_name = "workload.KEY=VALUE", value_parser = model_key_value)]
    pub set: Vec<(String, String)>,
}

const NOC_HELP: &str = "\
Loads are in flits per source and cycle. A load is stable when its mean packet latency stays within 1000 cycles.

Examples:
  warpshard noc                                             6x6 mesh, 3 stages, 4 VCs of 4 flits, uniform traffic
  warpshard noc --topology mesh8x4 --router 2 --load 0.3    another mesh, speculative routers
  warpshard noc --topology xbar36 --flits 5 --load 0.4      a crossbar with virtual channels, 5-flit packets
  warpshard noc --pattern sm28tomc8 --sweep --out results/m loads up to saturation: CSV and plots";

/// Options of `noc`.
#[derive(Args, Debug)]
#[command(after_help = NOC_HELP)]
pub struct NocArgs {
    /// meshKxM (K columns, M rows) or xbarN (one router of N ports).
    #[arg(long, value_name = "NAME", default_value = "mesh6x6", value_parser = super::noc::topology)]
    pub topology: Topology,
    /// Stages of a router: 2 (speculative), 3 or 4 (route computation in a stage of its own).
    #[arg(long, value_name = "N", default_value = "3", value_parser = super::noc::pipeline)]
    pub router: Pipeline,
    /// Virtual channels of a port.
    #[arg(long, value_name = "N", default_value = "4")]
    pub vcs: u8,
    /// Flits that the buffer of a virtual channel holds.
    #[arg(long, value_name = "N", default_value = "4")]
    pub buffers: u16,
    /// Rounds of allocation and switching in a cycle.
    #[arg(long, value_name = "N", default_value = "1")]
    pub speedup: u8,
    /// Cycles between a credit's arrival at a router and its use.
    #[arg(long, value_name = "N", default_value = "1")]
    pub credit_delay: u8,
    /// Who sends to whom.
    #[arg(long, value_name = "NAME", default_value = "uniform", value_parser = super::noc::pattern())]
    pub pattern: String,
    /// Flits of a packet.
    #[arg(long, value_name = "N", default_value = "1")]
    pub flits: u16,
    /// Flits that a source makes per cycle.
    #[arg(long, value_name = "F", default_value = "0.1", conflicts_with = "sweep")]
    pub load: f64,
    /// Cycles before the measurement.
    #[arg(long, value_name = "N", default_value = "9000")]
    pub warm_up: u64,
    /// Cycles whose packets are measured.
    #[arg(long, value_name = "N", default_value = "30000")]
    pub measured: u64,
    /// Seed of all random choices.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object.
    #[arg(long, conflicts_with = "sweep")]
    pub json: bool,
    /// Measure rising loads until the network is saturated, and write CSV and plots into --out.
    #[arg(long)]
    pub sweep: bool,
    /// The folder of a sweep [default: results/noc-TOPOLOGY-PATTERN, replaced].
    #[arg(long, value_name = "DIR", requires = "sweep")]
    pub out: Option<PathBuf>,
}

const IMPORT_HELP: &str = "\
Every option is translated, ignored for a reason, warned of or reported as unknown; a policy without counterpart is an error.

Example:
  warpshard import --gpgpusim SM75_RTX2060/gpgpusim.config --trace-config SM75_RTX2060/trace.config --out rtx2060.toml
  warpshard run --machine ./rtx2060.toml";

/// Options of `import`.
#[derive(Args, Debug)]
#[command(after_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// GPGPU-Sim's configuration, gpgpusim.config.
    #[arg(long, value_name = "FILE")]
    pub gpgpusim: PathBuf,
    /// The trace front end's configuration, trace.config.
    #[arg(long, value_name = "FILE")]
    pub trace_config: PathBuf,
    /// The machine to write; must not exist yet.
    #[arg(long, value_name = "MACHINE.toml")]
    pub out: PathBuf,
    /// What the machine is called [default: the name of its file].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// How long an epoch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epoch {
    /// As long as the machine's lookahead.
    Auto,
    /// This many core cycles.
    Cycles(NonZeroU64),
}

fn epoch(text: &str) -> Result<Epoch, String> {
    if text == "auto" {
        return Ok(Epoch::Auto);
    }
    text.parse().map(Epoch::Cycles).map_err(|_| "\"auto\" or a whole number of cycles, at least 1".to_owned())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err("expected KEY=VALUE, as in gpu.sms=56".to_owned()),
    }
}

fn model_key_value(text: &str) -> Result<(String, String), String> {
    key_value(text).and_then(|pair| match pair.0.starts_with("workload.") {
        true => Ok(pair),
        false => Err("a trace knows no machine; expected workload.KEY=VALUE".to_owned()),
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
    fn without_options_run_means_the_embedded_default() {
        let args = run(&[]).unwrap();
        assert_eq!((args.machine.as_str(), args.trace, args.workload, args.epoch), ("v100", None, None, Epoch::Auto));
    }

    #[test]
    fn a_value_to_set_may_contain_an_equals_sign() {
        let args = run(&["--set", "a.b=c=d", "--set", "x= 1"]).unwrap();
        assert_eq!(args.set, [("a.b".to_owned(), "c=d".to_owned()), ("x".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn zero_is_no_epoch_no_interval_and_no_number_of_threads() {
        for option in ["--epoch", "--interval", "--threads", "--max-cycles"] {
            assert!(run(&[option, "0"]).is_err(), "{option}");
            assert!(run(&[option, "7"]).is_ok(), "{option}");
        }
    }

    #[test]
    fn a_trace_and_a_model_contradict_each_other() {
        assert!(run(&["--trace", "a", "--workload", "b"]).is_err());
    }
}
