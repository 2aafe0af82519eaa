//! Options of `sweep`.

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

Results are stored by content in the result folder: a run that is there is not repeated, also after a sweep was killed. The table is
sweep.csv, with a row per run.

Examples:
  warpshard sweep plan.toml --list                 the runs, one line each
  warpshard sweep plan.toml                        simulate what is missing, collect the table
  warpshard sweep plan.toml --slice 2/8            a part, for another host with the same folder
  warpshard sweep plan.toml --collect              the table of what is there
  warpshard sweep submit plan.toml --to slurm -- --partition=short";

/// Options of `sweep`.
#[derive(Args, Debug)]
#[command(after_help = SWEEP_HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SweepArgs {
    /// What else to do with a plan.
    #[command(subcommand)]
    pub command: Option<SweepCommand>,
    /// Plan file (.toml).
    #[arg(required = true, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Result folder [default: results/sweep-NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Simulate only every N-th run, from the I-th on, and collect nothing.
    #[arg(long, value_name = "I/N")]
    pub slice: Option<Slice>,
    /// Simulate nothing, collect the table of what is there; exit code 1 when runs are missing.
    #[arg(long, conflicts_with = "slice")]
    pub collect: bool,
    /// Also write the table as sweep.parquet; needs a program built with the feature parquet.
    #[arg(long, conflicts_with = "slice")]
    pub parquet: bool,
    /// Only list the runs, with what there is of each.
    #[arg(long, conflicts_with_all = ["collect", "parquet"])]
    pub list: bool,
    /// Runs at a time [default: one per core that this process may use].
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Memory that all runs together may take, such as 8GiB [default: what is free on this host]. Fewer runs take place at a time where
    /// runs so far have taken too much for more.
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Bytes>,
}

/// What else can be done with a plan.
#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Give slices of a plan to a batch system, and collect them at the end.
    Submit(SubmitArgs),
}

/// A batch system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BatchSystem {
    /// Slurm: an array job, and a job that collects.
    Slurm,
    /// HyperQueue: a script that submits an array, waits for it and collects.
    Hyperqueue,
}

/// Options of `sweep submit`.
#[derive(Args, Debug)]
pub(crate) struct SubmitArgs {
    /// Plan file (.toml).
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
    /// The batch system.
    #[arg(long, value_enum)]
    pub to: BatchSystem,
    /// Result folder, which all hosts see under this name [default: results/sweep-NAME].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of slices, each of which is a task [default: one for ten runs, at most 1000].
    #[arg(long, value_name = "N")]
    pub slices: Option<NonZeroUsize>,
    /// Cores of a task, which runs as many runs at a time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub cpus: NonZeroUsize,
    /// Tasks at a time [default: what the batch system gives].
    #[arg(long, value_name = "N")]
    pub at_once: Option<NonZeroUsize>,
    /// Also collect the table as sweep.parquet; needs a program built with the feature parquet.
    #[arg(long)]
    pub parquet: bool,
    /// Write the scripts and submit nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Wait until the table is collected.
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,
    /// Further options of the batch system's command, after --.
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}
