//! Options of the commands that read result folders.

use std::path::PathBuf;

use clap::Args;

use warpshard_view::compare::Limit;

const COMPARE_HELP: &str = "\
The first folder is the reference. Configuration differences come first, then cycles and IPC, scheduler cycles,
caches, DRAM, energy, kernels by name and counters, each with the largest changes on top. Shares change by percentage points.

With --fail-above the command ends with exit code 1 when cycles, instructions, IPC or energy of a run, or the cycles of the kernels
of any name, differ from the first run by more than the limit.

Examples:
  warpshard compare results/v100-gemm_tiled-1 results/v100-gemm_tiled-gpu.sms=56-1
  warpshard compare base new --html compare.html
  warpshard compare base new --fail-above 1%";

/// Options of `compare`.
#[derive(Args, Debug)]
#[command(after_help = COMPARE_HELP)]
pub(crate) struct CompareArgs {
    /// Result folders of runs; or one folder and a profile of Nsight Compute (`ncu --csv --page raw`), compared launch by launch.
    #[arg(required = true, num_args = 2.., value_name = "DIR|NCU.CSV")]
    pub runs: Vec<PathBuf>,
    /// Also show values that are equal in all runs, and all counters.
    #[arg(long)]
    pub all: bool,
    /// Exit with code 1 if a headline number differs from the first run by more than this percentage; 0% accepts only equal numbers.
    #[arg(long, value_name = "PERCENT%")]
    pub fail_above: Option<Limit>,
    /// Write the comparison as an HTML page in one file without external resources.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the comparison as JSON; - prints JSON instead of the text.
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Use only rows of Nsight Compute's file that have this value in this column. Repeatable.
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = super::key_value)]
    pub conditions: Vec<(String, String)>,
}

const REPORT_HELP: &str = "\
The page is one HTML file without scripts or external resources. It shows kernels over time, scheduler cycles, energy,
DRAM channels and SMs of every run; IPC, occupancy, hit rates, bandwidth, networks and power over time with --interval; decisions with
--policy. Every picture has its numbers below it.

Example:
  warpshard run --workload gemm_tiled --interval 1000 --out results/gemm
  warpshard report results/gemm                        writes results/gemm/report.html
  warpshard report results/gemm --perfetto gemm.pftrace";

/// Options of `report`.
#[derive(Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct ReportArgs {
    /// Result folder of a run.
    #[arg(value_name = "DIR")]
    pub run: PathBuf,
    /// File to write [default: report.html in the result folder, unless --perfetto is given].
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write a trace in simulated time for the Perfetto viewer (ui.perfetto.dev): kernels, decisions, counters.
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
}

/// Options of `completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Shell whose completions are printed.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Options of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Folder for the pages.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
