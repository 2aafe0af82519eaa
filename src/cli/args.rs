//! The command line: every command and option with its help.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::study::STUDIES;

use super::exit;

mod rig;

pub use rig::{ControllerName, CpuArgs, DramArgs, NocArgs, OnOff};

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
    /// Convert a trace between text and the native format, losslessly.
    Convert(ConvertArgs),
    /// Show what the controllers of a run decided, and draw it.
    Timeline(TimelineArgs),
    /// Write a kernel model as an Accel-Sim trace, or show the sizes of a recorded one.
    Trace(TraceArgs),
    /// Show the phases of kernels, as phase-aware warp schedulers see them.
    Phases(PhasesArgs),
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
    /// A recorded trace: its kernelslist.g, whose paths are relative to it, or a native file.
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
    /// Core cycles that all parts of the machine are stepped for between two barriers. "auto" is the machine's lookahead; with
    /// few threads, halves of the machine take turns instead, each for twice that. Results do not depend on it without
    /// --relaxed.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = epoch, help_heading = "How")]
    pub epoch: Epoch,
    /// Allow epochs longer than the lookahead, which makes results approximate; they say so.
    #[arg(long, requires = "epoch", help_heading = "How")]
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

/// Options of `timeline`.
#[derive(Args, Debug)]
pub struct TimelineArgs {
    /// The result folder of a run with controllers.
    pub run: PathBuf,
    /// The SM whose limits and numbers are shown [default: the first that any are recorded of].
    #[arg(long, value_name = "N")]
    pub sm: Option<u16>,
    /// The first core cycle that is shown [default: 0].
    #[arg(long, value_name = "CYCLE")]
    pub from: Option<u64>,
    /// The last core cycle that is shown [default: the run's end].
    #[arg(long, value_name = "CYCLE")]
    pub to: Option<u64>,
}

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Machines and kernel models (.toml), traces (kernelslist.g or native).
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Accept what `run --lenient` accepts.
    #[arg(long)]
    pub lenient: bool,
}

/// What studies and the benchmark have in common.
#[derive(Args, Debug)]
pub struct TraceSetArgs {
    /// A built-in machine, or a file that describes one [default: v100; a study has its own].
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
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
    /// The machine of the benchmark when none is named.
    pub const MACHINE: &'static str = "v100";
}

const STUDY_HELP: &str = "\
A study takes the options that concern it and refuses the others. Studies of kernels show a --policy or --order as one more column.

Examples:
  warpshard list studies
  warpshard study characterise --only lud
  warpshard study phase-aware --order gto
  warpshard study oracle --workload wa_sched/lud --machine m2090 --cycles 60000 --policy dyncta";

/// Options of `study`.
#[derive(Args, Debug)]
#[command(after_help = STUDY_HELP)]
pub struct StudyArgs {
    /// Which study; `warpshard list studies` describes them.
    #[arg(value_parser = PossibleValuesParser::new(STUDIES.iter().map(|study| PossibleValue::new(study.name).help(study.summary))))]
    pub name: String,
    /// A controller, as in `run`: studies of kernels show it as one more column; may be given several times.
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]")]
    pub policy: Vec<String>,
    /// A warp order, a value of gpu.sm.order: studies of kernels show it as one more column.
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
    /// The reference's configuration whose results are compared with [default: the one that the machine was imported from, SM7_QV100
    /// for others].
    #[arg(long, value_name = "NAME")]
    pub configuration: Option<String>,
    /// Short runs, the default.
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Long runs: five times as long, whole grids, or all pairs at the paper's lengths.
    #[arg(long)]
    pub full: bool,
    /// Only kernels whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Instructions of each CPU core before it is measured, with memory-heavy applications.
    #[arg(long, value_name = "N")]
    pub cpu_warm: Option<NonZeroU64>,
    /// Measured instructions of each CPU core, with memory-heavy applications.
    #[arg(long, value_name = "N")]
    pub cpu_measure: Option<NonZeroU64>,
    /// Core cycles after which a run with CPU cores is cut, even when its slowest CPU core has not reached its count.
    #[arg(long, value_name = "N")]
    pub longest: Option<NonZeroU64>,
    /// Lengths of the runs relative to the paper's [default: 0.1, with --full 1].
    #[arg(long, value_name = "F", value_parser = scale)]
    pub scale: Option<f64>,
    /// A tenth of the paper's lengths, also with --full.
    #[arg(long, conflicts_with = "scale")]
    pub tenth: bool,
    /// Only pairs with these numbers; parts that were run with different --cache folders are combined by copying the files of these
    /// into one.
    #[arg(long, value_name = "A..B,C,..", value_delimiter = ',', value_parser = number_range)]
    pub pairs: Vec<(usize, usize)>,
    /// Core cycles of runs without CPU cores.
    #[arg(long, value_name = "N")]
    pub gpu_cycles: Option<NonZeroU64>,
    /// A built-in kernel model, a .toml file, or a trace.
    #[arg(long, value_name = "NAME|FILE|DIR")]
    pub workload: Option<String>,
    /// Core cycles of a run; to the end of the workload when not given.
    #[arg(long, value_name = "N")]
    pub cycles: Option<NonZeroU64>,
    /// Traces and machine.
    #[command(flatten)]
    pub traces: TraceSetArgs,
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
    /// Simulate native files, converted into the cache first, instead of text.
    #[arg(long)]
    pub native: bool,
    /// Measure kernel models on machines of these numbers of SMs instead, on one thread.
    #[arg(long, value_name = "N,N,..", value_delimiter = ',', num_args = 0.., default_missing_value = "1,8,28,56,80,160,320", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub sizes: Option<Vec<u32>>,
    /// Measure whole processes from text instead, against the seconds of the reference simulator.
    #[arg(long, conflicts_with = "sizes")]
    pub process: bool,
    /// Measure nothing: run each trace on 1, 2 and 3 threads with two lengths of epochs, and compare every simulated file. The
    /// first difference ends the check with exit code 70.
    #[arg(long, conflicts_with_all = ["sizes", "process", "native"])]
    pub check: bool,
    /// With --check: end runs at this core cycle.
    #[arg(long, value_name = "N", requires = "check")]
    pub max_cycles: Option<NonZeroU64>,
    /// Traces and machine.
    #[command(flatten)]
    pub traces: TraceSetArgs,
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

