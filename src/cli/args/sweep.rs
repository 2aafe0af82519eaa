//! The options of `sweep`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use warpshard_sweep::{Bytes, Slice};

const SWEEP_HELP: &str = "\
A plan is a TOML file that names machines, workloads, policies and changes; every combination is a run (docs/sweeps.md):

  machines = [\"v100\", \"rtx2060\"]
  workloads = [\"gemm_tiled\", { model = \"vecadd\", set = { n = 65536 } }, { trace = \"traces/bfs/kernelslist.g\" }]
  policies = [\"\", \"static_limit:ctas=2\"]
  [grid]
  gpu.sm.order = [\"gto\", \"lrr\"]

Results are stored by content in the result folder: a stored run is not repeated, even after a sweep was killed. The table is
sweep.csv, with a row per run.

Examples:
  warpshard sweep plan.toml --list                 the runs, one line each
  warpshard sweep plan.toml                        simulate the missing runs, collect the table
  warpshard sweep plan.toml --slice 2/8            a part, for another host with the same folder
  warpshard sweep plan.toml --collect              the table of the finished runs
  warpshard sweep submit plan.toml --to slurm -- --partition=short";

/// Options of `sweep`.
#[derive(Args, Debug)]
#[command(after_help = SWEEP_HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SweepArgs {
    /// Subcommand, such as `submit`.
    #[command(subcommand)]
    pub command: Option<SweepCommand>,
    /// Plan file (.toml).
    #[arg(required = true, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Result folder [default: results/sweep-NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Simulate only every N-th run, starting with the I-th, and do not collect the table.
    #[arg(long, value_name = "I/N")]
    pub slice: Option<Slice>,
    /// Simulate nothing and collect the table of the finished runs; exit code 1 if runs are missing.
    #[arg(long, conflicts_with = "slice")]
    pub collect: bool,
    /// Also write the table as sweep.parquet; needs a build with the feature parquet.
    #[arg(long, conflicts_with = "slice")]
    pub parquet: bool,
    /// Only list the runs and their states.
    #[arg(long, conflicts_with_all = ["collect", "parquet"])]
    pub list: bool,
    /// Maximum number of concurrent runs [default: one per core that this process may use].
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Memory limit of all concurrent runs, such as 8GiB [default: the free memory of this host]. The memory that earlier runs took can
    /// reduce the number of concurrent runs.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
}

/// Subcommands of `sweep`.
#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Submit slices of a plan to a batch system, and collect their results.
    Submit(SubmitArgs),
}

/// Batch systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BatchSystem {
    /// Slurm: an array job, and a job that collects the results.
    Slurm,
    /// HyperQueue: a script that submits an array, waits for it and collects the results.
    Hyperqueue,
}

/// Options of `sweep submit`.
#[derive(Args, Debug)]
pub(crate) struct SubmitArgs {
    /// Plan file (.toml).
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// Batch system.
    #[arg(long, value_enum)]
    pub to: BatchSystem,
    /// Result folder; its path must be valid on all hosts [default: results/sweep-NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of slices; each slice is a task [default: one per ten runs, at most 1000].
    #[arg(long, value_name = "N")]
    pub slices: Option<NonZeroUsize>,
    /// Cores of a task, which simulates up to this number of runs concurrently.
    #[arg(long, value_name = "N", default_value = "1")]
    pub cpus: NonZeroUsize,
    /// Maximum number of concurrent tasks [default: the limit of the batch system].
    #[arg(long, value_name = "N")]
    pub at_once: Option<NonZeroUsize>,
    /// Also write the table as sweep.parquet; needs a build with the feature parquet.
    #[arg(long)]
    pub parquet: bool,
    /// Write the scripts without submitting them.
    #[arg(long)]
    pub dry_run: bool,
    /// Wait until the table is collected.
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    /// Further options of the batch system's command, after --.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}