const CONVERT_HELP: &str = "\
A native file holds a whole trace, kernel list included, with every byte of its text: converted back, kernel files and list
are what they were. It is a tenth of the text or less, decodes several times faster, and is accepted wherever a trace is.

Examples:
  warpshard convert traces/bfs bfs.wst                 a folder with kernelslist.g, or the list itself
  warpshard run --trace bfs.wst
  warpshard convert bfs.wst bfs-text                   a folder, its kernels compressed as they were
  warpshard convert bfs.wst bfs-text --compress none";

/// Options of `convert`.
#[derive(Args, Debug)]
#[command(after_help = CONVERT_HELP)]
pub struct ConvertArgs {
    /// A text trace (a kernelslist.g, its folder or a .traceg file), which becomes native, or a native file, which becomes text.
    pub input: PathBuf,
    /// The native file (.wst by convention), the folder of the text, or for a native file of one kernel without a list its .traceg.
    pub output: PathBuf,
    /// What to write; the other format than the input's is meant anyway.
    #[arg(long, value_name = "FORMAT")]
    pub to: Option<TraceFormat>,
    /// How: native blocks with zstd or none [default: zstd]; text as its names say, or none.
    #[arg(long, value_name = "HOW")]
    pub compress: Option<Compression>,
    /// Replace the output; in a folder, files of the same names.
    #[arg(long)]
    pub force: bool,
    /// Accept text that `run --lenient` accepts.
    #[arg(long)]
    pub lenient: bool,
}

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceFormat {
    /// warpshard's own.
    Native,
    /// Accel-Sim's.
    Text,
}

/// A compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compression {
    /// Zstandard.
    Zstd,
    /// None.
    None,
}

/// Options of `trace`.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// A built-in kernel model, or a file that describes one; without --out, a recorded trace whose sizes are shown.
    #[arg(value_name = "NAME|FILE")]
    pub workload: String,
    /// The folder for kernelslist.g and the kernels' traces, which must not exist yet or be empty, or with --native the file.
    #[arg(long, value_name = "DIR|FILE")]
    pub out: Option<PathBuf>,
    /// Write one file in the native format.
    #[arg(long, requires = "out")]
    pub native: bool,
    /// Seed of all random choices.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Change a parameter of the model; may be given several times.
    #[arg(long, value_name = "workload.KEY=VALUE", value_parser = model_key_value)]
    pub set: Vec<(String, String)>,
}

const PHASES_HELP: &str = "\
A phase is a run of instructions in which none reads a register that a load, store, branch or barrier of the same run
wrote; each basic block starts one. Its length is the sum of its instructions' latencies.

Examples:
  warpshard phases gemm_tiled
  warpshard phases traces/bfs/kernelslist.g --kernels 1 --machine m2090";

/// Options of `phases`.
#[derive(Args, Debug)]
#[command(after_help = PHASES_HELP)]
pub struct PhasesArgs {
    /// A built-in kernel model, a .toml file that describes one, or a trace: its kernelslist.g or a native file.
    #[arg(value_name = "NAME|FILE|KERNELSLIST")]
    pub workload: String,
    /// Take the latencies of this machine's units [default: those of GPGPU-Sim's Fermi by operation, as the thesis did].
    #[arg(long, value_name = "NAME|FILE")]
    pub machine: Option<String>,
    /// Count accesses of global and local memory alone as long.
    #[arg(long)]
    pub device_memory: bool,
    /// Only these kernels: their numbers ("1-4,7", "3-") or a regular expression on their names.
    #[arg(long, value_name = "RANGE|REGEX")]
    pub kernels: Option<String>,
    /// Leave the listings of instructions out.
    #[arg(long, conflicts_with = "json")]
    pub summary: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Seed of all random choices of a kernel model.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Change a value of the machine, or with workload.KEY a parameter of the model; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub set: Vec<(String, String)>,
    /// Guess where a trace is slightly broken instead of refusing it.
    #[arg(long)]
    pub lenient: bool,
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
    /// As long as the machine's lookahead, or twice that where halves of the machine take turns.
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

fn scale(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0).ok_or_else(|| "expected a number above 0, as 0.1".to_owned())
}

fn number_range(text: &str) -> Result<(usize, usize), String> {
    let parsed = match text.split_once("..") {
        Some((first, last)) => first.parse().ok().zip(last.parse().ok()),
        None => text.parse().ok().map(|only| (only, only)),
    };
    parsed.filter(|(first, last)| 1 <= *first && first <= last).ok_or_else(|| "expected A..B with 1 <= A <= B, or one number".to_owned())
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
